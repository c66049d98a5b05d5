// A core file as the source of counters.

#include "live/file_backed.h"
#include "live/program_source.h"
#include "support/hash.h"
#include "support/path.h"
#include "symbolize/core_file.h"
#include "symbolize/module_file.h"

namespace tally::live {

namespace {

class CoreSource final : public ProgramSource {
public:
  CoreSource(symbolize::CoreFile core, std::string program)
      : held_(std::move(core)), program_(std::move(program)), memory_(held_) {}

  Memory &memory() override { return memory_; }
  Result<std::string> state_of_modules() override { return held_.core.path(); }

  std::vector<LoadedModule> modules(Diagnostics &diagnostics) override {
    std::vector<LoadedModule> modules;
    SeededSet<std::string_view> seen;
    symbolize::MappedFiles no_process;
    memory_.clear();
    for (const symbolize::CoreFile::Mapping &mapping : held_.core.mappings()) {
      if (seen.contains(mapping.path))
        continue;
      const bool is_program = !program_.empty() && base_name(program_) == base_name(mapping.path);
      const std::string &path = is_program ? program_ : mapping.path;
      Diagnostics ignored; // an object without debug information has counters, too
      ModuleKey key;
      key.path = path;
      const symbolize::ModuleFiles files = symbolize::find_files(key, {}, ignored, no_process);
      const auto link_address = files.link_address(mapping.file_offset);
      if (!link_address)
        continue; // not code: another mapping of the file may be
      seen.insert(mapping.path);
      if (auto module = memory_.add(path, mapping.start - *link_address, diagnostics))
        modules.push_back(std::move(*module));
    }
    return modules;
  }

private:
  struct Held final : Memory {
    explicit Held(symbolize::CoreFile file) : core(std::move(file)) {}
    bool read(uint64_t address, std::span<std::byte> to) override { return core.read(address, to); }
    symbolize::CoreFile core;
  };
  Held held_;
  std::string program_; // replaces the mapped file that has the same name
  FileBackedMemory memory_;
};

} // namespace

Result<std::unique_ptr<ProgramSource>> core_source(const std::string &core,
                                                   const std::string &program) {
  TALLY_TRY(file, symbolize::CoreFile::open(core));
  return std::make_unique<CoreSource>(std::move(file), program);
}

Result<std::vector<StoppedThread>> threads_of_core(const std::string &core,
                                                   const std::string &program) {
  TALLY_TRY(file, symbolize::CoreFile::open(core));
  std::vector<StoppedThread> out;
  for (symbolize::CoreFile::Thread &thread : file.threads(program))
    out.push_back({thread.tid, std::move(thread.pcs)});
  return out;
}

} // namespace tally::live
