#include <unistd.h>

#include "coverage_collect/counted_object.h"
#include "coverage_collect/counter_paths.h"
#include "profiles.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

// The problems of a file, one per line.
struct Findings {
  std::string text;
  bool sound = true;
};

// Checks notes and counters against each other if both exist, and adds what is wrong to `found`.
void look_at_object(const std::string &file, Findings &found) {
  if (!is_counters_name(file) && !is_notes_name(file) && !file.ends_with(".bb"))
    return;
  const ObjectFiles files = files_of_object(file);
  if (::access(files.notes.c_str(), F_OK) != 0)
    return;
  Diagnostics of_object;
  if (const auto counted = count_object(files, {}, of_object); !counted)
    of_object.add(Severity::warning, counted.error().message, counted.error().source,
                  counted.error().where);
  for (const Finding &finding : of_object.findings())
    if (const std::string line = finding.text() + '\n'; found.text.find(line) == std::string::npos)
      found.text += line;
}

Result<Findings> look_at(const std::string &file, const InputOptions &options) {
  Diagnostics diagnostics;
  const auto read = read_any(file, options, diagnostics);
  Findings found;
  for (const Finding &finding : diagnostics.findings())
    found.text += finding.text() + '\n';
  found.sound = read && !diagnostics.has_errors();
  if (read) {
    look_at_object(file, found);
    return found;
  }
  const Error &error = read.error();
  if (is_empty_beside_threads(file)) {
    found.text +=
        Finding{Severity::note, error.message, error.source, error.where, 1}.text() + '\n';
    found.sound = true;
    return found;
  }
  // These errors are not problems of the file's content.
  for (ErrorCode code : {ErrorCode::io, ErrorCode::permission, ErrorCode::not_found,
                         ErrorCode::invalid_argument, ErrorCode::internal})
    if (error.code == code)
      return fail(error);
  found.text += Finding{Severity::error, error.message, error.source, error.where, 1}.text() + '\n';
  return found;
}

} // namespace

Result<void> validate_command(const ParsedCommand &given, Outcome &outcome) {
  TALLY_CHECK(check_inputs(given.arguments, "validate"));
  InputOptions options = input_options(given);
  options.symbolizer.reset(); // names are not checked
  for (const std::string &file : given.arguments) {
    const auto found = look_at(file, options);
    if (!found) {
      outcome.end(fail(found.error()));
      continue;
    }
    // The problems are this command's result, so they go to standard output.
    TALLY_CHECK(write_file("-", found->text));
    if (!found->sound && outcome.status == done)
      outcome.status = input_at_fault;
  }
  return {};
}

} // namespace tally::cli
