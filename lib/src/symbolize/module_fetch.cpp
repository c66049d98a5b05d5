#include "symbolize/module_fetch.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "support/strings.h"
#include "symbolize/fetch_limits.h"

namespace tally::symbolize {

void ModuleFetch::begin(std::span<const ModuleId> modules, const Tables &tables,
                        Diagnostics &diagnostics) {
  std::vector<FetchRequest> requests;
  for (const ModuleId id : modules) {
    const uint32_t module = index_of(id);
    if (module < tables.size() && tables[module]->lacks_debug_file() &&
        asked_.insert(module).second)
      requests.push_back({module, std::string(tables[module]->build_id())});
  }
  if (requests.empty())
    return;
  if (const std::string why = why_no_debuginfod(); !why.empty())
    diagnostics.add(Severity::note, why + ", so no debug files are fetched", "debuginfod");
  else
    std::ranges::move(requests, std::back_inserter(waiting_));
}

std::optional<FetchProgress> ModuleFetch::wait(std::chrono::milliseconds budget,
                                               const Tables &tables, Diagnostics &diagnostics) {
  if (!busy_) {
    fetcher_.begin(std::exchange(waiting_, {}));
    busy_ = true;
  }
  std::vector<FetchResult> results;
  const DebugFileFetcher::Progress now = fetcher_.wait(budget, results);
  busy_ = !now.finished;
  for (const FetchResult &result : results) {
    ModuleTable &table = *tables[result.module];
    if (result.outcome == FetchOutcome::found)
      table.use_debug_file(result);
    report_fetch(result, table.name(), diagnostics);
  }
  if (now.finished)
    return waiting_.empty() ? std::nullopt : wait(budget, tables, diagnostics);
  return FetchProgress{tables[now.module]->name(), now.received, now.size, now.done, now.all};
}

void report_fetch(const FetchResult &result, const std::string &module, Diagnostics &diagnostics) {
  const auto warn = [&](std::string text) {
    diagnostics.add(Severity::warning, std::move(text), module);
  };
  const FetchLimits limits = FetchLimits::of(std::getenv);
  switch (result.outcome) {
  case FetchOutcome::found:
    if (!result.whole)
      warn("debuginfod did not send the part of the debug information that is common to several "
           "files, so some names are missing");
    break;
  case FetchOutcome::missing:
  case FetchOutcome::stopped:
    break;
  case FetchOutcome::wrong:
    warn("debuginfod sent the debug information of another file, which is not used");
    break;
  case FetchOutcome::damaged:
    warn("debuginfod sent a damaged file, which is not used");
    break;
  case FetchOutcome::too_large:
    warn(
        fmt::format("debuginfod has debug information of more than {} bytes, which is not fetched; "
                    "DEBUGINFOD_MAXSIZE sets the limit",
                    limits.most_bytes));
    break;
  case FetchOutcome::no_space:
    warn(fmt::format("no debug information is fetched from debuginfod, because less than {} MiB "
                     "would stay free in {}",
                     limits.kept_free >> 20, result.detail));
    break;
  case FetchOutcome::broken_off:
    warn("debuginfod broke off the transfer of the debug information");
    break;
  case FetchOutcome::hangs:
    warn(fmt::format("debuginfod sent less than {} KiB in {} s, so it is not asked again; "
                     "DEBUGINFOD_TIMEOUT sets the limit",
                     limits.least_bytes >> 10, limits.patience.count()));
    break;
  case FetchOutcome::unreachable:
    warn(fmt::format("debuginfod cannot be asked ({}), so it is not asked again", result.detail));
    break;
  }
}

} // namespace tally::symbolize
