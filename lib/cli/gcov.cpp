#include <unistd.h>

#include "coverage_collect/counted_object.h"
#include "profiles.h"
#include "progress.h"
#include "report/gcov_json.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

Result<std::string> json_of(const std::string &file, const ParsedCommand &given, Outcome &outcome) {
  Diagnostics findings;
  GcovOptions counting;
  counting.branches = given.has("b");
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
                       .branches = given.has("b"),
                       .format_2 = object->has_blocks,
                       .conditions = given.has("g"),
                       .graph = object->graph.get(),
                       .counts = &object->counts});
}

} // namespace

Result<void> gcov_command(const ParsedCommand &given, Outcome &outcome) {
  Progress progress("reading counters");
  const bool to_terminal = ::isatty(STDOUT_FILENO) == 1; // a bar would disturb the output
  size_t done = 0;
  for (const std::string &file : given.arguments) {
    if (!to_terminal)
      progress.items(done++, given.arguments.size());
    auto json = json_of(file, given, outcome);
    if (!json) {
      outcome.end(fail(json.error()));
      continue;
    }
    // Write one document after another, because together they may be far larger than the files.
    TALLY_CHECK(write_file("-", *json));
  }
  return {};
}

} // namespace tally::cli
