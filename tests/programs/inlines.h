// Declarations shared by inlines.cpp and inlines_shapes.cpp, and small functions inlined into both.
#pragma once

#include <cstdint>
#include <vector>

namespace inlines {

// Four levels of functions, each of which the compiler inlines into the next.
inline uint64_t mix_once(uint64_t value) { return (value ^ (value >> 31)) * 0x9e3779b97f4a7c15U; }

inline uint64_t mix_twice(uint64_t value) { return mix_once(mix_once(value) + 1); }

inline uint64_t mix_well(uint64_t value) {
  value = mix_twice(value);
  if (value & 1)
    value = mix_once(value + 3);
  return value;
}

// A template with a different body for each shape.
template <class Shape> uint64_t sum_of_areas(const std::vector<Shape> &shapes) {
  uint64_t sum = 0;
  for (const Shape &shape : shapes)
    sum += mix_well(shape.area());
  return sum;
}

struct Square {
  uint64_t side;
  uint64_t area() const { return side * side; }
};

struct Rectangle {
  uint64_t width, height;
  uint64_t area() const { return width * height; }
};

// In inlines_shapes.cpp.
uint64_t measure_shapes(uint64_t seed);
uint64_t count_words(uint64_t seed);

} // namespace inlines
