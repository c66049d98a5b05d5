// Fetches the debug files of modules, and reports what failed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/symbolizer.h"
#include "support/diagnostics.h"
#include "symbolize/debuginfod.h"
#include "symbolize/module_table.h"

namespace tally::symbolize {

// The functions that have the names of Symbolizer's implement them. A ModuleId is an index of
// `tables`, except for code without a file.
class ModuleFetch {
public:
  using Tables = std::vector<std::unique_ptr<ModuleTable>>;
  explicit ModuleFetch(std::vector<std::string> debug_directories)
      : fetcher_(std::move(debug_directories)) {}

  void begin(std::span<const ModuleId> modules, const Tables &tables, Diagnostics &diagnostics);
  std::optional<FetchProgress> wait(std::chrono::milliseconds budget, const Tables &tables,
                                    Diagnostics &diagnostics);
  void stop() { fetcher_.stop(); }

private:
  DebugFileFetcher fetcher_;
  std::vector<FetchRequest> waiting_; // that the fetcher has not received yet
  bool busy_ = false;                 // the fetcher has not finished those that it has received
  std::set<uint32_t> asked_;          // modules
};

// Reports why a module's debug file is not used. Reports nothing if no server has it.
void report_fetch(const FetchResult &result, const std::string &module, Diagnostics &diagnostics);

} // namespace tally::symbolize
