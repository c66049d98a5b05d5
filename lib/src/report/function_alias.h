// Finds the functions of a profile by their other names, which the symbol tables of the object
// files list.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "model/symbolizer.h"
#include "support/result.h"

namespace tally {

// Returns the name that the profile uses for the function with the symbol `alias`, for example
// "__GI___libc_write" for "write". Returns nothing if no object of the profile has that symbol, or
// if the profile does not contain the function. An alias of several of the profile's functions is
// an error that lists them. `pid` is a process that has the objects mapped, or 0.
Result<std::optional<std::string>> function_of_alias(const StackProfile &profile,
                                                     std::string_view alias, Symbolizer &symbolizer,
                                                     int pid = 0);
Result<std::optional<std::string>> function_of_alias(const CostProfile &profile,
                                                     std::string_view alias, Symbolizer &symbolizer,
                                                     int pid = 0);

// Returns make(name). If that fails with not_found and `name` is an alias of a function, returns
// make() with the name of that function. Symbol tables are read only if make(name) fails.
template <class Profile, class Make>
auto by_any_name(const Profile &profile, const std::string &name, Symbolizer &symbolizer, int pid,
                 Make make) -> decltype(make(name)) {
  auto made = make(name);
  if (made || made.error().code != ErrorCode::not_found)
    return made;
  TALLY_TRY(function, function_of_alias(profile, name, symbolizer, pid));
  return function ? make(*function) : std::move(made);
}

} // namespace tally
