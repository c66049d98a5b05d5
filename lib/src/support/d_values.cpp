#include <cstdint>

#include <fmt/format.h>

#include "support/d_parser.h"

namespace tally {

namespace {

bool is_d_hex(char c) { return is_d_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }

} // namespace

void DName::value(std::string &out, std::string_view type_name, char type_letter) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  if (is_d_digit(peek())) { // early versions of D wrote no 'i'
    integer(out, type_letter);
    return;
  }
  switch (peek()) {
  case 'a':
  case 'w':
  case 'd':
    string_literal(out);
    return;
  default:
    break;
  }
  switch (next()) {
  case 'n':
    out += "null";
    return;
  case 'N':
    out += '-';
    [[fallthrough]];
  case 'i':
    integer(out, type_letter);
    return;
  case 'e':
    real(out);
    return;
  case 'c':
    real(out);
    out += '+';
    failed_ |= !take('c');
    real(out);
    out += 'i';
    return;
  case 'A':
    out += '[';
    values(out, type_letter == 'H');
    out += ']';
    return;
  case 'S':
    out += type_name;
    out += '(';
    values(out, false);
    out += ')';
    return;
  case 'f':
    mangled_name(out);
    return;
  default:
    fail();
  }
}

void DName::values(std::string &out, bool with_keys) {
  for (size_t left = number(); left > 0 && !is_exceeded(out); --left) {
    value(out, {}, '\0');
    if (with_keys) {
      out += ':';
      value(out, {}, '\0');
    }
    if (left > 1)
      out += ", ";
  }
}

void DName::integer(std::string &out, char type_letter) {
  if (type_letter == 'a' || type_letter == 'u' || type_letter == 'w') {
    character(out, type_letter);
    return;
  }
  const size_t begin = at_;
  while (is_d_digit(peek()))
    ++at_;
  const std::string_view digits = name_.substr(begin, at_ - begin);
  if (digits.empty())
    fail();
  if (type_letter == 'b') {
    out += digits.find_first_not_of('0') == digits.npos ? "false" : "true";
    return;
  }
  out += digits;
  if (type_letter == 'h' || type_letter == 't' || type_letter == 'k')
    out += 'u';
  else if (type_letter == 'l')
    out += 'L';
  else if (type_letter == 'm')
    out += "uL";
}

void DName::character(std::string &out, char type_letter) {
  uint32_t code = 0;
  if (!is_d_digit(peek()))
    fail();
  for (; is_d_digit(peek()); ++at_)
    code = code * 10 + static_cast<uint32_t>(peek() - '0');
  if (type_letter == 'a' && code >= ' ' && code < 0x7F)
    out += fmt::format("'{}'", static_cast<char>(code));
  else if (type_letter == 'a')
    out += fmt::format("'\\x{:02x}'", code);
  else if (type_letter == 'u')
    out += fmt::format("'\\u{:04x}'", code);
  else
    out += fmt::format("'\\U{:08x}'", code);
}

void DName::real(std::string &out) {
  if (take("NAN")) {
    out += "NaN";
    return;
  }
  if (take("INF")) {
    out += "Inf";
    return;
  }
  if (take("NINF")) {
    out += "-Inf";
    return;
  }
  if (take('N'))
    out += '-';
  if (!is_d_hex(peek())) {
    fail();
    return;
  }
  out += fmt::format("0x{}.", peek());
  for (++at_; is_d_hex(peek()); ++at_)
    out += peek();
  if (!take('P'))
    fail();
  out += 'p';
  if (take('N'))
    out += '-';
  for (; is_d_digit(peek()); ++at_)
    out += peek();
}

void DName::string_literal(std::string &out) {
  const char kind = next();
  size_t left = number();
  if (!take('_'))
    fail();
  out += '"';
  for (; left > 0 && !is_exceeded(out); --left) {
    if (!is_d_hex(peek()) || !is_d_hex(peek(1))) {
      fail();
      return;
    }
    const std::string_view hex = name_.substr(at_, 2);
    const auto digit = [](char c) { return is_d_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; };
    const char c = static_cast<char>(digit(hex[0]) * 16 + digit(hex[1]));
    at_ += 2;
    constexpr std::string_view escaped = "\t\n\r\f\v", letters = "tnrfv";
    if (const size_t index = escaped.find(c); index != escaped.npos)
      out += {'\\', letters[index]};
    else if (c >= ' ' && c < 0x7F)
      out += c;
    else
      out += fmt::format("\\x{}", hex);
  }
  out += '"';
  if (kind != 'a')
    out += kind;
}

} // namespace tally
