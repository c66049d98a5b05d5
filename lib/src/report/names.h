// Finds functions by the names that users type.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally {

// Returns the name without the recursion level that Callgrind's --separate-recs appends ("fib'2").
std::string_view without_level(std::string_view function);

// Selects the functions that a user means by a name. By default, these are the functions with
// exactly this name, without regard to the return type, parameters and to the text that Callgrind
// appends after a ' ("main'(below main)", "fib(int)'2"). If there are none, these are the functions
// whose last components are the name: "S::run" and "run" then match "int
// ns::S<char>::run<int>(int)". A name that a table has shortened, "S<…>::run(…)", is that of all
// functions that are shortened to it.
class FunctionMatcher {
public:
  // `names` are all names of functions in the profile.
  FunctionMatcher(std::string_view wanted, const std::vector<std::string_view> &names);
  bool matches(std::string_view function) const;

private:
  enum class Way : uint8_t { exact, component, shortened };
  std::string wanted_;
  Way way_ = Way::exact;
};

// Returns the first few names, separated by commas: "f(int), f(char), …".
std::string some_of(std::span<const std::string_view> names);

// Returns the error invalid_argument for a name that several functions have.
tl::unexpected<Error> several_functions(std::string_view wanted,
                                        const std::set<std::string_view> &functions);

// Returns the error not_found, "the profile has no such `kind`", with some of the names that
// contain `wanted`.
tl::unexpected<Error> no_function(std::string_view wanted, std::vector<std::string_view> names,
                                  std::string_view kind = "function");

} // namespace tally
