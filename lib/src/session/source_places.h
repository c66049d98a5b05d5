// Where the sources lie that objects name, and which of them count.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <tally/path_filter.h>

#include "session/real_paths.h"

namespace tally {

// Of one thread.
class SourcePlaces {
public:
  // root: real and absolute.
  SourcePlaces(const PathFilter &filter, std::string_view root) : filter_(filter), root_(root) {}

  // The object whose sources are asked for from now on.
  void begin_object(std::string_view notes) { notes_ = notes; }
  // The real path of a source; nothing where it does not count. `folder`: where the compiler
  // worked, "" where it is not told.
  const std::optional<std::string> &place(std::string_view name, std::string_view folder);
  // A folder as its object names it.
  bool is_plain_folder(const std::string &name, std::string_view folder);

  const std::set<std::string> &left_out() const { return left_out_; }
  // Folders of the compiler that are not there, each with one that was taken in its place.
  const std::map<std::string, std::string> &moved() const { return moved_; }

private:
  bool is_there(std::string_view folder);
  std::string folder_of(std::string_view name, std::string_view folder);
  std::optional<std::string> find(std::string_view name, std::string_view folder);

  const PathFilter &filter_;
  std::string_view root_;
  std::string_view notes_;
  std::unordered_map<std::string, std::optional<std::string>> places_; // by folder and name
  std::unordered_map<std::string, bool> plain_, is_there_;
  RealPaths real_paths_;
  std::set<std::string> left_out_;
  std::map<std::string, std::string> moved_;
};

} // namespace tally
