// Reads and skips the values of attributes by their forms (DWARF 5, section 7.5.6). The functions
// are inline, because a scan calls them for each attribute.
#pragma once

#include <cstdint>

#include <dwarf.h>

#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

struct AttributeSpec {
  unsigned name;
  unsigned form;
  int64_t constant; // the value, for DW_FORM_implicit_const
};

struct FormSizes {
  unsigned address;
  unsigned offset;
  unsigned version;
};

// Returns the size in bytes of a form with a fixed size, and -1 for others (DWARF 5, section
// 7.5.6).
inline int fixed_size(unsigned form, const FormSizes &sizes) {
  switch (form) {
  case DW_FORM_flag_present:
  case DW_FORM_implicit_const:
    return 0;
  case DW_FORM_data1:
  case DW_FORM_ref1:
  case DW_FORM_flag:
  case DW_FORM_strx1:
  case DW_FORM_addrx1:
    return 1;
  case DW_FORM_data2:
  case DW_FORM_ref2:
  case DW_FORM_strx2:
  case DW_FORM_addrx2:
    return 2;
  case DW_FORM_strx3:
  case DW_FORM_addrx3:
    return 3;
  case DW_FORM_data4:
  case DW_FORM_ref4:
  case DW_FORM_ref_sup4:
  case DW_FORM_strx4:
  case DW_FORM_addrx4:
    return 4;
  case DW_FORM_data8:
  case DW_FORM_ref8:
  case DW_FORM_ref_sig8:
  case DW_FORM_ref_sup8:
    return 8;
  case DW_FORM_data16:
    return 16;
  case DW_FORM_addr:
    return static_cast<int>(sizes.address);
  case DW_FORM_ref_addr: // in DWARF 2, it has the size of an address
    return static_cast<int>(sizes.version <= 2 ? sizes.address : sizes.offset);
  case DW_FORM_strp:
  case DW_FORM_line_strp:
  case DW_FORM_sec_offset:
  case DW_FORM_strp_sup:
  case DW_FORM_GNU_ref_alt:
  case DW_FORM_GNU_strp_alt:
    return static_cast<int>(sizes.offset);
  default:
    return -1;
  }
}

inline void skip_form(DwarfCursor &cursor, unsigned form, const FormSizes &sizes, int depth = 0) {
  if (const int size = fixed_size(form, sizes); size >= 0) {
    cursor.skip(static_cast<uint64_t>(size));
    return;
  }
  switch (form) {
  case DW_FORM_udata:
  case DW_FORM_sdata:
  case DW_FORM_ref_udata:
  case DW_FORM_strx:
  case DW_FORM_addrx:
  case DW_FORM_loclistx:
  case DW_FORM_rnglistx:
  case DW_FORM_GNU_addr_index:
  case DW_FORM_GNU_str_index:
    cursor.uleb();
    return;
  case DW_FORM_string:
    cursor.string();
    return;
  case DW_FORM_block:
  case DW_FORM_exprloc:
    cursor.skip(cursor.uleb());
    return;
  case DW_FORM_block1:
    cursor.skip(cursor.fixed<uint8_t>());
    return;
  case DW_FORM_block2:
    cursor.skip(cursor.fixed<uint16_t>());
    return;
  case DW_FORM_block4:
    cursor.skip(cursor.fixed<uint32_t>());
    return;
  case DW_FORM_indirect:
    if (depth == 0) {
      skip_form(cursor, static_cast<unsigned>(cursor.uleb()), sizes, 1);
      return;
    }
    [[fallthrough]];
  default: // unknown form: what follows it cannot be located
    cursor.fail();
  }
}

// Reads a constant; a negative one is above INT64_MAX. Returns false, without reading, for other
// forms.
inline bool read_constant(DwarfCursor &cursor, const AttributeSpec &spec, uint64_t &value) {
  switch (spec.form) {
  case DW_FORM_data1:
    value = cursor.fixed<uint8_t>();
    return true;
  case DW_FORM_data2:
    value = cursor.fixed<uint16_t>();
    return true;
  case DW_FORM_data4:
    value = cursor.fixed<uint32_t>();
    return true;
  case DW_FORM_data8:
    value = cursor.fixed<uint64_t>();
    return true;
  case DW_FORM_udata:
    value = cursor.uleb();
    return true;
  case DW_FORM_sdata:
    value = static_cast<uint64_t>(cursor.sleb());
    return true;
  case DW_FORM_implicit_const:
    value = static_cast<uint64_t>(spec.constant);
    return true;
  default:
    return false;
  }
}

// Reads the value of DW_AT_ranges: a number if the form is DW_FORM_rnglistx, otherwise an offset.
// Returns false, without reading, for other forms.
inline bool read_list(DwarfCursor &cursor, const AttributeSpec &spec, unsigned offset_size,
                      uint64_t &value) {
  if (spec.form == DW_FORM_rnglistx)
    value = cursor.uleb();
  else if (spec.form == DW_FORM_sec_offset)
    value = cursor.sized(offset_size);
  else
    return read_constant(cursor, spec, value); // before DWARF 4
  return true;
}

inline bool read_reference(DwarfCursor &cursor, unsigned form, uint64_t &value) {
  switch (form) {
  case DW_FORM_ref1:
    value = cursor.fixed<uint8_t>();
    return true;
  case DW_FORM_ref2:
    value = cursor.fixed<uint16_t>();
    return true;
  case DW_FORM_ref4:
    value = cursor.fixed<uint32_t>();
    return true;
  case DW_FORM_ref8:
    value = cursor.fixed<uint64_t>();
    return true;
  case DW_FORM_ref_udata:
    value = cursor.uleb();
    return true;
  default:
    return false;
  }
}

// Reads the number of an address (DW_FORM_addrx and similar). Returns false, without reading, for
// other forms.
inline bool read_address_number(DwarfCursor &cursor, unsigned form, uint64_t &value) {
  switch (form) {
  case DW_FORM_addrx:
  case DW_FORM_GNU_addr_index:
    value = cursor.uleb();
    return true;
  case DW_FORM_addrx1:
    value = cursor.fixed<uint8_t>();
    return true;
  case DW_FORM_addrx2:
    value = cursor.fixed<uint16_t>();
    return true;
  case DW_FORM_addrx3:
    value = cursor.sized(3);
    return true;
  case DW_FORM_addrx4:
    value = cursor.fixed<uint32_t>();
    return true;
  default:
    return false;
  }
}

} // namespace tally::symbolize
