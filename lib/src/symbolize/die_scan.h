// One pass over the debugging information entries of a unit, for the code that they describe.
#pragma once

#include <cstdint>
#include <vector>

#include <elfutils/libdw.h>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

// Where a DIE lies: enough to hand it to libdw again.
struct DiePlace {
  void *address = nullptr;
  Dwarf_CU *unit = nullptr;
};
Dwarf_Die die_at(DiePlace place);

struct ScanNode {
  DiePlace function; // the subprogram, or what DW_AT_abstract_origin of the inlined copy names
  uint32_t parent;   // node it is inlined into, or no_index
  uint32_t call_file;
  uint32_t call_line;
};

struct ScanRange {
  uint64_t low;
  uint64_t high;
  uint64_t priority; // of ranges that overlap the greatest wins
};

// A namespace or class, and the subprograms that lie in one (in the order of their addresses).
struct ScanScope {
  void *die;
  uint32_t parent;
};
struct ScanMember {
  void *die;
  uint32_t scope;
};

struct UnitScan {
  std::vector<ScanNode> nodes;   // a parent before what is inlined into it
  std::vector<ScanRange> ranges; // priority: the number of the node
  std::vector<ScanScope> scopes;
  std::vector<ScanMember> members;
};

// `unit_die` is the DIE of a compilation unit (of the split one where there is one). What is
// damaged ends the pass; what was found before it is kept.
UnitScan scan_unit(Dwarf_Die unit_die, const CodeRanges &code);

// Sorted and disjoint; ranges with the same priority that touch become one.
std::vector<ScanRange> flatten(std::vector<ScanRange> ranges);

} // namespace tally::symbolize
