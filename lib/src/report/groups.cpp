#include "report/groups.h"

#include "support/rust_text.h"

namespace tally {

namespace {

constexpr std::string_view unnamed = "(anonymous namespace)";

// Returns the first component of a path of Rust's, as in "&mut alloc::vec::Vec<T>"; "" if the text
// is not a path of several components.
std::string_view first_of_path(std::string_view text) {
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view before : {"&", "*", "[", "(", "mut ", "const ", "dyn ", " "})
      if (text.starts_with(before)) {
        text.remove_prefix(before.size());
        more = true;
      }
  }
  const size_t end = text.find("::");
  if (end == text.npos || text.substr(0, end).find_first_of("<>()[]{},; ") != text.npos)
    return {};
  return text.substr(0, end);
}

// Returns the crate in "<TYPE as TRAIT>::function".
std::string crate_of_implementation(std::string_view function) {
  constexpr std::string_view as = " as ";
  int depth = 0;
  size_t trait = function.npos;
  for (size_t i = 0; i < function.size(); ++i) {
    depth += function[i] == '<';
    depth -= function[i] == '>' && function[i - 1] != '-';
    if (depth == 1 && trait == function.npos && function.substr(i).starts_with(as))
      trait = i + as.size();
    if (depth == 0)
      break;
  }
  const std::string_view of_type = first_of_path(function.substr(1));
  return std::string(
      of_type.empty() && trait != function.npos ? first_of_path(function.substr(trait)) : of_type);
}

std::string package_of(std::string_view function) {
  const size_t slash = function.rfind('/', function.find('('));
  const size_t dot = function.find('.', slash == function.npos ? 0 : slash);
  return std::string(dot == function.npos ? std::string_view() : function.substr(0, dot));
}

} // namespace

std::string qualified_name(std::string_view function) {
  constexpr std::string_view call_operator = "operator()";
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    const std::string_view rest = function.substr(i);
    if (depth == 0 && rest.starts_with(call_operator))
      return out.append(call_operator);
    if (depth == 0 && rest.starts_with(unnamed)) {
      out += unnamed;
      i += unnamed.size() - 1;
      continue;
    }
    const bool arrow = c == '>' && i > 0 && function[i - 1] == '-';
    const std::string_view before = function.substr(0, i);
    const bool in_type = before.ends_with("decltype") || before.ends_with("decltype ");
    if (depth == 0 && c == '(' && !in_type)
      return out;
    if (depth == 0 && c == ' ' && (out.ends_with("operator") || rest.starts_with(" [clone")))
      return out;
    if (c == '<' || c == '(' || c == '[' || c == '{')
      ++depth;
    else if ((c == '>' && !arrow) || c == ')' || c == ']' || c == '}')
      --depth;
    else if (depth == 0 && c == ' ')
      out.clear(); // the text before the blank is the return type
    else if (depth == 0)
      out += c;
    if (depth == 0 && out == "std::__1::")
      out = "std::";
  }
  return out;
}

std::string namespace_of(std::string_view function, std::string_view file) {
  if (file.ends_with(".go") || file.ends_with(".s"))
    return package_of(function);
  if (function.starts_with('<'))
    return crate_of_implementation(function);
  if (function.starts_with("_$LT$")) { // of Rust's first mangling
    std::string path;
    put_old_rust(function, path);
    return crate_of_implementation(path);
  }
  if (function.starts_with('[')) // "[kernel]", "[unknown]"
    return {};
  const std::string name = qualified_name(function);
  const size_t end = name.find("::");
  if (end == name.npos)
    return {};
  // The brackets of a lambda are left out. It is inside a function, "main::{lambda()#1}", and Clang
  // writes "main::$_0" or "main::'lambda'()".
  const std::string_view inner = std::string_view(name).substr(end + 2);
  const bool is_local = inner.empty() || inner.find_first_of(":$'") == 0;
  return is_local ? std::string() : name.substr(0, end);
}

std::string directory_of(std::string_view file) {
  if (file.empty() || file == "???") // as Valgrind writes it
    return {};
  const size_t slash = file.rfind('/');
  return std::string(slash == file.npos ? "." : slash == 0 ? "/" : file.substr(0, slash));
}

std::string_view row_title(By by) {
  switch (by) {
  case By::function:
  case By::line:
    break;
  case By::object:
    return "object";
  case By::thread:
    return "thread";
  case By::part:
    return "part";
  case By::name_space:
    return "namespace";
  case By::directory:
    return "directory";
  case By::process:
    return "process";
  }
  return "function";
}

std::string_view shown_group(By by, std::string_view name, std::string_view object) {
  if (by == By::name_space)
    return name.empty() ? "[global]" : name;
  const std::string_view shown = by == By::object ? object : name;
  return shown.empty() ? "[unknown]" : shown;
}

} // namespace tally
