#include "support/template_name.h"

#include <algorithm>
#include <array>

namespace tally {

namespace {

// Returns the length of an operator's name at the beginning of `text`, up to its template arguments
// and parameters; 0 if there is none. The demangler writes a blank after "operator<".
size_t operator_length(std::string_view text) {
  constexpr std::string_view word = "operator";
  constexpr std::array<std::string_view, 40> symbols{
      "<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "==",  "!=", "&&",
      "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",   ">",  "=",
      "!",   "-",   "+",   "*",   "/",  "%",  "^",  "~",  "&",  "|",  ",",  "\"\""};
  if (!text.starts_with(word))
    return 0;
  for (const std::string_view symbol : symbols)
    if (text.substr(word.size()).starts_with(symbol))
      return word.size() + symbol.size();
  return 0;
}

bool is_in_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Removes what is in brackets, except in the braces of lambda functions. Sets `has_arguments` if a
// part has template arguments.
std::string without_brackets(std::string_view name, bool &has_arguments) {
  std::string out;
  size_t depth = 0, braces = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool begins = depth == 0 && (i == 0 || !is_in_word(name[i - 1]));
    if (const size_t length = begins ? operator_length(name.substr(i)) : 0) {
      out += name.substr(i, length);
      i += length - 1;
    } else if (c == '<' || c == '(' || c == '[') {
      has_arguments |= depth++ == 0 && c == '<';
    } else if (c == ')' || c == ']' || (c == '>' && (i == 0 || name[i - 1] != '-'))) {
      depth -= std::min<size_t>(depth, 1);
    } else if (depth == 0) {
      braces += c == '{' ? 1 : 0;
      braces -= c == '}' ? std::min<size_t>(braces, 1) : 0;
      if (c != ' ' || braces == 0) // "{unnamed type#1}" is one word
        out += c;
    }
  }
  return out;
}

} // namespace

std::string template_name(std::string_view name) {
  bool has_arguments = false;
  std::string out = without_brackets(name, has_arguments);
  if (!has_arguments)
    return std::string(name);
  constexpr std::array<std::string_view, 6> suffixes{" const", " volatile", " &",
                                                     " &&",    " noexcept", " "};
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view suffix : suffixes)
      if (out.ends_with(suffix)) {
        out.resize(out.size() - suffix.size());
        found = true;
      }
  }
  // The type of a conversion operator is a part of its name. npos + 1 is 0.
  return out.substr(out.rfind(' ', out.find("operator ")) + 1);
}

} // namespace tally
