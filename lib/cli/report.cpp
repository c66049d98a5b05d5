
#include "report/report.h"
#include "profiles.h"
#include "support/file_io.h"

namespace tally::cli {

Result<void> report_command(const ParsedCommand &given, Outcome &) {
  const std::string &file = given.arguments[0];
  const TableOptions options = table_options(given);
  TALLY_TRY(by, by_of(given.value("by")));
  TALLY_TRY(sort, sort_by_of(given.value("sort")));
  TALLY_TRY(profile,
            read_for_table(file, input_options(given), {given.filter(), given.has("kernel")}));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  TALLY_TRY(table, about(file, std::visit(make, profile)));
  return write_file("-",
                    options.json ? to_json(table, options.limit) : to_text(table, options.text()));
}

} // namespace tally::cli
