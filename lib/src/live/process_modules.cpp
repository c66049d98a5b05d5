#include "live/process_modules.h"

#include "live/program_source.h"

#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "stacks/address_space.h"
#include "support/file_io.h"
#include "support/hash.h"
#include "support/unique_fd.h"
#include "symbolize/module_file.h"

namespace tally::live {

namespace fs = std::filesystem;

Result<std::string> read_maps(pid_t pid) {
  TALLY_TRY(source, ByteSource::open(fmt::format("/proc/{}/maps", pid)));
  TALLY_TRY(text, source->rest());
  return text;
}

pid_t thread_with_memory(pid_t pid) {
  const auto has_memory = [](pid_t tid) {
    const UniqueFd maps(::open(fmt::format("/proc/{}/maps", tid).c_str(), O_RDONLY | O_CLOEXEC));
    char byte = 0;
    return maps.get() >= 0 && ::read(maps.get(), &byte, 1) == 1;
  };
  if (has_memory(pid))
    return pid;
  std::error_code fault; // the process may end meanwhile
  for (auto entry = fs::directory_iterator(fmt::format("/proc/{}/task", pid), fault);
       !fault && entry != fs::directory_iterator(); entry.increment(fault)) {
    const std::string name = entry->path().filename().string();
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (has_memory(tid))
      return tid;
  }
  return pid;
}

std::vector<LoadedModule> modules_of(std::string_view maps, pid_t pid, Diagnostics &diagnostics) {
  std::vector<LoadedModule> modules;
  SeededSet<std::string> seen;
  symbolize::MappedFiles mapped;
  for (const CodeRange &range : parse_maps(maps)) {
    if (range.inode == 0 || !seen.insert(range.path).second)
      continue;
    LoadedModule module;
    module.key = {range.path, range.build_id, range.device, range.inode, pid};
    const symbolize::ModuleFiles files = symbolize::find_files(module.key, {}, diagnostics, mapped);
    const auto file = files.open_main();
    const auto link_address = files.link_address(range.file_offset);
    if (!file || !link_address)
      continue;
    module.bias = range.start - *link_address;
    module.places = find_places(*file);
    modules.push_back(std::move(module));
  }
  return modules;
}

namespace {

class ProcessSource final : public ProgramSource {
public:
  ProcessSource(pid_t pid, std::unique_ptr<Memory> memory)
      : pid_(pid), memory_(std::move(memory)) {}

  Memory &memory() override { return *memory_; }

  Result<std::string> state_of_modules() override {
    thread_ = thread_with_memory(pid_);
    TALLY_TRY(maps, read_maps(thread_));
    maps_ = std::move(maps);
    std::string files; // other mappings change all the time
    for (const CodeRange &range : parse_maps(maps_))
      if (range.inode != 0)
        files += fmt::format("{:x} {:x} {}\n", range.start, range.inode, range.path);
    return files;
  }

  std::vector<LoadedModule> modules(Diagnostics &diagnostics) override {
    return modules_of(maps_, thread_, diagnostics);
  }

private:
  pid_t pid_;
  pid_t thread_ = 0; // the one whose maps were read
  std::unique_ptr<Memory> memory_;
  std::string maps_;
};

} // namespace

Result<std::unique_ptr<ProgramSource>> process_source(pid_t pid) {
  TALLY_TRY(memory, process_memory(pid, thread_with_memory(pid)));
  return std::make_unique<ProcessSource>(pid, std::move(memory));
}

} // namespace tally::live
