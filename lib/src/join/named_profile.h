// Reads profiles from files. If a file holds only addresses, they get names from the object files
// on this machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "formats/formats.h"
#include "model/symbolizer.h"
#include "transform/pc_costs.h"
#include "transform/symbolization.h"

namespace tally {

// How the addresses of a profile get names.
struct Naming {
  // Called about twice a second, with the number of addresses that have been looked up, and the
  // number of all addresses.
  std::function<void(uint64_t done, uint64_t all)> looked_up{};
  // Called several times a second while debug files are fetched, and before, with null. Returns
  // whether to go on. If not, the names are those of the files that are here.
  std::function<bool(const FetchProgress *)> fetched{};
  // Knows the modules afterwards. Null stands for one that fetches no debug files.
  Symbolizer *symbolizer = nullptr;
  ModuleSources sources{}; // of the code, for unwinding
};

// Returns the profile with names: runs a Symbolization to its end and saves the symbol cache.
Result<StackProfile> name_all(StackProfile raw, Symbolization::Processes processes,
                              Diagnostics &diagnostics, const Naming &naming = {});

// Reads a file as read_file() does. A profile from Format::read_addresses() is also unwound and
// named.
Result<ReadFile> read_named_file(const std::string &path, Diagnostics &diagnostics,
                                 const Format *from = nullptr, const ReadOptions &options = {},
                                 const Naming &naming = {});

// The names of one program's functions, with the symbolizer that finds them.
class ProgramNames {
public:
  ProgramNames() = default; // without names
  ProgramNames(const std::string &program, Diagnostics &diagnostics);
  // Returns the names, or null if there are none.
  const PcNames *get() const { return symbolizer_ ? &names_ : nullptr; }

private:
  std::unique_ptr<Symbolizer> symbolizer_;
  PcNames names_;
};

// Adds the kernel's functions as callees of "[kernel]", with names from /proc/kallsyms. Returns a
// profile without kernel time unchanged. Fails with unsupported if the symbols are hidden, or if
// the profile is not known to come from the running kernel.
Result<StackProfile> unfold_kernel(StackProfile profile);
// Returns a profile without kernel time unchanged. With kernel time it fails with unsupported,
// because costs hold no addresses of the kernel.
Result<CostProfile> unfold_kernel(CostProfile profile);

struct NamedProfile {
  Profile profile; // for tables
  const Format *format = nullptr;
  // The counts of addresses that `profile` was made from, or the coverage if keeps_coverage was
  // true.
  std::optional<Content> counted{};
  ProgramNames names{}; // of the counts of addresses
  const PcProfile *pcs() const { return counted ? std::get_if<PcProfile>(&*counted) : nullptr; }
};
// Makes a profile for tables. `names` are those of the program that counts of addresses belong to.
// `keeps_coverage` is for write_named_profile(), and costs a copy of the coverage. Fails with
// invalid_input for notes and counters. `path` is for errors.
Result<NamedProfile> named_profile_of(const std::string &path, ReadFile file, ProgramNames names,
                                      bool keeps_coverage = false);
// Reads a profile for tables, for a command of a debugger, until the user types Ctrl-C. `program`
// is the path of the program that a gmon.out's addresses belong to. If it is empty, the addresses
// have no names, and a diagnostic says so.
Result<NamedProfile> read_named_profile(const std::string &path, Diagnostics &diagnostics,
                                        const std::string &program = {});
// Writes NamedProfile::counted, which is what the file held, or else the profile.
Result<Written> write_named_profile(const NamedProfile &profile, const Format &format,
                                    WriteOptions options);

} // namespace tally
