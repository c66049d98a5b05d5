// The `coverage` commands, one function each, with the state that it needs. They return the text to
// print.
#pragma once

#include <string>

#include "session/command_line.h"
#include "session/counted_program.h"
#include "session/counter_marks.h"
#include "session/front.h"
#include "session/live_coverage.h"

namespace tally {

Result<std::string> coverage_report_command(CoverageReader &reader, const Front &front,
                                            const ParsedCommand &command);
Result<std::string> report_objects(CoverageReader &reader, const Front &front,
                                   const ParsedCommand &command); // `report --by object`
Result<std::string> coverage_annotate_command(CoverageReader &reader, const Front &front,
                                              const ParsedCommand &command);
Result<std::string> coverage_break_command(CountedProgram &program, Front &front,
                                           const ParsedCommand &command);
Result<std::string> coverage_list_command(CountedProgram &program, Front &front);
Result<std::string> coverage_mark_command(CountedProgram &program, CounterMarks &marks);
Result<std::string> coverage_status_command(CountedProgram &program, const CounterMarks &marks,
                                            int32_t pid, const ParsedCommand &command);
Result<std::string> coverage_dump_command(CountedProgram &program, CoverageReader &reader,
                                          const ParsedCommand &command);

} // namespace tally
