// Converts the addresses in stacks to link-time addresses of object files.
#pragma once

#include <optional>
#include <vector>

#include "model/stack_profile.h"
#include "model/symbolizer.h"

namespace tally {

struct CodeAddress {
  ModuleId module = none<ModuleId>; // none if the address is in no known file
  uint64_t address = 0;             // link-time; run-time if there is no module
  std::optional<uint64_t> bias;     // run-time address - link-time address
};

class CodeAddresses {
public:
  // Opens the module of each mapping. The profile and the symbolizer must outlive this object.
  // `pid` is a process that maps the files, or 0.
  CodeAddresses(const StackProfile &profile, Symbolizer &symbolizer, Diagnostics &diagnostics,
                int pid);
  CodeAddress of(const Location &location) const;
  const std::vector<ModuleId> &modules() const { return modules_; } // by MappingId

private:
  const StackProfile &profile_;
  Symbolizer &symbolizer_;
  std::vector<ModuleId> modules_; // by MappingId
};

} // namespace tally
