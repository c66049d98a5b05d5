// Brings stacks of one profile into the builder of another.
#pragma once

#include <vector>

#include <tally/stack_profile.h>

namespace tally {

// Copies what it is asked for, once, with all that this stands on. `none` stays none.
class StackCopy {
public:
  // Both outlive it.
  StackCopy(const StackProfile &from, StackProfileBuilder &to) : from_(from), to_(to) {}

  StringId text(StringId id) { return to_.intern(from_.strings[id]); }
  MappingId mapping(MappingId id); // equal ones become one
  SourceFunctionId function(SourceFunctionId id);
  LocationId location(LocationId id);
  StackId stack(StackId id);
  ThreadId thread(ThreadId id);

  // Stacks that are copied from now on have this one below their outermost frame; none: nothing.
  void put_under(StackId root);

private:
  const StackProfile &from_;
  StackProfileBuilder &to_;
  std::vector<MappingId> mappings_; // by their ids in from_; none: not copied yet
  std::vector<SourceFunctionId> functions_;
  std::vector<LocationId> locations_;
  std::vector<StackId> stacks_;
  std::vector<StackId> copied_stacks_; // those of stacks_ that are not none
  std::vector<ThreadId> threads_;
  StackId root_ = none<StackId>;
  std::vector<StackId> path_; // room for stack()
  std::vector<SourceLine> lines_;
};

// A builder of the same values: types, period, command.
StackProfileBuilder builder_like(const StackProfile &profile);

} // namespace tally
