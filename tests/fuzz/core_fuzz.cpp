// Opens arbitrary bytes as a core file: its mappings, its memory and the stacks of its threads.
#include <array>

#include "fuzz_target.h"
#include "require.h"
#include "scratch_file.h"
#include "symbolize/core_file.h"

namespace tally::core_fuzz {

FUZZ_TARGET(core) {
  const ScratchFile scratch(data, size);
  const auto core = symbolize::CoreFile::open(scratch.path());
  if (!core) {
    require_clear(core.error(), size);
    return 0;
  }
  std::array<std::byte, 64> bytes;
  for (const auto &mapping : core->mappings())
    for (const uint64_t address : {mapping.start, mapping.start - 1, mapping.end - 32})
      static_cast<void>(core->read(address, bytes));
  for (const auto &thread : core->threads(""))
    require(thread.pcs.size() <= 1024, "a stack has a limit");
  return 0;
}

} // namespace tally::core_fuzz
