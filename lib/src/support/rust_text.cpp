#include "support/rust_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "support/sort.h"

namespace tally {

namespace {

// Returns the length of "_ZN…17h0123456789abcdefE" if the name begins like this. The hash has at
// least five different digits, so that a C++ name can hardly look like this.
std::optional<size_t> legacy_end(std::string_view name) {
  size_t at = name.starts_with("_ZN") ? 3 : name.size();
  std::string_view last;
  size_t parts = 0;
  while (at < name.size() && name[at] != 'E') {
    size_t size = 0;
    if (!is_rust_digit(name[at]))
      return std::nullopt;
    while (at < name.size() && is_rust_digit(name[at]) && size < name.size())
      size = size * 10 + static_cast<size_t>(name[at++] - '0');
    if (size == 0 || size > name.size() - at)
      return std::nullopt;
    last = name.substr(at, size);
    at += size;
    ++parts;
  }
  if (at >= name.size() || parts < 2 || last.size() != 17 || last[0] != 'h' ||
      !std::ranges::all_of(last.substr(1), is_hex_digit))
    return std::nullopt;
  std::string digits(last.substr(1));
  sort_stably(digits);
  if (std::unique(digits.begin(), digits.end()) - digits.begin() < 5)
    return std::nullopt;
  return at + 1;
}

} // namespace

void put_old_rust(std::string_view part, std::string &out) {
  static constexpr std::pair<std::string_view, std::string_view> escapes[] = {
      {"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
      {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","},
  };
  if (part.starts_with("_$"))
    part.remove_prefix(1);
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out += "::";
      part.remove_prefix(2);
      continue;
    }
    const size_t end = part[0] == '$' ? part.find('$', 1) : part.npos;
    if (end != part.npos) {
      const std::string_view code = part.substr(1, end - 1);
      const auto *known =
          std::ranges::find(escapes, code, &std::pair<std::string_view, std::string_view>::first);
      uint64_t point = 0;
      bool valid = code.size() > 1 && code.size() < 8 && code[0] == 'u';
      for (const char c : code.substr(valid ? 1 : code.size())) {
        valid &= is_hex_digit(c);
        point = point << 4 | static_cast<uint64_t>(is_rust_digit(c) ? c - '0' : c - 'a' + 10);
      }
      if (known != std::end(escapes)) {
        out += known->second;
        part.remove_prefix(end + 1);
        continue;
      }
      if (valid && point >= 0x20 && put_utf8(point, out)) {
        part.remove_prefix(end + 1);
        continue;
      }
    }
    out += part[0];
    part.remove_prefix(1);
  }
}

bool put_utf8(uint64_t code, std::string &out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return false;
  const auto byte = [&](uint64_t bits) { out += static_cast<char>(static_cast<uint8_t>(bits)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
  return true;
}

bool put_punycode(std::string_view text, std::string &out) {
  constexpr size_t longest = 512; // an insertion costs the length
  const size_t dash = text.rfind('_');
  std::vector<uint64_t> points;
  if (dash != text.npos) {
    points.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dash));
    text.remove_prefix(dash + 1);
  }
  uint64_t code = 128, at = 0, bias = 72;
  bool first = true;
  while (!text.empty()) {
    uint64_t delta = 0, weight = 1;
    for (uint64_t k = 36;; k += 36) {
      if (text.empty() || weight > UINT32_MAX)
        return false;
      const char c = text[0];
      text.remove_prefix(1);
      if (!is_rust_digit(c) && !(c >= 'a' && c <= 'z'))
        return false;
      const auto digit = static_cast<uint64_t>(is_rust_digit(c) ? c - '0' + 26 : c - 'a');
      delta += digit * weight;
      const uint64_t threshold = k <= bias ? 1 : std::min<uint64_t>(k - bias, 26);
      if (digit < threshold)
        break;
      weight *= 36 - threshold;
    }
    if (delta > UINT32_MAX || points.size() >= longest)
      return false;
    const uint64_t count = points.size() + 1;
    at += delta;
    code += at / count;
    at %= count;
    points.insert(points.begin() + static_cast<std::ptrdiff_t>(at), code);
    ++at;
    uint64_t adapted = first ? delta / 700 : delta / 2;
    first = false;
    adapted += adapted / count;
    uint64_t k = 0;
    for (; adapted > 35 * 26 / 2; k += 36)
      adapted /= 35;
    bias = k + 36 * adapted / (adapted + 38);
  }
  return std::ranges::all_of(points, [&](uint64_t point) { return put_utf8(point, out); });
}

bool demangle_old_rust(std::string_view name, std::string &out) {
  const auto end = legacy_end(name);
  if (!end || (*end < name.size() && name[*end] != '.'))
    return false;
  constexpr size_t hash = 2 + 17 + 1;
  std::string_view rest = name.substr(3, *end - 3 - hash);
  while (!rest.empty()) {
    size_t size = 0;
    while (is_rust_digit(rest[0])) {
      size = size * 10 + static_cast<size_t>(rest[0] - '0');
      rest.remove_prefix(1);
    }
    if (!out.empty())
      out += "::";
    put_old_rust(rest.substr(0, size), out);
    rest.remove_prefix(size);
  }
  return true;
}

} // namespace tally
