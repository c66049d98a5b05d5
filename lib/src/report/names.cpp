#include "report/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/own_name.h"
#include "support/sort.h"
#include "support/template_name.h"
#include "support/text.h"

namespace tally {

std::string_view without_level(std::string_view function) {
  const size_t quote = function.rfind('\'');
  const bool level = quote != function.npos && quote + 1 < function.size() &&
                     function.find_first_not_of("0123456789", quote + 1) == function.npos;
  return level ? function.substr(0, quote) : function;
}

namespace {

// Returns whether the rest of a function's name begins with parameters, Callgrind's suffix or an
// ABI tag, or is empty.
bool ends_name(std::string_view rest) {
  return rest.empty() || rest[0] == '(' || rest[0] == '\'' || rest[0] == '[';
}

bool is_exactly(std::string_view function, std::string_view wanted) {
  const auto is = [&](std::string_view name) {
    return name.starts_with(wanted) && ends_name(name.substr(wanted.size()));
  };
  return is(function) || is(without_return_type(function));
}

// Returns whether `wanted` is the end of the function's qualified name. Names within template
// arguments and parameters do not count.
bool has_component(std::string_view function, std::string_view wanted) {
  for (size_t at = function.find(wanted); at != function.npos; at = function.find(wanted, at + 1)) {
    const std::string_view before = function.substr(0, at);
    if (!before.empty() && !before.ends_with("::") && !before.ends_with(' '))
      continue;
    const auto depth = std::ranges::count_if(before, [](char c) { return c == '<' || c == '('; }) -
                       std::ranges::count_if(before, [](char c) { return c == '>' || c == ')'; });
    std::string_view rest = function.substr(at + wanted.size());
    if (rest.starts_with('<') && wanted.find('<') == wanted.npos) { // skip template arguments
      size_t open = 0, end = 0;
      for (; end < rest.size(); ++end) {
        open += rest[end] == '<';
        open -= rest[end] == '>';
        if (open == 0)
          break;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (depth == 0 && ends_name(rest))
      return true;
  }
  return false;
}

constexpr std::string_view left_out = "…";

// Returns whether `wanted` is the name, with any text in place of each "…".
bool is_shortened(std::string_view function, std::string_view wanted) {
  size_t next = wanted.find(left_out);
  if (!function.starts_with(wanted.substr(0, next)))
    return false;
  function.remove_prefix(next);
  for (;;) {
    wanted.remove_prefix(next + left_out.size());
    next = wanted.find(left_out);
    if (next == wanted.npos)
      return function.ends_with(wanted);
    const size_t at = function.find(wanted.substr(0, next));
    if (at == function.npos)
      return false;
    function.remove_prefix(at + next);
  }
}

} // namespace

FunctionMatcher::FunctionMatcher(std::string_view wanted,
                                 const std::vector<std::string_view> &names)
    : wanted_(wanted) {
  if (wanted.empty() ||
      std::ranges::any_of(names, [&](std::string_view name) { return is_exactly(name, wanted); }))
    return;
  way_ = wanted.find(left_out) == wanted.npos ? Way::component : Way::shortened;
}

bool FunctionMatcher::matches(std::string_view function) const {
  if (wanted_.empty())
    return false;
  switch (way_) {
  case Way::exact:
    return is_exactly(function, wanted_);
  case Way::shortened:
    return is_shortened(function, wanted_) || is_shortened(without_return_type(function), wanted_);
  case Way::component:
    break;
  }
  return has_component(function, wanted_) ||
         (wanted_.find("::") != wanted_.npos && has_component(template_name(function), wanted_));
}

std::string some_of(std::span<const std::string_view> names) {
  constexpr size_t most = 5;
  return fmt::format("{}{}", joined_text(names.first(std::min(names.size(), most)), ", "),
                     names.size() > most ? ", …" : "");
}

tl::unexpected<Error> several_functions(std::string_view wanted,
                                        const std::set<std::string_view> &functions) {
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("is the name of {} functions: {}", functions.size(),
                  some_of(std::vector<std::string_view>(functions.begin(), functions.end()))),
      std::string(wanted));
}

tl::unexpected<Error> no_function(std::string_view wanted, std::vector<std::string_view> names,
                                  std::string_view kind) {
  std::erase_if(names, [&](std::string_view name) { return name.find(wanted) == name.npos; });
  // Names that begin with `wanted` come first.
  sort_stably(names, {},
              [&](std::string_view name) { return std::pair(!name.starts_with(wanted), name); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string hint =
      names.empty() ? "" : fmt::format("; names that contain it: {}", some_of(names));
  return fail(ErrorCode::not_found, fmt::format("the profile has no such {}{}", kind, hint),
              std::string(wanted));
}

} // namespace tally
