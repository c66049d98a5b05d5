#include "session/named_profile.h"

#include <optional>

#include <tally/symbolization.h>
#include <tally/unwinder.h>

namespace tally {

Result<ReadProfile> read_named_profile(const std::string &path, Diagnostics &findings,
                                       const std::string &program) {
  const auto unwinder = make_unwinder();
  TALLY_TRY(file, read_file(path, findings, nullptr, {}, unwinder.get()));
  const auto symbolizer = make_symbolizer();
  std::optional<PcNames> names;
  if (std::holds_alternative<PcProfile>(file.content)) {
    if (program.empty())
      warn_of_no_names(path, "they are of no program that is known here", findings);
    else
      names =
          PcNames{symbolizer.get(), symbolizer->module({program, {}, 0, 0, 0}, findings), program};
  }
  TALLY_TRY(read, profile_of(path, std::move(file), names ? &*names : nullptr));
  if (read.format->read_addresses) {
    Symbolization all(std::move(std::get<StackProfile>(read.profile)), *symbolizer, findings,
                      Symbolization::Processes::gone);
    TALLY_TRY(named, all.finish());
    read.profile = std::move(named);
  }
  symbolizer->save_cache();
  return read;
}

} // namespace tally
