#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <thread>

#include <sys/stat.h>

#include <fmt/format.h>

#include "changed_lines.h"
#include "collect/proc_info.h"
#include "coverage/baseline_rule.h"
#include "coverage_baseline.h"
#include "coverage_collect/collect_coverage.h"
#include "coverage_tests.h"
#include "gcovr_version.h"
#include "live/live_program.h"
#include "profiles.h"
#include "progress.h"
#include "report/coverage_output.h"
#include "support/file_io.h"
#include "support/text.h"
#include "transform/merge.h"

namespace tally::cli {

namespace {

// Returns the warnings about missing sources that the file has from an earlier run, and writes
// those of this run there.
Result<std::string> known_missing(const std::string &path, const Diagnostics &findings) {
  std::string before = "\n", now = before;
  TALLY_TRY(source, ByteSource::open_if_there(path));
  if (source) {
    TALLY_TRY(bytes, source->rest());
    before = std::move(bytes);
  }
  for (const Finding &finding : findings.findings())
    if (is_of_missing_source(finding))
      now += finding.text() + '\n';
  if (now != before)
    TALLY_CHECK(write_file(path, now));
  return before;
}

// Prints the diagnostics, except those that are lines of `known`. Unless `all` is set, prints no
// notes and at most 20 warnings, because each object may cause one.
void show_some(const Diagnostics &findings, bool all, std::string_view known = {}) {
  constexpr size_t most = 20;
  size_t shown = 0;
  for (Finding finding : findings.findings()) {
    if (!all && (finding.severity == Severity::note ||
                 known.find(fmt::format("\n{}\n", finding.text())) != known.npos))
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

std::string number_of(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Prints what the table does not show: objects that could not be used or never ran.
void summarize(const CollectedCoverage &collected, bool all) {
  std::vector<std::string> parts;
  if (collected.skipped > 0)
    parts.push_back(fmt::format("{} of {} could not be used", collected.skipped,
                                number_of(collected.objects.size(), "object")));
  if (collected.never_ran > 0)
    parts.push_back(fmt::format("{} of {} never ran", collected.never_ran,
                                number_of(collected.objects.size(), "object")));
  if (all && collected.sources_left_out > 0)
    parts.push_back(fmt::format("{} left out: outside {}, or excluded",
                                number_of(collected.sources_left_out, "source"), collected.root));
  if (!parts.empty())
    say(fmt::format("tally: {}", joined_text(parts, "; ")));
}

std::string why_no_line(const CollectedCoverage &collected, bool has_filters) {
  if (collected.sources_left_out == 0)
    return "there is no line that could run";
  const bool is_one = collected.sources_left_out == 1;
  const std::string left =
      fmt::format("no line is left: {} ", number_of(collected.sources_left_out, "source"));
  if (has_filters)
    return left + (is_one ? "matches no filter or is excluded" : "match no filter or are excluded");
  return left + fmt::format("{} outside {}, or in a system directory, or excluded (--root or "
                            "--filter includes {})",
                            is_one ? "is" : "are", collected.root, is_one ? "it" : "them");
}

// Reports a failure and sets the exit status if `part` is less than `given` percent of `whole`.
// Does nothing if `given` is empty, because the user set no threshold. `what` completes the
// message, for example "lines ran".
void check_threshold(std::string_view what, std::string_view given, uint64_t part, uint64_t whole,
                     Outcome &outcome) {
  if (given.empty())
    return;
  const double least = std::strtod(std::string(given).c_str(), nullptr);
  if (reaches(part, whole, least))
    return;
  say(fmt::format("tally: {} of {} {}: {:.2f}%, less than {}%", part, whole, what,
                  std::floor(static_cast<double>(part) * 10'000 / static_cast<double>(whole)) / 100,
                  least));
  if (outcome.status == done)
    outcome.status = below_threshold;
}

// Returns whether the exit status tells if coverage is high enough.
bool has_threshold(const ParsedCommand &given) {
  return std::ranges::any_of(std::array{"baseline", "fail-under", "fail-under-branch",
                                        "fail-under-mcdc", "fail-under-region"},
                             [&](const char *option) { return given.has(option); });
}

constexpr const char *not_by_test = "the counts are not separated by test: give --per-test, or an "
                                    "lcov tracefile with TN: sections";

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
              fmt::format("is ambiguous: it may be {}", joined_text(found, " or ")),
              "--which-tests");
}

struct SourceLocation {
  std::string file;
  uint32_t line = 0;
};

Result<SourceLocation> source_location(const std::string &text) {
  SourceLocation out;
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

Result<void> print_tests(const CollectedCoverage &collected, const SourceLocation &location) {
  const uint32_t number = location.line;
  if (collected.coverage.tests.empty())
    return fail(ErrorCode::invalid_input, not_by_test, "--which-tests");
  TALLY_TRY(path, file_named(collected, location.file));
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

// Takes the counters out of the process that --pid names, or out of the core file of --core, and
// writes them as --counters asks.
Result<live::ProgramCounters> counters_in_memory(const ParsedCommand &given,
                                                 Diagnostics &findings) {
  const bool is_core = given.has("core");
  const char *const option = is_core ? "--core" : "--pid";
  for (const char *other : {"build", "per-test", is_core ? "pid" : "core"})
    if (given.has(other))
      return fail(ErrorCode::invalid_argument, fmt::format("cannot be used with {}", option),
                  fmt::format("--{}", other));
  const size_t most_arguments = is_core ? 1 : 0;
  if (given.arguments.size() > most_arguments)
    return fail(ErrorCode::invalid_argument,
                is_core ? "only the program can be given with --core"
                        : "cannot be used with --pid: the process itself names its objects",
                given.arguments[most_arguments]);
  const auto pid = static_cast<pid_t>(is_core ? 0 : given.number("pid"));
  auto read =
      is_core ? live::counters_of_core(std::string(given.value("core")),
                                       given.arguments.empty() ? "" : given.arguments[0], findings)
              : live::counters_of_process(pid, findings);
  TALLY_TRY(counters, std::move(read));
  const auto status = is_core ? std::nullopt : process_status(std::to_string(pid));
  if (status && status->state != 'T' && status->state != 't')
    say(fmt::format("tally: process {} was read while it ran: functions that it was in may have "
                    "wrong counts",
                    pid));
  if (given.has("counters"))
    TALLY_CHECK(live::write_counter_files(counters.objects, std::string(given.value("counters"))));
  return counters;
}

Result<CollectOptions> collecting(const ParsedCommand &given) {
  CollectOptions out;
  out.build = given.value("build");
  if (!given.arguments.empty())
    out.paths = given.arguments;
  else if (!out.build.empty())
    out.paths = {out.build};
  out.mapped = given.values("object");
  out.reading = reading_of(given);
  if (given.has("per-test")) {
    TALLY_TRY(runs, runs_of_tests(std::string(given.value("per-test"))));
    out.runs = std::move(runs);
  }
  out.root = given.value("root");
  std::vector<std::string> filters = given.values("filter");
  if (filters.empty() && given.has("which-tests")) {
    TALLY_TRY(location, source_location(std::string(given.value("which-tests"))));
    std::error_code ignored;
    filters.push_back(named_so(location.file));
    // The file may be a symbolic link to one of another name.
    filters.push_back(named_so(std::filesystem::weakly_canonical(location.file, ignored)));
  }
  TALLY_TRY(filter, PathFilter::make(filters, given.values("exclude")));
  out.filter = std::move(filter);
  auto objects = PathFilter::make({}, given.values("exclude-objects"));
  if (!objects)
    return fail(objects.error().code, objects.error().message, "--exclude-objects");
  out.objects = std::move(*objects);
  for (const std::string &word : given.values("exclude-lines")) {
    TALLY_TRY(pattern, Pattern::compile(word, "--exclude-lines"));
    out.excluded_lines.push_back(std::move(pattern));
  }
  for (const std::string &word : given.values("substitute")) {
    TALLY_TRY(map, substitute(word));
    out.substitutes.push_back(std::move(map));
  }
  out.threads = given.has("j") ? static_cast<unsigned>(given.number("j"))
                               : std::max(1u, std::thread::hardware_concurrency());
  out.throw_branches = given.has("throw-branches");
  out.markers = !given.has("no-markers");
  out.policy = given.has("strict") ? MergePolicy::strict : MergePolicy::lenient;
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

} // namespace

Result<void> coverage_command(const ParsedCommand &given, Outcome &outcome) {
  const bool verbose = given.has("verbose");
  const bool is_diff = given.has("diff");
  const std::string which_tests(given.value("which-tests")), changed_since(given.value("diff")),
      gcovr_version(given.value("gcovr-version"));
  if (given.has("harvest"))
    return harvest(std::string(given.value("harvest")));
  TALLY_CHECK(check_baseline_options(given));
  if (given.has("tests-by-function"))
    for (const char *option :
         {"baseline", "diff", "fail-under", "fail-under-branch", "fail-under-mcdc",
          "fail-under-region", "json", "redundant", "report", "which-tests"})
      if (given.has(option))
        return fail(ErrorCode::invalid_argument, "cannot be used with --tests-by-function",
                    fmt::format("--{}", option));
  if (!which_tests.empty() && is_diff)
    return fail(ErrorCode::invalid_argument, "cannot be used with --which-tests", "--diff");
  if (!which_tests.empty() && (given.has("json") || given.has("report") ||
                               given.has("fail-under") || given.has("fail-under-branch") ||
                               given.has("fail-under-mcdc") || given.has("fail-under-region")))
    return fail(ErrorCode::invalid_argument,
                "prints the names of tests: it cannot be used with reports or thresholds",
                "--which-tests");
  if (is_diff && given.has("fail-under-region"))
    return fail(ErrorCode::invalid_argument,
                "cannot be used with --diff: the regions of single lines are not known",
                "--fail-under-region");
  std::vector<CoverageReport> requests;
  std::set<std::string> named_here; // paths that the command line does not name
  std::vector<std::string> reports = given.values("report");
  if (given.has("json"))
    reports.emplace_back("json");
  for (const std::string &word : reports) {
    TALLY_TRY(request, coverage_report_of(word));
    if (word.find(':') == word.npos && request.path != "-" && request.format != "html")
      named_here.insert(request.path);
    if (std::ranges::find(requests, request.path, &CoverageReport::path) != requests.end())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("two reports would be written to {}", request.path), "--report");
    requests.push_back(std::move(request));
  }
  // A report on standard output replaces the table.
  const auto on_output = std::ranges::find(requests, "-", &CoverageReport::path);
  if (given.has("redundant") && on_output != requests.end() && on_output->format != "text")
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("cannot be used with a report in {} on standard output", on_output->format),
        "--redundant");
  if (on_output == requests.end())
    requests.insert(requests.begin(), {"text", "-"});
  TALLY_TRY(how, collecting(given));
  Diagnostics findings;
  std::vector<live::SourceBasedFrame> frames;
  if (given.has("pid") || given.has("core")) {
    TALLY_TRY(counters, counters_in_memory(given, findings));
    how.given = std::move(counters.objects);
    how.given_source_based = std::move(counters.source_based);
    frames = std::move(counters.frames);
    how.paths = {given.has("core") ? std::string(given.value("core"))
                                   : fmt::format("process {}", given.number("pid"))};
  } else if (given.has("counters")) {
    return fail(ErrorCode::invalid_argument, "requires --pid or --core", "--counters");
  }
  std::optional<Result<CollectedCoverage>> result;
  {
    Progress progress("reading counters");
    how.progress = [&](size_t done, size_t all) { progress.items(done, all); };
    result = collect_coverage(how, findings);
  }
  std::string known;
  if (*result && given.has("missing-once")) {
    TALLY_TRY(earlier, known_missing(std::string(given.value("missing-once")), findings));
    known = std::move(earlier);
  }
  show_some(findings, verbose, known);
  if (!*result)
    return fail(result->error());
  CollectedCoverage &collected = **result;
  if (given.has("demangle"))
    TALLY_CHECK(demangle_names(collected.coverage));
  if (const std::string why = live::why_uncertain(collected.coverage, how.given, frames);
      !why.empty())
    say(fmt::format("tally: {}", why));
  if (!which_tests.empty()) {
    TALLY_TRY(location, source_location(which_tests));
    return print_tests(collected, location);
  }
  if (given.has("tests-by-function")) {
    if (collected.coverage.tests.empty())
      return fail(ErrorCode::invalid_input, not_by_test, "--tests-by-function");
    return write_tests_by_function(collected.coverage,
                                   std::string(given.value("tests-by-function")));
  }
  bool nothing_changed = false;
  if (is_diff) {
    TALLY_CHECK(keep_changed(collected.coverage, collected.root, changed_since));
    nothing_changed = collected.coverage.files.empty();
    if (nothing_changed)
      say(fmt::format("tally: no line that could run has changed since {}", changed_since));
  }
  const CoverageTotals totals = totals_of(collected.coverage);
  if (totals.lines == 0 && !nothing_changed)
    return fail(ErrorCode::no_data, why_no_line(collected, given.has("filter")),
                joined_text(how.paths, " "));
  CoverageReportOptions settings;
  settings.root = collected.root;
  settings.write.time = stated_time();
  settings.write.lcov_version = given.value("lcov-version");
  settings.text = table_options(given).text();
  settings.text.full = given.has("full");
  TALLY_TRY(order, file_order_of(given.value("sort")));
  settings.order = order;
  Diagnostics of_reports;
  for (const CoverageReport &request : requests)
    if (auto written = write(collected, request, gcovr_version, settings, of_reports); !written)
      outcome.end(written);
    else if (named_here.contains(request.path))
      say(fmt::format("tally: wrote {}", request.path));
  if (!how.runs.empty() && requests.front().format == "text" && requests.front().path == "-")
    TALLY_CHECK(print_table_of_tests(collected, settings.text));
  if (given.has("redundant")) {
    if (collected.coverage.tests.empty())
      return fail(ErrorCode::invalid_input, not_by_test, "--redundant");
    TALLY_CHECK(print_redundant_tests(collected, how.runs));
  }
  show_some(of_reports, verbose);
  summarize(collected, verbose);
  if (collected.reports == collected.reports_outside && collected.counted == 0)
    return fail(ErrorCode::no_data, "nothing was counted: was no program run?",
                joined_text(how.paths, " "));
  if (collected.reports_outside > 0 && has_threshold(given))
    return fail(ErrorCode::no_data,
                fmt::format("no threshold is checked: the sources of {} of {} are outside of {}",
                            collected.reports_outside, number_of(collected.reports, "report"),
                            collected.root),
                joined_text(how.paths, " "));
  if (nothing_changed)
    return {}; // the thresholds do not apply
  if (given.has("fail-under-branch") && totals.branches == 0)
    say("tally: there are no branches, so --fail-under-branch is met");
  check_threshold("lines ran", given.value("fail-under"), totals.lines_executed, totals.lines,
                  outcome);
  check_threshold("branches were taken", given.value("fail-under-branch"), totals.branches_taken,
                  totals.branches, outcome);
  if (given.has("fail-under-mcdc") && totals.mcdc == 0)
    return fail(ErrorCode::no_data, "there is no MC/DC: it needs Clang 18 and -fcoverage-mcdc",
                "--fail-under-mcdc");
  check_threshold("conditions decided alone", given.value("fail-under-mcdc"), totals.mcdc_covered,
                  totals.mcdc, outcome);
  const RegionTotals &regions = totals.source_based;
  if (given.has("fail-under-region") && regions.regions == 0)
    return fail(ErrorCode::no_data, "there are no regions: they need Clang's -fcoverage-mapping",
                "--fail-under-region");
  check_threshold("regions ran", given.value("fail-under-region"), regions.regions_executed,
                  regions.regions, outcome);
  return compare_with_baseline(given, collected, how.filter, outcome);
}

} // namespace tally::cli
