#include "formats/firefox/frame_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tally::firefox {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the number that the digits are, or the largest one.
uint32_t number_of(std::string_view digits) {
  uint32_t number = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return fault == std::errc() ? number : UINT32_MAX;
}

// Removes the digits from the end of a text that has `before` before them.
std::optional<std::string_view> take_digits(std::string_view &text, char before) {
  size_t at = text.size();
  while (at > 0 && is_digit(text[at - 1]))
    --at;
  if (at == text.size() || at == 0 || text[at - 1] != before)
    return {};
  const std::string_view digits = text.substr(at);
  text = text.substr(0, at - 1);
  return digits;
}

std::optional<FrameText> address_text(std::string_view text) {
  if (!text.starts_with("0x"))
    return {};
  FrameText out;
  uint64_t address = 0;
  const auto [end, fault] =
      std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
  if (fault != std::errc() || end != text.data() + text.size())
    return {};
  out.address = address;
  return out;
}

// Reads "function (in library)", behind which an offset or a line may be.
std::optional<FrameText> native_text(std::string_view text) {
  constexpr std::string_view in = " (in ";
  const size_t at = text.rfind(in);
  if (at == text.npos)
    return {};
  const std::string_view behind = text.substr(at + in.size());
  const size_t end = behind.find(')');
  if (end == behind.npos)
    return {};
  const std::string_view rest = behind.substr(end + 1);
  const bool is_offset =
      rest.starts_with(" + ") && rest.size() > 3 && std::ranges::all_of(rest.substr(3), is_digit);
  const bool is_line = rest.starts_with(" (") && rest.ends_with(')') && rest.find(':') != rest.npos;
  if (!rest.empty() && !is_offset && !is_line)
    return {};
  FrameText out;
  out.name = text.substr(0, at);
  constexpr std::string_view thunk = "non-virtual thunk to ";
  if (out.name.starts_with(thunk))
    out.name.erase(0, thunk.size());
  out.object = behind.substr(0, end);
  return out;
}

// Reads "URL:LINE" or "URL:LINE:COLUMN".
std::optional<FrameText> place_text(std::string_view text) {
  const auto last = take_digits(text, ':');
  if (!last || text.empty())
    return {};
  std::string_view url = text;
  const auto line = take_digits(url, ':');
  FrameText out;
  const bool has_column = line && !url.empty();
  out.line = number_of(has_column ? *line : *last);
  // Scripts that load others are before the last arrow.
  out.file = has_column ? url : text;
  constexpr std::string_view arrow = " -> ";
  if (const size_t at = out.file.rfind(arrow); at != text.npos)
    out.file.remove_prefix(at + arrow.size());
  return out;
}

// Reads "function (URL:LINE:COLUMN)[SOURCE]", or the same without the function and the parentheses.
std::optional<FrameText> script_text(std::string_view text) {
  std::optional<uint32_t> source;
  if (text.ends_with(']')) {
    std::string_view before = text.substr(0, text.size() - 1);
    if (const auto digits = take_digits(before, '[')) {
      source = number_of(*digits);
      text = before;
    }
  }
  std::optional<FrameText> out;
  std::string_view name;
  if (const size_t open = text.rfind(" ("); open != text.npos && text.ends_with(')')) {
    name = text.substr(0, open);
    out = place_text(text.substr(open + 2, text.size() - open - 3));
  } else {
    out = place_text(text);
  }
  if (!out)
    return {};
  out->source_index = source;
  // The code of a file outside of all functions.
  out->name = name.empty() ? std::string("(root scope) ").append(out->file) : std::string(name);
  out->object = origin_of(out->file);
  return out;
}

} // namespace

std::string_view origin_of(std::string_view url) {
  constexpr std::array<std::string_view, 3> schemes{"http://", "https://", "moz-extension://"};
  for (const std::string_view scheme : schemes)
    if (url.starts_with(scheme))
      return url.substr(0, std::min(url.size(), url.find_first_of("/?#", scheme.size())));
  return url;
}

FrameText frame_text(std::string_view text) {
  if (auto out = address_text(text))
    return *out;
  if (auto out = native_text(text))
    return *out;
  if (auto out = script_text(text))
    return *out;
  FrameText out;
  out.name = text;
  return out;
}

} // namespace tally::firefox
