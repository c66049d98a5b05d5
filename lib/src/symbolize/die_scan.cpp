// Scans the DIEs of a unit. libdw finds units and abbreviations, and follows references to other
// units. The scan itself is implemented here, because asking libdw for the attributes of each DIE
// takes about ten times as long as stepping over the attributes.
#include "symbolize/die_scan.h"

#include <algorithm>
#include <optional>
#include <queue>

#include <dwarf.h>
#include <gelf.h>

#include "support/hash.h"
#include "symbolize/dwarf_forms.h"
#include "symbolize/source_language.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

namespace {

enum class Kind : uint8_t { plain, skip, scope, function, inlined };

Kind kind_of(unsigned tag, int language) {
  switch (tag) {
  case DW_TAG_subprogram:
    return Kind::function;
  case DW_TAG_inlined_subroutine:
    return Kind::inlined;
  case DW_TAG_namespace:
  case DW_TAG_module:
  case DW_TAG_class_type:
  case DW_TAG_structure_type:
  case DW_TAG_union_type:
  case DW_TAG_interface_type:
    return Kind::scope;
  case DW_TAG_enumeration_type:
    return enumerations_may_have_functions(language) ? Kind::scope : Kind::skip;
  // DIEs with these tags have children, but none of the children contains code.
  case DW_TAG_array_type:
  case DW_TAG_subroutine_type:
  case DW_TAG_call_site:
  case DW_TAG_GNU_call_site:
  case DW_TAG_GNU_template_parameter_pack:
  case DW_TAG_GNU_formal_parameter_pack:
  case DW_TAG_variant_part:
    return Kind::skip;
  default:
    return Kind::plain;
  }
}

struct Abbreviation {
  Kind kind = Kind::plain;
  bool known = false;
  bool children = false;
  uint32_t first = 0; // index of the first AttributeSpec
  uint32_t count = 0;
  int32_t fixed_size = -1; // size of all attributes in bytes, or -1 if it varies
  bool has_sibling = false;
};

class Scanner {
public:
  Scanner(Dwarf_Die unit_die, const CodeRanges &code, const UnitAddresses &addresses,
          ScanBudget &budget)
      : unit_die_(unit_die), code_(code), addresses_(addresses), budget_(budget) {}

  UnitScan run() {
    if (!find_bounds())
      return {};
    read_abbreviations();
    DwarfCursor cursor(static_cast<const unsigned char *>(unit_die_.addr), end_, swap_);
    stack_.push_back({no_index, no_index, false});
    while (cursor.good() && cursor.left() && !stack_.empty())
      step(cursor);
    return std::move(out_);
  }

private:
  struct Open {
    uint32_t node;
    uint32_t scope;
    bool skip;
  };

  bool find_bounds() {
    Dwarf_Half version = 0;
    uint8_t type = 0;
    uint8_t address_size = 0;
    uint8_t offset_size = 0;
    Dwarf *dwarf = dwarf_cu_getdwarf(unit_die_.cu);
    if (!dwarf || dwarf_cu_info(unit_die_.cu, &version, &type, nullptr, nullptr, nullptr,
                                &address_size, &offset_size) != 0)
      return false;
    sizes_ = {address_size, offset_size, version};
    language_ = dwarf_srclang(&unit_die_);
    const Dwarf_Off die = dwarf_dieoffset(&unit_die_);
    const Dwarf_Off start = die - dwarf_cuoffset(&unit_die_);
    Dwarf_Off next = 0;
    uint64_t signature = 0; // libdw seeks the unit in .debug_types if this is asked for
    const bool in_types = version < 5 && type == DW_UT_type;
    if (dwarf_next_unit(dwarf, start, &next, nullptr, nullptr, nullptr, nullptr, nullptr,
                        in_types ? &signature : nullptr, nullptr) != 0 ||
        next <= die)
      return false;
    start_ = static_cast<const unsigned char *>(unit_die_.addr) - (die - start);
    // The length of a damaged unit may exceed the section; libdw itself ends such a unit there,
    // too.
    Elf *const elf = dwarf_getelf(dwarf);
    size_t left = addresses_.left_in_info(start_);
    if (left == 0) // it is in another section, or of another file
      left = left_in_section(elf, start_);
    end_ = start_ + std::min<uint64_t>(next - start, left);
    swap_ = swaps_bytes(elf);
    return end_ > unit_die_.addr;
  }

  void read_abbreviations() {
    Dwarf_Off offset = 0;
    // Each abbreviation has at least three bytes, so the loop ends with the section.
    for (;;) {
      size_t length = 0;
      Dwarf_Abbrev *abbrev = dwarf_getabbrev(&unit_die_, offset, &length);
      if (!abbrev || abbrev == reinterpret_cast<Dwarf_Abbrev *>(-1L) || length == 0 ||
          budget_.abbreviations == 0)
        return;
      --budget_.abbreviations;
      offset += length;
      add_abbreviation(abbrev);
    }
  }

  void add_abbreviation(Dwarf_Abbrev *abbrev) {
    Abbreviation entry;
    entry.known = true;
    entry.kind = kind_of(dwarf_getabbrevtag(abbrev), language_);
    entry.children = dwarf_abbrevhaschildren(abbrev) != 0;
    entry.first = static_cast<uint32_t>(specs_.size());
    int32_t total = 0;
    // Read attributes until there are no more, because dwarf_getattrcnt() returns a wrong count if
    // there is an implicit constant of 0 (elfutils 0.188). Each call starts at the first attribute
    // and takes longer than the last, so an implausible number of attributes is refused.
    constexpr size_t most_attributes = 1024;
    size_t count = 0;
    for (;; ++count) {
      unsigned name = 0;
      unsigned form = 0;
      Dwarf_Sword constant = 0;
      if (dwarf_getabbrevattr_data(abbrev, count, &name, &form, &constant, nullptr) != 0)
        break;
      if (count == most_attributes)
        return;
      specs_.push_back({name, form, constant});
      entry.has_sibling |= name == DW_AT_sibling;
      const int size = fixed_size(form, sizes_);
      total = size < 0 || total < 0 ? -1 : total + size;
    }
    entry.count = static_cast<uint32_t>(count);
    entry.fixed_size = total;
    const unsigned code = dwarf_getabbrevcode(abbrev);
    if (code < 0x10000) {
      if (dense_.size() <= code)
        dense_.resize(code + 1);
      dense_[code] = entry;
    } else {
      sparse_.emplace(code, entry);
    }
  }

  const Abbreviation *abbreviation(uint64_t code) const {
    if (code < dense_.size() && dense_[code].known)
      return &dense_[code];
    auto found = sparse_.find(code);
    return found == sparse_.end() ? nullptr : &found->second;
  }

  void step(DwarfCursor &cursor) {
    const unsigned char *die = cursor.at();
    const uint64_t code = cursor.uleb();
    if (code == 0) {
      stack_.pop_back();
      // The bottom entry stands for the unit's own DIE, which has no siblings.
      if (stack_.size() == 1)
        stack_.clear();
      return;
    }
    const Abbreviation *abbrev = abbreviation(code);
    if (!abbrev) {
      cursor.fail();
      return;
    }
    const Open outer = stack_.back();
    Open inner = outer;
    uint64_t sibling = 0;
    const bool code_tag = abbrev->kind == Kind::function || abbrev->kind == Kind::inlined;
    if (code_tag && !outer.skip) {
      inner.node = read_code(cursor, *abbrev, die, outer, sibling);
      if (abbrev->kind == Kind::function && outer.scope != no_index)
        out_.scopes.members.push_back({const_cast<unsigned char *>(die), outer.scope});
    } else {
      skip_attributes(cursor, *abbrev, sibling);
    }
    if (!cursor.good())
      return;
    if (!abbrev->children) {
      if (stack_.size() == 1)
        stack_.clear();
      return;
    }
    if (abbrev->kind == Kind::skip || outer.skip) {
      // DW_AT_sibling (DWARF 5, section 2.3) leads past the children. Without this attribute, the
      // scan steps over the children.
      if (in_unit(sibling) && start_ + sibling > cursor.at()) {
        cursor.move_to(start_ + sibling);
        return;
      }
      inner.skip = true;
    } else if (abbrev->kind == Kind::scope) {
      out_.scopes.all.push_back({const_cast<unsigned char *>(die), outer.scope});
      inner.scope = static_cast<uint32_t>(out_.scopes.all.size() - 1);
    }
    stack_.push_back(inner);
  }

  void skip_attributes(DwarfCursor &cursor, const Abbreviation &abbrev, uint64_t &sibling) {
    if (abbrev.fixed_size >= 0 && !abbrev.has_sibling) {
      cursor.skip(static_cast<uint64_t>(abbrev.fixed_size));
      return;
    }
    for (uint32_t i = 0; i < abbrev.count && cursor.good(); ++i) {
      const AttributeSpec &spec = specs_[abbrev.first + i];
      if (spec.name != DW_AT_sibling || !read_reference(cursor, spec.form, sibling))
        skip_form(cursor, spec.form, sizes_);
    }
  }

  bool in_unit(uint64_t offset) const { return offset < static_cast<uint64_t>(end_ - start_); }

  // Reads a subprogram or an inlined copy, and returns the number of its new node. Returns no_index
  // for a subprogram without code, and for an inlined copy that has neither code nor a node around
  // it.
  uint32_t read_code(DwarfCursor &cursor, const Abbreviation &abbrev, const unsigned char *die,
                     const Open &outer, uint64_t &sibling) {
    uint64_t origin = 0;
    uint64_t call_file = 0;
    uint64_t call_line = 0;
    bool has_low = false;
    bool has_high = false;
    bool has_size = false;
    std::optional<uint64_t> start; // of the code
    std::optional<uint64_t> end;
    uint64_t size = 0;
    bool has_ranges = false;
    uint64_t ranges = 0;
    bool ranges_by_number = false;
    bool far_origin = false;
    for (uint32_t i = 0; i < abbrev.count && cursor.good(); ++i) {
      AttributeSpec spec = specs_[abbrev.first + i];
      if (spec.form == DW_FORM_indirect)
        spec.form = static_cast<unsigned>(cursor.uleb());
      bool read = false;
      switch (spec.name) {
      case DW_AT_low_pc:
        has_low = true;
        read = read_address(cursor, spec.form, start);
        break;
      case DW_AT_high_pc: // a constant is a size, an address is the end (DWARF 5, section 2.17.2)
        has_high = true;
        has_size = read_constant(cursor, spec, size);
        read = has_size || read_address(cursor, spec.form, end);
        break;
      case DW_AT_ranges:
        has_ranges = read = read_list(cursor, spec, sizes_.offset, ranges);
        ranges_by_number = spec.form == DW_FORM_rnglistx;
        break;
      case DW_AT_abstract_origin:
        read = read_reference(cursor, spec.form, origin);
        far_origin = !read;
        break;
      case DW_AT_call_file:
        read = read_constant(cursor, spec, call_file);
        break;
      case DW_AT_call_line:
        read = read_constant(cursor, spec, call_line);
        break;
      case DW_AT_sibling:
        read = read_reference(cursor, spec.form, sibling);
        break;
      default:
        break;
      }
      if (!read)
        skip_form(cursor, spec.form, sizes_);
    }
    if (!cursor.good())
      return outer.node;
    const bool inlined = abbrev.kind == Kind::inlined;
    const bool has_code = has_ranges || (has_low && has_high);
    if (!has_code && (!inlined || outer.node == no_index))
      return inlined ? outer.node : no_index;

    DieRef function{const_cast<unsigned char *>(die), unit_die_.cu};
    const DieRef own = function;
    if (inlined && origin && in_unit(origin))
      function.address = const_cast<unsigned char *>(start_) + origin;
    else if (inlined && far_origin)
      function = far_function(own);
    const auto node = static_cast<uint32_t>(out_.nodes.size());
    auto narrow = [](uint64_t value) {
      return value > 0xfffffffe ? 0 : static_cast<uint32_t>(value);
    };
    out_.nodes.push_back(
        {function, inlined ? outer.node : no_index, narrow(call_file), narrow(call_line)});
    if (start && has_size && size <= UINT64_MAX - *start)
      end = *start + size;
    if (start && end)
      add_range(*start, *end, node);
    else if (has_ranges)
      addresses_.visit_ranges(ranges, ranges_by_number, budget_.ranges,
                              [&](uint64_t from, uint64_t to) { add_range(from, to, node); });
    return node;
  }

  // Reads an address. Returns false, without reading, if the form is not that of an address.
  bool read_address(DwarfCursor &cursor, unsigned form, std::optional<uint64_t> &value) const {
    uint64_t number = 0;
    if (form == DW_FORM_addr)
      value = cursor.sized(sizes_.address);
    else if (read_address_number(cursor, form, number))
      value = addresses_.address(number);
    else
      return false;
    return true;
  }

  static DieRef far_function(DieRef own) {
    Dwarf_Die die = die_at(own);
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
        dwarf_formref_die(&attribute, &origin))
      return {origin.addr, origin.cu};
    return own;
  }

  void add_range(uint64_t low, uint64_t high, uint32_t node) {
    // Code that the linker dropped is at 0, 1, -1 or -2, where no section contains code.
    if (low < high && code_.contains(low))
      out_.ranges.push_back({low, high, node});
  }

  Dwarf_Die unit_die_;
  const CodeRanges &code_;
  const UnitAddresses &addresses_;
  ScanBudget &budget_;
  FormSizes sizes_{};
  int language_ = 0;
  bool swap_ = false;
  const unsigned char *start_ = nullptr; // start of the unit's header
  const unsigned char *end_ = nullptr;
  std::vector<Abbreviation> dense_;
  SeededMap<uint64_t, Abbreviation> sparse_;
  std::vector<AttributeSpec> specs_;
  std::vector<Open> stack_;
  UnitScan out_;
};

} // namespace

Dwarf_Die die_at(DieRef from) {
  Dwarf_Die die{};
  die.addr = from.address;
  die.cu = from.unit;
  return die;
}

UnitScan scan_unit(Dwarf_Die unit_die, const CodeRanges &code, const UnitAddresses &addresses,
                   ScanBudget &budget) {
  return Scanner(unit_die, code, addresses, budget).run();
}

std::vector<ScanRange> flatten(std::vector<ScanRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ScanRange &a, const ScanRange &b) {
    return a.low != b.low ? a.low < b.low : a.priority < b.priority;
  });
  struct Active {
    uint64_t priority;
    uint64_t high;
    bool operator<(const Active &other) const { return priority < other.priority; }
  };
  std::priority_queue<Active> active;
  std::vector<ScanRange> out;
  uint64_t at = 0;
  // Writes what is covered up to `until`; the range with the highest priority is on top.
  auto write_until = [&](uint64_t until) {
    while (!active.empty() && at < until) {
      if (active.top().high <= at) {
        active.pop();
        continue;
      }
      const uint64_t end = std::min(until, active.top().high);
      const uint64_t priority = active.top().priority;
      if (!out.empty() && out.back().high == at && out.back().priority == priority)
        out.back().high = end;
      else
        out.push_back({at, end, priority});
      at = end;
    }
  };
  for (const ScanRange &range : ranges) {
    write_until(range.low);
    at = range.low;
    active.push({range.priority, range.high});
  }
  write_until(UINT64_MAX);
  return out;
}

} // namespace tally::symbolize
