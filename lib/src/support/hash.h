// Hashes for tables in memory. They may change, so do not store them in files.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace tally {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014), where every input bit affects every output
// bit.
constexpr uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

constexpr uint64_t combine(uint64_t seed, uint64_t value) {
  return mix(seed + 0x9e3779b97f4a7c15U + value);
}

inline uint64_t hash_bytes(std::string_view text) { return std::hash<std::string_view>{}(text); }

} // namespace tally
