// Shows the ticks of a program by address, bin by bin, with bars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/pc_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"
#include "transform/pc_costs.h"

namespace tally {

// The ticks of one object by link-time address, with the names and lines of its code.
struct PcView {
  struct Function {
    uint64_t start = 0, end = 0;
    std::string name;
  };
  std::string object; // its path; may be empty
  std::string event;  // the name of the counted event: "ticks"
  PcHistogram histogram;
  std::vector<Function> functions; // in ascending order, without overlap
  // True if `functions` begin where the symbol table says; false if each begins at the first of its
  // addresses that has a tick.
  bool knows_starts = false;
  // Returns "file:line-line" for the code in [low, high). Null if no lines are known.
  std::function<std::string(uint64_t low, uint64_t high)> lines;
  // Returns the start addresses of the functions with the symbol `name`. Null if there is no symbol
  // table.
  std::function<std::vector<uint64_t>(std::string_view name)> starts_of;
  std::optional<uint64_t> bias; // run-time address - link-time address, if known
};

// Returns the histogram of a gmon.out. `names` gives its functions their names, as in costs_of();
// if null, the view has no functions. The symbolizer must outlive the view. A file without a
// histogram is no_data.
Result<PcView> pc_view(const PcProfile &profile, const PcNames *names = nullptr);
// Returns the names of a mapping's object, or nothing if they are unknown.
using NamesOfObject = std::function<std::optional<PcNames>(MappingId)>;
// Returns the histogram of the object that contains the function named `what`, or the run-time
// address range `what`. If `what` is empty or no object contains it, the object is the program,
// that is, the file of the first mapping. `names` may be null; then functions and lines are those
// of the samples. A profile without mappings, as of a remote target, is that of one object without
// a path; if it has no addresses either, it is unsupported.
Result<PcView> pc_view(const StackProfile &profile, std::string_view what,
                       const NamesOfObject &names = nullptr);
// Returns the histogram of the profile's first event, for the object that contains the function
// named `what`, otherwise for the object with the highest cost. A profile without addresses is
// unsupported.
Result<PcView> pc_view(const CostProfile &profile, std::string_view what);

struct HistogramOptions {
  // FUNCTION, LOW-HIGH or LOW,HIGH; addresses are decimal, or hexadecimal after 0x. If empty, the
  // range is from the first tick to the last.
  std::string what;
  // The scale of profil(): an unsigned fraction of 65536, where 0xFFFF is about two bytes of code
  // for each bin, and 0x7FFF about four. Without it all bins have the same size, a power of two of
  // at least 2 bytes, so that there are at most about 40 bins.
  std::optional<uint32_t> scale;
};
// Parses a scale, decimal or hexadecimal ("0x7FFF"), from 2 to 0xFFFF; 0 and 1 are errors, because
// they turn profil() off. `source` is the option that the error names.
Result<uint32_t> scale_of(std::string_view text, std::string source);

struct HistogramTable {
  struct Row {
    uint64_t low = 0, high = 0; // half-open
    uint64_t bins = 1;          // more than 1 for a run of bins without a tick
    uint64_t ticks = 0;
    double exact = 0;   // the ticks before rounding
    std::string symbol; // "function+0x12"
    std::string lines;  // "file.c:10-14"
  };
  std::string object, event;
  uint64_t low = 0, high = 0; // the addresses shown, half-open
  double bytes = 0;           // of code for each bin, on average
  uint64_t total = 0;         // all ticks, with those not shown
  // The ticks not shown: at addresses before and after the range, and in no bin of the profile.
  uint64_t before = 0, behind = 0, outside = 0;
  std::vector<Row> rows;
};

// Returns the table for the range or function that `options` name. If a bin of the profile overlaps
// several of the bins shown, its ticks are shared in proportion to the bytes of each overlap. A
// range means link-time addresses, unless it overlaps the object's code only if read as run-time
// addresses. Errors are not_found for an unknown function, invalid_argument for an empty range,
// no_data if there is no tick to show, and limit for more than 4,194,304 bins.
Result<HistogramTable> histogram_table(const PcView &view, const HistogramOptions &options = {});
std::string to_text(const HistogramTable &table, const TextOptions &options = {});
// Returns {"object","event","total","outside","bins":[{"low","high","ticks","function","lines"}]}
// with the bins that have ticks: the first `limit`, or all if it is 0.
std::string to_json(const HistogramTable &table, uint32_t limit = 0);

} // namespace tally
