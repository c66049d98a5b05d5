// The histogram of a program's addresses, bin by bin, with bars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/pc_costs.h>
#include <tally/pc_profile.h>
#include <tally/report.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

// The ticks of one object by link-time address, with what is known of the code there.
struct PcView {
  struct Function {
    uint64_t start = 0, end = 0;
    std::string name;
  };
  std::string object; // its path; may be empty
  std::string event;  // what is counted: "ticks"
  PcHistogram histogram;
  std::vector<Function> functions; // ascending, apart
  bool knows_starts = false;       // of functions; else these begin at the first address counted
  // "file:line-line" of the code in [low, high); null: no lines are known.
  std::function<std::string(uint64_t low, uint64_t high)> lines;
  // Where functions of that name begin, by any of their names; null: no symbol table is known.
  std::function<std::vector<uint64_t>(std::string_view name)> starts_of;
  std::optional<uint64_t> bias; // run-time address - link-time address, where it is known
};

// `names` as in costs_of(); it outlives the view. Without it there are no functions.
TALLY_API Result<PcView> pc_view(const PcProfile &profile, const PcNames *names = nullptr);
// Of the object that a function named `what`, or a run-time address range, lies in; else of the
// program, the object of the first mapping. `names`: of objects by path, may be null.
using NamesOfObject = std::function<std::optional<PcNames>(MappingId)>;
TALLY_API Result<PcView> pc_view(const StackProfile &profile, std::string_view what,
                                 const NamesOfObject &names = nullptr);
// The first event of a profile with addresses.
TALLY_API Result<PcView> pc_view(const CostProfile &profile, std::string_view what);

struct HistogramOptions {
  std::string what; // FUNCTION, LOW-HIGH or LOW,HIGH; "": from the first tick to the last
  // As profil() has it: an unsigned fraction of 65536, 0xFFFF about two bytes of code a bin, 0x7FFF
  // four. None: bins of so many bytes that they fit a screen.
  std::optional<uint32_t> scale;
};
// "0x7FFF" or decimal, 2 to 0xFFFF: 0 and 1 turn profil() off. `source` is who gave it.
TALLY_API Result<uint32_t> scale_of(std::string_view text, std::string source);

struct HistogramTable {
  struct Row {
    uint64_t low = 0, high = 0; // half-open
    uint64_t bins = 1;          // more: so many without a tick stand together
    uint64_t ticks = 0;
    double exact = 0;  // before rounding
    std::string place; // "function+0x12"
    std::string lines; // "file.c:10-14"
  };
  std::string object, event;
  uint64_t low = 0, high = 0;                   // what is shown
  double bytes = 0;                             // of a bin, on average
  uint64_t total = 0;                           // all ticks, also those not shown
  uint64_t before = 0, behind = 0, outside = 0; // ticks not shown; outside: in no bin at all
  std::vector<Row> rows;
};

// Ticks of bins of the profile are shared among those shown by bytes. A range is taken for
// run-time addresses where it lies in the object only as such. Errors: not_found for a function
// that is not there, invalid_argument for what makes no range.
TALLY_API Result<HistogramTable> histogram_table(const PcView &view,
                                                 const HistogramOptions &options = {});
TALLY_API std::string to_text(const HistogramTable &table, const TextOptions &options = {});
// {"object","event","total","outside","bins":[{"low","high","ticks","function","lines"}]}: those
// with ticks. limit 0: all.
TALLY_API std::string to_json(const HistogramTable &table, uint32_t limit = 0);

} // namespace tally
