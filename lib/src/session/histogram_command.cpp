// `profile histogram`: shows the samples of one object by address.
#include <fmt/format.h>

#include "report/function_alias.h"
#include "report/histogram_text.h"
#include "session/profile_commands.h"

namespace tally {

namespace {

Result<PcView> view_of_loaded(const NamedProfile &read, const PcNames *names,
                              std::string_view what) {
  if (const PcProfile *pcs = read.pcs())
    return pc_view(*pcs, names);
  return std::visit([&](const auto &each) { return pc_view(each, what); }, read.profile);
}

} // namespace

Result<std::string> histogram_command(ShownProfile &shown, const Front &front,
                                      const ParsedCommand &command) {
  HistogramOptions how;
  how.what = command.argument(0);
  if (command.has("scale")) {
    TALLY_TRY(scale, scale_of(command.value("scale"), "--scale"));
    how.scale = scale;
  }
  const bool json = command.has("json");
  if (const auto loaded = shown.loaded()) {
    Diagnostics ignored; // they were shown when the file was loaded
    ProgramNames program;
    if (loaded->read.pcs() && !loaded->program.empty())
      program = ProgramNames(loaded->program, ignored);
    const auto table_of = [&](const std::string &what) -> Result<HistogramTable> {
      auto view = view_of_loaded(loaded->read, program.get(), what);
      if (!view && view.error().source.empty())
        view.error().source = loaded->path;
      TALLY_TRY(seen, std::move(view));
      return histogram_table(seen, {what, how.scale});
    };
    const auto by_profile = [&](const auto &each) {
      return by_any_name(each, how.what, shown.names().symbolizer(), 0, table_of);
    };
    TALLY_TRY(table, std::visit(by_profile, loaded->read.profile));
    return json ? to_json(table) : to_text(table, front.text_options()) + shown.footer();
  }
  TALLY_TRY(sampled, shown.sampled(command));
  const StackProfile &profile = *sampled;
  const auto names_of = [&](MappingId id) -> std::optional<PcNames> {
    const Mapping &mapping = profile.mappings()[id];
    const std::string path(profile.strings[mapping.path]);
    const ModuleId module =
        shown.names().symbolizer().module({path, std::string(profile.strings[mapping.build_id]),
                                           mapping.device, mapping.inode, shown.pid()},
                                          shown.names().diagnostics());
    return PcNames{&shown.names().symbolizer(), module, path};
  };
  const auto table_of = [&](const std::string &what) -> Result<HistogramTable> {
    TALLY_TRY(view, pc_view(profile, what, names_of));
    return histogram_table(view, {what, how.scale});
  };
  TALLY_TRY(table,
            by_any_name(profile, how.what, shown.names().symbolizer(), shown.live_pid(), table_of));
  return json ? to_json(table) : to_text(table, front.text_options()) + shown.warnings();
}

} // namespace tally
