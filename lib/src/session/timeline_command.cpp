// The command `profile timeline`.
#include <fmt/format.h>

#include "formats/formats.h"
#include "report/heat_map.h"
#include "report/timeline.h"
#include "session/profile_commands.h"
#include "support/file_io.h"

namespace tally {

Result<std::string> timeline_command(ShownProfile &profile, const Front &front,
                                     const ParsedCommand &command) {
  const bool json = command.has("json"), to_file = !command.arguments.empty();
  std::string path;
  if (to_file) {
    TALLY_TRY(file, command.file());
    if (!file.ends_with(".svg"))
      return fail(ErrorCode::invalid_argument, "a timeline is written as an SVG: name a FILE.svg",
                  file);
    path = std::move(file);
  }
  TimelineOptions how;
  how.samples = command.filter();
  how.limit = command.limit();
  how.width = static_cast<uint32_t>(command.number("width"));
  how.cells = to_file ? timeline_picture_cells : json ? how.width : 0;
  const auto shown_as = [&](const auto &made, std::string_view what,
                            const std::string &text) -> Result<std::string> {
    if (to_file) {
      TALLY_CHECK(write_file(path, to_svg(made)));
      return fmt::format("Wrote the {} to {} (svg).\n", what, path);
    }
    return json ? to_json(made) : text + profile.footer();
  };
  // The command's own filter is applied by timeline(), whose axis depends on it.
  TALLY_TRY(shown, profile.all(command));
  const TextOptions options = front.text_options();
  if (command.has("heat-map")) {
    TALLY_TRY(map,
              std::visit([&](const auto &each) { return heat_map(*each, how.samples); }, shown));
    return shown_as(map, "heat map", to_text(map, how.width, options));
  }
  TALLY_TRY(made, std::visit([&](const auto &each) { return timeline(*each, how); }, shown));
  return shown_as(made, "timeline", to_text(made, options));
}

} // namespace tally
