// Where an address lies in the source: the interface, and the implementation over ELF and DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/result.h>

namespace tally {

// The file that code came from, as a mapping names it.
struct ModuleKey {
  std::string path;     // as the kernel named it; "[vdso]" for the vdso
  std::string build_id; // lower-case hex; empty when not known
  uint64_t device = 0;  // of the file when it was mapped; 0 when not known
  uint64_t inode = 0;   // a file that was replaced on disk has another
  int pid = 0;          // a process that has it mapped (for /proc/PID/root); 0 when none
  friend bool operator==(const ModuleKey &, const ModuleKey &) = default;
};

// One function at an address. Views live as long as the Symbolizer.
struct SourceFrame {
  std::string_view function;      // demangled; empty: not known
  std::string_view system_name;   // the linkage name; may be empty
  std::string_view function_file; // the file that declares the function; may be empty
  uint32_t function_line = 0;     // the line that declares it; 0: not known
  std::string_view file;          // of the line below; may be empty
  uint32_t line = 0;              // 0: not known
};

enum class ModuleId : uint32_t {};

// The code of one function, as the symbol table has it. Views live as long as the Symbolizer.
struct FunctionExtent {
  uint64_t start = 0, end = 0;  // link-time, half-open
  std::string_view name;        // demangled
  std::string_view system_name; // as the table has it
};

// Link-time addresses, half-open.
struct InstructionRange {
  uint64_t start = 0, end = 0;
  bool holds(uint64_t address) const { return start <= address && address < end; }
  friend bool operator==(const InstructionRange &, const InstructionRange &) = default;
};

// How instructions of x86 are written; those of other machines have one way. The names are those of
// GDB's and LLDB's settings.
enum class DisassemblyFlavor : uint8_t { att, intel };

struct Instruction {
  uint64_t address = 0;
  std::string text; // "callq 0x1139 <seventy>"
};

class TALLY_API Symbolizer {
public:
  virtual ~Symbolizer() = default;

  // Finds the file and its debug information; cheap, nothing is parsed yet. Never fails: a module
  // that cannot be read has no names, and a finding says why (once).
  virtual ModuleId module(const ModuleKey &key, Diagnostics &diagnostics) = 0;

  // The link-time address (ELF vaddr) of a byte of the file that is mapped executable; nothing when
  // no segment's pages hold it. By segment, not by file: segments have differing biases.
  virtual std::optional<uint64_t> link_address(ModuleId module, uint64_t file_offset) = 0;

  // The frames at a link-time address, innermost first, the function that has code of its own last.
  // Empty when nothing covers it. The caller passes return address - 1 for callers.
  virtual void frames(ModuleId module, uint64_t link_address, std::vector<SourceFrame> &out) = 0;

  // Where the function that holds a link-time address begins, by unwind data: the one thing that a
  // stripped file still tells. Nothing when it does not.
  virtual std::optional<uint64_t> function_start(ModuleId module, uint64_t link_address) {
    static_cast<void>(module), static_cast<void>(link_address);
    return {};
  }

  // The functions of a module in ascending order, by its symbol table, each reaching to the next
  // one (the last to its section's end): what gprof and prof share ticks among. Code of which the
  // table names only a local label with a dot or a dollar sign (f.cold, f.part.0) belongs to the
  // function before. Empty where there is no table.
  virtual std::vector<FunctionExtent> functions(ModuleId module) {
    static_cast<void>(module);
    return {};
  }

  // Where the symbols of that name begin, link-time and ascending, by every symbol table that the
  // module has. One function may have several names: glibc's write() is __libc_write, __write and
  // write, and debug information calls it __GI___libc_write. The name is as the table has it,
  // without a version.
  virtual std::vector<uint64_t> addresses_of(ModuleId module, std::string_view symbol) {
    static_cast<void>(module), static_cast<void>(symbol);
    return {};
  }

  // All code of one function, or of one inlined copy of it: the one that is number `frame` of
  // frames() at a link-time address. With what is inlined into it, ascending and apart; a part that
  // the compiler moved elsewhere (f.cold) is a range of its own. Empty where that is not known.
  virtual std::vector<InstructionRange> code_of(ModuleId module, uint64_t link_address,
                                                size_t frame) {
    static_cast<void>(module), static_cast<void>(link_address), static_cast<void>(frame);
    return {};
  }

  // What the file's bytes of a range mean. Errors: unsupported where Tally was built without a
  // disassembler, or for another machine; not_found where the file has no such code, or has gone.
  virtual Result<std::vector<Instruction>>
  instructions(ModuleId module, InstructionRange range,
               DisassemblyFlavor flavor = DisassemblyFlavor::att);

  // The build id that was read from the file: lower-case hex, empty when it has none.
  virtual std::string_view build_id(ModuleId module) = 0;

  // Writes what was learned to the cache on disk, if there is one. Safe to call at any time.
  virtual void save_cache() = 0;
};

struct SymbolizerOptions {
  // Directories that hold separate debug files, in the order in which they are looked at.
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // The cache: $TALLY_CACHE_DIR, else $XDG_CACHE_HOME/tally, else ~/.cache/tally. "" as
  // TALLY_CACHE_DIR turns it off, as does this flag.
  bool use_cache = true;
};

// Elfutils' work. The file is read on first use, a compilation unit at a time.
TALLY_API std::unique_ptr<Symbolizer> make_symbolizer(SymbolizerOptions options = {});

} // namespace tally
