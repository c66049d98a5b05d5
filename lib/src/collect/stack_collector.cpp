#include "collect/stack_collector.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "collect/held_times.h"
#include "model/jit_code.h"
#include "stacks/mapped_stacks.h"
#include "support/clock.h"

namespace tally {

namespace {

// A fork bomb must not exhaust the memory of the sampler.
constexpr uint64_t most_processes = 100'000;

} // namespace

StackCollector::StackCollector(pid_t pid, Counted counted)
    : pid_(pid), counted_(std::move(counted)) {
  addresses_.set_first(main_.addresses);
  begin_profile();
}

void StackCollector::begin_profile() {
  builder_ = StackProfileBuilder();
  for (const Value &value : counted_.values)
    builder_.add_value_type(value.type, value.unit);
  builder_.set_period_ns(counted_.period_ns);
  builder_.set_command(command_);
  addresses_.clear();
  kept_.addresses = 0;
  PackedStacks::Amounts amounts;
  for (const Value &value : counted_.values)
    amounts.push_back(value.amount);
  stacks_ = PackedStacks(PackedStacks::usual_merge, std::move(amounts));
  resumed({now_ns()});
  for (auto &[tid, thread] : threads_)
    thread.id = none<ThreadId>;
  last_ = {};
}

void StackCollector::map(pid_t pid, const CodeRange &range) {
  Process *const of = process(pid);
  if (!of)
    return;
  of->space.map(range);
  if (is_jit_dump(range.path))
    of->jit.open(pid, range);
}

void StackCollector::forget_mappings(pid_t pid) {
  Process *const of = process(pid);
  if (!of)
    return;
  of->space.reset();
  of->jit = {};
}

void StackCollector::set_command(std::string command) {
  command_ = std::move(command);
  builder_.set_command(command_);
}

StackCollector::Process *StackCollector::process(pid_t pid) {
  if (pid == pid_)
    return &main_;
  const auto at = children_.find(pid);
  return at == children_.end() ? nullptr : at->second.get();
}

// With several processes, memory without a file does not show whose it is.
void StackCollector::name_jit_code(pid_t pid, Process &of) {
  of.jit.advance(UINT64_MAX, of.space);
  if (std::string path = kept_.files->perf_map_of(pid); ::access(path.c_str(), R_OK) == 0)
    addresses_.name_anonymous(of.addresses, path);
}

AddressSpace *StackCollector::space_of(pid_t pid) {
  Process *const known = process(pid);
  return known ? &known->space : nullptr;
}

AddressSpace *StackCollector::begin_process(pid_t pid, pid_t parent) {
  if (children_.contains(pid)) {
    std::erase_if(threads_, [pid](const auto &thread) { return thread.second.pid == pid; });
    last_ = {};
  }
  if (processes_begun_ >= most_processes) {
    children_.erase(pid);
    return nullptr;
  }
  ++processes_begun_;
  const Process *const from = process(parent);
  auto fresh = from ? std::make_unique<Process>(*from) : std::make_unique<Process>();
  last_ = {};
  return &(children_[pid] = std::move(fresh))->space;
}

StackCollector::ThreadState &StackCollector::thread(pid_t pid, pid_t tid) {
  ThreadState &state = threads_[tid];
  if (state.pid == pid)
    return state;
  state = {none<ThreadId>, pid, {}}; // the number may have belonged to another thread before
  last_ = {};
  if (Process *const of = process(pid))
    ++of->threads;
  return state;
}

void StackCollector::name_thread(pid_t pid, pid_t tid, std::string_view name) {
  ThreadState &state = thread(pid, tid);
  state.name = name;
  if (state.id != none<ThreadId>)
    builder_.rename_thread(state.id, name);
  Process *const of = process(pid);
  if (tid != pid || !of)
    return;
  of->name = name;
  for (const auto &[other, known] : threads_)
    if (known.pid == pid && known.id != none<ThreadId>)
      builder_.set_process(known.id, name);
}

std::vector<pid_t> StackCollector::keep_only_thread(pid_t pid, pid_t tid) {
  std::vector<pid_t> others;
  for (const auto &[other, state] : threads_)
    if (state.pid == pid && other != tid)
      others.push_back(other);
  for (const pid_t other : others)
    threads_.erase(other);
  thread(pid, tid);
  if (Process *const of = process(pid))
    of->threads = 1;
  last_ = {};
  return others;
}

std::string_view StackCollector::thread_name(pid_t tid) {
  const auto at = threads_.find(tid);
  return at == threads_.end() ? std::string_view() : std::string_view(at->second.name);
}

pid_t StackCollector::forget_thread(pid_t tid) {
  const auto at = threads_.find(tid);
  if (at == threads_.end())
    return 0;
  const pid_t pid = at->second.pid;
  threads_.erase(at);
  last_ = {};
  Process *const of = process(pid);
  if (!of || --of->threads > 0 || of == &main_)
    return 0;
  name_jit_code(pid, *of);
  children_.erase(pid);
  return pid;
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
  const uint32_t number = passed_->has_files() ? main_.space.find(pc) : AddressSpace::nowhere;
  if (number == AddressSpace::nowhere)
    return false;
  const CodeRange &range = main_.space.ranges()[number];
  return passed_->is_stop(range.path, range.file_offset + (pc - range.start));
}

void StackCollector::add(pid_t tid, std::span<const uint64_t> pcs, int64_t count, uint64_t at_ns,
                         uint32_t value) {
  part_.has_samples = true;
  const bool is_interval = counted_.values[value].amount == 0;
  const ThreadId thread = thread_of(tid); // sets last_
  last_.process->jit.advance(at_ns ? at_ns : UINT64_MAX, last_.process->space);
  const std::span<const uint32_t> numbers = addresses_.numbers_of(last_.process->addresses, pcs);
  keep_new_files();
  stacks_.add(numbers, thread, open_part(), count, value,
              is_interval ? interval_of(tid, at_ns, count, value)
                          : StackTime{.at = time_of(at_ns)});
}

// Keeps the files in which new addresses lie. A program may map thousands of others.
void StackCollector::keep_new_files() {
  for (; kept_.addresses < addresses_.size(); ++kept_.addresses) {
    const uint32_t number = addresses_[kept_.addresses].range;
    if (number == AddressSpace::nowhere || !kept_.ranges.insert(number).second)
      continue;
    const CodeRange &range = addresses_.ranges()[number];
    kept_.files->keep({last_.pid, range.path, range.device, range.inode});
  }
}

// Returns the time in units of running time. It is unknown after half a day.
uint32_t StackCollector::time_of(uint64_t at_ns) const {
  const Resume &from = resumed_.resume;
  uint64_t since_ns = at_ns - std::min(at_ns, from.at_ns);
  if (from.held)
    since_ns -= from.held->between(from.at_ns, at_ns);
  const uint64_t ran_ns = std::min(from.ran_ns + since_ns, resumed_.most_ns);
  const uint64_t at = (ran_ns + StackTime::unit_ns / 2) / StackTime::unit_ns;
  return at_ns == 0 || at >= StackTime::unknown ? StackTime::unknown : static_cast<uint32_t>(at);
}

// The part of a length that is less than a unit is added to the next interval of the thread: the
// lengths of its short intervals add up to their sum.
StackTime StackCollector::interval_of(pid_t tid, uint64_t end_ns, int64_t length_ns,
                                      uint32_t value) {
  constexpr auto unit = static_cast<int64_t>(StackTime::unit_ns);
  const uint32_t end = time_of(end_ns);
  if (end == StackTime::unknown)
    return {};
  std::vector<int64_t> &rests_ns = threads_[tid].length_rests_ns;
  rests_ns.resize(counted_.values.size());
  // With the rest, which is at least -unit / 2.
  const int64_t all_ns = std::clamp<int64_t>(length_ns, 0, INT64_MAX / 2) + rests_ns[value];
  const int64_t units = (all_ns + unit / 2) / unit;
  rests_ns[value] = all_ns - units * unit;
  return {end, static_cast<uint32_t>(std::min<int64_t>(end, units))};
}

ThreadId StackCollector::thread_of(pid_t tid) {
  if (tid == last_.tid && last_.process)
    return last_.thread;
  const auto known = threads_.find(tid);
  ThreadState &state = known == threads_.end() ? thread(pid_, tid) : known->second;
  Process *const of = process(state.pid);
  if (state.id == none<ThreadId>) {
    state.id = builder_.add_thread(state.pid, tid, state.name);
    if (!state.name.empty()) // the number may have belonged to another thread before
      builder_.rename_thread(state.id, state.name);
    if (of)
      builder_.set_process(state.id, of->name);
  }
  last_ = {tid, state.id, of ? of : &main_, state.pid};
  return state.id;
}

void StackCollector::close_open_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  if (!part_.added) {
    Part part;
    part.number = part_.number + 1;
    part.begin_ns = begin_ns;
    builder_.add_part(part);
    part_.added = true;
  }
  builder_.close_part(open_part(), trigger, end_ns);
}

void StackCollector::end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  resumed_.most_ns = end_ns;
  if (!part_.has_samples)
    return;
  close_open_part(trigger, begin_ns, end_ns);
  ++part_.number;
  part_.has_samples = part_.added = false;
}

Result<StackProfile> StackCollector::snapshot(std::string_view trigger, uint64_t begin_ns,
                                              uint64_t end_ns) {
  main_.jit.advance(UINT64_MAX, main_.space);
  if (processes_begun_ > 0 || counted_.beside || kept_.files->has_perf_map_of(pid_))
    name_jit_code(pid_, main_);
  for (auto &[pid, child] : children_)
    name_jit_code(pid, *child);
  // Code of the first process may have become known after its samples.
  std::vector<uint32_t> own(addresses_.ranges().size(), AddressSpace::nowhere);
  for (uint32_t i = 0; i < main_.space.ranges().size(); ++i)
    if (const uint32_t number = addresses_.range_of(main_.addresses, i); number < own.size())
      own[number] = i;
  if (part_.has_samples)
    close_open_part(trigger, begin_ns, end_ns);
  TALLY_TRY(rest, builder_.snapshot());
  StackProfileBuilder whole(std::move(rest));
  MappedLocations mapped(addresses_.ranges(),
                         addresses_.range_of(main_.addresses, main_.space.program()));
  std::vector<LocationId> locations(addresses_.size(), none<LocationId>);
  const auto location_of = [&](uint32_t number) {
    LocationId &id = locations[number];
    if (id == none<LocationId>) {
      const AddressTable::Entry entry = addresses_[number];
      uint32_t range = entry.range;
      if (range < own.size() && own[range] != AddressSpace::nowhere)
        range = addresses_.range_of(main_.addresses, main_.space.with_code(own[range], entry.pc));
      id = mapped.of(whole, range, entry.pc);
    }
    return id;
  };
  TALLY_CHECK(stacks_.pour(whole, location_of));
  TALLY_TRY(out, whole.finish());
  out.kept_files = kept_.files;
  return out;
}

void StackCollector::clear() {
  part_.number = 0;
  part_.has_samples = part_.added = false;
  begin_profile();
}

} // namespace tally
