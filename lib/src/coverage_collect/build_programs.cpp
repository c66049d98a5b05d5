#include "coverage_collect/build_programs.h"

#include <filesystem>

#include "support/file_io.h"
#include "support/json_tree.h"

namespace tally {

namespace {

bool is_linked_type(std::optional<std::string_view> type) {
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
  const auto all = JsonTree::parse(bytes, path);
  if (!all || !all->root().is_list())
    return fail(ErrorCode::invalid_input, "expected an array of Meson's targets", path);
  for (JsonValue target = all->root().first(); !target.is_absent(); target = target.next()) {
    const JsonValue names = target["filename"];
    if (target["type"].is_absent() || !names.is_list())
      return fail(ErrorCode::invalid_input, "expected the type and the filename of a target", path);
    if (!is_linked_type(target["type"].text()))
      continue;
    for (JsonValue name = names.first(); !name.is_absent(); name = name.next()) {
      std::error_code ignored;
      if (name.text() && fs::is_regular_file(*name.text(), ignored))
        out.emplace_back(*name.text());
    }
  }
  return out;
}

} // namespace tally
