#include "symbolize/capstone.h"

#ifdef TALLY_WITH_DISASSEMBLY

namespace tally::symbolize {

// The file name of Capstone's library contains its ABI version, which is the major version of its
// header.
#define TALLY_TEXT_OF(number) #number
#define TALLY_EXPANDED_TEXT_OF(number) TALLY_TEXT_OF(number)
CapstoneLibrary::CapstoneLibrary()
    : LateLibrary("libcapstone.so." TALLY_EXPANDED_TEXT_OF(CS_API_MAJOR)) {
#undef TALLY_EXPANDED_TEXT_OF
#undef TALLY_TEXT_OF
  resolve("cs_open", open);
  resolve("cs_close", close);
  resolve("cs_option", option);
  resolve("cs_malloc", malloc);
  resolve("cs_free", free);
  resolve("cs_disasm_iter", disasm_iter);
  resolve("cs_insn_group", insn_group);
  resolve("cs_regs_access", regs_access);
}

const CapstoneLibrary &CapstoneLibrary::get() {
  static const CapstoneLibrary loaded;
  return loaded;
}

} // namespace tally::symbolize

#endif
