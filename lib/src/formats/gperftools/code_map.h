// The list of mapped files at the end of a profile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/stack_profile.h"
#include "stacks/address_space.h"
#include "stacks/mapped_stacks.h"
#include "support/diagnostics.h"

namespace tally::gperftools {

class CodeMap {
public:
  // `maps` is the text of a /proc/PID/maps. If it lists no code, adds a warning to `diagnostics`.
  CodeMap(std::string_view maps, Diagnostics &diagnostics, const std::string &source);

  // Returns the file that contains an address; empty if it is unknown.
  std::string_view file_at(uint64_t address) const;
  // Returns the stack of a chain: leaf first, and callers as return address - 1.
  StackId stack_of(StackProfileBuilder &builder, std::span<const uint64_t> chain) {
    return stacks_.stack_of(builder, chain);
  }

private:
  AddressSpace space_;
  MappedLocations locations_{space_.ranges()};
  MappedStacks stacks_{space_, locations_};
};

} // namespace tally::gperftools
