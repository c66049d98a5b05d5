// Call frame information in a form that libdw can interpret safely. libdw (0.188) allocates memory
// for each number of a register up to the highest one that an instruction names, and again for each
// DW_CFA_remember_state: a damaged entry of ten bytes takes gigabytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <elfutils/libdw.h>

#include "support/hash.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

// A copy of .eh_frame or of .debug_frame, of which libdw sees only entries whose instructions need
// little memory.
class CallFrames {
public:
  CallFrames() = default;
  CallFrames(CallFrames &&) = default;
  CallFrames &operator=(CallFrames &&) = delete;
  static CallFrames of_eh_frame(const ElfFile &file);
  static CallFrames of_debug_frame(const ElfFile &file);

  bool has_entries() const { return cfi_ != nullptr; }
  // Returns the CFI by which libdw finds the row of an address; null unless its entry is safe.
  Dwarf_CFI *cfi_for(uint64_t address);

private:
  CallFrames(Result<ElfFile> image, bool is_eh_frame);
  bool is_safe(uint64_t offset);

  // An entry of .eh_frame is looked at when it is needed, because there may be a million of them.
  struct Function {
    uint64_t start;
    uint64_t offset; // of its entry
  };
  std::vector<Function> functions_; // by their starts, each once
  SeededMap<uint64_t, bool> safe_;
  std::map<uint64_t, uint64_t> seen_; // beginnings and ends of the entries that are safe
  uint64_t address_ = 0;              // of .eh_frame

  std::unique_ptr<ElfFile> image_;
  DwarfHandle dwarf_; // of .debug_frame
  std::unique_ptr<Dwarf_CFI, void (*)(Dwarf_CFI *)> cfi_{nullptr, nullptr};
};

} // namespace tally::symbolize
