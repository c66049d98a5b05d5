// Groups functions by namespace or directory.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace tally {

// Returns a function's name without return type, template arguments, parameters and libc++'s inline
// namespace: "std::__invoke" for "void std::__1::__invoke[abi:v15006]<f&>(f&)".
std::string qualified_name(std::string_view function);

// Returns the outermost scope of a function's demangled name: a namespace of C++ or, because names
// do not tell it apart, a class; a crate of Rust; a package of Go, whose functions are known by the
// suffix of `file`. An implementation of a trait (Rust) belongs to the crate of its type or, if
// that has none, of the trait. Returns "" for functions outside of any namespace, and for local
// functions and classes of these.
std::string namespace_of(std::string_view function, std::string_view file);
// Returns "." for a file without a directory; "" if the file is unknown.
std::string directory_of(std::string_view file);

// Returns whether `by` is a group of functions that these functions tell.
constexpr bool is_group(By by) { return by == By::name_space || by == By::directory; }
inline std::string group_of(By by, std::string_view function, std::string_view file) {
  return by == By::name_space ? namespace_of(function, file) : directory_of(file);
}

// Returns the title of a column of rows: "function", "namespace", …
std::string_view row_title(By by);
// Returns the name of an object or a group as text shows it.
std::string_view shown_group(By by, std::string_view name, std::string_view object);

} // namespace tally
