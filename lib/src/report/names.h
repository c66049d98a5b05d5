// Functions as users name them.
#pragma once

#include <string_view>
#include <vector>

#include <tally/result.h>

namespace tally {

// Is it the function that a user means? Exactly, or without its parameters, or without the level of
// recursion that Callgrind's --separate-recs appends ("fib'2").
bool is_named(std::string_view function, std::string_view wanted);
// Without that level.
std::string_view without_level(std::string_view function);
// not_found: there is no such `kind` ("function"); with some of the names that hold what was asked
// for.
tl::unexpected<Error> no_function(std::string_view wanted, std::vector<std::string_view> names,
                                  std::string_view kind = "function");

} // namespace tally
