#include "formats/gperftools/cpu_profile.h"
#include "formats/gperftools/gperftools.h"
#include "formats/gperftools/heap_profile.h"

namespace tally::gperftools {

bool probe(std::string_view head) { return cpu_header_of(head) || is_heap_profile(head); }

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *) {
  TALLY_TRY(bytes, source.rest());
  if (const auto header = cpu_header_of(bytes))
    return read_cpu_profile(*header, bytes, source.name(), diagnostics);
  if (is_heap_profile(bytes))
    return read_heap_profile(bytes, source.name(), diagnostics);
  return fail(ErrorCode::invalid_input, "is neither a CPU profile nor a heap profile of gperftools",
              source.name(), Position::at_offset(0));
}

} // namespace tally::gperftools
