// Builds notes and counters of GCC and Clang byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gcov.h"

namespace tally {

inline constexpr uint32_t tag_blocks = 0x01410000, tag_arcs = 0x01430000, tag_lines = 0x01450000,
                          tag_conditions = 0x01470000;

inline uint32_t word_of(const char *text) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word = word << 8 | static_cast<uint8_t>(text[i]);
  return word;
}

struct Layout {
  const char *version;
  bool big_endian = false;
  bool clang = false; // lengths in words and no checksum, in any version
  bool at_least(const char *text) const { return word_of(version) >= word_of(text); }
  bool gcc_12() const { return at_least("B20*") && !clang; }
};
inline constexpr char gcc_12[5] = "B22*", gcc_11[5] = "B13*", clang_14[5] = "408*";

class Bytes {
public:
  explicit Bytes(const Layout &layout) : layout_(layout) {}
  size_t size() const { return bytes_.size(); }
  const std::string &bytes() const { return bytes_; }

  Bytes &word(uint32_t value) {
    for (int i = 0; i < 4; ++i)
      bytes_ += static_cast<char>(value >> 8 * (layout_.big_endian ? 3 - i : i));
    return *this;
  }
  Bytes &count(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    return word(static_cast<uint32_t>(bits)).word(static_cast<uint32_t>(bits >> 32));
  }
  Bytes &length(size_t size) {
    return word(static_cast<uint32_t>(layout_.gcc_12() ? size : size / 4));
  }
  Bytes &text(std::string_view value) {
    if (value.empty())
      return word(0);
    const size_t nuls = layout_.gcc_12() ? 1 : 4 - value.size() % 4;
    length(value.size() + nuls);
    bytes_ += value;
    bytes_.append(nuls, '\0');
    return *this;
  }
  Bytes &record(uint32_t tag, const std::function<void(Bytes &)> &payload) {
    Bytes inner(layout_);
    payload(inner);
    word(tag).length(inner.size());
    bytes_ += inner.bytes();
    return *this;
  }

private:
  Layout layout_;
  std::string bytes_;
};

inline Bytes header(const Layout &layout, const char *magic, uint32_t stamp) {
  Bytes out(layout);
  out.word(word_of(magic)).word(word_of(layout.version)).word(stamp);
  if (layout.gcc_12())
    out.word(0xabcd);
  return out;
}

inline Bytes notes_header(const Layout &layout) {
  Bytes out = header(layout, "gcno", 77);
  if (layout.at_least("A90*"))
    out.text("/src/x");
  if (layout.at_least("A80*"))
    out.word(1);
  return out;
}

inline void put_function(Bytes &out, const Layout &layout, uint32_t ident, std::string_view name,
                         uint32_t line) {
  out.record(0x01000000, [&](Bytes &to) {
    to.word(ident).word(11).word(22).text(name);
    if (layout.at_least("A80*"))
      to.word(0);
    to.text("f.c").word(line);
    if (layout.at_least("A80*"))
      to.word(1).word(line + 4);
    if (layout.at_least("A90*"))
      to.word(2);
  });
}

inline void put_blocks(Bytes &out, const Layout &layout, uint32_t blocks) {
  out.record(tag_blocks, [&](Bytes &to) {
    if (layout.at_least("A80*"))
      to.word(blocks);
    else
      for (uint32_t i = 0; i < blocks; ++i)
        to.word(0);
  });
}

inline void put_arcs(Bytes &out, std::vector<uint32_t> words) {
  out.record(tag_arcs, [&](Bytes &to) {
    for (const uint32_t word : words)
      to.word(word);
  });
}

inline void put_line(Bytes &out, uint32_t block, uint32_t line) {
  out.record(tag_lines,
             [&](Bytes &to) { to.word(block).word(0).text("f.c").word(line).word(0).text(""); });
}

// Returns notes of two functions with a loop: 0 -> 2, 2 -> 3 (counted), 2 -> 4 (counted), 3 -> 2
// and 4 -> 1, so that block 3 is not the last one.
inline std::string notes_of_loops(const Layout &layout) {
  Bytes out = notes_header(layout);
  for (const uint32_t ident : {5u, 9u}) {
    const uint32_t line = ident * 10;
    put_function(out, layout, ident, ident == 5 ? "five" : "nine", line);
    put_blocks(out, layout, 5);
    put_arcs(out, {0, 2, 1});
    put_arcs(out, {2, 3, 0, 4, 0});
    put_arcs(out, {3, 2, 1});
    put_arcs(out, {4, 1, 1});
    put_line(out, 2, line);
    put_line(out, 3, line + 1);
    out.record(0x01990000, [](Bytes &to) { to.word(1).word(2); }); // an unknown tag
  }
  if (layout.clang)
    out.word(0).word(0);
  return out.bytes();
}

// Returns their counters.
inline std::string counters_of_loops(const Layout &layout, uint32_t stamp = 77) {
  Bytes out = header(layout, "gcda", stamp);
  const auto summary = [](Bytes &to) { to.word(3).word(900); };
  if (!layout.clang)
    out.record(gcov_tag_object_summary, summary);
  for (const uint32_t ident : {5u, 9u}) {
    out.record(gcov_tag_function, [&](Bytes &to) { to.word(ident).word(11).word(22); });
    out.record(gcov_tag_counters,
               [&](Bytes &to) { to.count(ident == 5 ? 40 : (int64_t{1} << 33) + 7).count(2); });
  }
  if (layout.clang)
    out.record(gcov_tag_object_summary, summary).word(0);
  out.word(0);
  return out.bytes();
}

} // namespace tally
