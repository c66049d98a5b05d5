// The command `profile timeline`.
#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>

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
  return with_all_shown(group, command, [=, &group](Shown shown) -> Result<Reply> {
    TALLY_TRY(made, std::visit([&](auto *each) { return timeline(*each, how); }, shown));
    if (to_file) {
      TALLY_CHECK(write_file(path, to_svg(made)));
      return Reply{fmt::format("Wrote the timeline to {} (svg).\n", path), {}};
    }
    if (json)
      return Reply{to_json(made), {}};
    return Reply{to_text(made, group.front.text_options()) + footer(group), {}};
  });
}

} // namespace tally
