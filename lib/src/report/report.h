// Makes tables of a profile, as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/style.h"
#include "support/result.h"

namespace tally {

enum class By : uint8_t { function, line, object, thread, part, name_space, directory, process };
enum class SortBy : uint8_t { self, inclusive };
// Parse the name of an enumerator, as a user types it: "function", "namespace", …; "module" is
// another name of "object". Any other word is invalid_argument.
Result<By> by_of(std::string_view word);
Result<SortBy> sort_by_of(std::string_view word);

struct FlatRow {
  // The name of the function, thread, process, namespace or directory, or the trigger of the part.
  // It is empty if unknown, and for functions that belong to no namespace.
  std::string name;
  std::string file;   // the file that declares the function, or the line's; empty if unknown
  std::string object; // empty if unknown
  // In a table by line, the line; in a table by function, the line of its declaration; 0 if
  // unknown.
  uint32_t line = 0;
  // By thread, the tid; by part, the part's number; by process, the pid of the first. A negative
  // tid or pid is converted to this type, as static_cast does it.
  uint64_t id = 0;
  uint64_t processes = 0;                // by process, how many have this name
  std::vector<uint64_t> self, inclusive; // one for each event
  uint64_t calls = 0;                    // counted calls of the function; 0 for samples
  uint32_t cycle = 0;                    // 1 + the index of its cycle in FlatTable::cycles, or 0
  // The share before rounding, if `self` of the first event is a rounded share. Percentages are
  // computed from it.
  std::optional<double> exact_self{};
};

// Functions that call each other in a cycle. The inclusive costs leave out the calls between
// functions of the cycle.
struct CycleRow {
  std::vector<std::string> functions;
  std::vector<uint64_t> self, inclusive; // of all functions together
};

// The rows are in descending order of the first event's self cost, those with equal self cost in
// descending order of inclusive cost. SortBy::inclusive exchanges the two costs. If the table has
// columns for several values, those with equal self cost are in descending order of the next value.
// Other ties are in order of name, file, object, line and id, so that a profile always gives the
// same order.
struct FlatTable {
  By by = By::function;
  std::vector<std::string> events;
  std::vector<uint64_t> totals;
  std::vector<FlatRow> rows;
  std::vector<CycleRow> cycles{}; // only by function, and only from a CostProfile
  struct DerivedEvent {
    std::string name, formula;
    uint64_t total = 0;
  };
  std::vector<DerivedEvent> derived{}; // events computed from others by a formula
  // False if the costs of calls are unknown: then `inclusive` equals `self`, and text shows the
  // number of calls in its place.
  bool has_inclusive = true;
  SortBy sort = SortBy::self;
  // The unit of each event: "count", "nanoseconds", … Empty for a CostProfile, unless the long name
  // of an event says that it is a time.
  std::vector<std::string> units{};
};

// Returns the table of a profile. A stack adds to a row's inclusive cost once, so that recursion
// never exceeds the total. A sample with a negative value is invalid_input.
Result<FlatTable> flat_table(const StackProfile &profile, By by, SortBy sort = SortBy::self);
// Returns the table of all parts together. Inclusive costs are computed from the arcs, see
// CallGraph. By::thread adds up the parts of each thread.
Result<FlatTable> flat_table(const CostProfile &profile, By by, SortBy sort = SortBy::self);

// The source location with the highest cost in a row.
struct HotLocation {
  std::string file;
  uint32_t line = 0;    // 0 if no line is known; then `file` is empty
  uint64_t address = 0; // run-time, if no line is known; 0 if no address is known either
};
// Returns the line of the row's function with the highest self cost of the first event. Lines of
// functions inlined into it are not its own. If several lines have the same self cost, or none has
// any, the highest inclusive cost decides, that is, the cost of the line and of its calls;
// remaining ties go to the first. Without lines it returns the address with the highest self cost.
// Only rows by function and by line have a location; for others it fails with unsupported.
Result<HotLocation> hot_location(const StackProfile &profile, By by, const FlatRow &row);
// Does the same, but never returns an address, because the addresses in a CostProfile are not
// run-time addresses.
Result<HotLocation> hot_location(const CostProfile &profile, By by, const FlatRow &row);

struct TextOptions {
  uint32_t limit = 0;  // the most rows; 0 for all
  uint32_t width = 80; // the columns of the terminal; 0 for no limit
  Style style{};
  // In coverage, show long lists of lines whole. Otherwise they end after two lines or, if the
  // width is not limited, after 20 ranges.
  bool full = false;
  bool full_names = false; // do not shorten names
};

// Returns the table as text with the columns: the row's number from 1, self %, self, inclusive %,
// inclusive (or calls), name, source location. A table of up to four values of samples has a column
// for each in place of the percentages: self values or, sorted by SortBy::inclusive, inclusive
// ones. By thread, those that spent nearly all of their time in one wait share a row, unless the
// limit is 0. A name that is too wide loses template arguments and parameters ("map<int,
// …>::at(…)"), unless the options ask for full names; the JSON has complete names.
std::string to_text(const FlatTable &table, const TextOptions &options = {});
// Returns the first `limit` rows, or all if it is 0, as JSON. By function it is {"events":[…],
// "totals":[…],"functions":[{"name","file","line","object","self":[…],"inclusive":[…],"calls":N}]}.
// For the other values of By, "lines", "objects", "processes", "threads", "parts", "namespaces" or
// "directories" replaces "functions", and the elements have the keys of that kind of row. Bytes
// that are not UTF-8 become U+FFFD.
std::string to_json(const FlatTable &table, uint32_t limit = 0);

// What changed from one table to another of the same kind. The costs are also in percent of each
// table's total, so that runs of different length can be compared.
struct DiffRow {
  std::string name, file, object;
  uint32_t line = 0;
  uint64_t before = 0, after = 0; // the cost of the first event
  double before_percent = 0, after_percent = 0;
};

struct DiffTable {
  By by = By::function;
  SortBy cost = SortBy::self; // the cost that is compared
  std::string event;
  uint64_t before_total = 0, after_total = 0;
  std::vector<DiffRow> rows; // in descending order of the absolute change
  std::string unit{};        // of the event: "nanoseconds", "count"
};

// Compares the first event of two tables, which must have the same `by`. Rows match by name, file
// and object and, by line, the line. If no row of one table has a file, or an object, rows match
// without it.
DiffTable diff_tables(const FlatTable &before, const FlatTable &after, SortBy cost = SortBy::self);
std::string to_text(const DiffTable &table, const TextOptions &options = {});
// Returns {"events":["…"],"totals":{"before","after"},"functions":[{"name","file","object",
// "before","after"}]} with the first `limit` rows, or all if it is 0. As in the JSON of a
// FlatTable, the kind of rows determines the key "functions"; rows by line also have "line".
std::string to_json(const DiffTable &table, uint32_t limit = 0);

} // namespace tally
