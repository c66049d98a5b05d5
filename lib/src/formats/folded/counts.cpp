#include "formats/folded/counts.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "support/line_blocks.h"

namespace tally::folded {

namespace {

constexpr std::string_view digits = "0123456789";

// Returns whether the word is a count: "12", "1.5" or "1.".
bool is_count(std::string_view word) {
  const size_t end = std::min(word.find_first_not_of(digits), word.size());
  return end > 0 && (end == word.size() ||
                     (word[end] == '.' && word.find_first_not_of(digits, end + 1) == word.npos));
}

} // namespace

Result<Count> parse_count(std::string_view text) {
  if (!is_count(text))
    return fail(ErrorCode::invalid_input, fmt::format("expected a count, found '{}'", text));
  const auto too_large = [&] {
    return fail(ErrorCode::invalid_input,
                fmt::format("the count {} does not fit in 63 bits", text));
  };
  Count out;
  const size_t dot = std::min(text.find('.'), text.size());
  if (std::from_chars(text.data(), text.data() + dot, out.value).ec != std::errc())
    return too_large();
  std::string_view fraction = text.substr(std::min(dot + 1, text.size()));
  fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  constexpr size_t most = units.back().decimals;
  out.rounded = fraction.size() > most;
  const bool up = out.rounded && fraction[most] >= '5';
  for (const char digit : fraction.substr(0, most))
    if (__builtin_mul_overflow(out.value, int64_t{10}, &out.value) ||
        __builtin_add_overflow(out.value, int64_t{digit - '0'}, &out.value))
      return too_large();
  out.decimals = static_cast<unsigned>(std::min(fraction.size(), most));
  if (up && __builtin_add_overflow(out.value, int64_t{1}, &out.value))
    return too_large();
  return out;
}

bool is_skipped(std::string_view line) {
  return line.find_first_not_of(" \t") == line.npos || line.starts_with('#');
}

size_t last_word(std::string_view line) {
  const size_t blank = line.find_last_of(" \t");
  if (blank == line.npos || blank == 0 || blank + 1 == line.size())
    return line.npos;
  return blank + 1;
}

std::string_view without_blanks_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

Form form_of(std::string_view head) {
  bool two = true;
  size_t stacks = 0, others = 0;
  bool has_callee = false;
  // Check every line, because other formats have single lines that end in a number ("version: 1").
  // A stray line among stacks with callees is an error of the file. A last line without a line
  // break may be incomplete, so it is checked only if there is no other line.
  while (!head.empty() && (stacks + others == 0 || head.find('\n') != head.npos)) {
    const std::string_view line = next_line(head);
    if (is_skipped(line))
      continue;
    const size_t count = last_word(line);
    if (count == line.npos || !is_count(line.substr(count))) {
      ++others;
      continue;
    }
    const std::string_view before = without_blanks_behind(line.substr(0, count));
    const size_t first = last_word(before);
    two = two && first != before.npos && is_count(before.substr(first));
    ++stacks;
    has_callee |= before.find(';') != before.npos;
  }
  if (stacks == 0 || (others != 0 && (others > stacks || !has_callee)))
    return Form::other;
  return two ? Form::two_counts : Form::one_count;
}

std::string_view form_head(std::string_view text) {
  size_t size = form_bytes;
  while (size < text.size() && text.substr(0, size).find('\n') == text.npos)
    size *= 2;
  return text.substr(0, size);
}

} // namespace tally::folded
