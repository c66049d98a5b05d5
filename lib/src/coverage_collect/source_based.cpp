#include "coverage_collect/source_based.h"

#include <algorithm>
#include <elf.h>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "coverage/llvm_counters.h"
#include "coverage/llvm_coverage.h"
#include "coverage_collect/counter_paths.h"
#include "support/file_io.h"
#include "support/found_file.h"
#include "support/read_at.h"

namespace tally {

namespace {

Result<llvm::ReadProfile> parsed(std::string_view bytes, const std::string &name) {
  llvm::ReadProfile out;
  out.path = name;
  TALLY_TRY(profile, llvm::is_indexed_profile(bytes) ? llvm::read_indexed_profile(bytes, name)
                                                     : llvm::read_raw_profile(bytes, name));
  out.profile = std::move(profile);
  return out;
}

Result<llvm::ReadProfile> read_profile(const std::string &path) {
  TALLY_TRY(source, ByteSource::open_found(path));
  TALLY_TRY(bytes, source->rest());
  return parsed(bytes, path);
}

Result<llvm::ReadProfile> unpacked_profile(const ProfilesOfRun &run,
                                           const PackedCounters::File &file) {
  TALLY_TRY(bytes, run.counters->unpack(file));
  return parsed(bytes, fmt::format("{} of {}", file.path, run.test));
}

// Adds profiles up, so that those of many tests need not be held all at once. Counters of one image
// remain apart from those of others.
class SumOfRuns {
public:
  void add(llvm::ReadProfile more) {
    for (llvm::ProfileImage &image : more.profile.images) {
      if (more.profile.is_indexed || image.is_correlated) {
        profiles_.push_back({{more.profile.version, more.profile.is_indexed, {}, {}}, more.path});
        profiles_.back().profile.images.push_back(std::move(image));
        continue;
      }
      const auto [at, added] =
          images_.try_emplace({more.profile.version, image.build_ids}, Image{more.path, {}});
      for (llvm::CounterRecord &record : image.records)
        at->second.counters.add(std::move(record));
    }
  }

  std::vector<llvm::ReadProfile> finish() {
    for (auto &[key, image] : images_) {
      profiles_.push_back({{key.first, false, {}, {}}, image.path});
      profiles_.back().profile.images.emplace_back().build_ids = key.second;
      profiles_.back().profile.images.back().records = image.counters.take();
    }
    return std::move(profiles_);
  }

private:
  struct Image {
    std::string path; // of its first profile
    llvm::CounterPool counters;
  };

  std::vector<llvm::ReadProfile> profiles_;
  std::map<std::pair<uint64_t, std::vector<std::string>>, Image> images_; // by version, build ids
};

// Returns whether the file is a program or a shared library.
bool is_linked(const std::string &path) {
  std::string head(EI_NIDENT + sizeof(Elf64_Half), '\0');
  const auto file = open_found(path);
  if (!file || read_at(file->fd.get(), head.data(), head.size(), 0).size < head.size() ||
      !head.starts_with(ELFMAG))
    return false;
  const bool is_big_endian = head[EI_DATA] == ELFDATA2MSB;
  const auto type = static_cast<unsigned char>(head[EI_NIDENT + (is_big_endian ? 1 : 0)]);
  return type == ET_EXEC || type == ET_DYN;
}

// Returns the objects in directories that one of the profiles may belong to.
Result<std::vector<llvm::CoverageObject>> objects_below(const std::vector<std::string> &folders,
                                                        const std::set<std::string> &build_ids,
                                                        Diagnostics &diagnostics) {
  std::vector<llvm::CoverageObject> out;
  for (const std::string &folder : folders) {
    TALLY_TRY(files, files_below(
                         folder, [](std::string_view) { return true; }, diagnostics));
    for (const std::string &path : files) {
      if (!is_linked(path))
        continue;
      Diagnostics findings;
      for (llvm::CoverageObject &object : llvm::CoverageObject::read(path, findings))
        if (build_ids.empty() || object.build_id().empty() ||
            build_ids.contains(object.build_id())) {
          diagnostics.append(findings);
          out.push_back(std::move(object));
        }
    }
  }
  return out;
}

} // namespace

Coverage coverage_of(GivenSourceBased given,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     Diagnostics &diagnostics) {
  Coverage out = llvm::coverage_of(*given.objects, std::move(given.profiles),
                                   given.of_profiles ? llvm::CountedObjects::of_profiles
                                                     : llvm::CountedObjects::all,
                                   path_of, diagnostics);
  if (!given.only_executed)
    return out;
  const auto did_not_run = [](const auto &each) { return each.count == 0 && each.uncertain == 0; };
  std::erase_if(out.files, [&](const FileCoverage &file) {
    return std::ranges::all_of(file.lines, did_not_run);
  });
  for (FileCoverage &file : out.files) {
    std::erase_if(file.functions, [&](const FunctionCoverage &function) {
      return did_not_run(function) &&
             std::ranges::none_of(file.lines, [&](const LineCoverage &line) {
               return line.line >= function.start_line && line.line <= function.end_line &&
                      !did_not_run(line);
             });
    });
    // Vectors that ran before and afterwards cannot be told from those that ran before.
    file.decisions.clear();
    for (LineCoverage &line : file.lines)
      line.first_decision = line.last_decision = 0;
  }
  return out;
}

bool is_source_profile(std::string_view head) {
  return llvm::is_raw_profile(head) || llvm::is_indexed_profile(head);
}

bool is_object_file(std::string_view head) {
  return head.starts_with(ELFMAG) || head.starts_with("!<arch>\n");
}

bool has_source_profile(const PackedCounters &counters) {
  return std::ranges::any_of(counters.files(), [](const PackedCounters::File &file) {
    return file.path.ends_with(raw_profile_suffix);
  });
}

namespace {

class CollectSourceBased {
public:
  using PathOf = std::function<std::optional<std::string>(const std::string &)>;

  CollectSourceBased(const SourceBasedInputs &inputs, const PathOf &path_of, MergePolicy policy,
                     Diagnostics &diagnostics)
      : inputs_(inputs), path_of_(path_of), policy_(policy), diagnostics_(diagnostics) {}

  Result<SourceBasedCoverage> run() {
    std::vector<llvm::ReadProfile> without_test;
    for (const std::string &path : inputs_.profiles)
      TALLY_CHECK(take(read_profile(path), without_test));
    std::vector<llvm::ReadProfile> all;
    if (inputs_.runs.empty())
      all.swap(without_test);
    else
      all = without_test;
    SumOfRuns sum;
    for (const ProfilesOfRun &run : inputs_.runs)
      TALLY_CHECK(add(run, sum));
    std::ranges::move(sum.finish(), std::back_inserter(all));
    if (all.empty() && !unusable_.empty())
      return fail(std::move(unusable_.front()));
    for (const Error &error : unusable_)
      diagnostics_.add(Severity::warning, error.message + ": the profile is left out", error.source,
                       error.where);
    TALLY_CHECK(find_objects(all));
    SourceBasedCoverage out;
    out.coverage = coverage_by(std::move(all), llvm::CountedObjects::all, diagnostics_);
    if (!inputs_.runs.empty())
      TALLY_CHECK(add_tests(without_test, out.coverage));
    for (const llvm::CoverageObject &object : objects_)
      out.objects.push_back(object.name());
    return out;
  }

private:
  Result<void> take(Result<llvm::ReadProfile> profile, std::vector<llvm::ReadProfile> &to) {
    if (profile) {
      to.push_back(std::move(*profile));
      return {};
    }
    // A program that is killed while it writes leaves a truncated profile.
    if (policy_ == MergePolicy::strict)
      return fail(std::move(profile.error()));
    unusable_.push_back(std::move(profile.error()));
    return {};
  }

  Result<void> add(const ProfilesOfRun &run, SumOfRuns &sum) {
    for (const PackedCounters::File &file : run.counters->files()) {
      if (!file.path.ends_with(raw_profile_suffix))
        continue;
      std::vector<llvm::ReadProfile> read;
      TALLY_CHECK(take(unpacked_profile(run, file), read));
      for (llvm::ReadProfile &profile : read)
        sum.add(std::move(profile));
    }
    return {};
  }

  Result<void> find_objects(const std::vector<llvm::ReadProfile> &profiles);
  Result<void> add_tests(const std::vector<llvm::ReadProfile> &without_test, Coverage &coverage);

  Coverage coverage_by(std::vector<llvm::ReadProfile> profiles, llvm::CountedObjects which,
                       Diagnostics &diagnostics) {
    return llvm::coverage_of(objects_, std::move(profiles), which, path_of_, diagnostics);
  }

  const SourceBasedInputs &inputs_;
  const PathOf &path_of_;
  const MergePolicy policy_;
  Diagnostics &diagnostics_;
  std::vector<Error> unusable_; // of profiles
  std::vector<llvm::CoverageObject> objects_;
};

Result<void> CollectSourceBased::find_objects(const std::vector<llvm::ReadProfile> &profiles) {
  std::set<std::string> build_ids;
  bool all_have_ids = true;
  for (const llvm::ReadProfile &profile : profiles)
    for (const llvm::ProfileImage &image : profile.profile.images) {
      build_ids.insert(image.build_ids.begin(), image.build_ids.end());
      all_have_ids &= !image.build_ids.empty();
    }
  for (const std::string &path : inputs_.objects) {
    std::vector<llvm::CoverageObject> read = llvm::CoverageObject::read(path, diagnostics_);
    if (const auto source = ByteSource::open_found(path); read.empty() && !source)
      diagnostics_.add(Severity::warning, source.error().message, path);
    else if (read.empty())
      diagnostics_.add(inputs_.are_of_build ? Severity::note : Severity::warning,
                       "has no mapping of coverage: was it compiled with -fcoverage-mapping?",
                       path);
    std::ranges::move(read, std::back_inserter(objects_));
  }
  TALLY_TRY(more, objects_below(inputs_.folders, all_have_ids ? build_ids : std::set<std::string>(),
                                diagnostics_));
  std::ranges::move(more, std::back_inserter(objects_));
  const std::string name = profiles.empty() ? std::string() : profiles.front().path;
  if (objects_.empty())
    return fail(ErrorCode::no_data,
                "no program or library with a mapping of coverage belongs to this profile: name it "
                "by --object",
                name);
  for (const llvm::CoverageObject &object : objects_)
    build_ids.erase(object.build_id());
  const bool all_known = std::ranges::none_of(
      objects_, [](const llvm::CoverageObject &object) { return object.build_id().empty(); });
  if (all_known)
    for (const std::string &id : build_ids)
      diagnostics_.add(
          Severity::warning,
          fmt::format("the object with the build id {} is missing: name it by --object", id), name,
          {}, "missing object");
  return {};
}

Result<void> CollectSourceBased::add_tests(const std::vector<llvm::ReadProfile> &without_test,
                                           Coverage &coverage) {
  Diagnostics ignored; // they were reported for the sum of all
  coverage.tests.push_back(
      {"", coverage_by(without_test, llvm::CountedObjects::all, ignored).files});
  std::map<std::string, std::vector<const ProfilesOfRun *>> runs;
  for (const ProfilesOfRun &run : inputs_.runs)
    runs[run.test].push_back(&run);
  for (const auto &[test, those] : runs) {
    SumOfRuns sum;
    for (const ProfilesOfRun *run : those)
      TALLY_CHECK(add(*run, sum));
    std::vector<llvm::ReadProfile> profiles = sum.finish();
    if (profiles.empty())
      continue;
    coverage.tests.push_back(
        {test, coverage_by(std::move(profiles), llvm::CountedObjects::of_profiles, ignored).files});
  }
  return {};
}

} // namespace

Result<SourceBasedCoverage>
collect_source_based(const SourceBasedInputs &inputs,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     MergePolicy policy, Diagnostics &diagnostics) {
  return CollectSourceBased(inputs, path_of, policy, diagnostics).run();
}

} // namespace tally
