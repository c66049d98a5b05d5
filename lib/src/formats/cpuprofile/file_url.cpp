#include "formats/cpuprofile/file_url.h"

#include <cstddef>
#include <optional>

namespace tally::cpuprofile {

namespace {

constexpr std::string_view scheme = "file://";
constexpr std::string_view digits = "0123456789ABCDEF";

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~/!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

std::optional<unsigned> digit_of(char c) {
  if (c >= 'a' && c <= 'f')
    c = static_cast<char>(c - 'a' + 'A');
  const size_t at = digits.find(c);
  return at == digits.npos ? std::nullopt : std::optional(static_cast<unsigned>(at));
}

} // namespace

std::string url_of(std::string_view path) {
  if (!path.starts_with('/'))
    return std::string(path);
  std::string out(scheme);
  for (const char c : path) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 0xF];
  }
  return out;
}

std::string path_of(std::string_view url) {
  if (!url.starts_with("file:///"))
    return std::string(url);
  url.remove_prefix(scheme.size());
  std::string out;
  for (size_t i = 0; i < url.size(); ++i) {
    if (url[i] == '%' && i + 2 < url.size()) {
      const auto high = digit_of(url[i + 1]), low = digit_of(url[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    out += url[i];
  }
  return out;
}

} // namespace tally::cpuprofile
