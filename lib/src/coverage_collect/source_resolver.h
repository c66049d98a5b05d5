// Finds the source files that objects name, and decides which of them count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/path_filter.h"
#include "coverage_collect/build_notes.h"
#include "coverage_collect/real_paths.h"
#include "support/hash.h"

namespace tally {

// The rules that the SourceResolvers of all threads share.
struct SourceRules {
  const PathFilter &filter;
  std::string_view root; // real and absolute
  // The user's path maps, applied wherever they match.
  const std::vector<PathMap> &substitutes;
  // The build's path maps, tried if the recorded name does not lead to a file.
  const std::vector<PathMap> &maps;
};

// Looks sources up and caches the results. Each thread has its own resolver.
class SourceResolver {
public:
  explicit SourceResolver(const SourceRules &rules) : rules_(rules) {}

  // Selects the object that the following lookups are for, by its notes file.
  void begin_object(std::string_view notes) {
    notes_ = notes;
    is_report_ = false;
  }
  // Selects the report that the following lookups are for. Its names are relative to the root; if
  // the user named no root, a source may also lie in or above the report's directory.
  void begin_report(std::string_view path, bool root_is_given) {
    notes_ = root_is_given ? std::string_view() : path;
    is_report_ = true;
  }
  // Returns the real path of a source, or nothing if it does not count. `folder` is the compiler's
  // working directory, "" if unknown.
  const std::optional<std::string> &resolve(std::string_view name, std::string_view folder);
  // Returns the real path of a report's source if it does not count because it lies outside of the
  // root. Headers of the system always do.
  std::optional<std::string> outside(const std::string &name);
  // Returns whether the directory, named as in the object, exists and is not a symbolic link.
  bool is_plain_directory(const std::string &name, std::string_view folder);

  const std::set<std::string> &left_out() const { return left_out_; }
  // The excluded sources outside of the root that do not exist. The compiler may have recorded
  // paths other than the real ones.
  const std::set<std::string> &lost() const { return lost_; }
  // The compiler's directories that do not exist, each with the directory used in its place.
  const std::map<std::string, std::string> &moved() const { return moved_; }
  // The sources that do not exist, each with a file of the same name that is used in its place.
  const std::map<std::string, std::string> &replaced() const { return replaced_; }

private:
  bool leads_to_file(std::string_view name, std::string_view folder);
  std::string path_of(const std::string &name, const std::string &folder);
  std::optional<std::string> above_notes(const std::string &name, const std::string &folder);
  std::optional<std::string> find(const std::string &name, const std::string &folder);

  const SourceRules rules_;
  std::string_view notes_; // the notes or the report; empty disables the search above it
  bool is_report_ = false;
  SeededMap<std::string, std::optional<std::string>> resolved_; // by folder and name
  SeededMap<std::string, bool> plain_, is_file_;
  RealPaths real_paths_;
  std::set<std::string> left_out_, lost_;
  std::map<std::string, std::string> moved_, replaced_;
};

} // namespace tally
