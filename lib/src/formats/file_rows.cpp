#include "formats/file_rows.h"

#include <algorithm>
#include <cctype>

#include "support/memory_limit.h"
#include "support/sort.h"
#include "transform/coverage_functions.h"
#include "transform/coverage_sum.h"

namespace tally {

namespace {

bool has_drive(std::string_view path) {
  return path.size() > 2 && std::isalpha(static_cast<unsigned char>(path[0])) != 0 &&
         path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

} // namespace

bool is_absolute(std::string_view path) {
  return path.starts_with('/') || path.starts_with("\\\\") || has_drive(path);
}

std::string with_slashes(std::string path) {
  // On Linux, a name may contain a backslash, but hardly in place of all slashes.
  if (has_drive(path) || path.find('/') == path.npos || path.starts_with("\\\\"))
    std::ranges::replace(path, '\\', '/');
  return path;
}

void FileRows::end_line(uint32_t line, int64_t count) {
  MemoryLimit::tick();
  lines_.push_back({line, count, lines_.empty() ? 0 : lines_.back().last_branch,
                    static_cast<uint32_t>(branches_.size()),
                    lines_.empty() ? 0 : lines_.back().last_condition,
                    static_cast<uint32_t>(conditions_.size())});
}

void FileRows::drop_line() {
  branches_.resize(lines_.empty() ? 0 : lines_.back().last_branch);
  conditions_.resize(lines_.empty() ? 0 : lines_.back().last_condition);
}

void FileRows::put(FileCoverage &to, const Line &row) const {
  LineCoverage line;
  line.line = row.line;
  line.count = row.count;
  line.first_branch = static_cast<uint32_t>(to.branches.size());
  line.first_condition = static_cast<uint32_t>(to.conditions.size());
  const auto copy = [](auto &into, const auto &from, uint32_t first, uint32_t last) {
    into.insert(into.end(), from.begin() + first, from.begin() + last);
  };
  copy(to.branches, branches_, row.first_branch, row.last_branch);
  copy(to.conditions, conditions_, row.first_condition, row.last_condition);
  line.last_branch = static_cast<uint32_t>(to.branches.size());
  line.last_condition = static_cast<uint32_t>(to.conditions.size());
  MemoryLimit::tick(1 + row.last_branch - row.first_branch);
  to.lines.push_back(line);
}

// Returns the lines sorted and without duplicates. Since version 0.14, a file may have a line once
// for each function to which the line belongs. The lines of a file may have any order.
Result<FileCoverage> FileRows::lines() {
  sort_stably(lines_, {}, &Line::line);
  FileCoverage file;
  std::vector<FileCoverage> again; // the repeated lines, each as a separate file
  for (size_t i = 0; i < lines_.size(); ++i)
    put(i == 0 || lines_[i - 1].line != lines_[i].line ? file : again.emplace_back(), lines_[i]);
  if (again.empty())
    return file;
  std::vector<const FileCoverage *> all{&file};
  for (const FileCoverage &part : again)
    all.push_back(&part);
  // Functions that share a line have separate branches, so differing numbers of branches are
  // expected.
  Diagnostics ignored;
  return sum_of(all, ignored);
}

Result<FileCoverage> FileRows::take(std::string path) {
  path = with_slashes(std::move(path));
  auto file = lines();
  if (file) {
    file->functions = std::move(functions_);
    if (auto united = unite_functions(*file); !united)
      file = fail(std::move(united.error()));
  }
  if (file)
    file->path = std::move(path);
  else
    file.error().source = std::move(path);
  lines_.clear();
  branches_.clear();
  conditions_.clear();
  functions_.clear();
  return file;
}

} // namespace tally
