#include "coverage/gcov_files.h"

#include <algorithm>
#include <utility>

namespace tally {

namespace {
constexpr uint32_t no_file = UINT32_MAX;
} // namespace

std::string GcovFiles::canonical(std::string_view path) const {
  const bool absolute = path.starts_with('/');
  std::string out;
  std::vector<size_t> ends; // the size of `out` before each name that ".." may remove
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty() || name == ".")
      continue;
    const std::string folder = (absolute ? "/" : "") + out;
    if (name == ".." && !ends.empty() && options_.is_plain_directory &&
        options_.is_plain_directory(folder, working_directory())) {
      out.resize(ends.back());
      ends.pop_back();
      continue;
    }
    const size_t end = out.size();
    if (!out.empty())
      out += '/';
    out += name;
    if (name == "..")
      ends.clear();
    else
      ends.push_back(end);
  }
  return (absolute ? "/" : "") + out;
}

uint32_t GcovFiles::number_of(StringId name) {
  uint32_t &index = by_name_[index_of(name)];
  if (index == no_file) {
    std::string path = canonical(graph_.strings[name]);
    const auto [known, is_new] = by_path_.try_emplace(path, static_cast<uint32_t>(files_.size()));
    if (is_new) {
      wanted_.push_back(!options_.wants || options_.wants(path, working_directory()));
      files_.push_back({std::move(path), {}, {}});
    }
    index = known->second;
  }
  return index;
}

void GcovFiles::add_all() {
  by_name_.assign(graph_.strings.size(), no_file);
  for (const GraphFunction &function : graph_.functions) {
    number_of(function.file);
    for (const GraphLocation &location : graph_.locations_of(function)) {
      const uint32_t file = number_of(location.file);
      has_lines_.resize(files_.size(), false);
      if (location.first_line != location.last_line)
        has_lines_[file] = true;
    }
  }
  has_lines_.resize(files_.size(), false);
}

} // namespace tally
