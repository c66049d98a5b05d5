#include <memory>

#include <tally/file_io.h>
#include <tally/tree.h>

#include "arguments.h"
#include "profiles.h"
#include "report/function_alias.h"

namespace tally::cli {

namespace {

struct TreeArguments {
  std::string file;
  InputOptions input;
  TableOptions table;
  TreeOptions tree;
  SampleFilter filter;
  bool kernel = false;
  std::string by;
};

Result<void> run(TreeArguments options) {
  TALLY_TRY(profile, read_for_table(options.file, options.input, options.table.event,
                                    options.filter, options.kernel));
  if (!options.by.empty()) {
    TALLY_TRY(by, by_of(options.by));
    options.tree.by = by;
  }
  options.tree.limit = options.table.limit.value_or(options.table.json ? 0 : options.tree.limit);
  const auto symbolizer = make_symbolizer();
  const auto make = [&](const auto &each) {
    return by_any_name(each, options.tree.function, *symbolizer, 0, [&](const std::string &name) {
      TreeOptions how = options.tree;
      how.function = name;
      return call_tree(each, how);
    });
  };
  TALLY_TRY(tree, about(options.file, std::visit(make, profile)));
  return write_file("-", options.table.json ? to_json(tree) : to_text(tree, options.table.text(0)));
}

} // namespace

void add_tree(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<TreeArguments>();
  CLI::App &command = add_command(app, "tree", "print the call tree, the heaviest path first",
                                  "tally tree callgrind.out.4711 main --limit 20");
  add_input(command, "FILE", options->file, options->input);
  command
      .add_option("FUNCTION", options->tree.function,
                  "the function at the root of the tree\n"
                  "(default: where the program begins)")
      ->type_name("");
  command
      .add_flag("--callers", options->tree.callers, "show the callers of FUNCTION, not its callees")
      ->disable_flag_override();
  command.add_option("--by", options->by, "show one tree per thread or part")
      ->type_name("thread|part")
      ->check(one_of({"thread", "part"}));
  add_filter(command, options->filter);
  add_flag_of(command, "tree", "kernel", options->kernel);
  add_flag_of(command, "tree", "full", options->tree.full);
  add_table_options(command, options->table, options->tree.limit);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
