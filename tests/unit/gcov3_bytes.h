// Builds files of GCC 3.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally {

class Gcov3Bytes {
public:
  Gcov3Bytes &raw(uint32_t value) {
    for (int i = 0; i < 4; ++i)
      bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Gcov3Bytes &word(int64_t value) {
    return raw(value < 0 ? 0x80000000u | static_cast<uint32_t>(-value)
                         : static_cast<uint32_t>(value));
  }
  Gcov3Bytes &words(std::initializer_list<int64_t> values) {
    for (const int64_t value : values)
      word(value);
    return *this;
  }
  Gcov3Bytes &long_word(int64_t value) {
    const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
    raw(static_cast<uint32_t>(magnitude));
    return raw(static_cast<uint32_t>(magnitude >> 32) | (value < 0 ? 0x80000000u : 0));
  }
  Gcov3Bytes &padded(std::string_view text, char padding = 0) {
    bytes_ += text;
    bytes_ += '\0';
    bytes_.append(3 - text.size() % 4, padding);
    return *this;
  }
  Gcov3Bytes &bytes(std::string_view more) {
    bytes_ += more;
    return *this;
  }
  // For .bb files; mark is -1 or -2.
  Gcov3Bytes &marked(int64_t mark, std::string_view text, char padding = 0) {
    return word(mark).padded(text, padding).word(mark);
  }
  // For .bbg and .da files.
  Gcov3Bytes &name(std::string_view text, char padding = 0) {
    return word(-1).word(static_cast<int64_t>(text.size())).padded(text, padding).word(-1);
  }
  // For .bbg files: blocks of (destination, flags), which follow the name and the checksum.
  using Arcs = std::vector<std::pair<int64_t, uint32_t>>;
  Gcov3Bytes &graph(const std::vector<Arcs> &blocks) {
    int64_t arcs = 0;
    for (const Arcs &out : blocks)
      arcs += static_cast<int64_t>(out.size());
    word(static_cast<int64_t>(blocks.size())).word(arcs);
    for (const Arcs &out : blocks) {
      word(static_cast<int64_t>(out.size()));
      for (const auto &[destination, flags] : out)
        word(destination).raw(flags);
    }
    return word(-1);
  }
  // For .da files: magic, number of functions, and a header with the correct sums of one object.
  Gcov3Bytes &block(int64_t functions, const std::vector<int64_t> &all_counters) {
    int64_t sum = 0, maximum = 0;
    for (const int64_t counter : all_counters) {
      sum += counter;
      maximum = counter > maximum ? counter : maximum;
    }
    words({-123, functions, 40});
    for (int i = 0; i < 2; ++i)
      word(static_cast<int64_t>(all_counters.size())).long_word(sum).long_word(maximum);
    return *this;
  }
  Gcov3Bytes &function(std::string_view text, int64_t checksum,
                       const std::vector<int64_t> &counters) {
    name(text).word(checksum).word(static_cast<int64_t>(counters.size()));
    for (const int64_t counter : counters)
      long_word(counter);
    return *this;
  }

  const std::string &str() const { return bytes_; }
  operator std::string_view() const { return bytes_; }

private:
  std::string bytes_;
};

} // namespace tally
