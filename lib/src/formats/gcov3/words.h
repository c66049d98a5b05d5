// Reads and writes the words and names of which the three files consist. A word has a magnitude and
// a sign, and is little-endian on every host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gcov3.h"
#include "support/byte_cursor.h"
#include "support/diagnostics.h"

namespace tally::gcov3 {

inline constexpr uint32_t sign_bit = 0x80000000;
inline constexpr uint32_t minus_zero = sign_bit;
inline constexpr uint32_t minus_one = sign_bit | 1; // the mark before and after a name
inline constexpr uint32_t minus_two = sign_bit | 2;
inline constexpr uint32_t data_magic = sign_bit | 123;
inline constexpr std::string_view other_graph_magic = "gbbg";
inline constexpr uint32_t header_bytes = 40; // the size of two Totals in a block of counters

constexpr int32_t word_of(uint32_t raw) {
  const auto magnitude = static_cast<int32_t>(raw & ~sign_bit);
  return raw & sign_bit ? -magnitude : magnitude;
}
// Returns the size of a name with the NUL and the zeros up to a whole word that follow it.
constexpr size_t padded(size_t name_size) { return (name_size + 4) & ~size_t{3}; }

// Reads words and names. Beyond the end all reads return 0, and failed() returns true. Records the
// words that WordWriter would write differently as oddities.
class WordReader {
public:
  WordReader(std::string_view bytes, const std::string &source, Diagnostics &diagnostics)
      : cursor_(bytes), bytes_(bytes), source_(source), diagnostics_(diagnostics) {}

  size_t offset() const { return cursor_.offset(); }
  size_t before() const { return cursor_.before(); } // where the last read began
  size_t left() const { return cursor_.left(); }
  bool failed() const { return cursor_.failed(); }

  uint32_t raw() { return cursor_.u32(); }
  int32_t word();
  int64_t long_word();
  std::string_view take(size_t size) { return cursor_.take(size); }
  // Reads a number of items that take at least `size` bytes each. Fails if the bytes that are left
  // cannot hold so many items. `of_what` names the items in the error.
  Result<uint32_t> count(std::string_view of_what, size_t size);
  // Reads -1, length, name, -1.
  Result<std::string_view> name();
  // Reads a name and the mark after it. Call it after the mark before the name, which has the same
  // value, has been read.
  Result<std::string_view> name_until(uint32_t mark);

  tl::unexpected<Error> error(size_t offset, std::string message) const;
  // Reports that the file ends within `what`. Call it if failed().
  tl::unexpected<Error> ends_within(std::string_view what) const;
  void add_finding(Severity severity, size_t offset, std::string message, std::string_view key);
  std::vector<Gcov3Oddity> take_oddities() { return std::move(oddities_); }

private:
  // Returns the name without its padding, and checks the padding. `bytes` holds both.
  std::string_view unpad(std::string_view bytes, size_t name_size);

  ByteCursor cursor_;
  std::string_view bytes_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  std::vector<Gcov3Oddity> oddities_;
};

class WordWriter {
public:
  void raw(uint32_t value);
  void word(int64_t value); // `value` fits in 31 bits and a sign
  void long_word(int64_t value);
  void bytes(std::string_view bytes) { out_ += bytes; }
  void padded_name(std::string_view name); // writes no marks
  void name(std::string_view name);        // writes -1, length, name, -1
  std::string finish(const std::vector<Gcov3Oddity> &oddities);

private:
  std::string out_;
};

// Reads the rest of the source. Files of 2 GiB and more are an error, so that numbers of rows fit
// in 31 bits.
Result<std::string> whole(ByteSource &source);
tl::unexpected<Error> refuse_other_graph(const std::string &source);
tl::unexpected<Error> no_counters(const Gcov3File &file);

} // namespace tally::gcov3
