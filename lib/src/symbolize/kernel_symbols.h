// The functions of the kernel that runs, by /proc/kallsyms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/result.h>

namespace tally::symbolize {

struct KernelSymbol {
  uint64_t address = 0;
  std::string_view name;
  std::string_view module; // "[nf_tables]"; empty: of the kernel itself
};

class KernelSymbols {
public:
  // An error: the file cannot be read, or it hides the addresses from this user.
  static Result<KernelSymbols> read();
  // From text in the form of /proc/kallsyms. Functions alone; lines of another form are skipped.
  explicit KernelSymbols(std::string text);
  KernelSymbols(KernelSymbols &&) = default; // the views are of the text

  // The function whose symbol precedes the address, or null. Of several symbols at one address it
  // is the last of the file, as in perf, which takes the others to be of no length
  // (symbols__fixup_end(), symbols__fixup_duplicate() of its symbol.c).
  const KernelSymbol *at(uint64_t address) const;
  // Whether a recording is of this kernel, which lies where it lay then. `build_id` empty: not
  // known.
  bool are_of(std::string_view build_id, uint64_t text_address) const;

  size_t size() const { return symbols_.size(); }

private:
  std::vector<char> text_;
  std::vector<KernelSymbol> symbols_; // ascending
  std::vector<uint64_t> texts_;       // addresses of _text and _stext
};

} // namespace tally::symbolize
