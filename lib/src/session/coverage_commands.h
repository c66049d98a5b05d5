// The `coverage` commands that have a file of their own.
#pragma once

#include "session/coverage_group.h"

namespace tally {

// coverage_break_and_list.cpp
Result<Reply> coverage_break_command(CoverageGroup &group, const ParsedCommand &command);
Result<Reply> coverage_list_command(CoverageGroup &group, const ParsedCommand &command);
// coverage_objects.cpp
Result<Reply> report_objects(CoverageGroup &group, const ParsedCommand &command);

} // namespace tally
