// Call frame information in a form that libdw can interpret safely. libdw (0.188) allocates memory
// for each number of a register up to the highest one that an instruction names, and again for each
// DW_CFA_remember_state: a damaged entry of ten bytes takes gigabytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

// A copy of .eh_frame or of .debug_frame, in which libdw finds only entries whose instructions need
// little memory.
class CallFrames {
public:
  CallFrames() = default;
  CallFrames(CallFrames &&) = default;
  CallFrames &operator=(CallFrames &&) = delete;
  static CallFrames of_eh_frame(const ElfFile &file);
  static CallFrames of_debug_frame(const ElfFile &file);

  Dwarf_CFI *cfi() const { return cfi_.get(); } // null if there are no entries

private:
  CallFrames(Result<ElfFile> image, bool is_eh_frame);

  std::unique_ptr<ElfFile> image_;
  DwarfHandle dwarf_; // of .debug_frame
  std::unique_ptr<Dwarf_CFI, void (*)(Dwarf_CFI *)> cfi_{nullptr, nullptr};
};

// Returns where the functions begin that .eh_frame describes. `bytes` are those of the section, and
// `address` is its address.
std::vector<uint64_t> described_starts(std::string_view bytes, uint64_t address);

} // namespace tally::symbolize
