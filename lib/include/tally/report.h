// Tables for people and for programs, drawn from a profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/style.h>

namespace tally {

enum class By : uint8_t { function, line, object, thread, part };
enum class SortBy : uint8_t { self, inclusive };
// By the words that users type: those above.
TALLY_API Result<By> by_of(std::string_view word);
TALLY_API Result<SortBy> sort_by_of(std::string_view word);

struct FlatRow {
  std::string name;   // function, thread or trigger
  std::string file;   // of the function's declaration, or of the line; "" when not known
  std::string object; // "" when not known
  uint32_t line = 0;  // by line: the line; by function: where it is declared; 0: not known
  uint64_t id = 0;    // by thread: tid; by part: its number
  std::vector<uint64_t> self, inclusive; // one for each event
  uint64_t calls = 0;                    // counted calls into it; sampling counts none
  uint32_t cycle = 0; // it is one of that many-th of the table's cycles; 0: of none
  // Where self of the first event is a share that was rounded: the share itself, which percentages
  // are of.
  std::optional<double> exact_self{};
};

// Functions that call each other: inclusive costs of theirs leave out the calls among them.
struct CycleRow {
  std::vector<std::string> functions;
  std::vector<uint64_t> self, inclusive; // of all together
};

// Rows by falling cost of the first event (self, then inclusive, or the other way round), then by
// name, file, object: one order for one profile.
struct FlatTable {
  By by = By::function;
  std::vector<std::string> events;
  std::vector<uint64_t> totals;
  std::vector<FlatRow> rows;
  std::vector<CycleRow> cycles{}; // by function, from arcs
  struct DerivedEvent {
    std::string name, formula;
    uint64_t total = 0;
  };
  std::vector<DerivedEvent> derived{}; // what a formula makes of the events
  // False: what calls cost is not known, and `inclusive` is self. Text shows calls in its place.
  bool has_inclusive = true;
};

// Inclusive: once a row a stack, so recursion never exceeds the total.
TALLY_API Result<FlatTable> flat_table(const StackProfile &profile, By by,
                                       SortBy sort = SortBy::self);
// Inclusive: by the arcs, see CallGraph. All parts together; `by` thread adds up the parts of each.
TALLY_API Result<FlatTable> flat_table(const CostProfile &profile, By by,
                                       SortBy sort = SortBy::self);

// Where a row's own code was hit most.
struct HotPlace {
  std::string file;
  uint32_t line = 0;    // 0: no line is known there, and file is empty
  uint64_t address = 0; // then: run-time; 0: not known either
};
// By function and by line: the line with most self cost of the first event in the row's function
// (lines of what is inlined into it are not its own), of equal ones the first; where the row has
// none, the line with most inclusive cost, or that makes the costliest calls. Without lines the
// address with most self cost. unsupported: rows of another kind have no place.
TALLY_API Result<HotPlace> hot_place(const StackProfile &profile, By by, const FlatRow &row);
// The same; addresses of such profiles are those of files, and not told.
TALLY_API Result<HotPlace> hot_place(const CostProfile &profile, By by, const FlatRow &row);

struct TextOptions {
  uint32_t limit = 0;  // rows; 0: all
  uint32_t width = 80; // columns; 0: any
  Style style{};
};

// Columns: the row's number from 1, self %, self, inclusive %, inclusive (or calls), name, place.
// Names that are too wide lose their template arguments, then their parameters ("map<…>::at(…)");
// the JSON has them whole.
TALLY_API std::string to_text(const FlatTable &table, const TextOptions &options = {});
// By function: {"events":[…],"totals":[…],"functions":[{"name","file","object","self":[…],
// "inclusive":[…],"calls":N}]}; otherwise "lines", "objects", "threads" or "parts" in place of
// "functions". Bytes that are not UTF-8 become U+FFFD. limit 0: all rows.
TALLY_API std::string to_json(const FlatTable &table, uint32_t limit = 0);

// What changed from one table to another of the same kind, in percent of each one's total, so that
// runs of different length compare.
struct DiffRow {
  std::string name, file, object;
  uint32_t line = 0;
  uint64_t before = 0, after = 0; // of the first event
  double before_percent = 0, after_percent = 0;
};

struct DiffTable {
  By by = By::function;
  SortBy cost = SortBy::self; // that is compared
  std::string event;
  uint64_t before_total = 0, after_total = 0;
  std::vector<DiffRow> rows; // by falling size of the change in percent
};

TALLY_API DiffTable diff_tables(const FlatTable &before, const FlatTable &after,
                                SortBy cost = SortBy::self);
TALLY_API std::string to_text(const DiffTable &table, const TextOptions &options = {});
TALLY_API std::string to_json(const DiffTable &table, uint32_t limit = 0);

} // namespace tally
