#include "coverage_collect/coverage_inputs.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "coverage_collect/build_notes.h"
#include "coverage_collect/counter_paths.h"
#include "coverage_collect/real_paths.h"
#include "formats/formats.h"
#include "formats/gcov/read.h"
#include "formats/gcov/stream.h"
#include "support/found_file.h"
#include "support/path.h"
#include "support/read_at.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

bool is_there(const std::string &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string absolute(const std::string &path) {
  std::error_code ignored;
  return fs::absolute(path, ignored).lexically_normal().string();
}

// Returns how many components at the end the two paths have in common.
size_t common_names(const fs::path &a, const fs::path &b) {
  const auto same =
      std::mismatch(std::make_reverse_iterator(a.end()), std::make_reverse_iterator(a.begin()),
                    std::make_reverse_iterator(b.end()), std::make_reverse_iterator(b.begin()));
  return static_cast<size_t>(std::distance(std::make_reverse_iterator(a.end()), same.first));
}

// Returns the path that has the most components at the end in common with `path`; nothing if
// several have as many.
std::optional<std::string> most_alike(const std::vector<std::string> &paths,
                                      const std::string &path) {
  std::optional<std::string> best;
  size_t most = 0;
  for (const std::string &each : paths) {
    const size_t common = common_names(path, each) + 1; // even none is something
    if (common == most)
      best.reset();
    else if (common > most)
      best = each;
    most = std::max(most, common);
  }
  return best;
}

class FindInputs {
public:
  FindInputs(const ReadOptions &reading, Diagnostics &diagnostics)
      : diagnostics_(diagnostics), reading_(reading) {}

  Result<CoverageInputs> run(const std::vector<std::string> &paths, const std::string &build,
                             const std::vector<std::string> &mapped) {
    inputs_.source_based.objects = mapped;
    for (const std::string &path : paths)
      TALLY_CHECK(add(path));
    if (!inputs_.source_based.objects.empty())
      inputs_.source_based.folders.clear();
    bring_together(build.empty());
    if (build.empty()) {
      take_profiles();
      return std::move(inputs_);
    }
    // Leave out objects that the build does not make: they remain from an earlier build, or are
    // copies.
    TALLY_TRY(notes, notes_of_build(build));
    std::erase_if(inputs_.objects, [&](const ObjectFiles &files) {
      return !notes.paths.contains(real_paths_.of(files.notes));
    });
    inputs_.maps = std::move(notes.maps);
    // The build may have counted in the other way before.
    if (!notes.asks_for_counters && notes.asks_for_profiles)
      inputs_.objects.clear();
    if (notes.asks_for_counters && !notes.asks_for_profiles)
      found_profiles_.clear();
    take_profiles();
    if (!notes.asks_for_counters && !inputs_.objects.empty())
      diagnostics_.add(
          Severity::warning,
          "no command in it has --coverage: the counts may be those of an earlier build",
          (fs::path(build) / "compile_commands.json").string());
    return std::move(inputs_);
  }

private:
  Result<void> add(const std::string &path);
  ObjectFiles &add_object(const std::string &path);
  Result<void> add_file(const std::string &path);
  Result<void> add_stream(const std::string &path, const Format &format);
  void add_notes_beside(const std::string &stream, const std::string &name);
  void bring_together(bool files_too);
  void take_profiles() {
    std::ranges::move(found_profiles_, std::back_inserter(inputs_.source_based.profiles));
  }
  std::optional<uint32_t> stamp_of_notes(const std::string &path);
  std::vector<std::string> notes_with(uint32_t stamp);
  std::string notes_of(const ObjectFiles &files);

  Diagnostics &diagnostics_;
  const ReadOptions &reading_; // of streams
  CoverageInputs inputs_;
  std::vector<std::string> found_profiles_; // in directories
  std::map<std::string, size_t> seen_;      // real paths, and the indices of objects
  RealPaths real_paths_;
  std::multimap<std::string, std::string> notes_;         // the existing notes, by their base name
  std::map<std::string, std::optional<uint32_t>> stamps_; // of notes, by their paths
  bool has_stamps_ = false;
  std::multimap<uint32_t, std::string> by_stamp_; // all of notes_, when they are first asked for
};

Result<void> FindInputs::add(const std::string &path) {
  if (path == "-") {
    if (seen_.emplace(path, 0).second)
      inputs_.reports.push_back(path);
    return {};
  }
  std::error_code fault;
  const fs::file_status status = fs::status(path, fault);
  if (fault)
    return fail_errno(fault.value(), "cannot open", path);
  if (status.type() != fs::file_type::directory) {
    if (is_counters_name(path) || is_notes_name(path) || path.ends_with(".bb"))
      add_object(path);
    else if (seen_.emplace(real_paths_.of(path), 0).second)
      return add_file(path);
    return {};
  }
  static constexpr std::string_view raw_profile = ".profraw";
  const auto wanted = [](std::string_view name) {
    return is_counters_name(name) || is_notes_name(name) || name.ends_with(raw_profile);
  };
  TALLY_TRY(files, files_below(path, wanted, diagnostics_));
  for (const std::string &file : files)
    if (!file.ends_with(raw_profile))
      add_object(file);
    else if (seen_.emplace(real_paths_.of(file), 0).second)
      found_profiles_.push_back(file);
  inputs_.source_based.folders.push_back(path);
  return {};
}

std::string head_of(const std::string &path, size_t size) {
  std::string head(size, '\0');
  const auto file = open_found(path);
  head.resize(file ? read_at(file->fd.get(), head.data(), size, 0).size : 0);
  return head;
}

// Adds a file by its content. What is read of a pipe is gone, so that it can only be a report.
Result<void> FindInputs::add_file(const std::string &path) {
  const std::string head = is_there(path) ? head_of(path, 8) : std::string();
  if (is_source_profile(head))
    inputs_.source_based.profiles.push_back(path);
  else if (is_object_file(head))
    inputs_.source_based.objects.push_back(path);
  else if (const auto format =
               is_there(path) ? format_of_file(path) : Result<const Format *>(nullptr);
           format && *format && (*format)->read_counters == gcov::read_stream)
    return add_stream(path, **format);
  else
    inputs_.reports.push_back(path); // whose reader says what is wrong
  return {};
}

// Adds an object once, even if it is named in two ways, or by its notes and by its counters.
ObjectFiles &FindInputs::add_object(const std::string &path) {
  ObjectFiles files = files_of_object(path);
  const auto [at, added] = seen_.emplace(real_paths_.of(files.notes), inputs_.objects.size());
  if (added)
    inputs_.objects.push_back(std::move(files));
  return inputs_.objects[at->second];
}

// Adds the objects that a stream has counters of. Several streams may have them.
Result<void> FindInputs::add_stream(const std::string &path, const Format &format) {
  TALLY_TRY(read, read_file(path, diagnostics_, &format, reading_));
  const auto &counters = std::get<std::unique_ptr<CounterFile>>(read.content);
  for (const auto &[name, data] : static_cast<const GcovStream &>(*counters).files()) {
    ObjectFiles &object = add_object(name);
    auto streamed = std::make_shared<StreamedCounters>(StreamedCounters{data, path});
    if (object.streamed)
      if (auto added = streamed->data.add(object.streamed->data); !added) {
        added.error().source = fmt::format("{} in {}", name, path);
        return added;
      }
    object.streamed = std::move(streamed);
  }
  return {};
}

bool has_counters(const ObjectFiles &files) { return files.streamed || is_there(files.data); }

std::optional<uint32_t> stamp_of(const ObjectFiles &files) {
  return files.streamed ? files.streamed->data.header.stamp
                        : gcov::stamp_of(head_of(files.data, 12));
}

std::optional<uint32_t> FindInputs::stamp_of_notes(const std::string &path) {
  const auto [at, added] = stamps_.try_emplace(path);
  if (added)
    at->second = gcov::stamp_of(head_of(path, 12));
  return at->second;
}

std::vector<std::string> FindInputs::notes_with(uint32_t stamp) {
  if (!std::exchange(has_stamps_, true))
    for (const auto &[name, path] : notes_)
      if (const auto own = stamp_of_notes(path))
        by_stamp_.emplace(*own, path);
  std::vector<std::string> out;
  const auto [first, last] = by_stamp_.equal_range(stamp);
  for (auto at = first; at != last; ++at)
    out.push_back(at->second);
  return out;
}

// Finds the notes of counters that lie elsewhere. GCOV_PREFIX alone puts the prefix before the
// whole path of the object. GCOV_PREFIX_STRIP also removes components from the beginning of that
// path. In this case, uses the notes that have the most components at the end in common with the
// counters, unless several notes have as many. With -fprofile-dir the file name is the whole path,
// with '#' for '/'. Of notes with the same base name, those with the stamp of the counters count,
// if there are any, and without such a name all notes with that stamp.
std::string FindInputs::notes_of(const ObjectFiles &files) {
  const std::string path = absolute(files.notes);
  if (!may_be_a_path(path))
    return files.notes;
  for (size_t at = 0; at != path.npos; at = path.find('/', at + 1))
    if (is_there(path.substr(at)))
      return path.substr(at);
  std::string whole(base_name(path));
  std::ranges::replace(whole, '#', '/');
  if (whole.starts_with('/') && is_there(whole))
    return whole;
  std::vector<std::string> candidates;
  const auto [first, last] = notes_.equal_range(std::string(base_name(files.notes)));
  for (auto at = first; at != last; ++at)
    candidates.push_back(at->second);
  if (candidates.size() == 1)
    return candidates[0];
  const auto stamp = stamp_of(files);
  if (candidates.empty()) {
    if (stamp)
      candidates = notes_with(*stamp);
  } else if (stamp) {
    std::vector<std::string> same;
    std::ranges::copy_if(candidates, std::back_inserter(same),
                         [&](const std::string &each) { return stamp_of_notes(each) == stamp; });
    if (!same.empty())
      candidates = std::move(same);
  }
  return most_alike(candidates, path).value_or(files.notes);
}

void FindInputs::add_notes_beside(const std::string &stream, const std::string &name) {
  const std::string path = fs::path(absolute(stream)).parent_path() / name;
  const auto [first, last] = notes_.equal_range(name);
  if (is_there(path) &&
      std::none_of(first, last, [&](const auto &known) { return known.second == path; }))
    notes_.emplace(name, path);
}

// Pairs the counters of streams and, with `files_too`, of files with notes that lie elsewhere.
void FindInputs::bring_together(bool files_too) {
  std::vector<ObjectFiles *> alone;
  for (ObjectFiles &files : inputs_.objects)
    if ((files_too || files.streamed) && !is_there(files.notes))
      alone.push_back(&files);
  if (alone.empty()) // the usual case
    return;
  for (const ObjectFiles &files : inputs_.objects)
    if (is_there(files.notes))
      notes_.emplace(base_name(files.notes), absolute(files.notes));
  for (const ObjectFiles *files : alone)
    if (files->streamed)
      add_notes_beside(files->streamed->stream, std::string(base_name(files->notes)));
  std::set<std::string> used;
  for (ObjectFiles *files : alone) {
    files->notes = notes_of(*files);
    used.insert(absolute(files->notes));
  }
  // Notes whose counters lie elsewhere are now in two entries; remove the entry without counters.
  std::erase_if(inputs_.objects, [&](const ObjectFiles &files) {
    return !has_counters(files) && used.contains(absolute(files.notes));
  });
}

} // namespace

Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   const std::vector<std::string> &mapped,
                                   const ReadOptions &reading, Diagnostics &diagnostics) {
  return FindInputs(reading, diagnostics).run(paths, build, mapped);
}

} // namespace tally
