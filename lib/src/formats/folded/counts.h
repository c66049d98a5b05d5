// The lines of folded stacks and their counts, for the reader and the writer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"
#include "transform/difference.h"

namespace tally::folded {

// A unit of counts. Counts with fractions are kept as whole numbers of a smaller unit, which the
// value's name states. There is only one smaller unit, so that the value has the same name for
// files with different numbers of digits.
struct Unit {
  unsigned decimals;
  std::string_view prefix;
  std::string_view name; // as value_text() knows it
};
inline constexpr std::array<Unit, 2> units{{{0, "", "count"}, {9, "nano", "billionths"}}};

inline std::string ticks_name(const Unit &unit) { return std::string(unit.prefix) + "ticks"; }
// Return the names of the two values of the differential form, which has two counts per line.
inline std::string before_name(const Unit &unit) { return tally::before_name(ticks_name(unit)); }
inline std::string after_name(const Unit &unit) { return tally::after_name(ticks_name(unit)); }

inline constexpr std::array<int64_t, 10> powers_of_ten{
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

struct Count {
  int64_t value = 0;     // in units of 10^-decimals
  unsigned decimals = 0; // without trailing zeros; at most those of the smallest unit
  bool rounded = false;  // true if the text has more decimals
};
// Parses "12" or "1.5". An error has neither a source nor a position; the caller adds them.
Result<Count> parse_count(std::string_view text);

bool is_skipped(std::string_view line);
// Returns where the last word begins, or npos if there is nothing before it.
size_t last_word(std::string_view line);
std::string_view without_blanks_behind(std::string_view text);

// Says whether the stacks of a text end in one count or in two. The text has other whole lines than
// stacks only if at least half of the lines are stacks, and one has a callee.
enum class Form : uint8_t { other, one_count, two_counts };
Form form_of(std::string_view head);
// form_head() returns the beginning of the text that determines its form: form_bytes, or more if
// these do not hold the whole first line.
inline constexpr size_t form_bytes = size_t{64} << 10;
std::string_view form_head(std::string_view text);

} // namespace tally::folded
