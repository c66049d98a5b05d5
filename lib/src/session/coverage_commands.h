// The `coverage` commands, one function each.
#pragma once

#include "session/coverage_group.h"

namespace tally {

using CoverageCommand = Result<std::string>(CoverageGroup &group, const ParsedCommand &command);
CoverageCommand run_coverage_command; // by the table, in coverage_table.cpp
CoverageCommand coverage_report_command, coverage_annotate_command, coverage_break_command,
    coverage_list_command, coverage_mark_command, coverage_status_command, coverage_dump_command,
    coverage_clear_command, coverage_config_command;
CoverageCommand report_objects; // `report --by object`

} // namespace tally
