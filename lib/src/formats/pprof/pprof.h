#pragma once

#include "formats/formats.h"

namespace tally::pprof {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

// The comments and labels that only Tally writes; see FORMAT.md.
inline constexpr std::string_view command_comment = "command: ";
inline constexpr std::string_view part_comment = "part ";
inline constexpr std::string_view thread_label = "thread", tid_label = "tid", pid_label = "pid",
                                  process_label = "process", part_label = "part",
                                  trigger_label = "trigger";

} // namespace tally::pprof
