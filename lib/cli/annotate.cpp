#include <memory>

#include <tally/annotate.h>
#include <tally/file_io.h>

#include "arguments.h"
#include "profiles.h"
#include "report/disassembly.h"
#include "report/function_alias.h"

namespace tally::cli {

namespace {

struct AnnotateArguments {
  std::string file, what;
  InputOptions input;
  TableOptions table;
  AnnotateOptions annotate;
  std::vector<std::string> maps;
  bool instructions = false;
  std::string flavor = "att";
  SampleFilter filter;
};

Result<void> show_instructions(const AnnotateArguments &options, const Profile &profile) {
  const auto symbolizer = make_symbolizer();
  const auto make = [&](const auto &each) -> Result<Disassembly> {
    Diagnostics findings;
    std::string function;
    const auto code_of = [&](const std::string &name) {
      function = name;
      return function_code(each, name, *symbolizer, findings);
    };
    TALLY_TRY(code, by_any_name(each, options.what, *symbolizer, 0, code_of));
    TALLY_CHECK(check_code_size(code, options.what));
    const auto flavor =
        options.flavor == "intel" ? DisassemblyFlavor::intel : DisassemblyFlavor::att;
    if (auto done = disassemble(code, *symbolizer, flavor); !done) {
      show(findings); // they say why a file is not available
      return fail(std::move(done.error()));
    }
    return disassembly(each, code, function, *symbolizer);
  };
  TALLY_TRY(all, about(options.file, std::visit(make, profile)));
  return write_file("-", options.table.json
                             ? to_json(all, options.table.limit.value_or(0))
                             : to_text(all, options.annotate.sources, options.table.text(0)));
}

Result<void> run(AnnotateArguments options) {
  for (const std::string &map : options.maps) {
    const size_t equals = map.find('=');
    if (equals == map.npos || equals == 0)
      return fail(ErrorCode::invalid_argument,
                  "expected FROM=TO, the beginning of a path and its replacement, found '" + map +
                      "'",
                  "--source-map");
    options.annotate.sources.replaced.emplace_back(map.substr(0, equals), map.substr(equals + 1));
  }
  TALLY_TRY(profile,
            read_for_table(options.file, options.input, options.table.event, options.filter));
  if (options.instructions)
    return show_instructions(options, profile);
  const auto symbolizer = make_symbolizer();
  const auto make = [&](const auto &each) {
    return by_any_name(each, options.what, *symbolizer, 0, [&](const std::string &name) {
      return annotate(each, name, options.annotate);
    });
  };
  TALLY_TRY(annotation, about(options.file, std::visit(make, profile)));
  return write_file("-", options.table.json ? to_json(annotation, options.table.limit.value_or(0))
                                            : to_text(annotation, options.table.text(0)));
}

} // namespace

void add_annotate(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<AnnotateArguments>();
  CLI::App &command =
      add_command(app, "annotate", "print source text with costs and calls beside it",
                  "tally annotate callgrind.out.4711 parse.c:120 --source-dir ~/src/parse");
  add_input(command, "FILE", options->file, options->input);
  command
      .add_option("WHAT", options->what,
                  "a function, a source file, or FILE:LINE with the\n"
                  "ten lines before and after it")
      ->type_name("")
      ->check(file_name())
      ->required();
  command
      .add_option("--source-dir", options->annotate.sources.folders,
                  "a directory to search for sources, by the last\n"
                  "components of their paths")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->check(folder());
  command.add_option("--source-map", options->maps, "replace FROM by TO at the beginning of paths")
      ->type_name("FROM=TO")
      ->allow_extra_args(false);
  command
      .add_option("--context", options->annotate.context,
                  "lines without cost to show around others (default 3)")
      ->type_name("N")
      ->check(whole_number_from(0, 1000000));
  auto *const instructions =
      command.add_flag("--asm", options->instructions,
                       "show the instructions of a function, from the files\n"
                       "that were profiled");
  command
      .add_option("--disassembly-flavor", options->flavor,
                  "the syntax of x86 instructions with --asm\n"
                  "(default att)")
      ->type_name("att|intel")
      ->check(one_of({"att", "intel"}))
      ->needs(instructions);
  add_filter(command, options->filter);
  add_table_options(command, options->table, 0);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
