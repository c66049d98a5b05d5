// Capstone, which decodes machine code. It is loaded at first use: the library needs 77,000
// relocations, which take several milliseconds, and most runs of Tally decode nothing.
#pragma once

#ifdef TALLY_WITH_DISASSEMBLY

#include <cstddef>
#include <cstdint>

#include <capstone/capstone.h>

#include "support/late_library.h"

namespace tally::symbolize {

struct CapstoneLibrary final : LateLibrary {
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_option) option = nullptr;
  decltype(&cs_malloc) malloc = nullptr;
  decltype(&cs_free) free = nullptr;
  decltype(&cs_disasm_iter) disasm_iter = nullptr;
  decltype(&cs_insn_group) insn_group = nullptr;
  decltype(&cs_regs_access) regs_access = nullptr;

  static const CapstoneLibrary &get();

private:
  CapstoneLibrary();
};

class Capstone {
public:
  // The library's functions must be usable. Tests as false if it does not know the machine.
  Capstone(const CapstoneLibrary &library, cs_arch arch, cs_mode mode) : library_(library) {
    if (library_.open(arch, mode, &handle_) != CS_ERR_OK)
      return;
    open_ = true;
    set(CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = library_.malloc(handle_);
  }
  Capstone(const Capstone &) = delete;
  Capstone &operator=(const Capstone &) = delete;
  ~Capstone() {
    if (instruction_)
      library_.free(instruction_, 1);
    if (open_)
      library_.close(&handle_);
  }
  explicit operator bool() const { return instruction_ != nullptr; }
  void set(cs_opt_type option, size_t value) { library_.option(handle_, option, value); }

  // Decodes an instruction and advances behind it. Returns null at the end, or at other bytes.
  const cs_insn *next(const uint8_t *&code, size_t &size, uint64_t &address) {
    return library_.disasm_iter(handle_, &code, &size, &address, instruction_) ? instruction_
                                                                               : nullptr;
  }
  // These ask about the last instruction.
  bool is_in(unsigned group) const { return library_.insn_group(handle_, instruction_, group); }
  // Calls `each` with the number of each register that the instruction writes. Returns false if
  // that is unknown.
  template <class Each> bool for_each_written(Each each) const {
    cs_regs read{}, written{};
    uint8_t reads = 0, writes = 0;
    if (library_.regs_access(handle_, instruction_, read, &reads, written, &writes) != CS_ERR_OK)
      return false;
    for (size_t i = 0; i < writes; ++i)
      each(written[i]);
    return true;
  }

private:
  const CapstoneLibrary &library_;
  csh handle_ = 0;
  bool open_ = false;
  cs_insn *instruction_ = nullptr;
};

} // namespace tally::symbolize

#endif
