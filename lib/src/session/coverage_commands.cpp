// The `coverage` commands.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <tally/coverage_output.h>
#include <tally/file_io.h>
#include <tally/formats.h>

#include "session/command_help.h"
#include "session/coverage_commands.h"
#include "session/coverage_table.h"
#include "session/status.h"
#include "support/text.h"

namespace tally {

namespace {

constexpr std::string_view raw_format = "llvm-raw"; // of Clang's source-based coverage

using CoverageCommand = Result<Reply>(CoverageGroup &group, const ParsedCommand &command);

std::string name_of(const ParsedCommand &command) {
  return fmt::format("coverage {}", command.spec->name);
}

Result<Reply> report(CoverageGroup &group, const ParsedCommand &command) {
  const std::string by(command.value("by"));
  const bool json = command.has("json");
  const uint32_t limit = command.limit();
  const bool since = command.has("since");
  if (by == "object")
    return report_objects(group, command);
  return group.with_coverage(
      name_of(command), std::string(command.value("since")),
      [=, &group](const LiveCoverage &shown) -> Result<Reply> {
        const TextOptions options = group.front.text_options(limit);
        if (json)
          return Reply{by == "function" ? functions_to_json(shown.coverage, limit)
                       : by == "line"   ? lines_to_json(shown.coverage, limit)
                                        : files_to_json(shown.coverage, limit),
                       {}};
        if (since && shown.coverage.files.empty())
          return Reply{"Nothing that has counters ran since then.\n" + shown.remarks, {}};
        return Reply{(by == "function"
                          ? functions_to_text(shown.coverage, shown.shown_root(), options)
                      : by == "line" ? lines_to_text(shown.coverage, shown.shown_root(), options)
                                     : to_text(shown.coverage, shown.shown_root(), options)) +
                         shown.remarks + shown.uncertain,
                     {}};
      },
      by == "function" || by == "line");
}

bool has_uncertain(const CoveredSource &source) {
  return std::ranges::any_of(source.file->lines, [&](const LineCoverage &line) {
    return line.uncertain != 0 && line.line >= source.first && line.line <= source.last;
  });
}

Result<Reply> annotate_lines(CoverageGroup &group, const ParsedCommand &command) {
  const std::string what = command.arguments[0];
  const bool json = command.has("json");
  return group.with_coverage(
      name_of(command), std::string(command.value("since")),
      [=, &group](const LiveCoverage &shown) -> Result<Reply> {
        TALLY_TRY(source, covered_source(shown.coverage, what));
        return Reply{json ? source_to_json(source, shown.stopped)
                          : source_to_text(source, shown.stopped, shown.shown_root(),
                                           group.front.text_options()) +
                                shown.remarks + (has_uncertain(source) ? shown.uncertain : ""),
                     {}};
      });
}

Result<Reply> make_mark(CoverageGroup &group, const ParsedCommand &command) {
  return group.with_counters(
      name_of(command), [&group](Result<std::shared_ptr<const CounterMark>> read) -> Result<Reply> {
        TALLY_TRY(now, std::move(read));
        const size_t size = now->snapshot.size();
        group.mark = std::move(now);
        return Reply{fmt::format("Marked {} bytes of counters.\n", size), {}};
      });
}

Result<Reply> clear_marks(CoverageGroup &group, const ParsedCommand &) {
  group.mark = group.last_stop = group.stop_before = nullptr;
  group.resumed_unseen = false;
  return Reply{};
}

Result<Reply> status_of(const CoverageGroup &group, const live::LiveProgram &program, bool json) {
  const live::CounterLayout &layout = program.layout();
  size_t counters = 0;
  std::set<uint32_t> modules;
  for (const live::CountedModuleObject &object : layout.objects)
    modules.insert(object.module);
  for (const live::CounterArray &array : layout.arrays)
    counters += array.count;
  size_t source_based = 0; // functions
  for (const live::SourceBasedModule &module : layout.source_based) {
    modules.insert(module.module);
    counters += module.counters.size() / 8;
    source_based += module.data.size() / module.records.size();
  }
  const auto yes_or = [](const auto &mark) { return mark ? "yes" : "no"; };
  const std::vector<StatusRow> rows{
      {"process", static_cast<uint64_t>(group.front.target.pid)},
      {"modules", static_cast<uint64_t>(modules.size())},
      {"objects", static_cast<uint64_t>(layout.objects.size() + layout.source_based.size())},
      {"functions", static_cast<uint64_t>(layout.functions.size() + source_based)},
      StatusRow::bytes("counters", counters * 8, fmt::format("{} bytes", counters * 8)),
      {"mark", std::string(yes_or(group.mark))},
      {"stop_mark", std::string(yes_or(group.stop_before))},
      StatusRow::noted("auto_mark", group.auto_mark()),
  };
  if (json)
    return Reply{to_json(rows), {}};
  std::string out;
  for (const StatusRow &row : rows)
    out += fmt::format("{:<12}{}\n", row.name, row.text);
  return Reply{std::move(out), {}};
}

Result<Reply> show_status(CoverageGroup &group, const ParsedCommand &command) {
  return group.with_program(
      name_of(command),
      [&group, json = command.has("json")](Result<live::LiveProgram *> read) -> Result<Reply> {
        TALLY_TRY(program, std::move(read));
        return status_of(group, *program, json);
      });
}

Result<Reply> dump_counter_files(CoverageGroup &group, const std::string &command,
                                 const std::string &folder) {
  return group.with_objects(
      command,
      [folder, command](std::span<const ObjectFiles> objects,
                        const std::string &remarks) -> Result<Reply> {
        if (objects.empty())
          return fail(ErrorCode::unsupported,
                      "the program counts source-based, and has no counters for .gcda files: "
                      "`coverage dump FILE.profraw` writes them",
                      command);
        TALLY_CHECK(live::write_counter_files(objects, folder));
        return Reply{fmt::format("Wrote the counters of {} below {}.\n",
                                 counted(objects.size(), "objects"), folder) +
                         remarks,
                     {}};
      });
}

// Writes a file for each module: FILE, or FILE.1, FILE.2 and so on.
Result<Reply> dump_raw_profiles(CoverageGroup &group, const std::string &command,
                                const std::string &path) {
  return group.with_raw_profiles(
      command, [path](std::vector<std::string> profiles) -> Result<Reply> {
        for (size_t i = 0; i < profiles.size(); ++i)
          TALLY_CHECK(write_file(profiles.size() == 1 ? path : fmt::format("{}.{}", path, i + 1),
                                 profiles[i]));
        return Reply{profiles.size() == 1
                         ? fmt::format("Wrote the counters to {} (llvm-raw).\n", path)
                         : fmt::format("Wrote the counters of {} modules to {}.1 and so on "
                                       "(llvm-raw).\n",
                                       profiles.size(), path),
                     {}};
      });
}

Result<Reply> dump(CoverageGroup &group, const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  std::string format(command.value("format"));
  if (format == raw_format || (format.empty() && path.ends_with(".profraw")))
    return dump_raw_profiles(group, name_of(command), path);
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
    return dump_counter_files(group, name_of(command), path);
  TALLY_CHECK(coverage_report_of(format + ":" + path));
  return group.with_coverage(name_of(command), "", [=](const LiveCoverage &shown) -> Result<Reply> {
    Diagnostics findings;
    CoverageReportOptions options;
    options.root = shown.root;
    TALLY_CHECK(write_coverage_report(shown.coverage, {format, path}, options, findings));
    return Reply{fmt::format("Wrote the coverage of {} to {} ({}).\n",
                             counted(shown.coverage.files.size(), "files"), path, format) +
                     shown.remarks + shown.uncertain +
                     (shown.uncertain.empty() ? "" : "(their smallest counts were written)\n"),
                 {}};
  });
}

Result<Reply> config(CoverageGroup &group, const ParsedCommand &command) {
  TALLY_TRY(text, configure(group.settings, coverage_table(), command));
  return Reply{std::move(text), {}};
}

} // namespace

Result<Reply> run_coverage_command(CoverageGroup &group, const ParsedCommand &command) {
  struct Row {
    std::string_view name;
    CoverageCommand *run;
  };
  static constexpr Row rows[] = {
      {"report", report},  {"annotate", annotate_lines}, {"break", coverage_break_command},
      {"mark", make_mark}, {"status", show_status},      {"list", coverage_list_command},
      {"dump", dump},      {"clear", clear_marks},       {"config", config},
  };
  for (const Row &row : rows)
    if (row.name == command.spec->name)
      return row.run(group, command);
  return fail(ErrorCode::internal, "the command has no handler", std::string(command.spec->name));
}

} // namespace tally
