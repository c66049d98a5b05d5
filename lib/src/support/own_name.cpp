#include "support/own_name.h"

#include <algorithm>
#include <array>

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

} // namespace tally
