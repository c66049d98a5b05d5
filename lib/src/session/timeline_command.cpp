// The command `profile timeline`.
#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>

#include "report/heat_map.h"
#include "report/timeline.h"
#include "session/profile_commands.h"

namespace tally {

Result<Reply> timeline_command(ProfileGroup &group, const ParsedCommand &command) {
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
  // The command's own filter is applied by timeline(), whose axis depends on it.
  const auto reply = [=, &group](const auto &made, std::string_view what,
                                 auto text) -> Result<Reply> {
    if (to_file) {
      TALLY_CHECK(write_file(path, to_svg(made)));
      return Reply{fmt::format("Wrote the {} to {} (svg).\n", what, path), {}};
    }
    if (json)
      return Reply{to_json(made), {}};
    return Reply{text(made) + footer(group), {}};
  };
  const bool heat = command.has("heat-map");
  return with_all_shown(group, command, [=, &group](Shown shown) -> Result<Reply> {
    if (heat) {
      TALLY_TRY(map, std::visit([&](auto *each) { return heat_map(*each, how.samples); }, shown));
      return reply(map, "heat map", [&](const HeatMap &made) {
        return to_text(made, how.width, group.front.text_options());
      });
    }
    TALLY_TRY(made, std::visit([&](auto *each) { return timeline(*each, how); }, shown));
    return reply(made, "timeline",
                 [&](const Timeline &each) { return to_text(each, group.front.text_options()); });
  });
}

} // namespace tally
