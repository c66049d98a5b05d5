// The second source file of `inlines`: templates and containers.
#include "inlines.h"

#include <map>
#include <string>

namespace inlines {

uint64_t measure_shapes(uint64_t seed) {
  std::vector<Square> squares;
  std::vector<Rectangle> rectangles;
  for (uint64_t i = 0; i < 3000; ++i) {
    squares.push_back({seed + i});
    rectangles.push_back({seed + i, i});
  }
  uint64_t sum = 0;
  for (int round = 0; round < 20; ++round)
    sum += sum_of_areas(squares) + sum_of_areas(rectangles);
  return sum;
}

uint64_t count_words(uint64_t seed) {
  std::map<std::string, uint64_t> counts;
  for (uint64_t i = 0; i < 3000; ++i)
    ++counts["a word that is not a short string " + std::to_string(mix_well(seed + i) % 500)];
  uint64_t sum = 0;
  for (const auto &[word, count] : counts)
    sum += word.size() * count;
  return sum;
}

} // namespace inlines
