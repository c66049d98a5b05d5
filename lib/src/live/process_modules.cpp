#include "live/process_modules.h"

#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include <tally/file_io.h>

#include "stacks/address_space.h"
#include "symbolize/module_file.h"

namespace tally::live {

Result<std::vector<LoadedModule>> process_modules(pid_t pid, Diagnostics &diagnostics) {
  TALLY_TRY(source, ByteSource::open(fmt::format("/proc/{}/maps", pid)));
  TALLY_TRY(text, source->rest());
  std::vector<LoadedModule> modules;
  std::unordered_set<std::string> seen;
  for (const CodeRange &range : parse_maps(text)) {
    if (range.inode == 0 || !seen.insert(range.path).second)
      continue;
    const symbolize::ModuleFiles files = symbolize::find_files(
        {range.path, range.build_id, range.device, range.inode, pid}, {}, diagnostics);
    const auto file = files.open_main();
    const auto link_address = files.link_address(range.file_offset);
    if (!file || !link_address)
      continue;
    LoadedModule &module = modules.emplace_back();
    module.path = range.path;
    module.bias = range.start - *link_address;
    module.places = find_places(*file);
  }
  return modules;
}

} // namespace tally::live
