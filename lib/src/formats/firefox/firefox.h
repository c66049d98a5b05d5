#pragma once

#include "formats/formats.h"

namespace tally::firefox {

bool probe(std::string_view head);
// The profile has addresses without names only if Firefox itself wrote it.
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder = nullptr);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

// The names of the categories that say what a sample measures. The first one is the default of the
// viewer, which must be grey.
inline constexpr std::string_view other_category = "Other", running_category = "Running",
                                  waiting_category = "Waiting", queued_category = "Queued";

// The tid of the samples whose thread is unknown.
inline constexpr std::string_view unknown_tid = "unknown";

// The key of what only Tally writes, in `meta` and in threads; see FORMAT.md.
inline constexpr std::string_view own_key = "tally";

} // namespace tally::firefox
