// Reads arbitrary bytes as a raw or an indexed profile of Clang's source-based coverage. It is
// read, or rejected with one clear error.
#include <string_view>

#include "formats/llvm/source_profile.h"
#include "require.h"

using namespace tally;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (!llvm::is_raw_profile(bytes) && !llvm::is_indexed_profile(bytes))
    return 0;
  const auto profile = llvm::is_raw_profile(bytes) ? llvm::read_raw_profile(bytes, "x")
                                                   : llvm::read_indexed_profile(bytes, "x");
  if (!profile) {
    require_clear(profile.error(), size);
    return 0;
  }
  size_t counts = 0;
  for (const llvm::ProfileImage &image : profile->images)
    for (const llvm::CounterRecord &record : image.records)
      counts += record.counts.size();
  require(counts <= size, "no more counters than bytes");
  return 0;
}
