// Names of Rust: the mangling of RFC 2603 ("v0"), and the one before it.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Appends the name as Rust's own tools show it, without the hashes of crates. Returns false, with
// `out` unspecified, if the name is not Rust's, or if it exceeds a limit (demangle_limits.h).
bool demangle_rust(std::string_view name, std::string &out);

} // namespace tally
