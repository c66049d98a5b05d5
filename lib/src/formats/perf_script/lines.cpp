#include "formats/perf_script/lines.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

namespace tally::perf_script {

namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view digits = "0123456789";
constexpr std::string_view hex_digits = "0123456789abcdef";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

bool is_made_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == text.npos;
}

template <class Number> bool read_number(std::string_view text, Number &value, int base = 10) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && fault == std::errc() && end == text.data() + text.size();
}

// Parses "1349.270032:", a time in seconds. A time that does not fit becomes UINT64_MAX.
std::optional<uint64_t> time_of(std::string_view word) {
  if (!word.ends_with(':'))
    return std::nullopt;
  word.remove_suffix(1);
  const size_t dot = word.find('.');
  if (dot == word.npos || !is_made_of(word.substr(0, dot), digits) ||
      !is_made_of(word.substr(dot + 1), digits))
    return std::nullopt;
  constexpr size_t most_digits = 9;
  const std::string_view behind = word.substr(dot + 1, most_digits);
  uint64_t ns = 0, fraction = 0;
  bool fits = read_number(word.substr(0, dot), ns) && read_number(behind, fraction);
  for (size_t i = behind.size(); i < most_digits; ++i)
    fraction *= 10;
  fits = fits && !__builtin_mul_overflow(ns, 1'000'000'000, &ns) &&
         !__builtin_add_overflow(ns, fraction, &ns);
  return fits ? ns : UINT64_MAX;
}

bool is_processor(std::string_view word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']' &&
         is_made_of(word.substr(1, word.size() - 2), digits);
}

// Parses "PID/TID", or a TID alone.
bool read_ids(std::string_view word, SampleLine &out) {
  const size_t slash = word.find('/');
  if (slash == word.npos) {
    out.pid = 0;
    return read_number(word, out.tid);
  }
  return read_number(word.substr(0, slash), out.pid) &&
         read_number(word.substr(slash + 1), out.tid);
}

// Returns the offset of the group in parentheses that ends the text and follows a blank, or npos if
// there is none. Paths may contain groups: "(/tmp/prog (deleted))".
size_t object_begin(std::string_view text) {
  if (!text.ends_with(')'))
    return text.npos;
  size_t depth = 0;
  for (size_t at = text.size(); at-- > 0;) {
    depth += text[at] == ')';
    depth -= text[at] == '(';
    if (depth == 0)
      return at == 0 || blanks.find(text[at - 1]) != blanks.npos ? at : text.npos;
  }
  return text.npos;
}

std::string_view without_offset(std::string_view symbol) {
  const size_t plus = symbol.rfind("+0x");
  return plus != symbol.npos && plus > 0 && is_made_of(symbol.substr(plus + 3), hex_digits)
             ? symbol.substr(0, plus)
             : symbol;
}

// Matches "prog[1130]".
bool is_address_in_file(std::string_view text) {
  const size_t open = text.rfind('[');
  return open != text.npos && open > 0 && text.ends_with(']') &&
         is_made_of(text.substr(open + 1, text.size() - open - 2), hex_digits);
}

std::string_view known(std::string_view name) { return name == "[unknown]" ? "" : name; }

// Returns the first words of the line. These words are enough to recognize a sample, because a
// command has at most 15 bytes and the other fields follow it.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr size_t most = 32;
  std::vector<std::string_view> out;
  for (size_t begin = line.find_first_not_of(blanks); begin != line.npos && out.size() < most;) {
    const size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return out;
}

// Parses the frame that follows the event in a sample without a stack. A data address may precede
// the frame. Returns nothing if the text is the fields of a tracepoint.
std::optional<FrameLine> frame_behind_event(std::string_view rest) {
  constexpr size_t shortest = 4;
  rest = trimmed(rest);
  const size_t end = std::min(rest.find_first_of(blanks), rest.size());
  if (end < shortest || !is_made_of(rest.substr(0, end), hex_digits))
    return std::nullopt;
  const std::string_view second = trimmed(rest.substr(end));
  const size_t second_end = std::min(second.find_first_of(blanks), second.size());
  if (second_end < second.size() && second_end >= shortest &&
      is_made_of(second.substr(0, second_end), hex_digits))
    return frame_line(second);
  if (second_end < second.size() && !second.ends_with(')'))
    return std::nullopt;
  return frame_line(rest);
}

// Parses the fields after the ids. `words` are the words of the line, and `next` is the index of
// the first one after the ids.
bool read_behind_ids(std::string_view line, std::span<const std::string_view> words, size_t next,
                     SampleLine &out) {
  const auto word = [&] { return next < words.size() ? words[next] : std::string_view(); };
  if (is_processor(word()))
    ++next;
  out.time_ns = time_of(word());
  if (out.time_ns)
    ++next;
  if (word().starts_with("PERF_RECORD_")) {
    out.is_record = true;
    return true;
  }
  size_t event = next;
  int64_t period = 0;
  if (read_number(word(), period) && period >= 0) {
    out.period = period;
    ++event;
  }
  // A name may end in a number: the line "pool 12 3456 1.5:" belongs to thread 3456 with the name
  // "pool 12". If 12 were the thread, the time "1.5:" would stand where an event's name is
  // expected.
  if (event < words.size() && words[event].size() > 1 && words[event].ends_with(':') &&
      !time_of(words[event])) {
    out.event = words[event].substr(0, words[event].size() - 1);
    next = event + 1;
  } else {
    out.period.reset();
    if (!out.time_ns)
      return next == words.size();
  }
  if (next < words.size()) {
    out.frame =
        frame_behind_event(line.substr(static_cast<size_t>(words[next].data() - line.data())));
    return !out.event.empty() || out.frame;
  }
  return true;
}

} // namespace

std::optional<FrameLine> frame_line(std::string_view line) {
  line = trimmed(line);
  const size_t end = std::min(line.find_first_of(blanks), line.size());
  FrameLine out;
  if (!is_made_of(line.substr(0, end), hex_digits) ||
      !read_number(line.substr(0, end), out.address, 16))
    return std::nullopt;
  std::string_view rest = trimmed(line.substr(end));
  if (const size_t object = object_begin(rest); object != rest.npos) {
    out.object = known(rest.substr(object + 1, rest.size() - object - 2));
    rest = trimmed(rest.substr(0, object));
    out.inlined = out.object == "inlined";
    if (out.inlined)
      out.object = {};
  }
  out.symbol = known(without_offset(rest));
  return out;
}

std::optional<SampleLine> sample_line(std::string_view line, bool bare) {
  line = trimmed(line);
  const std::vector<std::string_view> words = words_of(line);
  // A command may contain blanks and numbers. The id is the first number after which the rest of
  // the line is valid.
  for (size_t i = 1; i <= words.size(); ++i) {
    const size_t at = i % words.size(); // the first word is tried last, as there may be no command
    SampleLine out;
    if (!read_ids(words[at], out) || !read_behind_ids(line, words, at + 1, out))
      continue;
    if (!out.time_ns && out.event.empty() && (!bare || at == 0))
      continue;
    out.command = trimmed(line.substr(0, static_cast<size_t>(words[at].data() - line.data())));
    return out;
  }
  return std::nullopt;
}

std::optional<SourceLineText> source_line(std::string_view line) {
  constexpr std::string_view indent = "  ";
  if (!line.starts_with(indent) || line.find_first_not_of(blanks) != indent.size())
    return std::nullopt;
  line = trimmed(line);
  if (const size_t discriminator = line.find(" (discriminator "); discriminator != line.npos)
    line = line.substr(0, discriminator);
  SourceLineText out;
  out.has_blank = line.find_first_of(blanks) != line.npos;
  if (is_address_in_file(line))
    return out;
  const size_t colon = line.rfind(':');
  if (colon == line.npos || !read_number(line.substr(colon + 1), out.line))
    return std::nullopt;
  if (colon == 0 || line.substr(0, colon) == "??") // an unknown source is "??:0" or ":0"
    out.line = 0;
  else
    out.file = line.substr(0, colon);
  return out;
}

} // namespace tally::perf_script
