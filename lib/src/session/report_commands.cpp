// The `profile` commands that show tables.
#include <fmt/format.h>

#include "formats/formats.h"
#include "report/annotate.h"
#include "report/function_alias.h"
#include "report/report.h"
#include "report/tree.h"
#include "report/value_text.h"
#include "session/profile_commands.h"
#include "support/text.h"

namespace tally {

Result<std::string> report_command(ShownProfile &profile, const Front &front,
                                   const ParsedCommand &command) {
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  const uint32_t limit = command.limit();
  TALLY_TRY(shown, profile.selected(command));
  TALLY_TRY(table,
            std::visit([&](const auto &each) { return flat_table(*each, by, sort); }, shown));
  if (command.has("json"))
    return to_json(table, limit);
  std::string text =
      to_text(table, front.text_options(limit, command.has("full-names"))) + profile.footer();
  profile.remember(std::move(table), limit, command.filter());
  return text;
}

Result<std::string> tree_command(ShownProfile &profile, const Front &front,
                                 const ParsedCommand &command) {
  TreeOptions how;
  how.function = command.argument(0);
  how.callers = command.has("callers");
  how.inverted = command.has("inverted");
  how.full = command.has("full");
  if (command.has("by")) {
    TALLY_TRY(by, by_of(command.value("by")));
    how.by = by;
  }
  how.limit = command.limit();
  TALLY_TRY(shown, profile.selected(command));
  const auto tree_of = [&](const auto &each) {
    return by_any_name(*each, how.function, profile.names().symbolizer(), profile.live_pid(),
                       [&](const std::string &name) {
                         TreeOptions by_name = how;
                         by_name.function = name;
                         return call_tree(*each, by_name);
                       });
  };
  TALLY_TRY(tree, std::visit(tree_of, shown));
  if (command.has("json"))
    return to_json(tree);
  return to_text(tree, front.text_options(0, command.has("full-names"))) + profile.footer();
}

Result<std::string> annotate_command(ShownProfile &profile, Front &front,
                                     const ParsedCommand &command) {
  if (command.has("asm"))
    return annotate_code(profile, front, command);
  TALLY_TRY(shown, profile.selected(command));
  const auto lines_of = [&](const auto &each) {
    return by_any_name(*each, command.arguments[0], profile.names().symbolizer(),
                       profile.live_pid(),
                       [&](const std::string &name) { return tally::annotate(*each, name); });
  };
  TALLY_TRY(lines, std::visit(lines_of, shown));
  if (command.has("json"))
    return to_json(lines);
  return to_text(lines, front.text_options()) + profile.footer();
}

Result<std::string> load_command(ProfileStore &profiles, const std::string &program,
                                 const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  Diagnostics findings;
  // A file that counts addresses is most likely of the program that is being debugged.
  TALLY_TRY(read, read_named_profile(path, findings, program));
  // A profile that makes no table does not hide what was sampled.
  TALLY_TRY(table, std::visit([](const auto &each) { return flat_table(each, By::object); },
                              read.profile));
  const std::string_view format = read.format->name;
  profiles.load({std::move(read), path, program});
  return fmt::format("{}Loaded {} from {} ({}).\n", warnings_of(findings),
                     total_text(table.totals.front(), table.events.front(),
                                table.units.empty() ? std::string_view() : table.units.front()),
                     path, format);
}

} // namespace tally
