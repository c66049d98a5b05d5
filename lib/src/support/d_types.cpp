#include <array>

#include <fmt/format.h>

#include "support/d_parser.h"

namespace tally {

namespace {

// By the letters from 'a' on.
constexpr std::array<std::string_view, 23> basic_d_types{
    "char",   "bool",    "creal", "double", "real",  "float",        "byte",   "ubyte",
    "int",    "ireal",   "uint",  "long",   "ulong", "typeof(null)", "ifloat", "idouble",
    "cfloat", "cdouble", "short", "ushort", "wchar", "void",         "dchar"};

} // namespace

void DName::enclosed(std::string &out, std::string_view around) {
  out += around;
  out += '(';
  type(out);
  out += ')';
}

void DName::type(std::string &out) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  if (peek() == 'Q') {
    type_reference(out, false);
    return;
  }
  if (is_d_linkage(peek())) {
    function_type(out);
    out += "function";
    return;
  }
  const char letter = next();
  switch (letter) {
  case 'O':
    enclosed(out, "shared");
    return;
  case 'x':
    enclosed(out, "const");
    return;
  case 'y':
    enclosed(out, "immutable");
    return;
  case 'N':
    if (take('g'))
      enclosed(out, "inout");
    else if (take('h'))
      enclosed(out, "__vector");
    else if (take('n'))
      out += "typeof(*null)";
    else
      fail();
    return;
  case 'A':
    type(out);
    out += "[]";
    return;
  case 'G': {
    const size_t begin = at_;
    while (is_d_digit(peek()))
      ++at_;
    const std::string_view length = name_.substr(begin, at_ - begin);
    type(out);
    out += fmt::format("[{}]", length);
    return;
  }
  case 'H': {
    std::string key;
    type(key);
    type(out);
    out += fmt::format("[{}]", key);
    return;
  }
  case 'P':
    if (is_d_linkage(peek())) {
      function_type(out);
      out += "function";
      return;
    }
    type(out);
    out += '*';
    return;
  case 'C':
  case 'S':
  case 'E':
  case 'T':
    if (!is_symbol() && peek() != '0')
      fail();
    qualified(out, false);
    return;
  case 'D': {
    const std::string of_this = modifiers();
    if (peek() == 'Q')
      type_reference(out, true);
    else
      function_type(out);
    out += "delegate" + of_this;
    return;
  }
  case 'B': {
    out += "Tuple!(";
    for (size_t left = number(); left > 0 && !is_exceeded(out); --left) {
      type(out);
      if (left > 1)
        out += ", ";
    }
    out += ')';
    return;
  }
  case 'z':
    if (take('i'))
      out += "cent";
    else if (take('k'))
      out += "ucent";
    else
      fail();
    return;
  default:
    break;
  }
  const auto index = static_cast<size_t>(letter - 'a');
  if (letter >= 'a' && index < basic_d_types.size())
    out += basic_d_types[index];
  else
    fail();
}

// References go backwards only, so that none refers to itself.
void DName::type_reference(std::string &out, bool is_function) {
  if (at_ >= earliest_) {
    fail();
    return;
  }
  const size_t outside = std::exchange(earliest_, at_);
  const size_t place = reference();
  at_place(place, [&] {
    if (failed_)
      return;
    if (is_function)
      function_type(out);
    else
      type(out);
  });
  earliest_ = outside;
}

std::string DName::modifiers() {
  std::string out;
  while (!failed_) {
    if (take('x'))
      return out + " const";
    if (take('y'))
      return out + " immutable";
    if (take('O'))
      out += " shared";
    else if (take("Ng"))
      out += " inout";
    else
      return out;
  }
  return out;
}

void DName::function_type(std::string &out) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  out += linkage();
  const std::string how = attributes();
  std::string arguments;
  parameters(arguments);
  type(out); // that it returns
  out += arguments + ' ' + how;
}

std::string_view DName::linkage() {
  if (take('F'))
    return "";
  if (take('U'))
    return "extern(C) ";
  if (take('W'))
    return "extern(Windows) ";
  if (take('V'))
    return "extern(Pascal) ";
  if (take('R'))
    return "extern(C++) ";
  if (take('Y'))
    return "extern(Objective-C) ";
  fail();
  return "";
}

std::string DName::attributes() {
  std::string out;
  while (peek() == 'N' && !failed_) {
    constexpr std::string_view letters = "abcdefijlm";
    constexpr std::string_view words[] = {"pure",  "nothrow", "ref",    "@property", "@trusted",
                                          "@safe", "@nogc",   "return", "scope",     "@live"};
    const size_t index = letters.find(peek(1));
    if (index == letters.npos)
      return out; // it belongs to the first parameter
    at_ += 2;
    out += fmt::format("{} ", words[index]);
  }
  return out;
}

void DName::parameters(std::string &out) {
  out += '(';
  for (bool first = true; !take('Z'); first = false) {
    if (is_exceeded(out) || at_ >= name_.size()) {
      fail();
      return;
    }
    if (take('X')) { // the last parameter takes any number
      out += "...)";
      return;
    }
    if (!first)
      out += ", ";
    if (take('Y')) { // any number of others may follow
      out += "...)";
      return;
    }
    if (take('M'))
      out += "scope ";
    if (take("Nk"))
      out += "return ";
    if (take('I'))
      out += take('K') ? "in ref " : "in ";
    else if (take('J'))
      out += "out ";
    else if (take('K'))
      out += "ref ";
    else if (take('L'))
      out += "lazy ";
    type(out);
  }
  out += ')';
}

} // namespace tally
