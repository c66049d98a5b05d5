#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/coverage_output.h>
#include <tally/file_io.h>
#include <tally/merge.h>

#include "arguments.h"
#include "changed_lines.h"
#include "coverage_collect/collect_coverage.h"
#include "coverage_tests.h"
#include "gcovr_version.h"
#include "profiles.h"
#include "progress.h"
#include "support/text.h"

namespace tally::cli {

namespace {

struct CoverageArguments {
  std::vector<std::string> paths, reports, filters, excludes, exclude_objects, substitutes;
  std::string root = ".", which_tests, gcovr_version, build, per_test, sort = "file";
  std::optional<std::string> changed_since, harvest;
  std::optional<double> fail_under, fail_under_branch;
  std::optional<uint32_t> limit;
  unsigned threads = 0;
  bool throw_branches = false, no_markers = false, strict = false, verbose = false,
       demangle = false;
};

// Prints the diagnostics. Unless `all` is set, prints no notes and at most 20 warnings, because
// each object may cause one.
void show_some(const Diagnostics &findings, bool all) {
  constexpr size_t most = 20;
  size_t shown = 0;
  for (Finding finding : findings.findings()) {
    if (finding.severity == Severity::note && !all)
      continue;
    if (finding.severity == Severity::error)
      finding.severity = Severity::warning;
    if (all || shown < most)
      say(finding.text());
    ++shown;
  }
  if (!all && shown > most)
    say(fmt::format("tally: and {} more warnings (--verbose shows all)", shown - most));
}

std::string counted(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Prints what the table does not show: objects that could not be used or never ran.
void summarize(const CollectedCoverage &collected, bool all) {
  std::vector<std::string> parts;
  if (collected.skipped > 0)
    parts.push_back(fmt::format("{} of {} could not be used", collected.skipped,
                                counted(collected.objects.size(), "object")));
  if (collected.never_ran > 0)
    parts.push_back(fmt::format("{} of {} never ran", collected.never_ran,
                                counted(collected.objects.size(), "object")));
  if (all && collected.sources_left_out > 0)
    parts.push_back(fmt::format("{} left out: outside {}, or excluded",
                                counted(collected.sources_left_out, "source"), collected.root));
  if (!parts.empty())
    say(fmt::format("tally: {}", fmt::join(parts, "; ")));
}

std::string why_no_line(const CollectedCoverage &collected, const CoverageArguments &options) {
  if (collected.sources_left_out == 0)
    return "there is no line that could run";
  const std::string left = fmt::format("no line is left: {} that objects name ",
                                       counted(collected.sources_left_out, "source"));
  if (!options.filters.empty())
    return left + "match no filter or are excluded";
  return left + fmt::format("lie outside {} or are excluded (--root or --filter includes them)",
                            collected.root);
}

// Sets the exit status if less than `least` percent of `whole` was reached. `what` is "lines ran"
// or "branches were taken".
void check_threshold(std::string_view what, std::optional<double> least, uint64_t part,
                     uint64_t whole, Outcome &outcome) {
  if (!least)
    return;
  // Compare in millionths of a percent, because a value such as 16.1 is not exact in binary.
  const auto wanted = static_cast<uint64_t>(std::llround(*least * 1e6));
  if (static_cast<double>(part) * 1e8 >= static_cast<double>(wanted) * static_cast<double>(whole))
    return;
  say(fmt::format("tally: {} of {} {}: {:.2f}%, less than {}%", part, whole, what,
                  std::floor(static_cast<double>(part) * 10'000 / static_cast<double>(whole)) / 100,
                  *least));
  if (outcome.status == done)
    outcome.status = below_threshold;
}

// Finds the file that the user names: relative to the current directory, relative to the root as
// tables show it, or by the last components of a path, if only one file has these.
Result<std::string> file_named(const CollectedCoverage &collected, const std::string &name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::path &folder : {fs::current_path(ignored), fs::path(collected.root)}) {
    const std::string path = fs::weakly_canonical(folder / name, ignored).string();
    if (std::ranges::find(collected.coverage.files, path, &FileCoverage::path) !=
        collected.coverage.files.end())
      return path;
  }
  std::vector<std::string> found;
  const std::string end = '/' + fs::path(name).lexically_normal().string();
  for (const FileCoverage &file : collected.coverage.files)
    if (file.path.ends_with(end))
      found.push_back(file.path);
  if (found.size() == 1)
    return found.front();
  if (found.empty())
    return fail(ErrorCode::invalid_input, fmt::format("there are no counts of {}", name),
                "--which-tests");
  return fail(ErrorCode::invalid_input,
              fmt::format("is ambiguous: it may be {}", fmt::join(found, " or ")), "--which-tests");
}

struct LinePlace {
  std::string file;
  uint32_t line = 0;
};

Result<LinePlace> line_place(const std::string &text) {
  LinePlace out;
  const size_t colon = text.rfind(':');
  const char *end = text.data() + text.size();
  if (colon == text.npos || colon == 0 ||
      std::from_chars(text.data() + colon + 1, end, out.line).ptr != end || out.line == 0)
    return fail(ErrorCode::invalid_argument, fmt::format("expected FILE:LINE, found '{}'", text),
                "--which-tests");
  out.file = text.substr(0, colon);
  return out;
}

// Returns a pattern that matches sources of that name in any directory, because the root need not
// be that of the project.
std::string named_so(const std::filesystem::path &path) {
  std::string out = "(^|/)";
  for (const char c : path.filename().string()) {
    if (!is_word_character(c) && static_cast<unsigned char>(c) < 0x80)
      out += '\\';
    out += c;
  }
  return out + '$';
}

Result<void> print_tests(const CollectedCoverage &collected, const LinePlace &place) {
  const uint32_t number = place.line;
  if (collected.coverage.tests.empty())
    return fail(
        ErrorCode::invalid_input,
        "the counts are not separated by test: give --per-test, or an lcov tracefile with TN: "
        "sections",
        "--which-tests");
  TALLY_TRY(path, file_named(collected, place.file));
  std::string names;
  bool is_code = false;
  for (const TestCoverage &test : collected.coverage.tests) {
    const auto file = std::ranges::lower_bound(test.files, path, {}, &FileCoverage::path);
    if (file == test.files.end() || file->path != path)
      continue;
    const auto line = std::ranges::lower_bound(file->lines, number, {}, &LineCoverage::line);
    if (line == file->lines.end() || line->line != number)
      continue;
    is_code = true;
    if (line->count != 0)
      names += (test.name.empty() ? "(without a name)" : printable(test.name)) + '\n';
  }
  if (!is_code)
    return fail(ErrorCode::invalid_input, "there is no code in this line", path,
                Position::at_line(number));
  if (names.empty())
    say(fmt::format("tally: no test reached {}:{}", path, number));
  return write_file("-", names);
}

Result<PathMap> substitute(const std::string &word) {
  const size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 || equals + 1 == word.size())
    return fail(ErrorCode::invalid_argument, fmt::format("expected FROM=TO, found '{}'", word),
                "--substitute");
  std::error_code ignored;
  return PathMap{word.substr(0, equals),
                 std::filesystem::absolute(word.substr(equals + 1), ignored).string()};
}

Result<CollectOptions> collecting(const CoverageArguments &options) {
  CollectOptions out;
  if (!options.paths.empty())
    out.paths = options.paths;
  else if (!options.build.empty())
    out.paths = {options.build};
  out.build = options.build;
  if (!options.per_test.empty()) {
    TALLY_TRY(runs, runs_of_tests(options.per_test));
    out.runs = std::move(runs);
  }
  out.root = options.root;
  std::vector<std::string> filters = options.filters;
  if (filters.empty() && !options.which_tests.empty()) {
    TALLY_TRY(place, line_place(options.which_tests));
    std::error_code ignored;
    filters.push_back(named_so(place.file));
    // The file may be a symbolic link to one of another name.
    filters.push_back(named_so(std::filesystem::weakly_canonical(place.file, ignored)));
  }
  TALLY_TRY(filter, PathFilter::make(filters, options.excludes));
  out.filter = std::move(filter);
  auto objects = PathFilter::make({}, options.exclude_objects);
  if (!objects)
    return fail(objects.error().code, objects.error().message, "--exclude-objects");
  out.objects = std::move(*objects);
  for (const std::string &word : options.substitutes) {
    TALLY_TRY(map, substitute(word));
    out.substitutes.push_back(std::move(map));
  }
  out.threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  out.throw_branches = options.throw_branches;
  out.markers = !options.no_markers;
  out.policy = options.strict ? MergePolicy::strict : MergePolicy::lenient;
  return out;
}

// Returns when the newest object was compiled. A source that was changed later is not the one that
// was counted.
int64_t when_compiled(const CollectedCoverage &collected) {
  int64_t newest = 0;
  for (const ObjectFiles &files : collected.objects) {
    struct stat info {};
    if (::stat(files.notes.c_str(), &info) == 0)
      newest = std::max<int64_t>(newest, info.st_mtim.tv_sec);
  }
  return newest;
}

Result<void> write(const CollectedCoverage &collected, const CoverageReport &report,
                   const std::string &gcovr_version, CoverageReportOptions options,
                   Diagnostics &diagnostics) {
  const bool is_html = report.format == "html";
  if (is_html) // only these pages warn of sources that changed
    options.compiled = when_compiled(collected);
  TALLY_CHECK(write_for_gcovr(report.format, gcovr_version, [&](const std::string &version) {
    options.write.gcovr_version = version;
    return write_coverage_report(collected.coverage, report, options, diagnostics);
  }));
  if (is_html)
    say(fmt::format("tally: open {} in a browser",
                    (std::filesystem::path(report.path) / "index.html").string()));
  return {};
}

Result<void> run(const CoverageArguments &options, Outcome &outcome) {
  if (options.harvest)
    return harvest(*options.harvest);
  if (!options.which_tests.empty() && options.changed_since)
    return fail(ErrorCode::invalid_argument, "cannot be used with --which-tests", "--diff");
  if (!options.which_tests.empty() &&
      (!options.reports.empty() || options.fail_under || options.fail_under_branch))
    return fail(ErrorCode::invalid_argument,
                "prints the names of tests: it cannot be used with reports or thresholds",
                "--which-tests");
  std::vector<CoverageReport> requests;
  for (const std::string &word : options.reports) {
    TALLY_TRY(request, coverage_report_of(word));
    if (std::ranges::find(requests, request.path, &CoverageReport::path) != requests.end())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("two reports would be written to {}", request.path), "--report");
    requests.push_back(std::move(request));
  }
  // A report on standard output replaces the table.
  if (std::ranges::none_of(requests, [](const auto &request) { return request.path == "-"; }))
    requests.insert(requests.begin(), {"text", "-"});
  TALLY_TRY(how, collecting(options));
  Diagnostics findings;
  std::optional<Result<CollectedCoverage>> result;
  {
    Progress progress("counters");
    how.progress = [&](size_t done, size_t all) { progress.items(done, all); };
    result = collect_coverage(how, findings);
  }
  show_some(findings, options.verbose);
  if (!*result)
    return fail(result->error());
  CollectedCoverage &collected = **result;
  if (options.demangle)
    TALLY_CHECK(demangle_names(collected.coverage));
  if (!options.which_tests.empty()) {
    TALLY_TRY(place, line_place(options.which_tests));
    return print_tests(collected, place);
  }
  bool nothing_changed = false;
  if (options.changed_since) {
    TALLY_CHECK(keep_changed(collected.coverage, collected.root, *options.changed_since));
    nothing_changed = collected.coverage.files.empty();
    if (nothing_changed)
      say(fmt::format("tally: no line that could run has changed since {}",
                      *options.changed_since));
  }
  const CoverageTotals totals = totals_of(collected.coverage);
  if (totals.lines == 0 && !nothing_changed)
    return fail(ErrorCode::no_data, why_no_line(collected, options),
                fmt::format("{}", fmt::join(how.paths, " ")));
  CoverageReportOptions settings;
  settings.root = collected.root;
  settings.write.time = time_told();
  settings.text = TableOptions{{}, options.limit, false}.text(0);
  TALLY_TRY(order, file_order_of(options.sort));
  settings.order = order;
  Diagnostics of_reports;
  for (const CoverageReport &request : requests)
    if (auto written = write(collected, request, options.gcovr_version, settings, of_reports);
        !written)
      outcome.end(written);
  if (!how.runs.empty() && requests.front().format == "text" && requests.front().path == "-")
    TALLY_CHECK(print_table_of_tests(collected, settings.text));
  show_some(of_reports, options.verbose);
  summarize(collected, options.verbose);
  if (collected.reports == 0 && collected.counted == 0)
    return fail(ErrorCode::no_data, "nothing was counted: was no program run?",
                fmt::format("{}", fmt::join(how.paths, " ")));
  if (nothing_changed)
    return {}; // the thresholds do not apply
  if (options.fail_under_branch && totals.branches == 0)
    say("tally: there are no branches, so --fail-under-branch is met");
  check_threshold("lines ran", options.fail_under, totals.lines_executed, totals.lines, outcome);
  check_threshold("branches were taken", options.fail_under_branch, totals.branches_taken,
                  totals.branches, outcome);
  return {};
}

} // namespace

void add_coverage(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<CoverageArguments>();
  CLI::App &command =
      add_command(app, "coverage", "print which lines, functions and branches ran",
                  "tally coverage build --report html --report lcov:all.info --fail-under 80");
  command
      .add_option("PATH", options->paths,
                  "directories to search for counters (.gcda, .da) and\n"
                  "notes (.gcno, .bbg), such files, or reports (lcov's,\n"
                  "gcovr's JSON) (default: .)")
      ->type_name("")
      ->check(file_name());
  const CLI::Validator not_empty(
      [](std::string &text) {
        return text.empty() ? std::string("expected a value, found ''") : std::string();
      },
      {});
  command
      .add_option("--report", options->reports,
                  "also write a report; FORMAT is one of " + coverage_report_names())
      ->type_name("FORMAT[:FILE]")
      ->check(not_empty)
      ->allow_extra_args(false);
  const CLI::Validator percent(
      [](std::string &text) {
        double value = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool good =
            fault == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 100;
        return good ? std::string() : fmt::format("expected 0 to 100, found '{}'", text);
      },
      {});
  command
      .add_option("--fail-under", options->fail_under,
                  "exit with status 3 if a smaller part of the lines ran")
      ->type_name("PCT")
      ->check(percent);
  command
      .add_option("--fail-under-branch", options->fail_under_branch,
                  "exit with status 3 if a smaller part of the branches\n"
                  "was taken")
      ->type_name("PCT")
      ->check(percent);
  command
      .add_option("--filter", options->filters,
                  "count only sources whose path, as in the table,\n"
                  "matches RE, a PCRE2 pattern (default: all sources\n"
                  "below the root)")
      ->type_name("RE")
      ->check(not_empty)
      ->allow_extra_args(false);
  command.add_option("--exclude", options->excludes, "leave out sources whose path matches RE")
      ->type_name("RE")
      ->check(not_empty)
      ->allow_extra_args(false);
  command
      .add_option("--exclude-objects", options->exclude_objects,
                  "leave out objects whose path matches RE; the path is\n"
                  "relative to the build directory with --build, and as\n"
                  "given otherwise")
      ->type_name("RE")
      ->check(not_empty)
      ->allow_extra_args(false);
  command
      .add_option("--substitute", options->substitutes,
                  "look below TO for sources that were recorded below\n"
                  "FROM, by -ffile-prefix-map or on another machine")
      ->type_name("FROM=TO")
      ->check(not_empty)
      ->allow_extra_args(false);
  command.add_option("--root", options->root, "the project's directory (default: .)")
      ->type_name("DIR")
      ->check(folder());
  command.add_option("-j", options->threads, "number of threads (default: one per processor)")
      ->type_name("N")
      ->check(whole_number_from(1, 1024));
  command
      .add_option("--build", options->build,
                  "a build directory: count only the objects that its\n"
                  "compile_commands.json names; it is also the default\n"
                  "of PATH")
      ->type_name("DIR")
      ->check(folder());
  command
      .add_option("--diff", options->changed_since,
                  "count only lines that `git diff REV` shows as added\n"
                  "or changed")
      ->type_name("REV");
  command
      .add_option("--per-test", options->per_test,
                  "count each test separately; DIR holds the counters\n"
                  "that --harvest packed, and tests.json:\n"
                  "[{\"n\": 1, \"name\": \"of 1.counters\"}, …]")
      ->type_name("DIR")
      ->check(folder());
  command
      .add_option("--harvest", options->harvest,
                  "only pack the counters below FOLDER, which was the\n"
                  "GCOV_PREFIX of a test, into FOLDER.counters, and\n"
                  "remove FOLDER")
      ->type_name("FOLDER");
  command
      .add_option("--which-tests", options->which_tests,
                  "print the tests that reached a line; needs --per-test\n"
                  "or lcov tracefiles with TN: sections")
      ->type_name("FILE:LINE");
  command.add_option("--limit", options->limit, "show at most N files; 0 shows all (default)")
      ->type_name("N")
      ->check(whole_number_from(0, UINT32_MAX));
  command
      .add_option("--sort", options->sort,
                  "the order of files in the text report: by path, by\n"
                  "the smallest percentage, or by the most lines that\n"
                  "did not run (default: file)")
      ->type_name(file_order_words())
      ->check(CLI::Validator(
          [](std::string &word) {
            const auto order = file_order_of(word);
            return order ? std::string() : order.error().message;
          },
          {}));
  command
      .add_option("--gcovr-version", options->gcovr_version,
                  "the version of gcovr's JSON layout\n"
                  "(default: that of the gcovr on PATH)")
      ->type_name("V");
  command
      .add_flag("--throw-branches", options->throw_branches,
                "also count the branches that exceptions take")
      ->disable_flag_override();
  command
      .add_flag("--no-markers", options->no_markers,
                "ignore exclusion markers in sources (GCOVR_EXCL_LINE,\n"
                "LCOV_EXCL_START, …)")
      ->disable_flag_override();
  command
      .add_flag("--strict", options->strict,
                "fail if an object cannot be used, or if objects\n"
                "disagree about a source")
      ->disable_flag_override();
  command
      .add_flag("--demangle", options->demangle,
                "print function names as in the source, also in\n"
                "tracefiles")
      ->disable_flag_override();
  command.add_flag("--verbose", options->verbose, "show all diagnostics")->disable_flag_override();
  command.callback([options, &outcome] { outcome.end(run(*options, outcome)); });
}

} // namespace tally::cli
