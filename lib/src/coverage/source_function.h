// Identifies functions of an object that are one function of the source.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns a text that is the same for all instances of a template, and for the variants of a
// constructor or destructor, but differs for other functions. `name` is the assembler's name.
//
// For a mangled name the text is the demangled qualified name without template arguments. It
// includes the parameters, without their template arguments, unless the name has template
// arguments, because then the parameters may depend on these.
std::string source_function(std::string_view name);

} // namespace tally
