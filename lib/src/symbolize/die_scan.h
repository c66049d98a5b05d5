// Scans the debugging information entries of a unit once, for the code that they describe.
#pragma once

#include <cstdint>
#include <vector>

#include <elfutils/libdw.h>

#include "symbolize/elf_file.h"
#include "symbolize/unit_addresses.h"

namespace tally::symbolize {

// Identifies a DIE, so that it can be passed to libdw again.
struct DieRef {
  void *address = nullptr;
  Dwarf_CU *unit = nullptr;
};
Dwarf_Die die_at(DieRef die);

struct ScanNode {
  DieRef function; // the subprogram, or the target of the inlined copy's DW_AT_abstract_origin
  uint32_t parent; // the node that it is inlined into, or no_index
  uint32_t call_file;
  uint32_t call_line;
};

struct ScanRange {
  uint64_t low;
  uint64_t high;
  uint64_t priority; // where ranges overlap, the highest priority wins
};

// A ScanScope is a namespace or a class, a ScanMember a subprogram inside of a scope. Both are
// ordered by the addresses of their DIEs.
struct ScanScope {
  void *die;
  uint32_t parent;
};
struct ScanMember {
  void *die;
  uint32_t scope;
};

struct UnitScopes {
  std::vector<ScanScope> all;
  std::vector<ScanMember> members;
};

struct UnitScan {
  std::vector<ScanNode> nodes;   // a parent precedes the nodes inlined into it
  std::vector<ScanRange> ranges; // the priority is the number of the node
  UnitScopes scopes;
};

// Limits the memory and time of the scans of one file: many entries or units of a damaged file may
// refer to the same list of ranges or of abbreviations, however long it is.
struct ScanBudget {
  uint32_t ranges = 1U << 24;
  uint32_t abbreviations = 1U << 22;
};

// Scans a unit. `unit_die` is the DIE of a compilation unit (of the split unit, if there is one),
// and `addresses` are those of the unit. Damaged data ends the scan; the results up to there are
// kept.
UnitScan scan_unit(Dwarf_Die unit_die, const CodeRanges &code, const UnitAddresses &addresses,
                   ScanBudget &budget);

// Returns sorted, disjoint ranges; adjacent ranges with the same priority are merged.
std::vector<ScanRange> flatten(std::vector<ScanRange> ranges);

} // namespace tally::symbolize
