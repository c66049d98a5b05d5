// Hashes for tables in memory. They depend on a seed that each process draws, so that whoever
// writes a file cannot choose names and numbers that share a place in a table, and make a reader
// quadratic. The order of a SeededMap differs from run to run: sort what is written.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <sys/auxv.h>

namespace tally {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014), where every input bit affects every output
// bit.
constexpr uint64_t finalize(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

struct HashSeeds {
  uint64_t number = 0, text = 0;

  // Takes the 16 bytes that the kernel gives each program (getauxval(3)).
  static HashSeeds draw() {
    HashSeeds seeds{0x9e3779b97f4a7c15U, 0x2545f4914f6cdd1dU};
    if (const auto *const random = reinterpret_cast<const void *>(::getauxval(AT_RANDOM)))
      std::memcpy(&seeds, random, sizeof seeds);
    return {finalize(seeds.number), finalize(seeds.text) | 1};
  }
};
inline const HashSeeds hash_seeds = HashSeeds::draw();

inline uint64_t mix(uint64_t number) { return finalize(number + hash_seeds.number); }

inline uint64_t combine(uint64_t hash, uint64_t value) {
  return mix(hash + 0x9e3779b97f4a7c15U + value);
}

// Loads the bytes of a Number from any address.
template <class Number> uint64_t load(const char *from) {
  Number number = 0;
  std::memcpy(&number, from, sizeof number);
  return number;
}

// Folds the two halves of a product.
inline uint64_t fold(uint64_t a, uint64_t b) {
  __extension__ using Word128 = unsigned __int128;
  const Word128 product = static_cast<Word128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Folds 16 bytes at a time with the seeds, as wyhash does; the last ones may be folded twice.
inline uint64_t hash_bytes(std::string_view text) {
  uint64_t hash = hash_seeds.number;
  const char *from = text.data(), *const end = from + text.size();
  for (; end - from > 16; from += 16)
    hash = fold(load<uint64_t>(from) ^ hash_seeds.text, load<uint64_t>(from + 8) ^ hash);
  uint64_t first = 0, last = 0;
  if (text.size() >= 16) {
    first = load<uint64_t>(end - 16);
    last = load<uint64_t>(end - 8);
  } else if (text.size() >= 8) {
    first = load<uint64_t>(from);
    last = load<uint64_t>(end - 8);
  } else if (text.size() >= 4) {
    first = load<uint32_t>(from);
    last = load<uint32_t>(end - 4);
  } else if (!text.empty()) {
    first = load<uint8_t>(from) << 16 | load<uint8_t>(from + text.size() / 2) << 8 |
            load<uint8_t>(end - 1);
  }
  return finalize(fold(first ^ hash_seeds.text, last ^ hash) + text.size());
}

struct SeededHash {
  template <class Number>
  requires(std::integral<Number> || std::is_enum_v<Number>) size_t operator()(Number number) const {
    return mix(static_cast<uint64_t>(number));
  }
  size_t operator()(std::string_view text) const { return hash_bytes(text); }
  template <class A, class B> size_t operator()(const std::pair<A, B> &pair) const {
    return combine((*this)(pair.first), (*this)(pair.second));
  }
};

// A table whose clear() takes no longer than filling it did. That of the standard tables takes the
// time of the places that the table ever had: one large record would make each later one slow.
template <class Table> struct ClearedInTime : Table {
  using Table::Table;
  void clear() {
    if (this->bucket_count() > 64 + 4 * this->size())
      *this = ClearedInTime();
    else
      Table::clear();
  }
};

template <class Key, class Value>
using SeededMap = ClearedInTime<std::unordered_map<Key, Value, SeededHash>>;
template <class Key, class Value>
using SeededMultimap = ClearedInTime<std::unordered_multimap<Key, Value, SeededHash>>;
template <class Key> using SeededSet = ClearedInTime<std::unordered_set<Key, SeededHash>>;

} // namespace tally
