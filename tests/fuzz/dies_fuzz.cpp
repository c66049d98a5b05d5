// Makes a unit of DWARF 2 to 5 of the input, and compares the functions, inlined copies, scopes and
// ranges of code that Tally's scan reads with those that libdw reports DIE by DIE.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <dwarf.h>
#include <fmt/format.h>

#include "fuzz_target.h"
#include "made_dwarf.h"
#include "require.h"
#include "symbolize/die_scan.h"
#include "symbolize/elf_image.h"
#include "symbolize/tables.h"
#include "symbolize/unit_addresses.h"

namespace tally::dies_fuzz {

namespace {

using symbolize::no_index;
using symbolize::UnitScan;

enum class Kind { plain, skip, scope, function, inlined };
struct Tag {
  unsigned tag;
  Kind kind;
};
constexpr Tag tags[] = {
    {DW_TAG_subprogram, Kind::function},
    {DW_TAG_inlined_subroutine, Kind::inlined},
    {DW_TAG_lexical_block, Kind::plain},
    {DW_TAG_namespace, Kind::scope},
    {DW_TAG_structure_type, Kind::scope},
    {DW_TAG_enumeration_type, Kind::scope}, // in a unit of C++, it is skipped
    {DW_TAG_call_site, Kind::skip},
    {DW_TAG_formal_parameter, Kind::plain},
    {DW_TAG_class_type, Kind::scope},
    {DW_TAG_union_type, Kind::scope},
    {DW_TAG_interface_type, Kind::scope},
    {DW_TAG_module, Kind::scope},
    {DW_TAG_array_type, Kind::skip},
    {DW_TAG_subroutine_type, Kind::skip},
    {DW_TAG_GNU_call_site, Kind::skip},
    {DW_TAG_GNU_template_parameter_pack, Kind::skip},
    {DW_TAG_GNU_formal_parameter_pack, Kind::skip},
    {DW_TAG_variant_part, Kind::skip},
    {0x4fff, Kind::plain}, // unknown
};

struct Attribute {
  unsigned name, form;
  int64_t constant = 0; // of DW_FORM_implicit_const
};
struct Abbreviation {
  uint64_t code;
  unsigned tag;
  bool has_children;
  std::vector<Attribute> attributes;
};

constexpr unsigned constants[] = {DW_FORM_data1,         DW_FORM_data2, DW_FORM_data4,
                                  DW_FORM_data8,         DW_FORM_udata, DW_FORM_sdata,
                                  DW_FORM_implicit_const};
constexpr unsigned references[] = {DW_FORM_ref1, DW_FORM_ref2,      DW_FORM_ref4,
                                   DW_FORM_ref8, DW_FORM_ref_udata, DW_FORM_ref_addr};
constexpr unsigned sibling_forms[] = {DW_FORM_ref4, DW_FORM_ref8};
constexpr unsigned address_numbers[] = {DW_FORM_addrx, DW_FORM_addrx1, DW_FORM_addrx2,
                                        DW_FORM_addrx3, DW_FORM_addrx4};
// The attributes with these forms are only stepped over.
constexpr unsigned forms[] = {
    DW_FORM_string,       DW_FORM_strp,         DW_FORM_data1,       DW_FORM_sdata,
    DW_FORM_udata,        DW_FORM_data4,        DW_FORM_exprloc,     DW_FORM_sec_offset,
    DW_FORM_flag_present, DW_FORM_ref4,         DW_FORM_data16,      DW_FORM_line_strp,
    DW_FORM_strx,         DW_FORM_strx1,        DW_FORM_strx2,       DW_FORM_strx3,
    DW_FORM_strx4,        DW_FORM_addrx,        DW_FORM_addrx3,      DW_FORM_loclistx,
    DW_FORM_rnglistx,     DW_FORM_block,        DW_FORM_block1,      DW_FORM_block2,
    DW_FORM_block4,       DW_FORM_ref_sig8,     DW_FORM_ref_sup4,    DW_FORM_ref_sup8,
    DW_FORM_strp_sup,     DW_FORM_ref_udata,    DW_FORM_flag,        DW_FORM_addr,
    DW_FORM_ref_addr,     DW_FORM_indirect,     DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt,
    DW_FORM_data2,        DW_FORM_data8,        DW_FORM_addrx1,      DW_FORM_addrx2,
    DW_FORM_addrx4,       DW_FORM_GNU_str_index};

template <size_t Size> unsigned one_of(Choices &from, const unsigned (&values)[Size]) {
  return values[from.below(Size)];
}

struct Unit {
  bool big, wide, wide_offsets; // byte order; addresses and offsets of 64 bits
  unsigned version;             // of DWARF
  Bytes info, abbrev, lists, addresses;
  size_t size; // of .debug_info; the rest of a damaged unit is behind it

  explicit Unit(Choices &from)
      : big(from.below(4) == 0), wide(from.below(4) != 0), wide_offsets(from.below(8) == 7),
        version(2U + from.below(4)), info(big), abbrev(big), lists(big), addresses(big),
        size(from.below(8) == 7 ? 8U * from.byte() : 0U) {
    for (unsigned i = 1U + from.below(12); i > 0; --i)
      add_abbreviation(from);
    make_lists(from);
    begin_unit(from);
    do
      add_entry(from, 0);
    while (from.left());
    info.fixed(0, 1); // the end of the unit's children
    finish_unit();
    if (size <= entries_.front() || size > info.text.size())
      size = info.text.size();
  }

private:
  static constexpr unsigned most_depth = 8;
  static constexpr unsigned address_count = 4, list_count = 3;
  std::vector<Abbreviation> abbreviations_;
  std::vector<uint64_t> entries_; // their offsets in the unit

  unsigned address_size() const { return wide ? 8 : 4; }
  unsigned offset_size() const { return wide_offsets ? 8 : 4; }
  unsigned length_size() const { return wide_offsets ? 12 : 4; }
  uint64_t address(Choices &from) const { return from.number() & (wide ? ~0ULL : ~0U); }

  void put_length(Bytes &out, uint64_t length) const {
    if (wide_offsets)
      out.fixed(0xffffffff, 4);
    out.fixed(length, offset_size());
  }

  void add_abbreviation(Choices &from) {
    const uint64_t number = abbreviations_.size() + 2;
    Abbreviation each{from.below(8) ? number : number << 16,
                      tags[from.below(from.below(2) ? 6U : unsigned{std::size(tags)})].tag,
                      from.below(3) != 0,
                      {}};
    if (from.below(4) == 0)
      each.attributes.push_back({DW_AT_sibling, one_of(from, sibling_forms)});
    if (from.below(4) != 0)
      add_code(from, each.attributes);
    if (from.below(2) == 0)
      each.attributes.push_back({DW_AT_abstract_origin, one_of(from, references)});
    if (from.below(2) == 0)
      each.attributes.push_back({DW_AT_call_file, one_of(from, constants)});
    if (from.below(2) == 0)
      each.attributes.push_back({DW_AT_call_line, one_of(from, constants)});
    constexpr unsigned others[] = {DW_AT_name, DW_AT_location, DW_AT_type, DW_AT_const_value,
                                   0x2123};
    for (const unsigned name : others)
      if (from.below(4) == 0)
        each.attributes.push_back({name, one_of(from, forms)});
    if (const auto count = static_cast<unsigned>(each.attributes.size()))
      std::rotate(each.attributes.begin(), each.attributes.begin() + from.below(count),
                  each.attributes.end());

    abbrev.uleb(each.code);
    abbrev.uleb(each.tag);
    abbrev.fixed(each.has_children, 1);
    for (Attribute &attribute : each.attributes) {
      abbrev.uleb(attribute.name);
      abbrev.uleb(attribute.form);
      if (attribute.form == DW_FORM_implicit_const)
        abbrev.sleb(attribute.constant = static_cast<int8_t>(from.byte()));
    }
    abbrev.fixed(0, 2);
    abbreviations_.push_back(std::move(each));
  }

  // No compiler writes both an extent and a list.
  void add_code(Choices &from, std::vector<Attribute> &to) const {
    if (from.below(3) == 0) {
      unsigned form = version >= 4 ? DW_FORM_sec_offset : DW_FORM_data4;
      if (version >= 5 && from.below(2))
        form = DW_FORM_rnglistx;
      to.push_back({DW_AT_ranges, form});
      return;
    }
    unsigned low = DW_FORM_addr, high = DW_FORM_addr;
    if (version >= 5 && from.below(2))
      low = one_of(from, address_numbers);
    to.push_back({DW_AT_low_pc, low});
    if (from.below(8) == 0)
      return;
    if (from.below(4))
      high = one_of(from, constants);
    to.push_back({DW_AT_high_pc, high});
  }

  void make_lists(Choices &from) {
    if (version < 5) {
      for (unsigned i = from.below(16); i > 0; --i) {
        lists.fixed(from.below(8) ? address(from) : ~0ULL, address_size());
        lists.fixed(address(from), address_size());
      }
      lists.fixed(0, address_size());
      lists.fixed(0, address_size());
      return;
    }
    put_length(addresses, 4 + address_count * address_size());
    addresses.fixed(5, 2);
    addresses.fixed(address_size(), 1);
    addresses.fixed(0, 1); // segment selectors
    for (unsigned i = 0; i < address_count; ++i)
      addresses.fixed(address(from), address_size());

    Bytes rest(big);
    rest.fixed(5, 2);
    rest.fixed(address_size(), 1);
    rest.fixed(0, 1);
    rest.fixed(list_count, 4);
    for (unsigned i = 0; i < list_count; ++i)
      rest.fixed(list_count * offset_size() + from.below(16), offset_size());
    for (unsigned i = from.below(16); i > 0; --i)
      add_range(from, rest);
    rest.text.append(16, DW_RLE_end_of_list); // libdw would read past the end of the section
    put_length(lists, rest.text.size());
    lists.text += rest.text;
  }

  void add_range(Choices &from, Bytes &out) const {
    const uint8_t kind = static_cast<uint8_t>(1 + from.below(7));
    out.fixed(kind, 1);
    switch (kind) {
    case DW_RLE_base_addressx:
      out.uleb(from.below(address_count + 1));
      break;
    case DW_RLE_startx_endx:
      out.uleb(from.below(address_count + 1));
      out.uleb(from.below(address_count + 1));
      break;
    case DW_RLE_startx_length:
      out.uleb(from.below(address_count + 1));
      out.uleb(from.number());
      break;
    case DW_RLE_offset_pair:
      out.uleb(from.number());
      out.uleb(from.number());
      break;
    case DW_RLE_base_address:
      out.fixed(address(from), address_size());
      break;
    case DW_RLE_start_end:
      out.fixed(address(from), address_size());
      out.fixed(address(from), address_size());
      break;
    default: // DW_RLE_start_length
      out.fixed(address(from), address_size());
      out.uleb(from.number());
      break;
    }
  }

  void begin_unit(Choices &from) {
    const bool has_tables = version >= 5;
    abbrev.uleb(1);
    abbrev.uleb(DW_TAG_compile_unit);
    abbrev.fixed(DW_CHILDREN_yes, 1);
    abbrev.uleb(DW_AT_low_pc);
    abbrev.uleb(DW_FORM_addr);
    if (big) {
      abbrev.uleb(DW_AT_language);
      abbrev.uleb(DW_FORM_data1);
    }
    if (has_tables)
      for (const unsigned name : {unsigned{DW_AT_addr_base}, unsigned{DW_AT_rnglists_base}}) {
        abbrev.uleb(name);
        abbrev.uleb(DW_FORM_sec_offset);
      }
    abbrev.fixed(0, 3);

    put_length(info, 0); // set by finish_unit()
    info.fixed(version, 2);
    if (version >= 5) {
      info.fixed(DW_UT_compile, 1);
      info.fixed(address_size(), 1);
    }
    info.fixed(0, offset_size()); // in .debug_abbrev
    if (version < 5)
      info.fixed(address_size(), 1);
    info.uleb(1);
    info.fixed(from.number() & 0xffffffff, address_size()); // to libdw, -1 is an unknown base
    if (big)
      info.fixed(DW_LANG_C_plus_plus, 1);
    if (has_tables) {
      info.fixed(length_size() + 4, offset_size()); // past the header of .debug_addr
      info.fixed(length_size() + 8, offset_size()); // past that of .debug_rnglists
    }
  }

  void finish_unit() {
    Bytes length(big);
    put_length(length, info.text.size() - length_size());
    info.text.replace(0, length.text.size(), length.text);
  }

  void add_entry(Choices &from, unsigned depth) {
    const Abbreviation &abbreviation =
        abbreviations_[from.below(static_cast<unsigned>(abbreviations_.size()))];
    entries_.push_back(info.text.size());
    info.uleb(abbreviation.code);
    size_t sibling_at = 0;
    unsigned sibling_size = 0;
    for (const Attribute &attribute : abbreviation.attributes) {
      if (attribute.name != DW_AT_sibling) {
        add_value(from, attribute);
        continue;
      }
      sibling_at = info.text.size();
      sibling_size = attribute.form == DW_FORM_ref8 ? 8 : 4;
      info.fixed(0, sibling_size);
    }
    if (abbreviation.has_children) {
      if (depth < most_depth)
        for (unsigned i = from.below(6); i > 0 && from.left(); --i)
          add_entry(from, depth + 1);
      info.fixed(0, 1);
    }
    if (sibling_size) {
      Bytes sibling(big);
      sibling.fixed(info.text.size(), sibling_size);
      info.text.replace(sibling_at, sibling_size, sibling.text);
    }
  }

  void add_value(Choices &from, const Attribute &attribute) {
    uint64_t value = from.number();
    if (attribute.name == DW_AT_abstract_origin) {
      if (value % 8)
        value = entries_[value % entries_.size()];
      if ((value & 0xff) == 0) // libdw follows 0, too: to the unit's header
        value |= 1;
    }
    // libdw takes what follows the table for offsets, too, and reads anywhere.
    if (attribute.form == DW_FORM_rnglistx && attribute.name == DW_AT_ranges)
      value %= list_count;
    add_form(from, attribute.form, value);
  }

  void add_form(Choices &from, unsigned form, uint64_t value) {
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      break;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      info.fixed(value, 1);
      break;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      info.fixed(value, 2);
      break;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      info.fixed(value, 3);
      break;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      info.fixed(value, 4);
      break;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      info.fixed(value, 8);
      break;
    case DW_FORM_data16:
      info.fixed(value, 8);
      info.fixed(value, 8);
      break;
    case DW_FORM_addr:
      info.fixed(value, address_size());
      break;
    case DW_FORM_ref_addr: // in DWARF 2, it has the size of an address
      info.fixed(value, version == 2 ? address_size() : offset_size());
      break;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      info.fixed(value, offset_size());
      break;
    case DW_FORM_sdata:
      info.sleb(static_cast<int64_t>(value));
      break;
    case DW_FORM_string:
      info.string(std::string(value & 7, 's'));
      break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      info.uleb(value & 0xff);
      info.text.append(value & 0xff, '\1');
      break;
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
      info.fixed(value & 0xff, form == DW_FORM_block1 ? 1 : form == DW_FORM_block2 ? 2 : 4);
      info.text.append(value & 0xff, '\1');
      break;
    case DW_FORM_indirect: {
      const unsigned real = one_of(from, forms);
      const bool is_data = real != DW_FORM_indirect;
      info.uleb(is_data ? real : unsigned{DW_FORM_udata});
      add_form(from, is_data ? real : unsigned{DW_FORM_udata}, value);
      break;
    }
    default:
      info.uleb(value);
    }
  }
};

// Does what scan_unit() does, by libdw's functions for single DIEs.
class Reference {
public:
  explicit Reference(const symbolize::CodeRanges &code) : code_(code) {}

  UnitScan read(Dwarf_Die unit) {
    is_cpp_ = dwarf_srclang(&unit) == DW_LANG_C_plus_plus;
    visit_children(unit, no_index, no_index);
    return std::move(out_);
  }

private:
  void visit_children(Dwarf_Die &die, uint32_t node, uint32_t scope) {
    Dwarf_Die child{};
    int ended = dwarf_child(&die, &child);
    for (; ended == 0; ended = dwarf_siblingof(&child, &child))
      visit(child, node, scope);
    require(ended == 1, "libdw reads all entries");
  }

  void visit(Dwarf_Die &die, uint32_t node, uint32_t scope) {
    const auto tag = static_cast<unsigned>(dwarf_tag(&die));
    const Tag *known = std::ranges::find(tags, tag, &Tag::tag);
    require(known != std::end(tags), "libdw reads the tag");
    const Kind kind = known->kind;
    if (kind == Kind::skip || (is_cpp_ && tag == DW_TAG_enumeration_type))
      return;
    if (kind == Kind::function && scope != no_index)
      out_.scopes.members.push_back({die.addr, scope});
    if (kind == Kind::function || kind == Kind::inlined)
      node = add_node(die, kind == Kind::inlined, node);
    if (!dwarf_haschildren(&die))
      return;
    if (kind == Kind::scope) {
      out_.scopes.all.push_back({die.addr, scope});
      scope = static_cast<uint32_t>(out_.scopes.all.size() - 1);
    }
    visit_children(die, node, scope);
  }

  uint32_t add_node(Dwarf_Die &die, bool is_inlined, uint32_t outer) {
    const bool has_code = dwarf_hasattr(&die, DW_AT_ranges) ||
                          (dwarf_hasattr(&die, DW_AT_low_pc) && dwarf_hasattr(&die, DW_AT_high_pc));
    if (!has_code && !is_inlined)
      return no_index;
    if (!has_code && outer == no_index)
      return outer;
    symbolize::DieRef function{die.addr, die.cu};
    Dwarf_Attribute attribute{};
    Dwarf_Die origin{};
    if (is_inlined && dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
        dwarf_formref_die(&attribute, &origin))
      function = {origin.addr, origin.cu};
    const auto node = static_cast<uint32_t>(out_.nodes.size());
    out_.nodes.push_back({function, is_inlined ? outer : no_index, number_of(die, DW_AT_call_file),
                          number_of(die, DW_AT_call_line)});
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &low, &high)) > 0;)
      if (low < high && code_.contains(low))
        out_.ranges.push_back({low, high, node});
    return node;
  }

  static uint32_t number_of(Dwarf_Die &die, unsigned name) {
    Dwarf_Attribute attribute{};
    Dwarf_Word value = 0;
    if (!dwarf_attr(&die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 ||
        value > 0xfffffffe)
      return 0;
    return static_cast<uint32_t>(value);
  }

  const symbolize::CodeRanges &code_;
  bool is_cpp_ = false;
  UnitScan out_;
};

std::string text_of(const UnitScan &scan, const void *unit) {
  const auto offset = [&](const void *die) {
    return static_cast<const char *>(die) - static_cast<const char *>(unit);
  };
  std::string text;
  for (const auto &each : scan.nodes)
    text += fmt::format("node {:#x} in {} from {}:{}\n", offset(each.function.address),
                        static_cast<int32_t>(each.parent), each.call_file, each.call_line);
  for (const auto &each : scan.ranges)
    text += fmt::format("{:#x} to {:#x} of {}\n", each.low, each.high, each.priority);
  for (const auto &each : scan.scopes.all)
    text += fmt::format("scope {:#x} in {}\n", offset(each.die), static_cast<int32_t>(each.parent));
  for (const auto &each : scan.scopes.members)
    text += fmt::format("member {:#x} of {}\n", offset(each.die), each.scope);
  return text;
}

// Requires that a scan kept nothing from behind the section, which holds `size` bytes.
void require_within(const UnitScan &scan, Dwarf_Die unit, size_t size) {
  const auto *const end = static_cast<const char *>(unit.addr) - dwarf_dieoffset(&unit) + size;
  for (const auto &each : scan.nodes)
    require(each.function.address < end, "a function in the section");
  for (const auto &each : scan.scopes.all)
    require(each.die < end, "a scope in the section");
  for (const auto &each : scan.scopes.members)
    require(each.die < end, "a member in the section");
}

} // namespace

FUZZ_TARGET(dies) {
  Choices choices(data, size);
  const Unit made(choices);
  symbolize::ElfImage image(made.wide ? ELFCLASS64 : ELFCLASS32, made.big,
                            made.big ? EM_PPC64 : EM_X86_64);
  const std::string_view info = made.info.text;
  image.add(".debug_info", info.substr(0, made.size));
  image.add(".behind", info.substr(made.size));
  image.add(".debug_abbrev", made.abbrev.text);
  image.add(made.version < 5 ? ".debug_ranges" : ".debug_rnglists", made.lists.text);
  image.add(".debug_addr", made.addresses.text);
  const MadeUnit unit = MadeUnit::open(image);
  Dwarf_Die die = unit.die;

  symbolize::CodeRanges code;
  code.add(0x10, UINT64_MAX);
  code.finish();
  const symbolize::UnitAddresses addresses(die, symbolize::AddressSections::of(unit.file));
  symbolize::ScanBudget budget;
  const UnitScan scan = scan_unit(die, code, addresses, budget);
  if (made.size < info.size()) {
    require_within(scan, die, made.size);
    return 0;
  }
  const std::string text = text_of(scan, die.addr);
  const std::string expected = text_of(Reference(code).read(die), die.addr);
  require(text == expected, "what libdw reads", text + "-- libdw:\n" + expected);
  return 0;
}

} // namespace tally::dies_fuzz
