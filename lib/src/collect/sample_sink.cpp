#include "collect/sample_sink.h"

#include <utility>

#include <linux/perf_event.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
#endif

#include "collect/perf_events.h"

namespace tally {

namespace {

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
      chain_(pid, options.unwinder.get(), space()) {}

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
  add(sample.tid, chain_.pcs(), 1);
}

void SampleSink::collect_pcs(const PerfSample &sample) {
  chain_.clear();
  switch (stacks_) {
  case StackMode::none: {
    const uint64_t pc = sample.in_kernel ? pc_of_registers(sample, stacks_) : sample.ip;
    if (pc >= CallChain::lowest_code)
      chain_.leaf(pc);
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
      if (chain_.empty()) {
        chain_.leaf(pc);
        continue;
      }
      if (!chain_.caller(pc))
        break;
    }
    if (chain_.empty() && !sample.in_kernel)
      chain_.leaf(sample.ip);
    break;
  }
  case StackMode::dwarf:
    unwind(sample);
    break;
  }
}

void SampleSink::unwind(const PerfSample &sample) {
  Registers registers;
  if (!read_registers(sample, registers)) {
    // A 32-bit program (the pc is all that we know of it), or no user registers at all.
    const uint64_t pc = sample.in_kernel ? pc_of_registers(sample, stacks_) : sample.ip;
    if (pc >= CallChain::lowest_code) {
      chain_.leaf(pc);
      chain_.ended(StackEnd::no_rule);
      ++counters_.cut_stacks;
    }
    return;
  }
  if (!chain_.unwind(registers, sample.stack))
    ++counters_.cut_stacks;
}

void SampleSink::clear() {
  counters_ = {};
  StackCollector::clear();
}

} // namespace tally
