// Reads arbitrary bytes as a raw or an indexed profile of Clang's source-based coverage. It is
// read, or rejected with one clear error. What is read can be added up and written, and the written
// profile has the same functions.
#include <map>
#include <string_view>
#include <utility>

#include "formats/llvm/indexed_writer.h"
#include "formats/llvm/profile_sum.h"
#include "formats/llvm/source_profile.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::llvm_profile_fuzz {

namespace {

std::map<std::pair<uint64_t, uint64_t>, llvm::CounterRecord>
functions_of(const llvm::SourceProfile &profile) {
  std::map<std::pair<uint64_t, uint64_t>, llvm::CounterRecord> out;
  for (const llvm::CounterRecord &record : profile.images.front().records)
    require(out.try_emplace({record.name_hash, record.function_hash}, record).second,
            "each function once");
  return out;
}

void write_and_read(const llvm::SourceProfile &profile) {
  llvm::ProfileSum sum;
  if (!sum.add(profile)) // its names are in the program
    return;
  const auto bytes = llvm::write_indexed_profile(sum.profile());
  require(bytes.has_value(), "the sum can be written");
  const auto again = llvm::read_indexed_profile(*bytes, "y", llvm::ProfileDetail::everything);
  require(again.has_value(), "the sum can be read", again ? "" : again.error().text());
  require(functions_of(*again) == functions_of(sum.profile()), "the same functions");
  const auto rewritten = llvm::write_indexed_profile(*again);
  require(rewritten.has_value() && *rewritten == *bytes, "the same bytes");
}

} // namespace

FUZZ_TARGET(llvm_profile) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (!llvm::is_raw_profile(bytes) && !llvm::is_indexed_profile(bytes))
    return 0;
  const auto read =
      llvm::is_raw_profile(bytes) ? llvm::read_raw_profile : llvm::read_indexed_profile;
  const auto profile = read(bytes, "x", llvm::ProfileDetail::counts);
  if (!profile) {
    require_clear(profile.error(), size);
    return 0;
  }
  size_t counts = 0;
  for (const llvm::ProfileImage &image : profile->images)
    for (const llvm::CounterRecord &record : image.records)
      counts += record.counts.size();
  require(counts <= size, "no more counters than bytes");
  const auto named = read(bytes, "x", llvm::ProfileDetail::everything);
  if (named)
    write_and_read(*named);
  else
    require_clear(named.error(), size);
  return 0;
}

} // namespace tally::llvm_profile_fuzz
