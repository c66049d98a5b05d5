#include "coverage_collect/build_notes.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "coverage_collect/counted_object.h"
#include "coverage_collect/real_paths.h"
#include "support/file_io.h"
#include "support/json_tree.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

std::string text_of(const JsonValue &value) { return std::string(value.text().value_or("")); }

// Splits a command into words as a shell does, without expansions.
std::vector<std::string> words_of(const std::string &command) {
  std::vector<std::string> out;
  bool within = false; // inside a word
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      within = false;
      continue;
    }
    if (!within) {
      out.emplace_back();
      within = true;
    }
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      out.back() += command[++i];
    else
      out.back() += c;
  }
  return out;
}

std::vector<std::string> words_of(const JsonValue &entry) {
  std::vector<std::string> words = words_of(text_of(entry["command"]));
  if (const JsonValue arguments = entry["arguments"]; arguments.is_list())
    for (JsonValue word = arguments.first(); !word.is_absent(); word = word.next())
      words.push_back(text_of(word));
  return words;
}

std::string output_of(const JsonValue &entry, const std::vector<std::string> &words) {
  if (std::string output = text_of(entry["output"]); !output.empty())
    return output;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].starts_with("-o") && (words[i].size() > 2 || i + 1 < words.size()))
      return words[i].size() > 2 ? words[i].substr(2) : words[i + 1];
  return {};
}

// Returns whether a word of a compiler command asks for counters. A response file (@FILE) may
// contain the option.
bool asks_for_counters(std::string_view word) {
  return word == "--coverage" || word == "-coverage" || word == "-fprofile-arcs" ||
         word == "-ftest-coverage" || word.starts_with('@');
}

bool asks_for_profiles(std::string_view word) {
  return word.starts_with("-fprofile-instr-generate") || word.ends_with("instrument-coverage") ||
         word.starts_with('@');
}

// Adds the path maps of the options that may change the names in the notes: GCC's -ffile-prefix-map
// and -fprofile-prefix-map, and those of the debug information, from which Clang's notes take their
// names. If a directory's name contains "=", compilers differ in which "=" separates the two
// directories; this function assumes the last.
void add_maps(const std::vector<std::string> &words, const fs::path &folder,
              std::vector<PathMap> &maps) {
  for (const std::string &word : words)
    for (const std::string_view option : {"-ffile-prefix-map=", "-fdebug-prefix-map=",
                                          "-fprofile-prefix-map=", "-fcoverage-prefix-map="}) {
      const size_t equals = word.rfind('=');
      if (!word.starts_with(option) || equals < option.size())
        continue;
      const auto without_slash = [](std::string path) {
        while (path.size() > 1 && path.ends_with('/'))
          path.pop_back();
        return path;
      };
      PathMap map{
          without_slash(word.substr(equals + 1)),
          without_slash((folder / word.substr(option.size(), equals - option.size())).string())};
      if (std::ranges::none_of(maps, [&](const PathMap &other) {
            return other.from == map.from && other.to == map.to;
          }))
        maps.push_back(std::move(map));
    }
}

} // namespace

Result<BuildNotes> notes_of_build(const std::string &folder) {
  const std::string path = (fs::path(folder) / "compile_commands.json").string();
  TALLY_TRY(source, ByteSource::open_found(path));
  TALLY_TRY(bytes, source->rest());
  TALLY_TRY(all, JsonTree::parse(bytes, path));
  if (!all.root().is_list())
    return fail(ErrorCode::invalid_input, "is not a compilation database: it is not an array",
                path);
  BuildNotes out;
  bool any_words = false, any_counters = false, any_profiles = false;
  RealPaths real_paths;
  for (JsonValue entry = all.root().first(); !entry.is_absent(); entry = entry.next()) {
    if (!entry.is_object())
      return fail(ErrorCode::invalid_input,
                  "is not a compilation database: an entry is not an object", path);
    const fs::path directory = text_of(entry["directory"]);
    const std::vector<std::string> words = words_of(entry);
    add_maps(words, directory, out.maps);
    any_words |= !words.empty();
    any_counters |= std::ranges::any_of(words, asks_for_counters);
    any_profiles |= std::ranges::any_of(words, asks_for_profiles);
    if (const std::string output = output_of(entry, words); !output.empty())
      out.paths.insert(real_paths.of(files_of_object((directory / output).string()).notes));
  }
  out.asks_for_counters = any_counters || !any_words;
  out.asks_for_profiles = any_profiles || !any_words;
  return out;
}

} // namespace tally
