#include <memory>

#include <unistd.h>

#include <tally/file_io.h>

#include "coverage_collect/counted_object.h"
#include "coverage_collect/counter_paths.h"
#include "profiles.h"

namespace tally::cli {

namespace {

struct ValidateArguments {
  std::vector<std::string> files;
  InputOptions input;
};

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

void run(const ValidateArguments &options, Outcome &outcome) {
  if (auto checked = check_inputs(options.files, "validate"); !checked)
    return outcome.end(checked);
  for (const std::string &file : options.files) {
    const auto found = look_at(file, options.input);
    if (!found) {
      outcome.end(fail(found.error()));
      continue;
    }
    // The problems are this command's result, so they go to standard output.
    if (auto written = write_file("-", found->text); !written)
      return outcome.end(written);
    if (!found->sound && outcome.status == done)
      outcome.status = input_at_fault;
  }
}

} // namespace

void add_validate(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<ValidateArguments>();
  CLI::App &command =
      add_command(app, "validate", "print what is wrong with files; status 1 on an error",
                  "tally validate callgrind.out.*");
  add_inputs(command, "FILE", options->files, options->input);
  command.callback([options, &outcome] { run(*options, outcome); });
}

} // namespace tally::cli
