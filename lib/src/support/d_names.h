// Names of D: the mangling of its ABI (dlang.org/spec/abi.html#name_mangling).
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Writes the name as GCC's demangler does: "std.stdio.File.lock(std.stdio.LockType, ulong, ulong)".
// Returns false, with `out` unspecified, if the name is not D's, or if it exceeds a limit
// (demangle_limits.h).
bool demangle_d(std::string_view name, std::string &out);

} // namespace tally
