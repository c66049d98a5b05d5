
#include "report/tree.h"
#include "profiles.h"
#include "report/function_alias.h"
#include "support/file_io.h"

namespace tally::cli {

Result<void> tree_command(const ParsedCommand &given, Outcome &) {
  const std::string &file = given.arguments[0];
  const TableOptions options = table_options(given);
  const InputOptions input = input_options(given);
  TALLY_TRY(profile, read_for_table(file, input, {given.filter(), given.has("kernel")}));
  TreeOptions shown;
  shown.function = given.argument(1);
  shown.callers = given.has("callers");
  shown.inverted = given.has("inverted");
  shown.full = given.has("full");
  shown.limit = options.limit;
  if (given.has("by")) {
    TALLY_TRY(by, by_of(given.value("by")));
    shown.by = by;
  }
  const auto make = [&](const auto &each) {
    return by_any_name(each, shown.function, *input.symbolizer, 0, [&](const std::string &name) {
      TreeOptions how = shown;
      how.function = name;
      return call_tree(each, how);
    });
  };
  TALLY_TRY(tree, about(file, std::visit(make, profile)));
  return write_file("-", options.json ? to_json(tree) : to_text(tree, options.text()));
}

} // namespace tally::cli
