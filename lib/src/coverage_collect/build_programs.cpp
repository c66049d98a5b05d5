#include "coverage_collect/build_programs.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include <tally/file_io.h>

namespace tally {

namespace {

bool is_linked_type(const nlohmann::json &type) {
  return type == "executable" || type == "shared library" || type == "shared module";
}

} // namespace

Result<std::vector<std::string>> programs_of_build(const std::string &folder) {
  namespace fs = std::filesystem;
  const std::string path = (fs::path(folder) / "meson-info" / "intro-targets.json").string();
  TALLY_TRY(source, ByteSource::open_if_there(path));
  std::vector<std::string> out;
  if (!source)
    return out;
  TALLY_TRY(bytes, source->rest());
  const auto all = nlohmann::json::parse(bytes, nullptr, false);
  if (!all.is_array())
    return fail(ErrorCode::invalid_input, "expected an array of Meson's targets", path);
  for (const auto &target : all) {
    const bool is_target = target.is_object() && target.contains("type") &&
                           target.contains("filename") && target["filename"].is_array();
    if (!is_target)
      return fail(ErrorCode::invalid_input, "expected the type and the filename of a target", path);
    if (!is_linked_type(target["type"]))
      continue;
    for (const auto &name : target["filename"]) {
      std::error_code ignored;
      if (name.is_string() && fs::is_regular_file(name.get<std::string>(), ignored))
        out.push_back(name.get<std::string>());
    }
  }
  return out;
}

} // namespace tally
