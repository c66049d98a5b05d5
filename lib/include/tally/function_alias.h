// Other names of a profile's functions, by the symbol tables of the files that they lie in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tally/cost_profile.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/symbolizer.h>

namespace tally {

// Returns the profile's name of the function that has a symbol `alias`: "__GI___libc_write" for
// "write". Nothing where no file of the profile has that symbol, or the profile does not have its
// function. An alias of several functions is an error that lists them. `pid`: a process that has
// the files mapped; 0: none.
TALLY_API Result<std::optional<std::string>> function_of_alias(const StackProfile &profile,
                                                               std::string_view alias,
                                                               Symbolizer &symbolizer, int pid = 0);
TALLY_API Result<std::optional<std::string>> function_of_alias(const CostProfile &profile,
                                                               std::string_view alias,
                                                               Symbolizer &symbolizer, int pid = 0);

// make(name); where that finds no such function, make() of the function that `name` is an alias of.
// Symbol tables are read only then.
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
