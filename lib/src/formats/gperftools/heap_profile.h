// Heap profiles of gperftools and jemalloc: text, followed by that of /proc/PID/maps.
#pragma once

#include <string>
#include <string_view>

#include "formats/formats.h"
#include "support/diagnostics.h"

namespace tally::gperftools {

bool is_heap_profile(std::string_view head);
Result<Profile> read_heap_profile(std::string_view text, const std::string &source,
                                  Diagnostics &diagnostics);

} // namespace tally::gperftools
