#include "support/md5.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "support/byte_cursor.h"
#include "support/sort.h"

namespace tally {

namespace {

constexpr size_t block_size = 64;
// A word of one message, or the words of four, with which compilers compute as with a number.
using Lanes = uint32_t __attribute__((vector_size(16)));
constexpr size_t lanes = sizeof(Lanes) / sizeof(uint32_t);
template <class Word> using State = std::array<Word, 4>;
template <class Word> using Block = std::array<Word, block_size / sizeof(uint32_t)>;

// Section 3.4 of the RFC: entry i is the integer part of 2^32 * |sin(i + 1)|.
const std::array<uint32_t, block_size> &sines() {
  static const std::array<uint32_t, block_size> table = [] {
    std::array<uint32_t, block_size> out{};
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<uint32_t>(std::abs(std::sin(static_cast<double>(i + 1))) * 0x1p32);
    return out;
  }();
  return table;
}

constexpr std::array<std::array<int, 4>, 4> shifts{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

uint32_t load(const char *bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return in_order(word, false);
}

template <class Word> void add_block(State<Word> &state, const Block<Word> &words) {
  Word a = state[0], b = state[1], c = state[2], d = state[3];
  const auto &add = sines();
  // Sixteen steps for each of the four ways of mixing. The first word of a way and the distance of
  // the next ones are those of the RFC.
  const auto steps = [&](size_t way, size_t first, size_t distance, auto mix) {
    for (size_t i = 0; i < 16; ++i) {
      const Word sum = a + mix() + add[16 * way + i] + words[(first + distance * i) % words.size()];
      a = d;
      d = c;
      c = b;
      const int shift = shifts[way][i % 4];
      b += sum << shift | sum >> (32 - shift);
    }
  };
  steps(0, 0, 1, [&] { return (b & c) | (~b & d); });
  steps(1, 1, 5, [&] { return (b & d) | (c & ~d); });
  steps(2, 5, 3, [&] { return b ^ c ^ d; });
  steps(3, 0, 7, [&] { return c ^ (b | ~d); });
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

template <class Word> State<Word> begin_state() {
  const Word zero{};
  return {zero + 0x67452301, zero + 0xefcdab89, zero + 0x98badcfe, zero + 0x10325476};
}

size_t blocks_of(std::string_view bytes) {
  return (bytes.size() + 1 + sizeof(uint64_t) + block_size - 1) / block_size;
}

// Appends the end of a message: a bit 1, zeros, and the length in bits.
void pad(std::string_view bytes, std::string &out) {
  const size_t size = blocks_of(bytes) * block_size;
  out.assign(bytes);
  out += static_cast<char>(0x80);
  out.resize(size);
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < sizeof bits; ++i)
    out[size - sizeof bits + i] = static_cast<char>(bits >> (8 * i));
}

// Computes the digests of messages with the same number of blocks.
void add_four(const std::array<std::string, lanes> &messages, std::array<uint64_t, lanes> &out) {
  State<Lanes> state = begin_state<Lanes>();
  for (size_t at = 0; at < messages[0].size(); at += block_size) {
    Block<Lanes> words{};
    for (size_t i = 0; i < words.size(); ++i)
      for (size_t lane = 0; lane < lanes; ++lane)
        words[i][lane] = load(messages[lane].data() + at + i * sizeof(uint32_t));
    add_block(state, words);
  }
  for (size_t lane = 0; lane < lanes; ++lane)
    out[lane] = state[0][lane] | uint64_t{state[1][lane]} << 32;
}

} // namespace

uint64_t md5_low(std::string_view bytes) {
  std::string message;
  pad(bytes, message);
  State<uint32_t> state = begin_state<uint32_t>();
  for (size_t at = 0; at < message.size(); at += block_size) {
    Block<uint32_t> words{};
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = load(message.data() + at + i * sizeof(uint32_t));
    add_block(state, words);
  }
  return state[0] | uint64_t{state[1]} << 32;
}

std::vector<uint64_t> md5_low(std::span<const std::string_view> texts) {
  std::vector<uint64_t> out(texts.size());
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_stably(order, {}, [&](size_t i) { return blocks_of(texts[i]); });
  std::array<std::string, lanes> messages;
  std::array<uint64_t, lanes> digests{};
  for (size_t first = 0; first < order.size();) {
    const size_t last = first + lanes - 1;
    if (last >= order.size() || blocks_of(texts[order[first]]) != blocks_of(texts[order[last]])) {
      out[order[first]] = md5_low(texts[order[first]]);
      ++first;
      continue;
    }
    for (size_t lane = 0; lane < lanes; ++lane)
      pad(texts[order[first + lane]], messages[lane]);
    add_four(messages, digests);
    for (const uint64_t digest : digests)
      out[order[first++]] = digest;
  }
  return out;
}

} // namespace tally
