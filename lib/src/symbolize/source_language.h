// Rules that depend on a unit's source language. DW_AT_language names it by a number (DWARF 5,
// section 7.12).
#pragma once

#include <dwarf.h>

namespace tally::symbolize {

// Names in a unit of C++ are shown with the namespaces and classes around them.
inline bool is_cpp(int language) {
  switch (language) {
  case DW_LANG_C_plus_plus:
  case DW_LANG_C_plus_plus_03:
  case DW_LANG_C_plus_plus_11:
  case DW_LANG_C_plus_plus_14:
  case 0x2a: // C++17, C++20 and C++23, whose numbers were assigned after DWARF 5
  case 0x2b:
  case 0x3a:
    return true;
  default:
    return false;
  }
}

// Rust has functions that are members of an enumeration. Other languages may have them, too, but
// for those of which it is known that they do not: there the enumerators need not be stepped over.
inline bool enumerations_may_have_functions(int language) {
  switch (language) {
  case DW_LANG_C89:
  case DW_LANG_C:
  case DW_LANG_C99:
  case DW_LANG_C11:
  case DW_LANG_ObjC:
  case DW_LANG_ObjC_plus_plus:
  case 0x2c: // C17 and C23
  case 0x3e:
    return false;
  default:
    return !is_cpp(language);
  }
}

} // namespace tally::symbolize
