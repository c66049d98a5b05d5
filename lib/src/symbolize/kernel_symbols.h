// Reads the functions of the running kernel from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally::symbolize {

struct KernelSymbol {
  uint64_t address = 0;
  std::string_view name;
  std::string_view module; // "[nf_tables]"; empty for the kernel itself
};

class KernelSymbols {
public:
  // Returns an error if the file cannot be read, or hides the addresses from this user.
  static Result<KernelSymbols> read();
  // Parses text in the format of /proc/kallsyms. Keeps only functions; lines in another format are
  // skipped.
  explicit KernelSymbols(std::string text);
  KernelSymbols(KernelSymbols &&) = default; // the views refer to the text

  // Returns the last function that begins at or before the address, or null. If several symbols
  // have this address, returns the last one in the file. perf does the same, because it assumes
  // that the others have no length (symbols__fixup_end() and symbols__fixup_duplicate() in perf's
  // symbol.c).
  const KernelSymbol *at(uint64_t address) const;
  // Returns whether a recording was made with this kernel, at the same load address. `build_id` is
  // empty if unknown.
  bool are_of(std::string_view build_id, uint64_t text_address) const;

  size_t size() const { return symbols_.size(); }

private:
  std::vector<char> text_;
  std::vector<KernelSymbol> symbols_; // ascending
  std::vector<uint64_t> texts_;       // addresses of _text and _stext
};

} // namespace tally::symbolize
