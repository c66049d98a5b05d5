// Copies stacks of one profile to the builder of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/stack_profile.h"

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

// Adds all samples, threads and parts: the number of threads is that of the clocks, and a part
// without a sample is a run. `stacks` are the samples' stacks in `to`, by their ids in `from`.
// Returns the new row of each row.
std::vector<uint32_t> copy_all_rows(const StackProfile &from, std::span<const StackId> stacks,
                                    StackCopier &copy, StackProfileBuilder &to);

// Adds the samples in `rows`, with their threads, the parts that they are in, and those of `times`
// that belong to them. `stack_of(sample)` returns the stack in `to`, and `values_of(row)` the
// values.
template <class StackOf, class ValuesOf>
void copy_rows(const StackProfile &from, std::span<const size_t> rows,
               std::span<const SampleTime> times, StackCopier &copy, StackProfileBuilder &to,
               StackOf stack_of, ValuesOf values_of) {
  std::vector<bool> used(from.parts().size());
  for (const size_t row : rows)
    if (const PartId part = from.sample(row).part; part != none<PartId>)
      used[index_of(part)] = true;
  std::vector<PartId> parts(used.size(), none<PartId>);
  for (uint32_t i = 0; i < used.size(); ++i)
    if (used[i]) {
      Part part = from.parts()[static_cast<PartId>(i)];
      part.trigger = copy.text(part.trigger);
      parts[i] = to.add_part(part);
    }
  std::vector<uint32_t> new_rows(from.sample_count(), UINT32_MAX);
  for (const size_t row : rows) {
    const Sample sample = from.sample(row);
    new_rows[row] = to.add_sample(
        stack_of(sample), copy.thread(sample.thread),
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], values_of(row));
  }
  for (SampleTime time : times)
    if (const uint32_t row = new_rows[time.row]; row != UINT32_MAX) {
      time.row = row;
      to.add_time(time);
    }
  to.set_times_from_ns(from.times_from_ns);
}

// Returns a builder with the value types, period and command of `profile`, but without samples.
StackProfileBuilder builder_like(const StackProfile &profile);

} // namespace tally
