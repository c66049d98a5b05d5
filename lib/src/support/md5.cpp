#include "support/md5.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace tally {

namespace {

constexpr size_t block_size = 64;
using State = std::array<uint32_t, 4>;

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

void add_block(State &state, const char *bytes) {
  std::array<uint32_t, 16> words;
  std::memcpy(words.data(), bytes, block_size);
  if constexpr (std::endian::native == std::endian::big)
    for (uint32_t &word : words)
      word = __builtin_bswap32(word);
  auto [a, b, c, d] = state;
  for (size_t i = 0; i < block_size; ++i) {
    uint32_t mixed = 0;
    size_t word = i;
    switch (i / 16) {
    case 0:
      mixed = (b & c) | (~b & d);
      break;
    case 1:
      mixed = (b & d) | (c & ~d);
      word = (5 * i + 1) % 16;
      break;
    case 2:
      mixed = b ^ c ^ d;
      word = (3 * i + 5) % 16;
      break;
    default:
      mixed = c ^ (b | ~d);
      word = 7 * i % 16;
    }
    const uint32_t sum = a + mixed + sines()[i] + words[word];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, shifts[i / 16][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

} // namespace

uint64_t md5_low(std::string_view bytes) {
  State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= block_size; bytes.remove_prefix(block_size))
    add_block(state, bytes.data());
  // The end: a bit 1, zeros, and the length.
  std::array<char, 2 * block_size> end{};
  std::ranges::copy(bytes, end.begin());
  end[bytes.size()] = static_cast<char>(0x80);
  const size_t size = bytes.size() + 1 + sizeof bits <= block_size ? block_size : 2 * block_size;
  for (size_t i = 0; i < sizeof bits; ++i)
    end[size - sizeof bits + i] = static_cast<char>(bits >> (8 * i));
  for (size_t at = 0; at < size; at += block_size)
    add_block(state, end.data() + at);
  return state[0] | uint64_t{state[1]} << 32;
}

} // namespace tally
