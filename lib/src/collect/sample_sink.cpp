#include "collect/sample_sink.h"

#include <utility>

#include <linux/perf_event.h>

#include "stacks/perf_chain.h"

namespace tally {

namespace {

StackCollector::Counted counted_by(const SamplerOptions &options, uint64_t period_ns) {
  if (options.events.empty() && !options.waits)
    return {period_ns};
  StackCollector::Counted out{0, {}};
  if (options.waits)
    out.values = WaitSink::values(static_cast<int64_t>(period_ns));
  for (const SampledEvent &event : options.events) {
    if (!event.is_clock()) {
      out.values.push_back({event.name, "count", static_cast<int64_t>(event.period)});
    } else if (!options.waits) {
      out.values.push_back({"ticks", "count", 1});
      out.period_ns = period_ns;
    }
  }
  return out;
}

} // namespace

SampleSink::SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
                       const PerfLayout &layout)
    : collector_(pid, counted_by(options, period_ns)), pid_(pid), stacks_(options.stacks),
      events_(options.sampled_events()), tick_(options.waits ? static_cast<int64_t>(period_ns) : 1),
      layout_(layout), chain_(pid, options.unwinder.get(), collector_.space()) {
  if (options.waits)
    waits_.emplace(pid, tick_, collector_);
  collector_.set_passed_stops(options.passed_stops);
}

void SampleSink::handle(const PerfRecord &record, const EventIds &ids) {
  bool whole = true;
  switch (record.type) {
  case PERF_RECORD_SAMPLE: {
    PerfSample sample;
    whole = decode(layout_, record, sample);
    if (whole && sample.pid == pid_)
      add_sample(sample, ids.event_of(sample.identifier));
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
        if (waits_)
          waits_->exec(comm.tid, perf_time(layout_, record, at_ns) ? at_ns : 0);
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
      if (waits_)
        waits_->began(task.tid, task.time);
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
      if (waits_)
        waits_->ended(task.tid, task.time);
      collector_.forget_thread(task.tid);
    }
    break;
  }
  case PERF_RECORD_SWITCH: {
    PerfSampleId id;
    whole = decode(layout_, record, id);
    if (!whole || id.pid != pid_)
      break;
    if (waits_)
      waits_->switched(id.tid, id.time, record.misc);
    else if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0)
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

void SampleSink::add_sample(const PerfSample &sample, uint32_t event) {
  const bool is_switch = event < events_.size() && events_[event].is_switch();
  const bool begins_interval = waits_ && is_switch;
  if (!collector_.counts(sample.tid, sample.time,
                         sample.in_kernel ? StackCollector::TickOrigin::kernel
                                          : StackCollector::TickOrigin::user,
                         user_pc(layout_, sample))) {
    if (begins_interval) {
      waits_->leaves_uncounted(sample.tid);
      return;
    }
    if (waits_ && (event >= events_.size() || events_[event].is_clock()))
      waits_->ticked(sample.tid); // the time of this tick is not that of the kernel
    ++counters_.outside;
    return;
  }
  if (begins_interval) {
    begin_interval(sample);
    return;
  }
  collect_pcs(sample);
  // The kernel is a frame of its own, except in waits, whose leaf shows the system call.
  if (sample.in_kernel)
    chain_.enter_kernel(sample.ip);
  if (is_switch && traced_ && !is_in_system_call(layout_, sample))
    switches_.insert_or_assign(
        sample.tid,
        Switch{{chain_.pcs().begin(), chain_.pcs().end()}, sample.in_kernel, event, sample.time});
  else
    count(sample.tid, chain_.pcs(), sample.in_kernel, event, sample.time);
}

void SampleSink::begin_interval(const PerfSample &sample) {
  const uint64_t truncated = counters_.truncated_stacks, short_dumps = counters_.short_dumps;
  collect_pcs(sample);
  // They are compared with the number of samples, of which this is none.
  counters_.truncated_stacks = truncated;
  counters_.short_dumps = short_dumps;
  waits_->leaves(sample.tid, user_pc(layout_, sample), chain_.pcs(),
                 is_in_system_call(layout_, sample)        ? WaitClock::Call::inside
                 : is_interrupted_in_call(layout_, sample) ? WaitClock::Call::interrupted
                                                           : WaitClock::Call::none);
}

void SampleSink::count(pid_t tid, std::span<const uint64_t> pcs, bool in_kernel, uint32_t event,
                       uint64_t at_ns) {
  ++counters_.samples;
  if (in_kernel)
    ++counters_.kernel_samples;
  const bool is_tick = event >= events_.size() || events_[event].is_clock();
  if (waits_ && is_tick)
    waits_->ticked(tid);
  collector_.add(tid, pcs, is_tick ? tick_ : static_cast<int64_t>(events_[event].period), at_ns,
                 value_of(event));
}

uint32_t SampleSink::value_of(uint32_t event) const {
  // The clock is the first event, and the values of waits stand in its place.
  return waits_ && event != 0 ? WaitSink::waits + event : event;
}

void SampleSink::seen_waiting(pid_t tid, uint64_t at_ns, const Registers &registers,
                              std::span<const std::byte> stack, size_t stack_asked) {
  chain_.clear();
  if (stacks_ == StackMode::dwarf)
    chain_.unwind(registers, stack, stack_asked);
  else
    chain_.leaf(registers.pc());
  waits_->clock().seen(tid, at_ns, chain_.pcs());
}

// Outside of system calls, a thread gives up its processor when the scheduler takes it away, for a
// stop of the debugger, or to wait for a page. The last two cannot be distinguished.
void SampleSink::end_switch(pid_t tid, bool preempted) {
  const auto at = switches_.find(tid);
  if (at == switches_.end())
    return;
  if (preempted)
    count(tid, at->second.pcs, at->second.in_kernel, at->second.event, at->second.at_ns);
  else
    ++counters_.outside;
  switches_.erase(at);
}

void SampleSink::finish(uint64_t at_ns) {
  for (const auto &[tid, held] : switches_)
    count(tid, held.pcs, held.in_kernel, held.event, held.at_ns);
  switches_.clear();
  if (waits_)
    waits_->finish(at_ns);
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

void SampleSink::clear(uint64_t at_ns) {
  counters_ = {};
  switches_.clear();
  if (waits_)
    waits_->clear(at_ns);
  collector_.clear();
}

} // namespace tally
