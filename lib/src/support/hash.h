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

// Multiplies each word by the seed, and folds the two halves of the product.
inline uint64_t hash_bytes(std::string_view text) {
  __extension__ using Word128 = unsigned __int128;
  uint64_t hash = hash_seeds.number + text.size();
  const auto add = [&hash](uint64_t word) {
    const Word128 product = static_cast<Word128>(hash ^ word) * hash_seeds.text;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    add(word);
  }
  if (!text.empty()) {
    word = 0;
    std::memcpy(&word, text.data(), text.size());
    add(word);
  }
  return finalize(hash);
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
