// Finds the function, file and line of an address: the interface, and its implementation with ELF
// and DWARF.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// The file that code came from, as a mapping identifies it.
struct ModuleKey {
  std::string path;     // as the kernel names it; "[vdso]" for the vDSO
  std::string build_id; // lower-case hex; empty if unknown
  uint64_t device = 0;  // of the file when it was mapped; 0 if unknown
  uint64_t inode = 0;   // likewise; differs after the file has been replaced on disk
  int pid = 0;          // a process that has it mapped (for /proc/PID/root); 0 if there is none
  friend bool operator==(const ModuleKey &, const ModuleKey &) = default;
};

// Where the files of another machine are.
struct ModuleSources {
  // A directory that has the files below it, at their paths; empty for none. Without a build ID,
  // files are then sought there alone.
  std::string sysroot;
  // Programs, libraries and debug files, anywhere. Each is used for the module that has its build
  // ID or, where that is unknown, the name of the file.
  std::vector<std::string> files;
  std::string remedy; // what a user can do about a missing file, for the message about it
};

// One function at an address. Views are valid as long as the Symbolizer.
struct SourceFrame {
  std::string_view function;      // demangled; empty if unknown
  std::string_view system_name;   // the linkage name; may be empty
  std::string_view function_file; // the file that declares the function; may be empty
  uint32_t function_line = 0;     // the line that declares it; 0 if unknown
  std::string_view file;          // the file of `line`; may be empty
  uint32_t line = 0;              // the line of the address; 0 if unknown
};

enum class ModuleId : uint32_t {};

// How a module's link-time addresses relate to run-time addresses. In the code of a jitdump they
// are offsets in this file; in a perf map they are the run-time addresses.
enum class ModuleKind : uint8_t { file, jit_dump, perf_map };

// The code of one function in the symbol table. Views are valid as long as the Symbolizer.
struct FunctionExtent {
  uint64_t start = 0, end = 0;  // link-time, half-open
  std::string_view name;        // demangled
  std::string_view system_name; // as in the table
};

// A half-open range of link-time addresses.
struct InstructionRange {
  uint64_t start = 0, end = 0;
  bool holds(uint64_t address) const { return start <= address && address < end; }
  friend bool operator==(const InstructionRange &, const InstructionRange &) = default;
};

// The syntax of x86 instructions; other machines have only one. The names are those of GDB's and
// LLDB's settings.
enum class DisassemblyFlavor : uint8_t { att, intel };

struct Instruction {
  uint64_t address = 0;
  std::string text; // "callq 0x1139 <seventy>"
};

// How far the debug files that come from debuginfod are.
struct FetchProgress {
  std::string module;       // the path of the module whose file is fetched now
  uint64_t received = 0;    // bytes of this file
  uint64_t size = 0;        // of this file; 0 if unknown
  size_t done = 0, all = 0; // files
};

class Symbolizer {
public:
  virtual ~Symbolizer() = default;

  // Finds the file and its debug information. This is cheap, because it parses nothing. It never
  // fails: a module that cannot be read has no names, and one diagnostic says why.
  virtual ModuleId module(const ModuleKey &key, Diagnostics &diagnostics) = 0;

  // Returns the link-time address (ELF vaddr) of a file offset in an executable segment, or nothing
  // if no such segment's pages contain it. Each segment has a bias of its own.
  virtual std::optional<uint64_t> link_address(ModuleId module, uint64_t file_offset) = 0;

  // Appends the frames at a link-time address: inlined functions first, innermost first, then the
  // function that contains the code. Appends nothing if no function is known there. For a caller,
  // pass the return address - 1.
  virtual void frames(ModuleId module, uint64_t link_address, std::vector<SourceFrame> &out) = 0;

  // Returns the start of the function that contains a link-time address, or nothing if it is
  // unknown. The start comes from the unwind data, which a stripped file still has.
  virtual std::optional<uint64_t> function_start(ModuleId module, uint64_t link_address) {
    static_cast<void>(module), static_cast<void>(link_address);
    return {};
  }

  // Returns the linkage name that the symbol table has for the code at a link-time address; empty
  // if no symbol contains it. frames() may name the code otherwise: debug information calls the
  // pieces and copies that a compiler makes of a function (f.part.0) by the function's name.
  virtual std::string_view symbol_name(ModuleId module, uint64_t link_address) {
    static_cast<void>(module), static_cast<void>(link_address);
    return {};
  }

  // Returns the functions of a module's symbol table in ascending order, as gprof and prof use them
  // to share ticks: each function ends where the next one begins, the last at the end of its
  // section. Code whose only symbol is a local one with a dot or a dollar sign (f.cold, f.part.0)
  // belongs to the function before it. Returns nothing if the module has no symbol table.
  virtual std::vector<FunctionExtent> functions(ModuleId module) {
    static_cast<void>(module);
    return {};
  }

  // Returns the link-time addresses of the symbols with a name, in ascending order, from all symbol
  // tables of the module. `symbol` is a linkage name without a version. One function may have
  // several names: glibc's write() is __libc_write, __write and write, and the debug information
  // calls it __GI___libc_write.
  virtual std::vector<uint64_t> addresses_of(ModuleId module, std::string_view symbol) {
    static_cast<void>(module), static_cast<void>(symbol);
    return {};
  }

  // Returns all code of the function, or of the inlined copy of a function, that has the index
  // `frame` among the frames() at a link-time address. The ranges include functions inlined into
  // this code, are in ascending order and do not overlap; code that the compiler moved elsewhere
  // (f.cold) is a separate range. Returns nothing if the code is unknown.
  virtual std::vector<InstructionRange> code_of(ModuleId module, uint64_t link_address,
                                                size_t frame) {
    static_cast<void>(module), static_cast<void>(link_address), static_cast<void>(frame);
    return {};
  }

  // Disassembles a range of the file. Fails with unsupported if Tally was built without a
  // disassembler or the file is for another machine, and with not_found if the file has no such
  // code or no longer exists.
  virtual Result<std::vector<Instruction>>
  instructions(ModuleId module, InstructionRange range,
               DisassemblyFlavor flavor = DisassemblyFlavor::att);

  // Returns the build ID of the file in lower-case hex; empty if it has none.
  virtual std::string_view build_id(ModuleId module) = 0;

  // Returns the kind of a module. A perf map is found for memory without a file ("//anon") of the
  // process that the key names.
  virtual ModuleKind kind(ModuleId module) {
    static_cast<void>(module);
    return ModuleKind::file;
  }

  // Writes what was read to the cache on disk, if there is one. It may be called at any time.
  virtual void save_cache() = 0;

  // Moves the diagnostics of look-ups to `diagnostics`: debug information in other files that
  // frames() needed and did not find, or found damaged. There is one for each module and reason.
  virtual void take_diagnostics(Diagnostics &diagnostics) { static_cast<void>(diagnostics); }

  // Begins to fetch debug files from debuginfod, in this order, in a thread of its own. Leaves out
  // the modules that have DWARF here, those without a build ID, and those that were asked for
  // before. Does nothing unless SymbolizerOptions::debuginfod is set.
  virtual void begin_fetching(std::span<const ModuleId> modules, Diagnostics &diagnostics) {
    static_cast<void>(modules), static_cast<void>(diagnostics);
  }
  // Waits until a file came or about `budget` has passed, and uses the files that came. Returns
  // nothing if no further file will come.
  virtual std::optional<FetchProgress> continue_fetching(std::chrono::milliseconds budget,
                                                         Diagnostics &diagnostics) {
    static_cast<void>(budget), static_cast<void>(diagnostics);
    return {};
  }
  // Returns at once. The files that have not come are never fetched by this symbolizer. The thread
  // ends about a second later; the destructor waits for it.
  virtual void stop_fetching() {}
};

struct SymbolizerOptions {
  // The directories of separate debug files, in the order in which they are searched.
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  // Whether to use the cache in $TALLY_CACHE_DIR, otherwise $XDG_CACHE_HOME/tally, otherwise
  // ~/.cache/tally. An empty TALLY_CACHE_DIR also turns the cache off.
  bool use_cache = true;
  // Whether begin_fetching() asks the debuginfod servers that DEBUGINFOD_URLS names.
  bool debuginfod = false;
  ModuleSources sources{};
};

// Returns a symbolizer that uses elfutils. It reads a file on first use, one compilation unit at a
// time.
std::unique_ptr<Symbolizer> make_symbolizer(SymbolizerOptions options = {});

} // namespace tally
