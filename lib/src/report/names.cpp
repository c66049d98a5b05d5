#include "report/names.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tally {

std::string_view without_level(std::string_view function) {
  const size_t quote = function.rfind('\'');
  const bool level = quote != function.npos && quote + 1 < function.size() &&
                     function.find_first_not_of("0123456789", quote + 1) == function.npos;
  return level ? function.substr(0, quote) : function;
}

bool is_named(std::string_view function, std::string_view wanted) {
  if (function == wanted)
    return true;
  function = without_level(function);
  return function == wanted || (function.size() > wanted.size() && function.starts_with(wanted) &&
                                function[wanted.size()] == '(');
}

tl::unexpected<Error> no_function(std::string_view wanted, std::vector<std::string_view> names,
                                  std::string_view kind) {
  std::erase_if(names, [&](std::string_view name) { return name.find(wanted) == name.npos; });
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  constexpr size_t most = 5;
  const size_t shown = std::min(names.size(), most);
  const std::string hint = names.empty()
                               ? ""
                               : fmt::format("; names that hold it: {}{}",
                                             fmt::join(std::span(names).first(shown), ", "),
                                             names.size() > shown ? ", …" : "");
  return fail(ErrorCode::not_found, fmt::format("the profile has no such {}{}", kind, hint),
              std::string(wanted));
}

} // namespace tally
