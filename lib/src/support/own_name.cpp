#include "support/own_name.h"

#include <algorithm>
#include <array>

#include "support/text.h"

namespace tally {

namespace {

// Returns whether `rest` begins with a suffix that may follow the parameters.
bool is_suffix(std::string_view rest) {
  constexpr std::array<std::string_view, 6> suffixes{" const", " volatile", " &",
                                                     " [",     " (",        " noexcept"};
  return std::ranges::any_of(suffixes,
                             [&](std::string_view each) { return rest.starts_with(each); });
}

} // namespace

std::string_view own_name(std::string_view name) {
  size_t begin = 0, end = name.npos; // the current component, up to its brackets
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && i == begin && name.substr(i).starts_with("operator"))
      return name.substr(i); // its brackets may be part of the name
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      if (depth++ == 0 && end == name.npos && c != '{')
        end = i;
    } else if (c == '>' || c == ')' || c == '}' || c == ']') {
      if (depth == 0)
        return name;
      constexpr std::string_view may_follow = " :(<[";
      if (--depth == 0 && i + 1 < name.size() && may_follow.find(name[i + 1]) == may_follow.npos)
        return name; // a Go name: main.(*T).f
    } else if (depth == 0 && c == ' ') {
      if (end != name.npos && is_suffix(name.substr(i)))
        break;
      begin = i + 1; // after the return type
      end = name.npos;
    } else if (depth == 0 && c == ':' && name.substr(i).starts_with("::")) {
      begin = ++i + 1;
      end = name.npos;
    }
  }
  const std::string_view own = name.substr(begin, std::min(end, name.size()) - begin);
  return depth > 0 || own.empty() ? name : own;
}

std::string_view without_return_type(std::string_view name) {
  constexpr std::string_view word = "operator", unnamed = "(anonymous namespace)";
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const std::string_view before = name.substr(0, i), rest = name.substr(i);
    if (depth == 0 && rest.starts_with(unnamed)) {
      i += unnamed.size() - 1;
    } else if (depth == 0 && rest.starts_with(word) && (i == begin || before.ends_with(':')) &&
               (rest.size() == word.size() || !is_word_character(rest[word.size()]))) {
      return name.substr(begin); // a blank or a bracket may be part of the name
    } else if (c == '(' && depth == 0 && !before.ends_with("decltype") &&
               !before.ends_with("decltype ")) {
      return i == begin ? name : name.substr(begin); // the parameters
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == '>' && !before.ends_with('-')) || c == ')' || c == ']' || c == '}') {
      if (depth-- == 0)
        return name;
    } else if (depth == 0 && c == ' ' && !before.ends_with("decltype")) {
      begin = i + 1;
    }
  }
  // A name without parameters and template arguments has no return type, whatever its blanks mean.
  return depth == 0 && name.find('<', begin) != name.npos ? name.substr(begin) : name;
}

} // namespace tally
