// Options that several commands over profiles share.
#pragma once

#include <string>

#include <tally/annotate.h>
#include <tally/formats.h>
#include <tally/report.h>

#include "commands.h"

namespace tally::cli {

uint32_t terminal_width(); // 0: a file or a pipe, which is as wide as names are

// Of both kinds of profile; of one event where that is named.
Result<FlatTable> table_of(const Profile &profile, By by, SortBy sort, const std::string &event);
// The profile with one event alone, derived ones too.
Result<CostProfile> costs_of(const Profile &profile);

// --limit, --json and FILE, as the debuggers' table describes them.
struct TableOptions {
  std::string event;
  std::optional<uint32_t> limit;
  bool json = false;
};
void add_table_options(CLI::App &command, TableOptions &options);

} // namespace tally::cli
