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
    : StackCollector(pid, period_ns), pid_(pid), stacks_(options.stacks), layout_(layout),
      unwinder_(options.unwinder), module_of_(options.module_of) {
  // Made once: a std::function for each sample might allocate.
  unwind_input_.mapping_of_pc = [this](uint64_t pc) -> std::optional<CodeMapping> {
    const uint32_t range = space().find(pc);
    if (range == AddressSpace::nowhere)
      return std::nullopt;
    return code_mapping(range);
  };
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
      map({mmap.address, mmap.address + mmap.length, mmap.file_offset, mmap.device, mmap.inode,
           std::string(mmap.path)});
    break;
  }
  case PERF_RECORD_COMM: {
    PerfComm comm;
    whole = decode(layout_, record, comm);
    if (whole && comm.pid == pid_) {
      if (comm.is_exec) {
        forget_mappings();
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
      name_thread(task.tid, std::string(thread_name(task.parent_tid)));
    }
    break;
  }
  case PERF_RECORD_EXIT: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && task.pid == pid_)
      forget_thread(task.tid);
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
  add(sample.tid, pcs_, 1);
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
      if (pc < lowest_code || space().find(pc - 1) == AddressSpace::nowhere)
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
  const auto &ranges = space().ranges();
  while (modules_.size() <= range) {
    const CodeRange &r = ranges[modules_.size()];
    modules_.push_back(module_of_ ? module_of_(ModuleKey{r.path, {}, r.device, r.inode, pid_})
                                  : none<ModuleId>);
  }
  const CodeRange &r = ranges[range];
  return {modules_[range], r.start, r.limit, r.file_offset};
}

void SampleSink::clear() {
  counters_ = {};
  StackCollector::clear();
}

} // namespace tally
