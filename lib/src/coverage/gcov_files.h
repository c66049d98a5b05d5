// The source files of an object, as gcov counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/gcov_counts.h"
#include "model/coverage_graph.h"

namespace tally {

// The files that the graph names. All names of a file get the same number.
class GcovFiles {
public:
  // A file's number is its index in `files`.
  GcovFiles(const CoverageGraph &graph, const GcovOptions &options, std::vector<GcovFile> &files)
      : graph_(graph), options_(options), files_(files) {}

  void add_all(); // the files of all functions
  uint32_t number_of(StringId name);
  bool wanted(uint32_t file) const { return wanted_[file]; }
  // Returns whether the file has lines of any function, counted or not.
  bool has_lines(uint32_t file) const { return has_lines_[file]; }

private:
  std::string_view working_directory() const { return graph_.strings[graph_.working_directory]; }
  std::string canonical(std::string_view path) const;

  const CoverageGraph &graph_;
  const GcovOptions &options_;
  std::vector<GcovFile> &files_;
  std::vector<uint32_t> by_name_; // no_file if not determined yet
  std::map<std::string, uint32_t, std::less<>> by_path_;
  std::vector<bool> wanted_, has_lines_; // by file
};

} // namespace tally
