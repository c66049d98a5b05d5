#include "collect/sample_sink.h"

#include <utility>

#include <linux/perf_event.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
#endif

#include "collect/perf_events.h"

namespace tally {

namespace {

// The ends of the address space hold no code, but a chain may hold numbers from there:
// PERF_CONTEXT_ marks above, and what a register that is no frame pointer led to below.
constexpr uint64_t lowest_code = 4096;

#if defined(__x86_64__)
// DWARF's number of each of the kernel's registers, in the order in which a sample holds them.
constexpr int dwarf_register[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
static_assert(PERF_REG_X86_AX == 0 && PERF_REG_X86_BX == 1 && PERF_REG_X86_IP == 8);

bool read_registers(const PerfSample &sample, Registers &registers) {
  if (sample.regs_abi != PERF_SAMPLE_REGS_ABI_64 || sample.regs.size() != std::size(dwarf_register))
    return false;
  for (size_t i = 0; i < std::size(dwarf_register); ++i)
    registers.value[static_cast<size_t>(dwarf_register[i])] = sample.regs[i];
  return true;
}

uint64_t pc_of_registers(const PerfSample &sample, StackMode stacks) {
  const size_t at = stacks == StackMode::dwarf ? PERF_REG_X86_IP : 0;
  return at < sample.regs.size() ? sample.regs[at] : 0;
}
#else
bool read_registers(const PerfSample &, Registers &) { return false; }
uint64_t pc_of_registers(const PerfSample &sample, StackMode) {
  return sample.regs.empty() ? 0 : sample.regs[0];
}
#endif

} // namespace

SampleSink::SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
                       const PerfLayout &layout)
    : pid_(pid), stacks_(options.stacks), period_ns_(period_ns), layout_(layout),
      unwinder_(options.unwinder), module_of_(options.module_of) {
  // Made once: a std::function for each sample might allocate.
  unwind_input_.mapping_of_pc = [this](uint64_t pc) -> std::optional<CodeMapping> {
    const uint32_t range = space_.find(pc);
    if (range == AddressSpace::nowhere)
      return std::nullopt;
    return code_mapping(range);
  };
  begin_profile();
}

void SampleSink::begin_profile() {
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

void SampleSink::set_command(std::string command) {
  command_ = std::move(command);
  builder_.set_command(command_);
}

void SampleSink::name_thread(pid_t tid, std::string_view name) {
  ThreadState &thread = threads_[tid];
  thread.name = name;
  if (thread.id != none<ThreadId>)
    builder_.rename_thread(thread.id, name);
}

void SampleSink::handle(const PerfRecord &record) {
  bool whole = true;
  switch (record.type) {
  case PERF_RECORD_SAMPLE: {
    PerfSample sample;
    whole = decode(layout_, record, sample);
    if (whole && sample.pid == pid_)
      add_sample(sample);
    break;
  }
  case PERF_RECORD_MMAP:
  case PERF_RECORD_MMAP2: {
    PerfMmap mmap;
    whole = decode(layout_, record, mmap);
    if (whole && mmap.pid == pid_ && mmap.executable)
      space_.map({mmap.address, mmap.address + mmap.length, mmap.file_offset, mmap.device,
                  mmap.inode, std::string(mmap.path)});
    break;
  }
  case PERF_RECORD_COMM: {
    PerfComm comm;
    whole = decode(layout_, record, comm);
    if (whole && comm.pid == pid_) {
      if (comm.is_exec) {
        space_.reset();
        exec_seen_ = true;
      }
      name_thread(comm.tid, comm.name);
    }
    break;
  }
  case PERF_RECORD_FORK: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && task.pid == pid_ && task.parent_pid == pid_) {
      // Named like its parent until it says otherwise.
      std::string name = threads_[task.parent_tid].name;
      name_thread(task.tid, name);
    }
    break;
  }
  case PERF_RECORD_EXIT: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && task.pid == pid_) {
      threads_.erase(task.tid);
      last_tid_ = 0;
    }
    break;
  }
  case PERF_RECORD_LOST:
  case PERF_RECORD_LOST_SAMPLES: {
    uint64_t count = 0;
    whole = decode_lost(record, count);
    if (whole)
      counters_.lost += count;
    break;
  }
  case PERF_RECORD_THROTTLE:
    ++counters_.throttled;
    break;
  default:
    break;
  }
  if (!whole)
    ++counters_.bad_records;
}

void SampleSink::add_sample(const PerfSample &sample) {
  ++counters_.samples;
  if (sample.in_kernel)
    ++counters_.kernel_samples;
  collect_pcs(sample);
  const StackId stack = pcs_.empty() ? none<StackId> : stack_of_pcs();
  part_has_samples_ = true;
  builder_.add_sample(stack, thread_of(sample.tid), open_part(), 1);
}

void SampleSink::collect_pcs(const PerfSample &sample) {
  pcs_.clear();
  switch (stacks_) {
  case StackMode::none: {
    const uint64_t pc = sample.in_kernel ? pc_of_registers(sample, stacks_) : sample.ip;
    if (pc >= lowest_code)
      pcs_.push_back(pc);
    break;
  }
  case StackMode::fp: {
    bool user = false;
    for (size_t i = 0; i < sample.chain.size(); ++i) {
      const uint64_t pc = sample.chain[i];
      if (pc >= PERF_CONTEXT_MAX) {
        user = pc == PERF_CONTEXT_USER;
        continue;
      }
      if (!user)
        continue;
      if (pcs_.empty()) {
        pcs_.push_back(pc);
        continue;
      }
      // In code without frame pointers the chain goes astray into whatever lies on the stack. What
      // is no code cannot be a caller, and nothing beyond it can be trusted.
      if (pc < lowest_code || space_.find(pc - 1) == AddressSpace::nowhere)
        break;
      pcs_.push_back(pc - 1);
    }
    if (pcs_.empty() && !sample.in_kernel)
      pcs_.push_back(sample.ip);
    break;
  }
  case StackMode::dwarf:
    unwind(sample);
    break;
  }
}

void SampleSink::unwind(const PerfSample &sample) {
  if (!read_registers(sample, unwind_input_.registers)) {
    // A 32-bit program (the pc is all that we know of it), or no user registers at all.
    const uint64_t pc = sample.in_kernel ? pc_of_registers(sample, stacks_) : sample.ip;
    if (pc >= lowest_code) {
      pcs_.push_back(pc);
      ++counters_.cut_stacks;
    }
    return;
  }
  unwind_input_.stack = sample.stack;
  const StackEnd end = unwinder_->unwind(unwind_input_, pcs_);
  unwind_input_.stack = {};
  if (pcs_.empty())
    pcs_.push_back(unwind_input_.registers.pc());
  if (end != StackEnd::complete)
    ++counters_.cut_stacks;
}

CodeMapping SampleSink::code_mapping(uint32_t range) {
  const auto &ranges = space_.ranges();
  while (modules_.size() <= range) {
    const CodeRange &r = ranges[modules_.size()];
    modules_.push_back(module_of_ ? module_of_(ModuleKey{r.path, {}, r.device, r.inode, pid_})
                                  : none<ModuleId>);
  }
  const CodeRange &r = ranges[range];
  return {modules_[range], r.start, r.limit, r.file_offset};
}

StackId SampleSink::stack_of_pcs() {
  if (previous_generation_ != space_.generation()) {
    // The same address may be another place now.
    previous_generation_ = space_.generation();
    previous_pcs_.clear();
    previous_stacks_.clear();
  }
  const size_t depth = pcs_.size();
  size_t same = 0;
  while (same < depth && same < previous_pcs_.size() &&
         previous_pcs_[same] == pcs_[depth - 1 - same])
    ++same;
  previous_pcs_.resize(same);
  previous_stacks_.resize(same);
  StackId stack = same == 0 ? none<StackId> : previous_stacks_.back();
  for (size_t i = same; i < depth; ++i) {
    const uint64_t pc = pcs_[depth - 1 - i];
    stack = builder_.push(stack, location_of(pc));
    previous_pcs_.push_back(pc);
    previous_stacks_.push_back(stack);
  }
  return stack;
}

LocationId SampleSink::location_of(uint64_t pc) {
  const uint32_t range = space_.find(pc);
  return builder_.add_location(range == AddressSpace::nowhere ? none<MappingId> : mapping_of(range),
                               pc);
}

MappingId SampleSink::mapping_of(uint32_t range) {
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

ThreadId SampleSink::thread_of(pid_t tid) {
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

PartId SampleSink::open_part() const { return static_cast<PartId>(parts_kept_); }

void SampleSink::close_open_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  if (!part_added_) {
    Part part;
    part.number = parts_kept_ + 1;
    part.begin_ns = begin_ns;
    builder_.add_part(part);
    part_added_ = true;
  }
  builder_.close_part(open_part(), trigger, end_ns);
}

void SampleSink::end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  if (!part_has_samples_)
    return;
  close_open_part(trigger, begin_ns, end_ns);
  ++parts_kept_;
  part_has_samples_ = part_added_ = false;
}

Result<StackProfile> SampleSink::snapshot(std::string_view trigger, uint64_t begin_ns,
                                          uint64_t end_ns) {
  if (part_has_samples_)
    close_open_part(trigger, begin_ns, end_ns);
  return builder_.snapshot();
}

void SampleSink::clear() {
  counters_ = {};
  parts_kept_ = 0;
  part_has_samples_ = part_added_ = false;
  begin_profile();
}

} // namespace tally
