#include <tally/collect_coverage.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include <tally/counted_object.h>
#include <tally/counter_paths.h>
#include <tally/coverage_of.h>
#include <tally/exclusion_markers.h>
#include <tally/formats.h>

#include "session/in_order.h"
#include "session/source_places.h"
#include "support/path.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

struct Inputs {
  std::vector<ObjectFiles> objects;
  std::vector<std::string> reports;
};

// --- which files

// The notes of counters that GCOV_PREFIX led to another folder: the end of their path tells where
// the object was.
std::string notes_without_prefix(const std::string &notes) {
  std::error_code ignored;
  const std::string path = fs::absolute(notes, ignored).lexically_normal().string();
  for (size_t at = 0; at != path.npos; at = path.find('/', at + 1))
    if (fs::is_regular_file(path.substr(at), ignored))
      return path.substr(at);
  return notes;
}

class FindInputs {
public:
  explicit FindInputs(Diagnostics &diagnostics) : diagnostics_(diagnostics) {}

  Result<Inputs> run(const std::vector<std::string> &paths) {
    for (const std::string &path : paths)
      TALLY_CHECK(add(path));
    finish_objects();
    return std::move(inputs_);
  }

private:
  Result<void> add(const std::string &path) {
    std::error_code fault;
    const fs::file_status status = fs::status(path, fault);
    if (fault)
      return fail_errno(fault.value(), "cannot open", path);
    if (status.type() != fs::file_type::directory) {
      if (is_counters_name(path) || is_notes_name(path) || path.ends_with(".bb"))
        add_object(path);
      else if (seen_.insert(fs::canonical(path, fault).string()).second)
        inputs_.reports.push_back(path);
      return {};
    }
    TALLY_TRY(files, files_below(
                         path,
                         [](std::string_view name) {
                           return is_counters_name(name) || is_notes_name(name);
                         },
                         diagnostics_));
    for (const std::string &file : files)
      add_object(file);
    return {};
  }

  // Named in two ways, or once by its notes and once by its counters, it is one.
  void add_object(const std::string &path) {
    ObjectFiles files = files_of_object(path);
    std::error_code fault;
    const std::string name = files.notes.substr(files.notes.rfind('/') + 1);
    const std::string folder = files.notes.substr(0, files.notes.size() - name.size());
    const auto [at, added] = real_folders_.try_emplace(folder);
    if (added)
      at->second = fs::weakly_canonical(folder.empty() ? "." : folder, fault).string();
    if (seen_.insert(at->second + '/' + name).second)
      inputs_.objects.push_back(std::move(files));
  }

  void finish_objects() {
    std::set<std::string> used; // notes whose counters lie elsewhere
    for (ObjectFiles &files : inputs_.objects) {
      std::error_code fault;
      if (fs::exists(files.notes, fault))
        continue;
      files.notes = notes_without_prefix(files.notes);
      used.insert(files.notes);
    }
    if (used.empty())
      return;
    std::erase_if(inputs_.objects, [&](const ObjectFiles &files) {
      std::error_code fault;
      return !fs::exists(files.data, fault) &&
             used.contains(fs::absolute(files.notes, fault).lexically_normal().string());
    });
  }

  Diagnostics &diagnostics_;
  Inputs inputs_;
  std::set<std::string> seen_;
  std::map<std::string, std::string> real_folders_;
};

// What a thread has made of an object, or of a source.
struct Piece {
  Result<Coverage> coverage;
  bool ran = false;
  Diagnostics findings;
};

class Collect {
public:
  Collect(const CollectOptions &options, Diagnostics &diagnostics)
      : options_(options), diagnostics_(diagnostics), sum_(options.policy, diagnostics) {}

  Result<CollectedCoverage> run();

private:
  struct ObjectWorker {
    Collect &collect;
    SourcePlaces places;
    void operator()(size_t i) { collect.pieces_[i].emplace(collect.count(i, places)); }
    void finish() { collect.left_out_.insert(places.left_out().begin(), places.left_out().end()); }
  };

  Piece count(size_t i, SourcePlaces &places) const;
  void take(size_t i);
  Result<void> add_reports();
  void apply_markers(Coverage &coverage);
  void tell(size_t done, size_t all) const {
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
  Inputs inputs_;
  std::vector<std::optional<Piece>> pieces_;
  std::set<std::string> left_out_;
  std::optional<Error> failed_;
  CollectedCoverage out_;
};

Piece Collect::count(size_t i, SourcePlaces &places) const {
  Piece piece{Coverage{}, false, {}};
  const ObjectFiles &files = inputs_.objects[i];
  places.begin_object(files.notes, piece.findings);
  CountOptions counting;
  counting.wants = [&](const std::string &name, std::string_view folder) {
    return places.place(name, folder).has_value();
  };
  counting.is_plain_folder = [&](const std::string &folder) {
    return places.is_plain_folder(folder);
  };
  auto object = count_object(files, counting, piece.findings);
  if (!object) {
    piece.coverage = fail(std::move(object.error()));
    return piece;
  }
  piece.ran = object->ran;
  CoverageOptions covering;
  covering.throw_branches = options_.throw_branches;
  covering.policy = options_.policy;
  covering.path_of = [&](std::string_view name, std::string_view folder) {
    return places.place(name, folder);
  };
  piece.coverage = coverage_of(object->graph, object->counts, piece.findings, covering);
  return piece;
}

void Collect::take(size_t i) {
  const Piece piece = std::move(*pieces_[i]);
  pieces_[i].reset();
  diagnostics_.append(piece.findings);
  if (failed_)
    return;
  if (piece.coverage) {
    out_.never_ran += !piece.ran;
    keep_first(sum_.add(*piece.coverage));
    return;
  }
  ++out_.skipped;
  const Error &error = piece.coverage.error();
  if (options_.policy == MergePolicy::strict)
    keep_first(fail(error));
  else
    diagnostics_.add(Severity::warning, error.message + ": the object is left out", error.source,
                     error.where);
}

// Their sources lie where they are told to be; paths that are not absolute are below the root.
Result<void> Collect::add_reports() {
  SourcePlaces places(options_.filter, out_.root);
  for (const std::string &path : inputs_.reports) {
    Diagnostics findings;
    places.begin_object(path, findings);
    auto read = read_file(path, findings);
    diagnostics_.append(findings);
    if (!read)
      return fail(read.error());
    auto *coverage = std::get_if<Coverage>(&read->content);
    if (!coverage)
      return fail(ErrorCode::invalid_input,
                  fmt::format("is {}: neither counters nor coverage", read->format->name), path);
    const auto place = [&](std::vector<FileCoverage> &files) {
      std::erase_if(files, [&](FileCoverage &file) {
        const auto &real = places.place(file.path, out_.root);
        if (real)
          file.path = *real;
        return !real;
      });
    };
    place(coverage->files);
    for (TestCoverage &test : coverage->tests)
      place(test.files);
    TALLY_CHECK(sum_.add(std::move(*coverage)));
    ++out_.reports;
  }
  left_out_.insert(places.left_out().begin(), places.left_out().end());
  return {};
}

void Collect::apply_markers(Coverage &coverage) {
  struct Worker {
    std::vector<FileCoverage> &files;
    std::vector<Diagnostics> &findings;
    std::vector<ExcludedLines> &excluded;
    void operator()(size_t i) {
      FileCoverage &file = files[i];
      auto source = ByteSource::open(file.path);
      const auto text = source ? (*source)->rest() : fail(source.error());
      if (!text) {
        findings[i].add(Severity::warning,
                        fmt::format("the source cannot be read ({}): its lines count, whatever its "
                                    "markers would leave out",
                                    text.error().message),
                        file.path);
        return;
      }
      excluded[i] = find_exclusions(*text, file.path, findings[i]);
      if (!excluded[i].empty())
        exclude(file, excluded[i]);
    }
    void finish() {}
  };
  std::vector<Diagnostics> findings(coverage.files.size());
  std::vector<ExcludedLines> excluded(coverage.files.size());
  InOrder(coverage.files.size(), options_.threads)
      .run<Worker>(
          [&] {
            return Worker{coverage.files, findings, excluded};
          },
          [&](size_t i) { diagnostics_.append(findings[i]); }, [](size_t) {});
  for (TestCoverage &test : coverage.tests)
    for (FileCoverage &file : test.files) {
      const auto at = std::ranges::lower_bound(coverage.files, file.path, {}, &FileCoverage::path);
      if (!excluded[static_cast<size_t>(at - coverage.files.begin())].empty())
        exclude(file, excluded[static_cast<size_t>(at - coverage.files.begin())]);
    }
}

Result<CollectedCoverage> Collect::run() {
  std::error_code fault;
  out_.root = fs::canonical(options_.root, fault).string();
  if (fault)
    return fail_errno(fault.value(), "cannot open the root", options_.root);
  TALLY_TRY(inputs, FindInputs(diagnostics_).run(options_.paths));
  inputs_ = std::move(inputs);
  if (inputs_.objects.empty() && inputs_.reports.empty())
    return fail(
        ErrorCode::no_data,
        "there are no counters (*.gcda, *.da) and no notes (*.gcno, *.bbg): was it compiled "
        "with --coverage?",
        fmt::format("{}", options_.paths.front()));
  pieces_.resize(inputs_.objects.size());
  InOrder(inputs_.objects.size(), options_.threads)
      .run<ObjectWorker>(
          [&] {
            return ObjectWorker{*this, SourcePlaces(options_.filter, out_.root)};
          },
          [&](size_t i) { take(i); }, [&](size_t done) { tell(done, inputs_.objects.size()); });
  if (!failed_)
    keep_first(add_reports());
  if (failed_)
    return fail(std::move(*failed_));
  out_.coverage = sum_.finish();
  if (options_.markers)
    apply_markers(out_.coverage);
  out_.sources_left_out = left_out_.size();
  out_.objects = std::move(inputs_.objects);
  return std::move(out_);
}

} // namespace

Result<CollectedCoverage> collect_coverage(const CollectOptions &options,
                                           Diagnostics &diagnostics) {
  return Collect(options, diagnostics).run();
}

} // namespace tally
