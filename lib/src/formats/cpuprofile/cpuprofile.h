#pragma once

#include "formats/formats.h"

namespace tally::cpuprofile {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);
// Read the trace events of Chrome.
bool probe_trace(std::string_view head);
Result<Profile> read_trace(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

// V8's names of the node above all others, and of the time in which nothing ran.
inline constexpr std::string_view root_name = "(root)", idle_name = "(idle)";

} // namespace tally::cpuprofile
