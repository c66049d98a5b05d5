// The table that `tally record --live` shows while it samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "collect/sampler.h"
#include "model/symbolizer.h"

namespace tally::cli {

// On a terminal, each table replaces the one before; elsewhere, they follow each other. Whatever
// fails here is shown in place of the table, because it must not end the recording.
class LiveTable {
public:
  // `sampler` outlives this object. `what` names the process.
  LiveTable(Sampler &sampler, std::string what);

  // Draws the table of all samples so far. `took_ns` is the time since the beginning.
  void draw(uint64_t took_ns);

private:
  std::string text(uint64_t took_ns);

  Sampler &sampler_;
  std::string what_;
  bool terminal_;
  std::unique_ptr<Symbolizer> symbolizer_; // keeps the symbols of modules from table to table
  std::map<std::string, uint64_t> before_; // the functions' own counts in the last table
};

} // namespace tally::cli
