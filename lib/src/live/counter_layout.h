// Describes where the counters of a program are in its memory, and which functions they count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gcov.h"
#include "formats/llvm/source_profile.h"
#include "live/counter_places.h"
#include "live/memory.h"
#include "model/symbolizer.h"
#include "support/diagnostics.h"

namespace tally::live {

// An array of 64-bit counters of one function.
struct CounterArray {
  uint64_t address = 0;
  uint32_t count = 0;
  uint32_t kind = 0; // the number of GCC's version that compiled the object: see GcovCounter
};

struct CountedFunction {
  // The counters are in another object of the process, which has the same inline function.
  bool elsewhere = false;
  GcovFunctionKey key;
  uint32_t first_array = 0, last_array = 0; // half-open, into CounterLayout::arrays
};

// An object file that was compiled with --coverage.
struct CountedModuleObject {
  GcovHeader header;
  std::string data_path; // of the file of counters that the program writes when it exits
  uint64_t address = 0;  // of the object's description (struct gcov_info)
  uint32_t module = 0;   // as add_module() was given it
  bool by_clang = false; // `address` is then that of its counters
  uint32_t first_function = 0, last_function = 0; // half-open, into CounterLayout::functions
};

// A module with Clang's source-based coverage. Addresses are run-time addresses.
struct SourceBasedModule {
  uint32_t module = 0;        // as add_source_based() was given it
  llvm::RecordLayout records; // how its records are laid out
  std::string data;           // its records, which are constants
  AddressRange counters, bitmaps;
  // Where the records' pointers are offsets from (see llvm::CounterSections).
  uint64_t counters_delta = 0, bitmaps_delta = 0;
  bool is_relative = true;
};

// It stays valid until a module is loaded or unloaded: all that it holds are constants, which the
// linker determines.
struct CounterLayout {
  WordLayout words;
  // Those of GCC, then those of Clang; each by module, then in the order of the list.
  std::vector<CountedModuleObject> objects;
  std::vector<CountedFunction> functions;
  std::vector<CounterArray> arrays;
  std::vector<SourceBasedModule> source_based;

  bool has_counters() const { return !objects.empty() || !source_based.empty(); }
  std::span<const CountedFunction> functions_of(const CountedModuleObject &object) const {
    return std::span(functions).subspan(object.first_function,
                                        object.last_function - object.first_function);
  }
  std::span<const CounterArray> arrays_of(const CountedFunction &function) const {
    return std::span(arrays).subspan(function.first_array,
                                     function.last_array - function.first_array);
  }
};

// Distinguishes the modules that a program loads one after another.
struct ModuleIdentity {
  std::string path;
  uint64_t bias = 0;
  uint64_t since = 0; // the generation of LiveProgram in which it was first seen
  friend bool operator==(const ModuleIdentity &, const ModuleIdentity &) = default;
};

// A loaded module.
struct LoadedModule {
  ModuleKey key;     // its path, which messages name
  uint64_t bias = 0; // run-time address minus link-time address
  CounterPlaces places;
  uint64_t since = 0; // see ModuleIdentity
  ModuleIdentity identity() const { return {std::string(loaded_path()), bias, since}; }
  // Returns the path that the module was loaded from. Linux appends " (deleted)" to it in
  // /proc/PID/maps when the file is replaced, as by a linker, while the module stays loaded.
  std::string_view loaded_path() const {
    std::string_view path = key.path;
    if (constexpr std::string_view suffix = " (deleted)"; path.ends_with(suffix))
      path.remove_suffix(suffix.size());
    return path;
  }
};

// Reads the descriptions of a module's objects, and adds them. It searches the list that libgcov
// keeps and, if that is empty (before the constructors have run) or missing, the section
// .gcov_info, the symbols of the functions and, in a stripped file, the initialised data. Nothing
// in the memory is trusted: reports in `diagnostics` what is damaged or was compiled by an unknown
// compiler, and leaves it out.
void add_module(CounterLayout &layout, const LoadedModule &module, uint32_t number, Memory &memory,
                Diagnostics &diagnostics);

// Adds the objects of a module that Clang compiled. `notes_of` returns the notes that belong to a
// file of counters, or null: optimized code does not tell which functions the counters belong to.
void add_clang_objects(
    CounterLayout &layout, const LoadedModule &module, uint32_t number, Memory &memory,
    const std::function<std::shared_ptr<const GcovNotes>(const std::string &data_path)> &notes_of,
    Diagnostics &diagnostics);

} // namespace tally::live
