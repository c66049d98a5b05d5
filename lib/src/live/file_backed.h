// Memory of which the constant part is read from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "live/counter_layout.h"
#include "live/memory.h"
#include "support/diagnostics.h"
#include "symbolize/elf_file.h"

namespace tally::live {

// Reads what a program cannot change (code, constants) from the files of its modules: core files
// leave it out, and a connection to a target is slow.
class FileBackedMemory final : public Memory {
public:
  explicit FileBackedMemory(Memory &rest) : rest_(rest) {}

  void clear() { files_.clear(); }
  // Adds a module's file. Returns its description, or nothing if the file is not an ELF file, or if
  // the memory shows that another build of the file was loaded (which is reported).
  std::optional<LoadedModule> add(const std::string &path, uint64_t bias, Diagnostics &diagnostics);
  bool read(uint64_t address, std::span<std::byte> to) override;

private:
  struct File {
    symbolize::ElfFile elf;
    uint64_t bias;
  };
  Memory &rest_;
  std::vector<File> files_;
};

} // namespace tally::live
