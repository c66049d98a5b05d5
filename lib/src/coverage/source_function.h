// Functions of the object that are one function of the source.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// The same text for all instances of a template, and for the variants of a constructor or
// destructor; another one for other functions. `name` is the assembler's.
//
// Of a demangled name this is the qualified name without template arguments. Parameters are kept,
// without template arguments, unless the name has such arguments: then they may depend on these.
std::string source_function(std::string_view name);

} // namespace tally
