#include <memory>

#include <unistd.h>

#include <tally/file_io.h>

#include "coverage_collect/counted_object.h"
#include "profiles.h"
#include "progress.h"
#include "report/gcov_json.h"

namespace tally::cli {

namespace {

struct GcovArguments {
  std::vector<std::string> files;
  bool branches = false, conditions = false;
};

Result<std::string> json_of(const std::string &file, const GcovArguments &options,
                            Outcome &outcome) {
  Diagnostics findings;
  GcovOptions counting;
  counting.branches = options.branches;
  counting.blocks = true;
  auto object = count_object(files_of_object(file), counting, findings);
  show(findings);
  if (!object)
    return fail(object.error());
  if (object->foreign_counters) // print counts of 0 and fail, as gcov does
    outcome.status = input_at_fault;
  return to_gcov_json({.compiler = object->compiler,
                       .data_file = file,
                       .gcc3 = object->gcc3,
                       .branches = options.branches,
                       .format_2 = object->has_blocks,
                       .conditions = options.conditions,
                       .graph = &object->graph,
                       .counts = &object->counts});
}

void run(const GcovArguments &options, Outcome &outcome) {
  Progress progress("counters");
  const bool to_terminal = ::isatty(STDOUT_FILENO) == 1; // a bar would disturb the output
  size_t done = 0;
  for (const std::string &file : options.files) {
    if (!to_terminal)
      progress.items(done++, options.files.size());
    auto json = json_of(file, options, outcome);
    if (!json) {
      outcome.end(fail(json.error()));
      continue;
    }
    // Write one document after another, because together they may be far larger than the files.
    if (auto written = write_file("-", *json); !written)
      return outcome.end(written);
  }
}

} // namespace

void add_gcov(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<GcovArguments>();
  CLI::App &command =
      add_command(app, "gcov", "print the JSON that the compiler's gcov would print",
                  "tally gcov -b build/*.gcda");
  command.add_option("FILE", options->files, "counters (.gcda, .da), or notes (.gcno, .bbg)")
      ->type_name("")
      ->required();
  command.add_flag("-b", options->branches, "include branches")->disable_flag_override();
  command.add_flag("-g", options->conditions, "include conditions (GCC 14, -fcondition-coverage)")
      ->disable_flag_override();
  command.callback([options, &outcome] { run(*options, outcome); });
}

} // namespace tally::cli
