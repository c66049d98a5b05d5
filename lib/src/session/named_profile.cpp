#include "session/named_profile.h"

#include <tally/symbolization.h>
#include <tally/unwinder.h>

namespace tally {

Result<ReadProfile> read_named_profile(const std::string &path, Diagnostics &findings) {
  const auto unwinder = make_unwinder();
  TALLY_TRY(read, read_profile(path, findings, nullptr, {}, unwinder.get()));
  if (read.format->read_addresses) {
    const auto symbolizer = make_symbolizer();
    Symbolization names(std::move(std::get<StackProfile>(read.profile)), *symbolizer, findings,
                        Symbolization::Processes::gone);
    TALLY_TRY(named, names.finish());
    symbolizer->save_cache();
    read.profile = std::move(named);
  }
  return read;
}

} // namespace tally
