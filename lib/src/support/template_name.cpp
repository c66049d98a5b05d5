#include "support/template_name.h"

#include <algorithm>
#include <array>

namespace tally {

namespace {

// Returns the length of an operator's name at the begin of `text`, up to its template arguments and
// parameters; 0 if there is none.
size_t operator_length(std::string_view text) {
  constexpr std::string_view word = "operator";
  if (!text.starts_with(word))
    return 0;
  if (text.substr(word.size()).starts_with("()"))
    return word.size() + 2;
  const size_t end = text.find_first_not_of("<>=!-+*/%^&|~,[]", word.size());
  return std::min(end, text.size());
}

// Removes what is in brackets, except in the braces of lambda functions. Sets `has_arguments` if a
// part has template arguments.
std::string without_brackets(std::string_view name, bool &has_arguments) {
  std::string out;
  size_t depth = 0, braces = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (const size_t length = depth == 0 ? operator_length(name.substr(i)) : 0) {
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
  return out.substr(out.rfind(' ') + 1); // npos + 1 is 0
}

} // namespace tally
