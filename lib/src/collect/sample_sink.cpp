#include "collect/sample_sink.h"

#include <utility>

#include <linux/perf_event.h>

#include "stacks/perf_chain.h"

namespace tally {

SampleSink::SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
                       const PerfLayout &layout)
    : collector_(pid, {period_ns, options.event ? options.event->name : std::string()}), pid_(pid),
      stacks_(options.stacks),
      weight_(options.event ? static_cast<int64_t>(options.event->period) : 1), layout_(layout),
      chain_(pid, options.unwinder.get(), collector_.space()),
      samples_switches_(options.event && options.event->is_switch()) {
  collector_.set_passed_stops(options.passed_stops);
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
      collector_.map({mmap.address, mmap.address + mmap.length, mmap.file_offset, mmap.device,
                      mmap.inode, std::string(mmap.path)});
    break;
  }
  case PERF_RECORD_COMM: {
    PerfComm comm;
    whole = decode(layout_, record, comm);
    if (whole && comm.pid == pid_) {
      if (comm.is_exec) {
        uint64_t at_ns = 0;
        if (collector_.region_filter() && perf_time(layout_, record, at_ns))
          collector_.region_filter()->close_all(at_ns);
        collector_.forget_mappings();
        exec_seen_ = true;
      }
      collector_.name_thread(comm.tid, comm.name);
    }
    break;
  }
  case PERF_RECORD_FORK: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && task.pid == pid_ && task.parent_pid == pid_) {
      // The thread has its parent's name until a COMM record changes it.
      collector_.name_thread(task.tid, std::string(collector_.thread_name(task.parent_tid)));
    }
    break;
  }
  case PERF_RECORD_EXIT: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && task.pid == pid_) {
      uint64_t at_ns = 0;
      if (collector_.region_filter() && perf_time(layout_, record, at_ns))
        collector_.region_filter()->close(task.tid, at_ns);
      collector_.forget_thread(task.tid);
    }
    break;
  }
  case PERF_RECORD_SWITCH: {
    PerfSampleId id;
    whole = decode(layout_, record, id);
    if (whole && id.pid == pid_ && (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0)
      end_switch(id.tid, (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0);
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
  if (!collector_.counts(sample.tid, sample.time,
                         sample.in_kernel ? StackCollector::TickOrigin::kernel
                                          : StackCollector::TickOrigin::user,
                         user_pc(layout_, sample))) {
    ++counters_.outside;
    return;
  }
  collect_pcs(sample);
  const std::span<const uint64_t> pcs = chain_.pcs();
  if (samples_switches_ && traced_ && !is_in_system_call(layout_, sample))
    switches_.insert_or_assign(sample.tid, Switch{{pcs.begin(), pcs.end()}, sample.in_kernel});
  else
    count(sample.tid, pcs, sample.in_kernel);
}

void SampleSink::count(pid_t tid, std::span<const uint64_t> pcs, bool in_kernel) {
  ++counters_.samples;
  if (in_kernel)
    ++counters_.kernel_samples;
  collector_.add(tid, pcs, weight_);
}

// Outside of system calls, a thread gives up its processor when the scheduler takes it away, for a
// stop of the debugger, or to wait for a page. The last two cannot be distinguished.
void SampleSink::end_switch(pid_t tid, bool preempted) {
  const auto at = switches_.find(tid);
  if (at == switches_.end())
    return;
  if (preempted)
    count(tid, at->second.pcs, at->second.in_kernel);
  else
    ++counters_.outside;
  switches_.erase(at);
}

void SampleSink::finish() {
  for (const auto &[tid, held] : switches_)
    count(tid, held.pcs, held.in_kernel);
  switches_.clear();
}

void SampleSink::collect_pcs(const PerfSample &sample) {
  chain_.clear();
  switch (stacks_) {
  case StackMode::none:
    if (const uint64_t pc = user_pc(layout_, sample); pc >= CallChain::lowest_code)
      chain_.leaf(pc);
    break;
  case StackMode::fp:
    follow(sample, chain_);
    if (chain_.empty() && !sample.in_kernel)
      chain_.leaf(sample.ip);
    break;
  case StackMode::dwarf:
    unwind(sample);
    break;
  }
  if (sample.in_kernel)
    chain_.enter_kernel(sample.ip);
}

void SampleSink::unwind(const PerfSample &sample) {
  Registers registers;
  StackEnd end = StackEnd::no_rule;
  if (read_registers(layout_, sample, registers)) {
    end = chain_.unwind(registers, sample.stack, sample.stack_asked);
    splice(sample, chain_);
  } else {
    // This is a 32-bit program, of which only the pc is known, or there are no user registers.
    const uint64_t pc = user_pc(layout_, sample);
    if (pc < CallChain::lowest_code)
      return;
    chain_.leaf(pc);
    chain_.ended(end);
  }
  counters_.truncated_stacks += end != StackEnd::complete;
  counters_.short_dumps += end == StackEnd::dump_too_short;
}

void SampleSink::clear() {
  counters_ = {};
  switches_.clear();
  collector_.clear();
}

} // namespace tally
