#include <tally/build_notes.h>

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include <tally/counted_object.h>
#include <tally/file_io.h>

#include "session/real_paths.h"

namespace tally {

namespace {

using Json = nlohmann::json;

std::string text_of(const Json &entry, const char *key) {
  const auto at = entry.find(key);
  return at != entry.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// As a shell parts them, but for what a shell would put in their place.
std::vector<std::string> words_of(const std::string &command) {
  std::vector<std::string> out;
  bool within = false; // a word
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

std::string output_of(const Json &entry) {
  if (std::string output = text_of(entry, "output"); !output.empty())
    return output;
  std::vector<std::string> words = words_of(text_of(entry, "command"));
  if (const auto at = entry.find("arguments"); at != entry.end() && at->is_array())
    for (const Json &word : *at)
      words.push_back(word.is_string() ? word.get<std::string>() : std::string());
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i].starts_with("-o") && (words[i].size() > 2 || i + 1 < words.size()))
      return words[i].size() > 2 ? words[i].substr(2) : words[i + 1];
  return {};
}

} // namespace

Result<std::set<std::string>> notes_of_build(const std::string &folder) {
  const std::string path = (std::filesystem::path(folder) / "compile_commands.json").string();
  TALLY_TRY(source, ByteSource::open(path));
  TALLY_TRY(bytes, source->rest());
  Json all;
  try {
    all = Json::parse(bytes.begin(), bytes.end());
  } catch (const Json::parse_error &fault) {
    return fail(ErrorCode::invalid_input, "is no JSON", path,
                Position::at_offset(fault.byte > 0 ? fault.byte - 1 : 0));
  } catch (const Json::exception &) {
    return fail(ErrorCode::invalid_input, "holds a number that is larger than any", path);
  }
  if (!all.is_array())
    return fail(ErrorCode::invalid_input, "is no compilation database: it holds no array", path);
  std::set<std::string> out;
  RealPaths real_paths;
  for (const Json &entry : all) {
    if (!entry.is_object())
      return fail(ErrorCode::invalid_input, "is no compilation database: an entry is no object",
                  path);
    if (const std::string output = output_of(entry); !output.empty())
      out.insert(real_paths.of(
          files_of_object((std::filesystem::path(text_of(entry, "directory")) / output).string())
              .notes));
  }
  return out;
}

} // namespace tally
