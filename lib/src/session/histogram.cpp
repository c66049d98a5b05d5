// `profile histogram`: the samples of one object by address.
#include <tally/histogram_text.h>

#include <fmt/format.h>

#include "session/state.h"

namespace tally {

Result<Reply> Session::State::histogram(const ParsedCommand &command) {
  if (loaded)
    return fail(ErrorCode::bad_state,
                fmt::format("shows what was sampled; {} is loaded: `profile clear` first, or "
                            "`tally histogram`",
                            loaded->path),
                "profile histogram");
  HistogramOptions how;
  if (!command.arguments.empty())
    how.what = command.arguments[0];
  if (command.has("scale")) {
    TALLY_TRY(scale, scale_of(command.value("scale"), "--scale"));
    how.scale = scale;
  }
  return with_samples(command, [how, this](const StackProfile &profile) -> Result<Reply> {
    const auto names = [&](MappingId id) -> std::optional<PcNames> {
      if (!symbolizer)
        return {};
      const Mapping &mapping = profile.mappings()[id];
      const std::string path(profile.strings[mapping.path]);
      const ModuleId module =
          symbolizer->module({path, std::string(profile.strings[mapping.build_id]), mapping.device,
                              mapping.inode, sampled_pid},
                             diagnostics);
      return PcNames{symbolizer.get(), module, path};
    };
    TALLY_TRY(view, pc_view(profile, how.what, names));
    TALLY_TRY(table, histogram_table(view, how));
    return Reply{to_text(table, {.limit = 0, .width = width}) + warnings_of(diagnostics), {}};
  });
}

} // namespace tally
