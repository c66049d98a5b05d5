// inlines [SECONDS=1]
//
// Code that is hard to symbolize: chains of inlined functions over two source files, templates,
// recursion, std::sort with a lambda, std::map, and a function whose cold half has another address
// range. Runs each for a while, in turn, for SECONDS of CPU time.
#include "inlines.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace inlines {
namespace {

[[gnu::noinline]] uint64_t fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Two functions that call each other.
uint64_t odd_steps(uint64_t left);
[[gnu::noinline]] uint64_t even_steps(uint64_t left) {
  return left == 0 ? 1 : odd_steps(left - 1) + mix_once(left);
}
[[gnu::noinline]] uint64_t odd_steps(uint64_t left) {
  return left == 0 ? 0 : even_steps(left - 1) + mix_twice(left);
}

[[gnu::noinline]] uint64_t sort_numbers(uint64_t seed) {
  std::vector<uint64_t> numbers(5000);
  for (uint64_t &number : numbers)
    number = seed = mix_well(seed);
  std::sort(numbers.begin(), numbers.end(),
            [](uint64_t a, uint64_t b) { return mix_once(a) < mix_once(b); });
  return numbers.front();
}

[[gnu::cold, gnu::noinline]] void complain(uint64_t value) {
  std::fprintf(stderr, "inlines: %llu cannot happen\n", static_cast<unsigned long long>(value));
}

// The branches into `complain` are cold: g++ -O2 moves them to another section.
[[gnu::noinline]] uint64_t split_hot_cold(uint64_t seed) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const uint64_t value = mix_well(seed + i);
    if (__builtin_expect(value == 0x123456789abcdefU, 0)) {
      complain(value);
      sum += mix_twice(value);
    }
    sum += value;
  }
  return sum;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

} // namespace
} // namespace inlines

int main(int argc, char **argv) {
  using namespace inlines;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  uint64_t sum = 0;
  for (uint64_t round = 0; cpu_seconds() < seconds; ++round) {
    sum += fibonacci(23);
    sum += even_steps(5000);
    sum += sort_numbers(round);
    sum += split_hot_cold(round);
    sum += measure_shapes(round);
    sum += count_words(round);
  }
  std::printf("sum %llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
