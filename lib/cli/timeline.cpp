#include "report/timeline.h"

#include "profiles.h"
#include "report/heat_map.h"
#include "support/file_io.h"

namespace tally::cli {

Result<void> timeline_command(const ParsedCommand &given, Outcome &) {
  const std::string &file = given.arguments[0];
  const std::string out(given.has("o") ? given.value("o") : "-");
  const bool is_picture = out.ends_with(".svg");
  const TableOptions shown = table_options(given);
  if (is_picture && shown.json)
    return fail(ErrorCode::invalid_argument, "is a picture, but --json is given", out);
  TimelineOptions how{.samples = given.filter(), .limit = shown.limit};
  how.width = static_cast<uint32_t>(given.number("width"));
  how.cells = is_picture ? timeline_picture_cells : shown.json ? how.width : 0;
  TALLY_TRY(profile, read_for_table(file, input_options(given), {}));
  const TextOptions text = out == "-" ? shown.text() : TextOptions();
  if (given.has("heat-map")) {
    TALLY_TRY(map,
              about(file, std::visit([&](const auto &each) { return heat_map(each, how.samples); },
                                     profile)));
    return write_file(out, is_picture   ? to_svg(map)
                           : shown.json ? to_json(map)
                                        : to_text(map, how.width, text));
  }
  const auto make = [&](const auto &each) { return timeline(each, how); };
  TALLY_TRY(made, about(file, std::visit(make, profile)));
  return write_file(out, is_picture   ? to_svg(made)
                         : shown.json ? to_json(made)
                                      : to_text(made, text));
}

} // namespace tally::cli
