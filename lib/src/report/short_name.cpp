#include <array>

#include "report/render.h"

namespace tally {

namespace {

// After the word `operator`, these symbols are a part of the name and not brackets.
constexpr std::array<std::string_view, 12> operators{"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                                     "<=",  ">=",  "->",  "()",  "<",  ">"};

size_t operator_length(std::string_view name, size_t at) {
  constexpr std::string_view word = "operator";
  if (!name.substr(at).starts_with(word))
    return 0;
  for (std::string_view symbol : operators)
    if (name.substr(at + word.size()).starts_with(symbol))
      return word.size() + symbol.size();
  return 0;
}

// Replaces the text between each outermost pair of brackets by `shorter` of it. "(anonymous
// namespace)" and similar names are kept. Returns `name` unchanged if the brackets do not match.
template <class Shorter>
std::string replaced(std::string_view name, char open, char close, Shorter shorter) {
  std::string out;
  size_t depth = 0, inside = 0; // `inside` is where the text between the outermost brackets begins
  for (size_t i = 0; i < name.size(); ++i) {
    if (const size_t length = operator_length(name, i); length > 0) {
      if (depth == 0)
        out += name.substr(i, length);
      i += length - 1;
      continue;
    }
    const char c = name[i];
    const bool arrow = c == '>' && i > 0 && name[i - 1] == '-';
    if (c == open) {
      const std::string_view rest = name.substr(i);
      if (depth == 0 &&
          (rest.starts_with("(anonymous namespace)") || rest.starts_with("(below main)") ||
           rest.starts_with("(recursive)") || rest.starts_with("()"))) {
        const size_t end = rest.find(')') + 1;
        out += rest.substr(0, end);
        i += end - 1;
        continue;
      }
      if (depth++ == 0) {
        out += open;
        inside = i + 1;
      }
    } else if (c == close && !arrow && depth > 0) {
      if (--depth == 0) {
        out += shorter(name.substr(inside, i - inside));
        out += close;
      }
    } else if (depth == 0) {
      out += c;
    }
  }
  return depth == 0 ? out : std::string(name);
}

std::string without(std::string_view name, char open, char close) {
  return replaced(name, open, close, [](std::string_view) { return "…"; });
}

// Returns the first of template arguments, without those of its own.
std::string first_argument(std::string_view arguments) {
  size_t depth = 0, end = 0;
  for (; end < arguments.size() && (depth > 0 || arguments[end] != ','); ++end) {
    const char c = arguments[end];
    const bool arrow = c == '>' && end > 0 && arguments[end - 1] == '-';
    if (c == '<' || c == '(' || c == '{')
      ++depth;
    else if ((c == '>' && !arrow) || c == ')' || c == '}')
      depth -= depth > 0;
  }
  return without(arguments.substr(0, end), '<', '>') + (end < arguments.size() ? ", …" : "");
}

} // namespace

size_t display_width(std::string_view text) {
  size_t columns = 0;
  for (char c : text)
    columns += begins_character(c);
  return columns;
}

std::string short_name(std::string_view name, size_t width) {
  if (display_width(name) <= width)
    return std::string(name);
  std::string first = replaced(name, '<', '>', first_argument);
  if (display_width(first) <= width)
    return first;
  if (std::string shorter = without(first, '(', ')'); display_width(shorter) <= width)
    return shorter;
  return without(without(name, '<', '>'), '(', ')');
}

} // namespace tally
