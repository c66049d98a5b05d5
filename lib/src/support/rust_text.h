// What both manglings of Rust share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

inline bool is_rust_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_hex_digit(char c) { return is_rust_digit(c) || (c >= 'a' && c <= 'f'); }

// Appends a code point as UTF-8. Returns false if there is no such character.
bool put_utf8(uint64_t code, std::string &out);

// Decodes Punycode (RFC 3492), in which v0 writes "_" for "-".
bool put_punycode(std::string_view text, std::string &out);

// Appends the part of a path of the mangling before v0, "_$LT$alloc..vec..Vec$LT$T$GT$$GT$", as
// source has it: "<alloc::vec::Vec<T>>".
void put_old_rust(std::string_view part, std::string &out);

// Demangles "_ZN...17h0123456789abcdefE", as Rust mangled names before v0.
bool demangle_old_rust(std::string_view name, std::string &out);

} // namespace tally
