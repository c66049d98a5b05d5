// The compiler's view of coverage: the flow graphs of one object file's functions, as its notes
// tell them (.gcno; .bbg with .bb). What ran is in counters of another file; solve() brings them
// together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/result.h>
#include <tally/strings.h>

namespace tally {

enum class GraphFunctionId : uint32_t {};

// Flags of an arc (GCC, gcc/gcov-io.h).
inline constexpr uint32_t arc_on_tree = 1;      // of the spanning tree: it has no counter
inline constexpr uint32_t arc_fake = 2;         // out of a call that may not return
inline constexpr uint32_t arc_fall_through = 4; // to the block behind

struct GraphArc {
  uint32_t source = 0, destination = 0; // blocks of the function
  uint32_t flags = 0;
};

// Lines of one block in one file. A block has several where its notes name files several times,
// even the same.
struct GraphLocation {
  uint32_t block = 0;
  StringId file{};
  uint32_t first_line = 0, last_line = 0; // half-open, into lines()
};

// GCC 14: what -fcondition-coverage counts.
struct GraphCondition {
  uint32_t block = 0, terms = 0; // at most 64 terms
};

// Blocks are numbered from 0, the entry.
struct GraphFunction {
  StringId name{}; // of the assembler
  StringId file{}; // where it is defined; GCC 3 does not tell
  uint32_t ident = 0, lineno_checksum = 0, cfg_checksum = 0;
  bool artificial = false;                                                 // made by the compiler
  uint32_t start_line = 0, start_column = 0, end_line = 0, end_column = 0; // 0: not told
  uint32_t block_count = 0;
  uint32_t exit_block = 0;
  // Half-open ranges of the graph's columns.
  uint32_t first_arc = 0, last_arc = 0; // counters are of those off the tree, in this order
  uint32_t first_location = 0, last_location = 0;
  uint32_t first_condition = 0, last_condition = 0;
};

// Filled by a reader, which checks what it puts in: blocks of arcs, locations and conditions are
// below block_count. Then const.
struct CoverageGraph {
  StringPool strings;
  StringId working_directory{}; // of the compiler; "": not told
  bool has_unexecuted_blocks = false;
  // A block counts for each of its lines, as often as it names it, as llvm-cov has it, not for the
  // last of them only; and the last block counts as the others do.
  bool by_clang = false;
  Column<GraphFunctionId, GraphFunction> functions; // in the order of the file
  std::vector<GraphArc> arcs;                       // by function, then in the order of the file
  std::vector<GraphLocation> locations;
  std::vector<uint32_t> lines;
  std::vector<GraphCondition> conditions;

  std::span<const GraphArc> arcs_of(const GraphFunction &f) const {
    return std::span(arcs).subspan(f.first_arc, f.last_arc - f.first_arc);
  }
  std::span<const GraphLocation> locations_of(const GraphFunction &f) const {
    return std::span(locations).subspan(f.first_location, f.last_location - f.first_location);
  }
  std::span<const GraphCondition> conditions_of(const GraphFunction &f) const {
    return std::span(conditions).subspan(f.first_condition, f.last_condition - f.first_condition);
  }
  std::span<const uint32_t> lines_of(const GraphLocation &l) const {
    return std::span(lines).subspan(l.first_line, l.last_line - l.first_line);
  }
};

// Counters of a graph's functions, as a reader has brought them together.
struct CoverageCounters {
  struct Range {
    uint32_t first = 0, last = 0; // half-open, into values
    // In counters of the object: otherwise it did not run, or another object has its only copy.
    bool present = false;
  };
  bool none = false;     // there is no file of counters: nothing ran, all functions are present
  bool unknown = false;  // there is one, but of no function that the notes know
  std::vector<Range> of; // by function
  std::vector<int64_t> values;
  // Which terms decided a condition while it was true, and while it was false: a bit for each.
  struct Condition {
    uint64_t when_true = 0, when_false = 0;
  };
  std::vector<Condition> conditions; // as the graph's; empty: none is counted

  std::span<const int64_t> values_of(GraphFunctionId f) const {
    const Range &range = of[index_of(f)];
    return std::span(values).subspan(range.first, range.last - range.first);
  }
};

} // namespace tally
