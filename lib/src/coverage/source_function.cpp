#include "coverage/source_function.h"

#include <algorithm>

#include "support/demangle.h"
#include "support/text.h"

namespace tally {

namespace {

constexpr std::string_view anonymous = "(anonymous namespace)";

// If the name of an operator with brackets or angle brackets begins at `at`, returns its length,
// otherwise 0.
size_t operator_at(std::string_view text, size_t at) {
  constexpr std::string_view word = "operator";
  if (!text.substr(at).starts_with(word) || (at > 0 && is_word_character(text[at - 1])))
    return 0;
  const std::string_view rest = text.substr(at + word.size());
  for (const std::string_view symbol :
       {"()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"})
    if (rest.starts_with(symbol))
      return word.size() + symbol.size();
  return 0;
}

// Removes the brackets of one kind and the text between them. Sets `any` if there are such
// brackets.
std::string without(std::string_view text, char open, char close, bool &any) {
  std::string out;
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    size_t whole = operator_at(text, at);
    if (text.substr(at).starts_with(anonymous))
      whole = anonymous.size();
    if (whole > 0) {
      if (depth == 0)
        out += text.substr(at, whole);
      at += whole - 1;
    } else if (text[at] == open) {
      ++depth;
      any = true;
    } else if (text[at] == close && depth > 0) {
      --depth;
    } else if (depth == 0) {
      out += text[at];
    }
  }
  return out;
}

// Returns the offset of the parameters, or the text's size if there are none.
size_t parameters_of(std::string_view text) {
  size_t at = text.rfind(')');
  for (size_t depth = 0; at != text.npos && at < text.size(); --at) {
    depth += text[at] == ')';
    if (text[at] == '(' && --depth == 0)
      return at;
  }
  return text.size();
}

// Removes the return type, which ends with a blank outside of brackets. Other blanks outside of
// brackets follow "operator", or precede a qualifier of an enclosing function ("f() const::g") or
// template arguments.
std::string_view without_return_type(std::string_view name) {
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (const size_t whole = operator_at(name, at); whole > 0) {
      at += whole - 1;
      continue;
    }
    const char c = name[at];
    depth += (c == '<' || c == '(' || c == '{' || c == '[');
    depth -= (c == '>' || c == ')' || c == '}' || c == ']');
    if (c != ' ' || depth != 0)
      continue;
    const std::string_view before = name.substr(0, at), rest = name.substr(at + 1);
    if (before.ends_with("operator"))
      break;
    // These blanks are part of the name, as in "operator<< <int>".
    if (!rest.starts_with('<') && !rest.starts_with("const::") && !rest.starts_with("&::") &&
        !rest.starts_with("&&::"))
      begin = at + 1;
  }
  return name.substr(begin);
}

} // namespace

std::string source_function(std::string_view name) {
  std::string text = demangled(name);
  if (text == name)
    return text;
  const size_t end = parameters_of(text);
  bool is_instance = false, has_parameters = false;
  std::string out =
      without(without_return_type(std::string_view(text).substr(0, end)), '<', '>', is_instance);
  out = without(out, '(', ')', has_parameters); // parameters of enclosing functions and lambdas
  if (!is_instance)
    out += without(std::string_view(text).substr(end), '<', '>', is_instance);
  return out;
}

} // namespace tally
