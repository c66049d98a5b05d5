// Copies stacks of one profile to the builder of another.
#pragma once

#include <vector>

#include <tally/stack_profile.h>

namespace tally {

// Copies each entry at most once, on request, together with everything that it refers to. `none`
// stays none.
class StackCopier {
public:
  // `from` and `to` must outlive this object.
  StackCopier(const StackProfile &from, StackProfileBuilder &to) : from_(from), to_(to) {}

  StringId text(StringId id) { return to_.intern(from_.strings[id]); }
  MappingId mapping(MappingId id); // equal mappings become one
  SourceFunctionId function(SourceFunctionId id);
  LocationId location(LocationId id);
  StackId stack(StackId id);
  ThreadId thread(ThreadId id);
  Pass pass(Pass of) {
    of.region = text(of.region);
    return of;
  }

  // Makes `root` the caller of the outermost frame in stacks that are copied from now on; none adds
  // nothing.
  void put_under(StackId root);

private:
  const StackProfile &from_;
  StackProfileBuilder &to_;
  std::vector<MappingId> mappings_; // by their ids in from_; none if not copied yet
  std::vector<SourceFunctionId> functions_;
  std::vector<LocationId> locations_;
  std::vector<StackId> stacks_;
  std::vector<StackId> copied_stacks_; // ids whose entry in stacks_ is not none
  std::vector<ThreadId> threads_;
  StackId root_ = none<StackId>;
  std::vector<StackId> path_; // scratch space of stack()
  std::vector<SourceLine> lines_;
};

// Returns a builder with the value types, period and command of `profile`, but without samples.
StackProfileBuilder builder_like(const StackProfile &profile);

} // namespace tally
