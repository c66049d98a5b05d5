// The `coverage` commands.
#include "session/coverage_commands.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "formats/formats.h"
#include "report/coverage_output.h"
#include "session/command_help.h"
#include "session/status.h"
#include "support/file_io.h"
#include "support/text.h"

namespace tally {

constexpr std::string_view raw_format = "llvm-raw"; // of Clang's source-based coverage

static std::string name_of(const ParsedCommand &command) {
  return fmt::format("coverage {}", command.spec->name);
}

Result<std::string> coverage_report_command(CoverageReader &reader, const Front &front,
                                            const ParsedCommand &command) {
  const std::string_view by = command.value("by");
  const uint32_t limit = command.limit();
  if (by == "object")
    return report_objects(reader, front, command);
  TALLY_TRY(shown, reader.read(name_of(command), command.value("since"),
                               by == "function" || by == "line"));
  if (command.has("json"))
    return by == "function" ? functions_to_json(shown.coverage, limit)
           : by == "line"   ? lines_to_json(shown.coverage, limit)
                            : files_to_json(shown.coverage, limit);
  if (command.has("since") && shown.coverage.files.empty())
    return "Nothing that has counters ran since then.\n" + shown.remarks;
  const TextOptions options = front.text_options(limit);
  const std::string_view root = shown.shown_root();
  return (by == "function" ? functions_to_text(shown.coverage, root, options)
          : by == "line"   ? lines_to_text(shown.coverage, root, options)
                           : to_text(shown.coverage, root, options)) +
         shown.remarks + shown.uncertain;
}

static bool has_uncertain(const CoveredSource &source) {
  return std::ranges::any_of(source.file->lines, [&](const LineCoverage &line) {
    return line.uncertain != 0 && line.line >= source.first && line.line <= source.last;
  });
}

Result<std::string> coverage_annotate_command(CoverageReader &reader, const Front &front,
                                              const ParsedCommand &command) {
  TALLY_TRY(shown, reader.read(name_of(command), command.value("since")));
  TALLY_TRY(source, covered_source(shown.coverage, command.arguments[0]));
  source.older = older_than(shown, source.file->path);
  if (command.has("json"))
    return source_to_json(source, shown.stopped);
  return source_to_text(source, shown.stopped, shown.shown_root(), front.text_options()) +
         shown.remarks + (has_uncertain(source) ? shown.uncertain : "");
}

// Returns the size of all counters, without what lies between them.
static size_t counter_bytes(const live::CounterLayout &layout) {
  size_t bytes = 0;
  for (const live::CounterArray &array : layout.arrays)
    bytes += size_t{array.count} * sizeof(uint64_t);
  for (const live::SourceBasedModule &module : layout.source_based)
    bytes += module.counters.size();
  return bytes;
}

Result<std::string> coverage_mark_command(CountedProgram &program, CounterMarks &marks) {
  TALLY_TRY(live, program.open("coverage mark"));
  TALLY_TRY(now, program.counters_of(*live, "coverage mark"));
  marks.set(std::move(now));
  return fmt::format("Marked {} bytes of counters.\n", counter_bytes(live->layout()));
}

Result<std::string> coverage_status_command(CountedProgram &program, const CounterMarks &marks,
                                            int32_t pid, const ParsedCommand &command) {
  TALLY_TRY(live, program.open(name_of(command)));
  const live::CounterLayout &layout = live->layout();
  std::set<uint32_t> modules;
  for (const live::CountedModuleObject &object : layout.objects)
    modules.insert(object.module);
  size_t source_based = 0; // functions
  for (const live::SourceBasedModule &module : layout.source_based) {
    modules.insert(module.module);
    source_based += module.data.size() / module.records.size();
  }
  const size_t bytes = counter_bytes(layout);
  const auto yes_or = [](bool mark) { return mark ? "yes" : "no"; };
  const std::vector<StatusRow> rows{
      {"process", static_cast<uint64_t>(pid)},
      {"modules", static_cast<uint64_t>(modules.size())},
      {"objects", static_cast<uint64_t>(layout.objects.size() + layout.source_based.size())},
      {"functions", static_cast<uint64_t>(layout.functions.size() + source_based)},
      StatusRow::bytes("counters", bytes, fmt::format("{} bytes", bytes)),
      {"mark", std::string(yes_or(marks.has_mark()))},
      {"stop_mark", std::string(yes_or(marks.has_stop()))},
      StatusRow::noted("auto_mark", marks.automatic()),
  };
  if (command.has("json"))
    return to_json(rows);
  std::string out;
  for (const StatusRow &row : rows)
    out += fmt::format("{:<12}{}\n", row.name, row.text);
  return out;
}

static Result<std::string> dump_counter_files(CountedProgram &program, const std::string &command,
                                              const std::string &folder) {
  TALLY_TRY(objects, program.objects(command));
  if (objects.empty())
    return fail(ErrorCode::unsupported,
                "the program counts source-based, and has no counters for .gcda files: "
                "`coverage dump FILE.profraw` writes them",
                command);
  TALLY_CHECK(live::write_counter_files(objects, folder));
  return fmt::format("Wrote the counters of {} below {}.\n{}", counted(objects.size(), "objects"),
                     folder, remarks_of(program.opened()));
}

// Writes a file for each module: FILE, or FILE.1, FILE.2 and so on.
static Result<std::string> dump_raw_profiles(CountedProgram &program, const std::string &command,
                                             const std::string &path) {
  TALLY_TRY(profiles, program.raw_profiles(command));
  if (profiles.size() == 1) {
    TALLY_CHECK(write_file(path, profiles[0]));
    return fmt::format("Wrote the counters to {} (llvm-raw).\n", path);
  }
  for (size_t i = 0; i < profiles.size(); ++i)
    TALLY_CHECK(write_file(fmt::format("{}.{}", path, i + 1), profiles[i]));
  return fmt::format("Wrote the counters of {} modules to {}.1 and so on (llvm-raw).\n",
                     profiles.size(), path);
}

Result<std::string> coverage_dump_command(CountedProgram &program, CoverageReader &reader,
                                          const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  std::string format(command.value("format"));
  if (format == raw_format || (format.empty() && path.ends_with(".profraw")))
    return dump_raw_profiles(program, name_of(command), path);
  const bool folder = path.ends_with('/') && format.empty();
  if (!folder && format.empty()) {
    const Format *const known = format_by_file_name(path);
    if (!known)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the file name does not imply a format: add --format, one of {}",
                              coverage_report_names()),
                  path);
    format = known->name;
  }
  if (folder)
    return dump_counter_files(program, name_of(command), path);
  TALLY_CHECK(coverage_report_of(format + ":" + path));
  TALLY_TRY(shown, reader.read(name_of(command), ""));
  Diagnostics findings;
  CoverageReportOptions options;
  options.root = shown.root;
  TALLY_CHECK(write_coverage_report(shown.coverage, {format, path}, options, findings));
  return fmt::format("Wrote the coverage of {} to {} ({}).\n",
                     counted(shown.coverage.files.size(), "files"), path, format) +
         shown.remarks + shown.uncertain +
         (shown.uncertain.empty() ? "" : "(their smallest counts were written)\n");
}

} // namespace tally
