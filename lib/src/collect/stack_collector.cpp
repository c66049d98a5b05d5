#include "collect/stack_collector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "stacks/mapped_stacks.h"
#include "support/clock.h"

namespace tally {

StackCollector::StackCollector(pid_t pid, Counted counted)
    : pid_(pid), counted_(std::move(counted)) {
  begin_profile();
}

void StackCollector::begin_profile() {
  builder_ = StackProfileBuilder();
  for (const Value &value : counted_.values)
    builder_.add_value_type(value.type, value.unit);
  builder_.set_period_ns(counted_.period_ns);
  builder_.set_command(command_);
  addresses_.clear();
  PackedStacks::Amounts amounts;
  for (const Value &value : counted_.values)
    amounts.push_back(value.amount);
  stacks_ = PackedStacks(PackedStacks::usual_merge, std::move(amounts));
  resumed(now_ns(), 0);
  for (auto &[tid, thread] : threads_)
    thread.id = none<ThreadId>;
  last_.tid = 0;
}

void StackCollector::set_command(std::string command) {
  command_ = std::move(command);
  builder_.set_command(command_);
}

void StackCollector::name_thread(pid_t tid, std::string_view name) {
  ThreadState &thread = threads_[tid];
  thread.name = name;
  if (thread.id != none<ThreadId>)
    builder_.rename_thread(thread.id, name);
}

std::string_view StackCollector::thread_name(pid_t tid) {
  const auto at = threads_.find(tid);
  return at == threads_.end() ? std::string_view() : std::string_view(at->second.name);
}

void StackCollector::forget_thread(pid_t tid) {
  threads_.erase(tid);
  last_.tid = 0;
}

bool StackCollector::counts(pid_t tid, uint64_t at_ns, TickOrigin origin, uint64_t pc) const {
  if (region_filter_ &&
      (!region_filter_->holds(tid, at_ns) || region_filter_->stops().is_step(pc) ||
       (origin != TickOrigin::user && region_filter_->stops().is_stop(pc))))
    return false;
  return !passed_ ||
         !(passed_->is_step(pc) || (origin == TickOrigin::kernel && is_passed_stop(pc)));
}

bool StackCollector::is_passed_stop(uint64_t pc) const {
  if (passed_->is_stop(pc))
    return true;
  const uint32_t number = passed_->has_files() ? space_.find(pc) : AddressSpace::nowhere;
  if (number == AddressSpace::nowhere)
    return false;
  const CodeRange &range = space_.ranges()[number];
  return passed_->is_stop(range.path, range.file_offset + (pc - range.start));
}

void StackCollector::add(pid_t tid, std::span<const uint64_t> pcs, int64_t count, uint64_t at_ns,
                         uint32_t value) {
  part_has_samples_ = true;
  const bool is_interval = counted_.values[value].amount == 0;
  stacks_.add(addresses_.numbers_of(pcs), thread_of(tid), open_part(), count, value,
              time_of(at_ns, is_interval ? static_cast<uint64_t>(count) : 0));
}

// Returns the time in running time. It is unknown after half a day.
StackTime StackCollector::time_of(uint64_t at_ns, uint64_t length_ns) const {
  const auto units = [](uint64_t ns) { return (ns + StackTime::unit_ns / 2) / StackTime::unit_ns; };
  const uint64_t at = units(
      std::min(resumed_.ran_ns + (at_ns - std::min(at_ns, resumed_.at_ns)), resumed_.most_ns));
  if (at_ns == 0 || at >= StackTime::unknown)
    return {};
  return {static_cast<uint32_t>(at), static_cast<uint32_t>(std::min(at, units(length_ns)))};
}

ThreadId StackCollector::thread_of(pid_t tid) {
  if (tid == last_.tid)
    return last_.thread;
  ThreadState &thread = threads_[tid];
  if (thread.id == none<ThreadId>) {
    thread.id = builder_.add_thread(pid_, tid, thread.name);
    if (!thread.name.empty()) // the number may have belonged to another thread before
      builder_.rename_thread(thread.id, thread.name);
  }
  last_.tid = tid;
  last_.thread = thread.id;
  return thread.id;
}

void StackCollector::close_open_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  if (!part_added_) {
    Part part;
    part.number = parts_kept_ + 1;
    part.begin_ns = begin_ns;
    builder_.add_part(part);
    part_added_ = true;
  }
  builder_.close_part(open_part(), trigger, end_ns);
}

void StackCollector::end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  resumed_.most_ns = end_ns;
  if (!part_has_samples_)
    return;
  close_open_part(trigger, begin_ns, end_ns);
  ++parts_kept_;
  part_has_samples_ = part_added_ = false;
}

Result<StackProfile> StackCollector::snapshot(std::string_view trigger, uint64_t begin_ns,
                                              uint64_t end_ns) {
  if (part_has_samples_)
    close_open_part(trigger, begin_ns, end_ns);
  TALLY_TRY(rest, builder_.snapshot());
  StackProfileBuilder whole(std::move(rest));
  MappedStacks mapped(space_);
  std::vector<LocationId> locations(addresses_.size(), none<LocationId>);
  const auto location_of = [&](uint32_t number) {
    LocationId &id = locations[number];
    if (id == none<LocationId>) {
      const AddressTable::Entry entry = addresses_[number];
      id = mapped.location_of(whole, entry.range, entry.pc);
    }
    return id;
  };
  TALLY_CHECK(stacks_.pour(whole, location_of));
  return whole.finish();
}

void StackCollector::clear() {
  parts_kept_ = 0;
  part_has_samples_ = part_added_ = false;
  begin_profile();
}

} // namespace tally
