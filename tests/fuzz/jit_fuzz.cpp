// Reads arbitrary bytes as a jitdump, and as the perf map of a process.
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "fuzz_target.h"
#include "require.h"
#include "symbolize/jit_table.h"

namespace tally::jit_fuzz {

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tally-jit-fuzz-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

} // namespace

FUZZ_TARGET(jit) {
  static const Folder folder;
  for (const char *name : {"jit-1.dump", "perf-1.map"}) {
    ModuleKey key;
    key.path = folder.path / name;
    std::ofstream(key.path, std::ios::binary)
        .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
    StringPool pool;
    FileSystems file_systems;
    const auto table = symbolize::JitTable::find(key, pool, file_systems);
    if (!table)
      continue;
    std::vector<SourceFrame> frames;
    for (uint64_t address : {uint64_t{0}, uint64_t{0x40}, uint64_t{0x1000}, ~uint64_t{0}}) {
      frames.clear();
      table->frames(address, frames);
      require(frames.size() <= 1, "one frame at an address");
    }
    table->refresh(); // nothing was added
  }
  return 0;
}

} // namespace tally::jit_fuzz
