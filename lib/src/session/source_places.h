// Where the sources lie that objects name, and which of them count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tally/build_notes.h>
#include <tally/path_filter.h>

#include "session/real_paths.h"

namespace tally {

// What SourcePlaces of all threads have in common.
struct SourceRules {
  const PathFilter &filter;
  std::string_view root; // real and absolute
  // The user's: they hold wherever they fit.
  const std::vector<PathMap> &substitutes;
  // The build's: tried where the name itself leads to no file.
  const std::vector<PathMap> &maps;
};

// Of one thread.
class SourcePlaces {
public:
  explicit SourcePlaces(const SourceRules &rules) : rules_(rules) {}

  // The object whose sources are asked for from now on.
  void begin_object(std::string_view notes) {
    notes_ = notes;
    is_report_ = false;
  }
  // The same of a report: names are relative to the root. Where nobody has named a root, a source
  // may lie beside the report or above it.
  void begin_report(std::string_view path, bool root_is_given) {
    notes_ = root_is_given ? std::string_view() : path;
    is_report_ = true;
  }
  // The real path of a source; nothing where it does not count. `folder`: where the compiler
  // worked, "" where it is not told.
  const std::optional<std::string> &place(std::string_view name, std::string_view folder);
  // A folder as its object names it.
  bool is_plain_folder(const std::string &name, std::string_view folder);

  const std::set<std::string> &left_out() const { return left_out_; }
  // Of those, the ones that are not there: the compiler may have recorded other paths.
  const std::set<std::string> &lost() const { return lost_; }
  // Folders of the compiler that are not there, each with one that was taken in its place.
  const std::map<std::string, std::string> &moved() const { return moved_; }
  // Sources that are not there, each with a file of the same name that was taken in its place.
  const std::map<std::string, std::string> &replaced() const { return replaced_; }

private:
  bool leads_to_file(std::string_view name, std::string_view folder);
  std::string path_of(const std::string &name, const std::string &folder);
  std::optional<std::string> above_notes(const std::string &name, const std::string &folder);
  std::optional<std::string> find(const std::string &name, const std::string &folder);

  const SourceRules rules_;
  std::string_view notes_; // or a report; empty: sources are not looked for there
  bool is_report_ = false;
  std::unordered_map<std::string, std::optional<std::string>> places_; // by folder and name
  std::unordered_map<std::string, bool> plain_, is_file_;
  RealPaths real_paths_;
  std::set<std::string> left_out_, lost_;
  std::map<std::string, std::string> moved_, replaced_;
};

} // namespace tally
