// Where the sources lie that objects name, and which of them count.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <tally/diagnostics.h>
#include <tally/path_filter.h>

namespace tally {

// Of one thread.
class SourcePlaces {
public:
  // root: real and absolute.
  SourcePlaces(const PathFilter &filter, std::string_view root) : filter_(filter), root_(root) {}

  // The object whose sources are asked for from now on; what is odd about them is found.
  void begin_object(std::string_view notes, Diagnostics &diagnostics);
  // The real path of a source; nothing where it does not count. `folder`: where the compiler
  // worked, "" where it is not told.
  const std::optional<std::string> &place(std::string_view name, std::string_view folder);
  bool is_plain_folder(const std::string &path);

  const std::unordered_set<std::string> &left_out() const { return left_out_; }

private:
  std::string folder_of(std::string_view name, std::string_view folder);
  std::optional<std::string> find(std::string_view name, std::string_view folder);
  std::string real_path(const std::filesystem::path &path);

  const PathFilter &filter_;
  std::string_view root_;
  std::string_view notes_;
  Diagnostics *diagnostics_ = nullptr;
  std::unordered_map<std::string, std::optional<std::string>> places_; // by folder and name
  std::unordered_map<std::string, bool> plain_, is_there_;
  std::unordered_map<std::string, std::string> real_folders_;
  std::unordered_set<std::string> left_out_;
};

} // namespace tally
