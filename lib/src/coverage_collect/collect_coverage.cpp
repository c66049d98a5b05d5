#include "coverage_collect/collect_coverage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "coverage/coverage_of.h"
#include "coverage/exclusion_markers.h"
#include "coverage_collect/build_programs.h"
#include "coverage_collect/counted_object.h"
#include "coverage_collect/coverage_inputs.h"
#include "coverage_collect/real_paths.h"
#include "coverage_collect/source_resolver.h"
#include "coverage_collect/test_counters.h"
#include "formats/formats.h"
#include "formats/gcov/stream.h"
#include "model/coverage_findings.h"
#include "support/file_io.h"
#include "support/hash.h"
#include "support/in_order.h"
#include "support/path.h"
#include "support/source_text.h"
#include "support/text.h"
#include "transform/merge.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

// How the messages begin that say that a source is missing.
constexpr std::string_view not_there = "the source does not exist",
                           unreadable = "the source cannot be read";

// The result of one object.
struct Piece {
  Result<Coverage> coverage;
  bool ran = false;
  Diagnostics findings;
  std::set<std::string> tests{}; // the tests that have counts of the object
};

Result<void> first_warning(const Diagnostics &findings) {
  for (const Finding &finding : findings.findings())
    if (finding.severity != Severity::note)
      return fail(ErrorCode::invalid_input, finding.message, finding.source, finding.where);
  return {};
}

// Objects that CollectOptions::objects excludes. Their paths are matched as the user knows them:
// relative to the build directory, or as named on the command line.
class ExcludedObjects {
public:
  explicit ExcludedObjects(const CollectOptions &options) : options_(options) {
    std::error_code ignored;
    if (!options.build.empty())
      build_ = fs::canonical(options.build, ignored).string();
  }
  bool contains(const std::string &object) {
    return options_.objects.excludes(
        build_.empty() ? fs::path(object).lexically_normal().string()
                       : std::string(relative_path(real_paths_.of(object), build_)));
  }

private:
  const CollectOptions &options_;
  std::string build_; // absolute and without symbolic links
  RealPaths real_paths_;
};

class Collect {
public:
  Collect(const CollectOptions &options, Diagnostics &diagnostics)
      : options_(options), diagnostics_(diagnostics), sum_(options.policy, diagnostics),
        excluded_(options) {}

  Result<CollectedCoverage> run();

private:
  struct ObjectWorker {
    Collect &collect;
    SourceResolver resolver;
    void operator()(size_t i) { collect.pieces_[i].emplace(collect.count(i, resolver)); }
    void finish() { collect.keep(resolver); }
  };

  Piece count(size_t i, SourceResolver &resolver) const;
  Result<void> count_tests(size_t i, const GcovOptions &counting, const CoverageOptions &covering,
                           Piece &piece) const;
  Result<void> read_runs();
  bool take(size_t i);
  void keep(const SourceResolver &resolver) {
    left_out_.insert(resolver.left_out().begin(), resolver.left_out().end());
    lost_.insert(resolver.lost().begin(), resolver.lost().end());
    moved_.insert(resolver.moved().begin(), resolver.moved().end());
    replaced_.insert(resolver.replaced().begin(), resolver.replaced().end());
  }
  Result<bool> is_of_elsewhere(const std::string &report, const Coverage &coverage,
                               SourceResolver &resolver);
  Result<void> add_reports();
  Result<void> add_source_based();
  Result<void> leave_out_lines(Coverage &coverage);
  SourceRules source_rules() const {
    return {options_.filter, out_.root, options_.substitutes, inputs_.maps};
  }
  void report_progress(size_t done, size_t all) const {
    if (options_.progress)
      options_.progress(done, all);
  }
  void keep_first(Result<void> result) {
    if (!result && !failed_)
      failed_ = std::move(result.error());
  }

  const CollectOptions &options_;
  Diagnostics &diagnostics_;
  CoverageSum sum_;
  CoverageInputs inputs_;
  std::vector<PackedCounters> runs_; // in the order of options_.runs
  struct RunFile {
    size_t run;
    const PackedCounters::File *file;
  };
  std::vector<std::vector<RunFile>> run_files_; // by object
  std::set<std::string> without_data_;          // tests that have counts of no object
  std::vector<std::optional<Piece>> pieces_;
  std::set<std::string> left_out_, lost_;
  std::map<std::string, std::string> moved_, replaced_;
  std::optional<Error> failed_;
  ExcludedObjects excluded_;
  CollectedCoverage out_;
};

Piece Collect::count(size_t i, SourceResolver &resolver) const {
  Piece piece{Coverage{}, false, {}};
  const ObjectFiles &files = inputs_.objects[i];
  resolver.begin_object(files.notes);
  GcovOptions counting;
  counting.instances_apart = true;
  counting.wants = [&](const std::string &name, std::string_view folder) {
    return resolver.resolve(name, folder).has_value();
  };
  counting.is_plain_directory = [&](const std::string &name, std::string_view folder) {
    return resolver.is_plain_directory(name, folder);
  };
  counting.report_negative = false; // run() reports negative counts once, for all objects
  auto object = count_object(files, counting, piece.findings);
  if (!object) {
    Error error = std::move(object.error());
    // If only the counters are unusable, count the object's lines as not run.
    object = count_object({files.notes, "", files.lines}, counting, piece.findings);
    if (!object || error.source != files.data) {
      piece.coverage = fail(std::move(error));
      return piece;
    }
    piece.findings.add(Severity::warning, error.message + ": counted as not run", error.source,
                       error.where);
  }
  piece.ran = object->ran;
  CoverageOptions covering;
  covering.throw_branches = options_.throw_branches;
  covering.policy = options_.policy;
  covering.path_of = [&](std::string_view name, std::string_view folder) {
    return resolver.resolve(name, folder);
  };
  piece.coverage = coverage_of(*object->graph, object->counts, piece.findings, covering);
  if (piece.coverage && !runs_.empty())
    if (auto counted = count_tests(i, counting, covering, piece); !counted)
      piece.coverage = fail(std::move(counted.error()));
  return piece;
}

// Adds the counts of the tests' runs. The counters in the object's data file belong to no test;
// they are added as those of the test "".
Result<void> Collect::count_tests(size_t i, const GcovOptions &counting,
                                  const CoverageOptions &covering, Piece &piece) const {
  piece.coverage->tests.push_back({"", piece.coverage->files});

  std::vector<RunCounters> runs;
  std::vector<std::string> tests; // the test of each of `runs`
  for (const RunFile &each : run_files_[i]) {
    auto bytes = runs_[each.run].unpack(*each.file);
    if (!bytes) {
      const Error &error = bytes.error();
      piece.findings.add(Severity::warning, error.message + ": left out", error.source,
                         error.where);
      continue;
    }
    tests.push_back(options_.runs[each.run].test);
    runs.push_back({fmt::format("{} of {}", each.file->path, tests.back()), std::move(*bytes)});
  }
  TALLY_TRY(counted, count_runs(inputs_.objects[i].notes, runs, counting, piece.findings));
  CoverageSum sum(options_.policy, piece.findings);
  TALLY_CHECK(sum.add(std::move(*piece.coverage)));
  for (size_t run = 0; run < runs.size(); ++run) {
    if (!counted.counts[run])
      continue;
    TALLY_TRY(more, coverage_of(counted.graph, *counted.counts[run], piece.findings, covering));
    more.tests.push_back({tests[run], more.files});
    TALLY_CHECK(sum.add(std::move(more)));
    piece.tests.insert(tests[run]);
    piece.ran = true;
  }
  piece.coverage = sum.finish();
  return {};
}

// Reads the counters of a run. If neither the file nor the directory exists, the run left none.
Result<PackedCounters> read_counters(const TestRun &run, Diagnostics &diagnostics) {
  std::string packed;
  TALLY_TRY(source, ByteSource::open_if_there(run.counters));
  if (source) {
    TALLY_TRY(bytes, source->rest());
    packed = std::move(bytes);
  }
  std::error_code ignored;
  if (!run.folder.empty() && fs::is_directory(run.folder, ignored)) {
    if (!packed.empty()) // pack_counters() relies on it
      TALLY_CHECK(PackedCounters::read(packed, run.counters));
    TALLY_TRY(bytes, pack_counters(run.folder, diagnostics, std::move(packed)));
    packed = std::move(bytes);
  }
  if (!source && packed.empty())
    return PackedCounters();
  return PackedCounters::read(std::move(packed), run.counters);
}

// Takes counters out of `inputs` that lie in the directories of the runs: they are not those of the
// test "".
void leave_to_runs(const std::vector<TestRun> &runs, CoverageInputs &inputs) {
  std::set<std::string> folders;
  std::error_code ignored;
  for (const TestRun &run : runs)
    if (fs::is_directory(run.folder, ignored))
      folders.insert(fs::canonical(run.folder, ignored).string());
  if (folders.empty())
    return;
  RealPaths real_paths;
  const auto is_of_run = [&](const std::string &file) {
    fs::path path = real_paths.of(file);
    while (path.has_relative_path()) {
      path = path.parent_path();
      if (folders.contains(path.string()))
        return true;
    }
    return false;
  };
  std::erase_if(inputs.source_based.profiles, is_of_run);
  for (ObjectFiles &files : inputs.objects)
    if (is_of_run(files.data))
      files.data.clear();
}

// Finds the runs that have counters of each object. Adds every test to the sum, even a test that
// has counts of no object.
Result<void> Collect::read_runs() {
  leave_to_runs(options_.runs, inputs_);
  RealPaths real_paths;
  SeededMap<std::string, size_t> objects; // by their notes
  if (!options_.runs.empty())
    for (size_t i = 0; i < inputs_.objects.size(); ++i)
      objects.emplace(real_paths.of(inputs_.objects[i].notes), i);
  run_files_.resize(inputs_.objects.size());
  Coverage names;
  for (size_t i = 0; i < options_.runs.size(); ++i) {
    const TestRun &run = options_.runs[i];
    TALLY_TRY(packed, read_counters(run, diagnostics_));
    if (without_data_.insert(run.test).second)
      names.tests.push_back({run.test, {}});
    for (const PackedCounters::File &file : packed.files())
      if (const auto at = objects.find(real_paths.of(files_of_object(file.path).notes));
          at != objects.end())
        run_files_[at->second].push_back({i, &file});
    runs_.push_back(std::move(packed));
  }
  for (size_t i = 0; i < runs_.size(); ++i)
    if (has_source_profile(runs_[i]))
      inputs_.source_based.runs.push_back({options_.runs[i].test, &runs_[i]});
  return sum_.add(std::move(names));
}

bool Collect::take(size_t i) {
  Piece piece = std::move(*pieces_[i]);
  pieces_[i].reset();
  diagnostics_.append(piece.findings);
  if (piece.coverage) {
    out_.never_ran += !piece.ran;
    out_.counted += piece.ran && !piece.coverage->files.empty();
    for (const std::string &test : piece.tests)
      without_data_.erase(test);
    keep_first(sum_.add(std::move(*piece.coverage)));
    if (options_.policy == MergePolicy::strict)
      keep_first(first_warning(piece.findings));
    return !failed_;
  }
  ++out_.skipped;
  const Error &error = piece.coverage.error();
  if (options_.policy == MergePolicy::strict)
    keep_first(fail(error));
  else
    diagnostics_.add(Severity::warning, error.message + ": the object is left out", error.source,
                     error.where);
  return !failed_;
}

// Returns whether all sources of a report lie outside of the root, because it was made in another
// checkout, and reports that.
Result<bool> Collect::is_of_elsewhere(const std::string &report, const Coverage &coverage,
                                      SourceResolver &resolver) {
  std::set<std::string> paths;
  for (const FileCoverage &file : coverage.files) {
    auto path = resolver.outside(file.path);
    if (!path)
      return false;
    paths.insert(std::move(*path));
  }
  if (paths.empty())
    return false;
  std::error_code ignored;
  std::string message = fmt::format(
      "the source {}{}: {} counts nothing (--substitute FROM=TO names the directory of sources "
      "that "
      "were recorded in another checkout)",
      fs::exists(*paths.begin(), ignored) ? "lies outside of " + out_.root : "does not exist",
      paths.size() == 1 ? std::string()
                        : fmt::format(", the first of {} outside of the root", paths.size()),
      report);
  if (options_.policy == MergePolicy::strict)
    return fail(ErrorCode::invalid_input, std::move(message), *paths.begin());
  diagnostics_.add(Severity::warning, std::move(message), *paths.begin());
  left_out_.merge(paths);
  return true;
}

// Adds the coverage of the reports. A relative path in a report is relative to the root or, with
// the default root, may also be relative to the report's directory or one above it.
Result<void> Collect::add_reports() {
  SourceResolver resolver(source_rules());
  for (const std::string &path : inputs_.reports) {
    Diagnostics findings;
    resolver.begin_report(path, options_.root != CollectOptions().root);
    auto read = read_file(path, findings, nullptr, options_.reading);
    diagnostics_.append(findings);
    if (!read)
      return fail(read.error());
    auto *coverage = std::get_if<Coverage>(&read->content);
    if (!coverage)
      return fail(ErrorCode::invalid_input,
                  fmt::format("is {}{}", read->format->name,
                              read->format->read_counters == gcov::read_stream
                                  ? ", which is read from a file, but not from a pipe"
                                  : ": neither counters nor coverage"),
                  path);
    ++out_.reports;
    TALLY_TRY(is_elsewhere, is_of_elsewhere(path, *coverage, resolver));
    if (is_elsewhere) {
      ++out_.reports_outside;
      continue;
    }
    const auto resolve_sources = [&](std::vector<FileCoverage> &files) {
      std::erase_if(files, [&](FileCoverage &file) {
        const auto &real = resolver.resolve(file.path, "");
        if (real)
          file.path = *real;
        return !real;
      });
      if (options_.throw_branches)
        return;
      // Leave throw branches out, as in objects, because branches are added up by their position.
      ExcludedLines all;
      all.throw_branches = {{0, UINT32_MAX}};
      for (FileCoverage &file : files)
        exclude(file, all);
    };
    TALLY_CHECK(unite_variants(*coverage));
    resolve_sources(coverage->files);
    for (TestCoverage &test : coverage->tests)
      resolve_sources(test.files);
    TALLY_CHECK(sum_.add(std::move(*coverage)));
  }
  keep(resolver);
  return {};
}

// Adds the coverage of profiles. All are added at once, because objects share functions.
Result<void> Collect::add_source_based() {
  if (!options_.given_source_based.empty()) {
    SourceResolver resolver(source_rules());
    resolver.begin_object("");
    TALLY_CHECK(sum_.add(coverage_of(
        options_.given_source_based,
        [&](const std::string &name) { return resolver.resolve(name, ""); }, diagnostics_)));
    out_.counted += options_.given_source_based.objects->size();
    keep(resolver);
    return {};
  }
  if (inputs_.source_based.is_empty())
    return {};
  SourceBasedInputs &inputs = inputs_.source_based;
  if (!options_.build.empty() && inputs.objects.empty()) {
    TALLY_TRY(programs, programs_of_build(options_.build));
    std::erase_if(programs, [this](const std::string &path) { return excluded_.contains(path); });
    inputs.are_of_build = !programs.empty();
    inputs.objects = std::move(programs);
    inputs.folders = inputs.are_of_build ? std::vector<std::string>() : std::vector{options_.build};
  }
  SourceResolver resolver(source_rules());
  resolver.begin_object("");
  auto result = collect_source_based(
      inputs, [&](const std::string &name) { return resolver.resolve(name, ""); }, options_.policy,
      diagnostics_);
  // A profile that some other program left in a directory does not prevent that the rest counts.
  if (const bool is_alone = inputs_.objects.empty() && inputs_.reports.empty();
      !result && !is_alone && options_.policy == MergePolicy::lenient) {
    const Error &error = result.error();
    diagnostics_.add(Severity::warning, error.message, error.source, error.where);
    return {};
  }
  TALLY_TRY(collected, std::move(result));
  out_.counted += collected.objects.size();
  for (const TestCoverage &test : collected.coverage.tests)
    without_data_.erase(test.name);
  TALLY_CHECK(sum_.add(std::move(collected.coverage)));
  keep(resolver);
  return {};
}

// Counts the lines of a text. The last one need not end with a newline.
size_t line_count(std::string_view text) {
  return static_cast<size_t>(std::ranges::count(text, '\n')) +
         (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// Returns whether the text of a function calls one of exec()'s variants.
bool calls_exec(const FileCoverage &file, const FunctionCoverage &function) {
  const auto source = read_source(file.path);
  if (!source)
    return false;
  std::string_view text = source->bytes;
  for (uint32_t line = 1; line < function.start_line; ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  size_t end = 0;
  for (uint32_t line = function.start_line; line <= function.end_line && end < text.size(); ++line)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  text = text.substr(0, end);
  for (const std::string_view name :
       {"execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve"})
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const size_t next = text.find_first_not_of(" \t", at + name.size());
      if ((at == 0 || !is_word_character(text[at - 1])) && next != text.npos && text[next] == '(')
        return true;
    }
  return false;
}

// Leaves out the lines that have markers, or that match a pattern of the user.
Result<void> Collect::leave_out_lines(Coverage &coverage) {
  struct Worker {
    const CollectOptions &options;
    std::vector<FileCoverage> &files;
    std::vector<Diagnostics> &findings;
    std::vector<ExcludedLines> &excluded;
    std::vector<std::optional<Error>> &failures;
    void operator()(size_t i) {
      FileCoverage &file = files[i];
      const auto text = read_source(file.path);
      if (!text) {
        findings[i].add(Severity::warning,
                        fmt::format("{} ({}): its exclusion markers have no effect", unreadable,
                                    text.error().message),
                        file.path);
        return;
      }
      const size_t lines = line_count(text->bytes);
      if (!file.lines.empty() && file.lines.back().line > lines)
        findings[i].add(Severity::warning, beyond_the_end(file.lines.back().line, lines),
                        file.path);
      if (options.markers)
        excluded[i] = find_exclusions(text->bytes, file.path, findings[i]);
      if (auto done = exclude_lines(text->bytes, options.excluded_lines, excluded[i]); !done)
        failures[i] = Error(ErrorCode::limit, done.error().message, file.path);
      decide_by_counts(file, excluded[i], findings[i]);
      if (!excluded[i].empty())
        exclude(file, excluded[i]);
    }
    void finish() {}
  };
  std::vector<Diagnostics> findings(coverage.files.size());
  std::vector<ExcludedLines> excluded(coverage.files.size());
  std::vector<std::optional<Error>> failures(coverage.files.size());
  InOrder(coverage.files.size(), options_.threads)
      .run<Worker>(
          [&] {
            return Worker{options_, coverage.files, findings, excluded, failures};
          },
          [&](size_t i) {
            diagnostics_.append(findings[i]);
            return true;
          },
          [](size_t) {});
  for (std::optional<Error> &failure : failures)
    if (failure)
      return fail(std::move(*failure));
  for (TestCoverage &test : coverage.tests)
    for (FileCoverage &file : test.files) {
      const auto at = std::ranges::lower_bound(coverage.files, file.path, {}, &FileCoverage::path);
      const ExcludedLines &lines = excluded[static_cast<size_t>(at - coverage.files.begin())];
      if (!lines.empty())
        exclude(file, lines);
    }
  return {};
}

// Removes from the test "" each file that did not run in it, if the named tests together have all
// lines, functions, branches and conditions of the file. The test "" holds the zero counts of all
// objects. A file needs its zero counts if the named tests lack some of its lines: these tests may
// have run only some of the objects that contain the file.
Result<void> leave_to_tests(Coverage &coverage, Diagnostics &diagnostics) {
  if (coverage.tests.size() < 2 || !coverage.tests[0].name.empty())
    return {};
  SeededMap<std::string_view, FileCoverage> of_tests;
  for (const TestCoverage &test : std::span(coverage.tests).subspan(1))
    for (const FileCoverage &file : test.files) {
      const auto [at, added] = of_tests.try_emplace(file.path, file);
      if (!added)
        TALLY_CHECK(add_coverage(at->second, file, MergePolicy::lenient, diagnostics));
    }
  const auto size = [](const FileCoverage &file) {
    const CoverageTotals totals = totals_of(file);
    return std::tuple(totals.lines, totals.functions, totals.branches, totals.outcomes);
  };
  std::erase_if(coverage.tests[0].files, [&](const FileCoverage &file) {
    const auto at = of_tests.find(file.path);
    const auto whole = std::ranges::lower_bound(coverage.files, file.path, {}, &FileCoverage::path);
    return at != of_tests.end() && totals_of(file).lines_executed == 0 &&
           size(at->second) == size(*whole);
  });
  return {};
}

Result<CollectedCoverage> Collect::run() {
  std::error_code fault;
  out_.root = fs::canonical(options_.root, fault).string();
  if (fault)
    return fail_errno(fault.value(), "cannot open the root", options_.root);
  const bool is_given = !options_.given.empty() || !options_.given_source_based.empty();
  if (!is_given) {
    TALLY_TRY(inputs, find_inputs(options_.paths, options_.build, options_.mapped, options_.reading,
                                  diagnostics_));
    inputs_ = std::move(inputs);
  } else {
    inputs_.objects = options_.given;
  }
  const bool any_objects = !inputs_.objects.empty();
  std::erase_if(inputs_.objects,
                [this](const ObjectFiles &files) { return excluded_.contains(files.notes); });
  std::erase_if(inputs_.source_based.objects,
                [this](const std::string &path) { return excluded_.contains(path); });
  TALLY_CHECK(options_.objects.check());
  TALLY_CHECK(read_runs());
  if (!is_given && !any_objects && inputs_.reports.empty() && inputs_.source_based.is_empty())
    return fail(
        ErrorCode::no_data,
        "there are no counters (*.gcda, *.da, *.profraw) and no notes (*.gcno, *.bbg): was it "
        "compiled with --coverage?",
        fmt::format("{}", options_.paths.front()));
  pieces_.resize(inputs_.objects.size());
  InOrder(inputs_.objects.size(), options_.threads)
      .run<ObjectWorker>(
          [&] {
            return ObjectWorker{*this, SourceResolver(source_rules())};
          },
          [&](size_t i) { return take(i); },
          [&](size_t done) { report_progress(done, inputs_.objects.size()); });
  if (!failed_)
    keep_first(add_reports());
  if (!failed_)
    keep_first(add_source_based());
  keep_first(options_.filter.check());
  if (failed_)
    return fail(std::move(*failed_));
  for (const auto &[folder, taken] : moved_)
    diagnostics_.add(Severity::note,
                     fmt::format("the compilation's directory does not exist: its sources are "
                                 "looked up in {}",
                                 taken),
                     folder);
  if (!replaced_.empty())
    diagnostics_.add(Severity::warning,
                     fmt::format("{}{}: {} is counted in its place "
                                 "(--substitute FROM=TO names another directory)",
                                 not_there,
                                 replaced_.size() == 1
                                     ? std::string()
                                     : fmt::format(", nor do {} others", replaced_.size() - 1),
                                 replaced_.begin()->second),
                     replaced_.begin()->first);
  if (!lost_.empty())
    diagnostics_.add(
        Severity::warning,
        fmt::format("{}{}: left out (--substitute FROM=TO names "
                    "the directory of sources that were compiled under another path)",
                    not_there,
                    lost_.size() == 1 ? "" : fmt::format(", the first of {} such", lost_.size())),
        *lost_.begin());
  out_.coverage = sum_.finish();
  TALLY_CHECK(leave_to_tests(out_.coverage, diagnostics_));
  if (options_.markers || !options_.excluded_lines.empty())
    TALLY_CHECK(leave_out_lines(out_.coverage));
  if (auto inexact = inexact_functions(out_.coverage, calls_exec)) {
    if (options_.policy == MergePolicy::strict)
      return fail(ErrorCode::invalid_input, std::move(*inexact));
    diagnostics_.add(Severity::warning, std::move(*inexact));
  }
  out_.tests_without_data.assign(without_data_.begin(), without_data_.end());
  out_.sources_left_out = left_out_.size();
  out_.objects = std::move(inputs_.objects);
  return std::move(out_);
}

} // namespace

bool is_of_missing_source(const Finding &finding) {
  return finding.message.starts_with(not_there) || finding.message.starts_with(unreadable);
}

Result<CollectedCoverage> collect_coverage(const CollectOptions &options,
                                           Diagnostics &diagnostics) {
  try {
    return Collect(options, diagnostics).run();
  } catch (const std::bad_alloc &) {
    return fail(ErrorCode::limit, "there is not enough memory");
  }
}

} // namespace tally
