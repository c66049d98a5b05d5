// Functions as users name them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/result.h>

namespace tally {

// Without the level of recursion that Callgrind's --separate-recs appends: "fib'2".
std::string_view without_level(std::string_view function);

// Tells the functions that a user means by a name. Those that are called so, but for parameters and
// what Callgrind appends behind a ' ("main'(below main)", "fib(int)'2"). Where there are none,
// those whose last components are that: "S::run", or "run" alone, for "int ns::S::run<int>(int)"
// too.
class FunctionMatcher {
public:
  // names: all that there are.
  FunctionMatcher(std::string_view wanted, const std::vector<std::string_view> &names);
  bool matches(std::string_view function) const;

private:
  std::string wanted_;
  bool exact_ = true;
};

// The first few, with commas between: "f(int), f(char), …".
std::string some_of(std::span<const std::string_view> names);

// invalid_argument: the name is that of all these.
tl::unexpected<Error> several_functions(std::string_view wanted,
                                        const std::set<std::string_view> &functions);

// not_found: there is no such `kind` ("function"); with some of the names that hold what was asked
// for.
tl::unexpected<Error> no_function(std::string_view wanted, std::vector<std::string_view> names,
                                  std::string_view kind = "function");

} // namespace tally
