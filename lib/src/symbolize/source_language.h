// What the scan has to know of a unit's source language, by DW_AT_language (DWARF 5, section 7.12).
#pragma once

#include <dwarf.h>

namespace tally::symbolize {

inline bool is_cpp(int language) {
  switch (language) {
  case DW_LANG_C_plus_plus:
  case DW_LANG_C_plus_plus_03:
  case DW_LANG_C_plus_plus_11:
  case DW_LANG_C_plus_plus_14:
  case DW_LANG_ObjC_plus_plus:
  case 0x2a: // C++17, C++20 and C++23, whose numbers were assigned after DWARF 5
  case 0x2b:
  case 0x3a:
    return true;
  default:
    return false;
  }
}

// In other languages, as in Rust, functions may be members of an enumeration.
inline bool has_plain_enumerations(int language) {
  switch (language) {
  case DW_LANG_C89:
  case DW_LANG_C:
  case DW_LANG_C99:
  case DW_LANG_C11:
  case 0x2c: // C17 and C23
  case 0x3e:
    return true;
  default:
    return is_cpp(language);
  }
}

} // namespace tally::symbolize
