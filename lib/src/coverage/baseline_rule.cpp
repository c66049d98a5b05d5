#include "coverage/baseline_rule.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "support/path.h"
#include "support/sort.h"

namespace tally {

namespace {

using baseline::Baseline;
using baseline::Record;
using baseline::Share;

Record record_of(const CoverageTotals &totals) {
  return {{totals.lines_executed, totals.lines}, {totals.branches_taken, totals.branches}};
}

// Removing code that ran lowers the percentage alone, and adding code of which a part ran may raise
// only the number of missed lines: neither alone is a loss.
bool has_fallen(const Share &before, const Share &now) {
  return is_smaller(now, before) && now.missed() > before.missed();
}

// The sums of the files of a directory.
struct Sums {
  Record before, now;
  size_t files = 0;

  void add(const Record &old_values, const Record &values) {
    before.lines += old_values.lines;
    before.branches += old_values.branches;
    now.lines += values.lines;
    now.branches += values.branches;
    ++files;
  }
};
using FolderSums = std::map<std::string, Sums, std::less<>>;

// Calls `act` for each directory that contains `path`, outermost first. Deeper ones than the limit
// are left out, because a path of a damaged report may have thousands.
template <class Act> void for_each_folder(std::string_view path, const Act &act) {
  constexpr size_t deepest = 64;
  size_t slash = path.find('/', 1);
  for (size_t depth = 0; slash != path.npos && depth < deepest; ++depth) {
    act(path.substr(0, slash + 1));
    slash = path.find('/', slash + 1);
  }
}

class Comparer {
public:
  Comparer(const Coverage &coverage, const Baseline &before, const BaselineOptions &options)
      : coverage_(coverage), before_(before), options_(options),
        counts_branches_(totals_of(coverage).branches > 0) {}

  BaselineComparison run() &&;

private:
  void compare_file(const FileCoverage &file, const std::string &path);
  void compare_new(const FileCoverage &file, const std::string &path, const Record &now);
  void add_to_sums(const std::string &path, const Record &before, const Record &now);
  void find_absent();
  void compare_sums();
  void compare_shares(CoverageLoss loss, const Record &before, const Record &now);
  bool selects(const std::string &path) const {
    return options_.filter == nullptr || options_.filter->wants(path);
  }

  const Coverage &coverage_;
  const Baseline &before_;
  const BaselineOptions &options_;
  const bool counts_branches_;
  std::vector<std::string> counted_; // the paths of all files of `coverage_`
  FolderSums folders_;
  Sums total_;
  BaselineComparison out_;
};

void Comparer::compare_shares(CoverageLoss loss, const Record &before, const Record &now) {
  if (before.lines.all > 0 && has_fallen(before.lines, now.lines)) {
    loss.before = before.lines;
    loss.now = now.lines;
    out_.losses.push_back(loss);
  }
  if (counts_branches_ && before.branches.all > 0 && has_fallen(before.branches, now.branches)) {
    loss.branches = true;
    loss.before = before.branches;
    loss.now = now.branches;
    out_.losses.push_back(std::move(loss));
  }
}

void Comparer::add_to_sums(const std::string &path, const Record &before, const Record &now) {
  total_.add(before, now);
  for_each_folder(path, [&](std::string_view folder) {
    auto at = folders_.find(folder);
    if (at == folders_.end())
      at = folders_.emplace(std::string(folder), Sums()).first;
    at->second.add(before, now);
  });
}

void Comparer::compare_new(const FileCoverage &file, const std::string &path, const Record &now) {
  ++out_.added;
  out_.next.emplace(path, now);
  if (!options_.least_of_new) {
    add_to_sums(path, {}, now);
    return;
  }
  // A new file with its own threshold takes no part in the sums, which it might lower although it
  // reaches the threshold.
  if (!reaches(now.lines.ran, now.lines.all, *options_.least_of_new))
    out_.losses.push_back({CoverageLoss::Of::new_file, false, path, {}, now.lines, &file});
}

void Comparer::compare_file(const FileCoverage &file, const std::string &path) {
  Record now = record_of(totals_of(file));
  counted_.push_back(path);
  const auto at = before_.find(path);
  if (now.lines.all == 0)
    return; // as if the file were gone
  if (at == before_.end())
    return compare_new(file, path, now);
  const Record &before = at->second;
  ++out_.compared;
  if (now.lines.ran == 0 && has_fallen(before.lines, now.lines))
    out_.without_counts.push_back(path);
  compare_shares({CoverageLoss::Of::file, false, path, {}, {}, &file}, before, now);
  add_to_sums(path, before, now);
  if (!counts_branches_)
    now.branches = before.branches;
  out_.next.emplace(path, now);
  if (now == before)
    return;
  const bool has_risen = is_smaller(before.lines, now.lines) ||
                         (before.lines == now.lines && is_smaller(before.branches, now.branches));
  ++(has_risen ? out_.raised : out_.changed);
}

void Comparer::find_absent() {
  sort_stably(counted_);
  std::vector<std::string> gone;
  for (const auto &[path, record] : before_) {
    out_.selected += selects(path);
    if (out_.next.contains(path))
      continue;
    const bool is_counted = std::ranges::binary_search(counted_, path);
    if (!is_counted && !selects(path)) {
      out_.next.emplace(path, record);
    } else if (!is_counted && options_.exists(path)) {
      out_.without_counts.push_back(path);
      out_.next.emplace(path, record);
    } else {
      gone.push_back(path);
    }
  }
  sort_stably(out_.without_counts);
  if (out_.without_counts.empty() && !options_.is_partial) {
    out_.removed = gone.size();
    return;
  }
  out_.gone_but_kept = gone.size();
  for (const std::string &path : gone)
    out_.next.emplace(path, before_.find(path)->second);
}

void Comparer::compare_sums() {
  for (auto at = folders_.begin(); at != folders_.end(); ++at) {
    const auto &[path, sums] = *at;
    // The total, or a subdirectory with the same files, says the same.
    const auto next = std::next(at);
    const bool is_same =
        next != folders_.end() && next->first.starts_with(path) && next->second.files == sums.files;
    if (!is_same && sums.files < total_.files)
      compare_shares({CoverageLoss::Of::directory, false, path, {}, {}, nullptr}, sums.before,
                     sums.now);
  }
  compare_shares({CoverageLoss::Of::total, false, {}, {}, {}, nullptr}, total_.before, total_.now);
}

BaselineComparison Comparer::run() && {
  out_.misses_branches = !counts_branches_ && std::ranges::any_of(before_, [](const auto &each) {
    return each.second.branches.all > 0;
  });
  std::map<std::string, const FileCoverage *> files; // sorted by the path in records
  for (const FileCoverage &file : coverage_.files)
    files.emplace(relative_path(file.path, options_.root), &file);
  for (const auto &[path, file] : files)
    compare_file(*file, path);
  find_absent();
  compare_sums();
  return std::move(out_);
}

} // namespace

bool reaches(uint64_t part, uint64_t whole, double least) {
  const auto wanted = static_cast<uint64_t>(std::llround(least * 1e6));
  return static_cast<double>(part) * 1e8 >=
         static_cast<double>(wanted) * static_cast<double>(whole);
}

BaselineComparison compare_with_baseline(const Coverage &coverage, const Baseline &before,
                                         const BaselineOptions &options) {
  return Comparer(coverage, before, options).run();
}

Baseline baseline_of(const Coverage &coverage, std::string_view root) {
  Baseline out;
  for (const FileCoverage &file : coverage.files)
    if (const Record record = record_of(totals_of(file)); record.lines.all > 0)
      out.emplace(relative_path(file.path, root), record);
  return out;
}

} // namespace tally
