// The samples of a trace of Chrome, whose stacks are in its stackFrames.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/stack_profile.h"
#include "support/hash.h"
#include "support/json_tree.h"
#include "support/result.h"

namespace tally::cpuprofile {

// Returns an id, which some writers put in quotes. Returns "" for any other value.
std::string id_text(const JsonValue &value);

class TraceFrames {
public:
  TraceFrames(const JsonValue &frames, StackProfileBuilder &builder);
  // Returns the stack whose innermost frame has this id; none for an absent id.
  Result<StackId> stack_of(const JsonValue &id);

private:
  StackProfileBuilder &builder_;
  SeededMap<std::string, JsonValue> frames_;
  SeededMap<std::string, StackId> stacks_;
};

} // namespace tally::cpuprofile
