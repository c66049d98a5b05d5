// Profiles from files, with names for what holds addresses only: by the files on this machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tally/formats.h>
#include <tally/pc_costs.h>
#include <tally/symbolization.h>
#include <tally/symbolizer.h>

namespace tally {

// Called twice a second or more.
using NamingProgress = std::function<void(uint64_t done, uint64_t all)>;

TALLY_API Result<StackProfile> name_all(StackProfile raw, Symbolization::Processes processes,
                                        Diagnostics &diagnostics,
                                        const NamingProgress &progress = nullptr);

// read_file(), and what comes of read_addresses() is unwound and named.
TALLY_API Result<ReadFile> read_named_file(const std::string &path, Diagnostics &diagnostics,
                                           const Format *from = nullptr,
                                           const ReadOptions &options = {},
                                           const NamingProgress &progress = nullptr);

// The names of one program's functions, and what they are looked up in.
class TALLY_API ProgramNames {
public:
  ProgramNames() = default; // none
  ProgramNames(const std::string &program, Diagnostics &diagnostics);
  const PcNames *get() const { return symbolizer_ ? &names_ : nullptr; }

private:
  std::unique_ptr<Symbolizer> symbolizer_;
  PcNames names_;
};

// With the kernel's functions as callees of "[kernel]", by /proc/kallsyms. A profile without kernel
// time is returned as it is. unsupported: the symbols are hidden, or the profile is not known to be
// of the kernel that runs.
TALLY_API Result<StackProfile> unfold_kernel(StackProfile profile);
// Costs hold no addresses of the kernel's: unsupported where there is kernel time.
TALLY_API Result<CostProfile> unfold_kernel(CostProfile profile);

struct NamedProfile {
  Profile profile;
  const Format *format = nullptr;
  std::optional<PcProfile> pcs; // what `profile` was made of, where the file counts addresses
};
// For tables. program: that a gmon.out's addresses are of; empty: not known, which is a finding.
TALLY_API Result<NamedProfile> read_named_profile(const std::string &path, Diagnostics &diagnostics,
                                                  const std::string &program = {});

} // namespace tally
