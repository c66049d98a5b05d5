#include "collect/stack_collector.h"

#include <utility>

namespace tally {

namespace {

std::string_view cut_words(uint64_t pc) {
  switch (pc) {
  case cut_mark(StackEnd::copy_short):
    return "[cut: deeper than the copy of the stack]";
  case cut_mark(StackEnd::no_rule):
    return "[cut: no unwind data]";
  case cut_mark(StackEnd::damaged):
    return "[cut: not a stack]";
  default:
    return {};
  }
}

} // namespace

StackCollector::StackCollector(pid_t pid, uint64_t period_ns) : pid_(pid), period_ns_(period_ns) {
  begin_profile();
}

void StackCollector::begin_profile() {
  builder_ = StackProfileBuilder();
  builder_.add_value_type("ticks", "count");
  builder_.set_period_ns(period_ns_);
  builder_.set_command(command_);
  mappings_.clear();
  for (auto &[tid, thread] : threads_)
    thread.id = none<ThreadId>;
  last_tid_ = 0;
  previous_pcs_.clear();
  previous_stacks_.clear();
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
  last_tid_ = 0;
}

void StackCollector::add(pid_t tid, std::span<const uint64_t> pcs, int64_t ticks) {
  const StackId stack = pcs.empty() ? none<StackId> : stack_of(pcs);
  part_has_samples_ = true;
  builder_.add_sample(stack, thread_of(tid), open_part(), ticks);
}

StackId StackCollector::stack_of(std::span<const uint64_t> pcs) {
  if (previous_generation_ != space_.generation()) {
    // The same address may be another place now.
    previous_generation_ = space_.generation();
    previous_pcs_.clear();
    previous_stacks_.clear();
  }
  const size_t depth = pcs.size();
  size_t same = 0;
  while (same < depth && same < previous_pcs_.size() &&
         previous_pcs_[same] == pcs[depth - 1 - same])
    ++same;
  previous_pcs_.resize(same);
  previous_stacks_.resize(same);
  StackId stack = same == 0 ? none<StackId> : previous_stacks_.back();
  for (size_t i = same; i < depth; ++i) {
    const uint64_t pc = pcs[depth - 1 - i];
    stack = builder_.push(stack, location_of(pc));
    previous_pcs_.push_back(pc);
    previous_stacks_.push_back(stack);
  }
  return stack;
}

LocationId StackCollector::location_of(uint64_t pc) {
  if (const std::string_view why = cut_words(pc); !why.empty()) {
    const SourceLine line{builder_.add_function({builder_.intern(why), {}, {}, {}, 0}), {}, 0};
    return builder_.add_location(none<MappingId>, pc, std::span(&line, 1));
  }
  const uint32_t range = space_.find(pc);
  return builder_.add_location(range == AddressSpace::nowhere ? none<MappingId> : mapping_of(range),
                               pc);
}

MappingId StackCollector::mapping_of(uint32_t range) {
  if (range < mappings_.size() && mappings_[range] != none<MappingId>)
    return mappings_[range];
  if (mappings_.empty()) {
    // The program's own mapping is a profile's first, as pprof's readers expect.
    mappings_.resize(space_.ranges().size(), none<MappingId>);
    if (space_.program() != AddressSpace::nowhere && space_.program() != range)
      mapping_of(space_.program());
  }
  if (range >= mappings_.size())
    mappings_.resize(space_.ranges().size(), none<MappingId>);
  const CodeRange &r = space_.ranges()[range];
  Mapping mapping;
  mapping.start = r.start;
  mapping.limit = r.limit;
  mapping.file_offset = r.file_offset;
  mapping.path = builder_.intern(r.path);
  mapping.device = r.device;
  mapping.inode = r.inode;
  return mappings_[range] = builder_.add_mapping(mapping);
}

ThreadId StackCollector::thread_of(pid_t tid) {
  if (tid == last_tid_)
    return last_thread_;
  ThreadState &thread = threads_[tid];
  if (thread.id == none<ThreadId>) {
    thread.id = builder_.add_thread(pid_, tid, thread.name);
    if (!thread.name.empty()) // the number may have been another thread's before
      builder_.rename_thread(thread.id, thread.name);
  }
  last_tid_ = tid;
  last_thread_ = thread.id;
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
  return builder_.snapshot();
}

void StackCollector::clear() {
  parts_kept_ = 0;
  part_has_samples_ = part_added_ = false;
  begin_profile();
}

} // namespace tally
