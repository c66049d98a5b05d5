#include <cerrno>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "coverage_collect/build_notes.h"
#include "coverage_collect/counted_object.h"
#include "coverage_collect/counter_paths.h"
#include "profiles.h"
#include "support/file_io.h"
#include "support/path.h"

namespace tally::cli {

namespace {

// Returns the named file or, for a directory, all counters below it.
Result<std::vector<std::string>> files_under(const std::string &path) {
  std::error_code fault;
  const auto status = std::filesystem::status(path, fault);
  if (fault)
    return fail_errno(fault.value(), "cannot open", path);
  if (status.type() != std::filesystem::file_type::directory)
    return std::vector{path};
  Diagnostics findings;
  auto files = files_below(path, is_counters_name, findings);
  // Whoever may write to the directory could have the counters of others zeroed.
  if (files)
    std::erase_if(*files, [&](const std::string &file) {
      std::error_code ignored;
      const bool is_link = std::filesystem::is_symlink(file, ignored);
      if (is_link)
        findings.add(Severity::warning, "is a symbolic link, and is left as it is", file);
      return is_link;
    });
  show(findings);
  return files;
}

Result<void> zero(const std::string &path) {
  Diagnostics findings;
  TALLY_TRY(file, read_any(path, {}, findings));
  show(findings);
  auto *counters = std::get_if<std::unique_ptr<CounterFile>>(&file.content);
  if (!counters)
    return fail(ErrorCode::invalid_input,
                fmt::format("is {}, not a file of counters", file.format->name), path);
  if (unpacked_name(path).size() < path.size())
    return fail(ErrorCode::unsupported, "is compressed, but output is not", path);
  TALLY_CHECK(about(path, (*counters)->zero()));
  TALLY_TRY(bytes, (*counters)->bytes());
  return write_file(path, bytes);
}

// Removes the counters of the build's objects, so that they are as after a build.
void zero_build(const std::string &folder, Outcome &outcome) {
  const auto notes = notes_of_build(folder);
  if (!notes)
    return outcome.end(fail(notes.error()));
  std::error_code fault;
  const std::string below = std::filesystem::canonical(folder, fault).string() + '/';
  for (const std::string &each : notes->paths) {
    // Keep counters outside of the build directory: other builds may use them, too.
    if (!each.starts_with(below) || !std::filesystem::exists(each, fault))
      continue;
    const std::string data = files_of_object(each).data;
    if (::unlink(data.c_str()) != 0 && errno != ENOENT)
      outcome.end(fail_errno(errno, "cannot remove", data));
  }
}

} // namespace

Result<void> zero_command(const ParsedCommand &given, Outcome &outcome) {
  const std::string build(given.value("build"));
  if (!build.empty())
    zero_build(build, outcome);
  else if (given.arguments.empty())
    return fail(ErrorCode::invalid_argument, "expected PATH, or --build DIR", "zero");
  bool any = given.arguments.empty();
  for (const std::string &path : given.arguments) {
    const auto files = files_under(path);
    if (!files) {
      outcome.end(fail(files.error()));
      continue;
    }
    for (const std::string &file : *files) {
      any = true;
      if (auto done = zero(file); !done)
        outcome.end(done);
    }
  }
  if (!any && outcome.status == done)
    return fail(ErrorCode::no_data, "there are no counters (*.gcda, *.da)",
                given.arguments.front());
  return {};
}

} // namespace tally::cli
