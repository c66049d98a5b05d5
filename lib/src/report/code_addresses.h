// Addresses of stacks as their objects' files have them.
#pragma once

#include <optional>
#include <vector>

#include <tally/stack_profile.h>
#include <tally/symbolizer.h>

namespace tally {

struct CodeAddress {
  ModuleId module = none<ModuleId>; // none: no file's, and the address is a run-time one
  uint64_t address = 0;             // link-time
  std::optional<uint64_t> bias;     // run-time address - link-time address
};

class CodeAddresses {
public:
  // The profile and the symbolizer outlive it.
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
