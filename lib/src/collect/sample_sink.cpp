#include "collect/sample_sink.h"

#include <array>
#include <utility>

#include <linux/perf_event.h>

#include "collect/creating_calls.h"
#include "stacks/perf_chain.h"
#include "stacks/truncation_mark.h"

namespace tally {

namespace {

StackCollector::Counted counted_by(const SamplerOptions &options, uint64_t period_ns) {
  StackCollector::Counted out{period_ns};
  out.beside = options.beside;
  if (options.events.empty() && !options.waits)
    return out;
  out.period_ns = 0;
  out.values.clear();
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
      layout_(layout), unwinder_(options.unwinder.get()) {
  if (options.waits)
    waits_.emplace(pid, tick_, collector_);
  if (options.children)
    children_.emplace(Children{ExitCounts(period_ns)});
  collector_.set_passed_stops(options.passed_stops);
  collector_.set_region_filter(options.region_filter);
}

void SampleSink::handle(const PerfRecord &record, const EventIds &ids) {
  bool whole = true;
  switch (record.type) {
  case PERF_RECORD_SAMPLE: {
    PerfSample sample;
    whole = decode(layout_, record, sample);
    if (whole && is_sampled(sample.pid))
      add_sample(sample, ids.event_of(sample.identifier));
    break;
  }
  case PERF_RECORD_MMAP:
  case PERF_RECORD_MMAP2: {
    PerfMmap mmap;
    whole = decode(layout_, record, mmap);
    if (!whole || !mmap.executable || !is_sampled(mmap.pid))
      break;
    if (waits_)
      waits_->settle(); // the stacks in the code that this replaces
    if (const auto at = chains_.find(mmap.pid); at != chains_.end())
      at->second.give_up_held();
    collector_.map(mmap.pid, {mmap.address, mmap.address + mmap.length, mmap.file_offset,
                              mmap.device, mmap.inode, std::string(mmap.path)});
    break;
  }
  case PERF_RECORD_COMM: {
    PerfComm comm;
    uint64_t at_ns = 0;
    whole = decode(layout_, record, comm);
    if (whole && is_sampled(comm.pid))
      name(comm, perf_time(layout_, record, at_ns) ? at_ns : 0);
    break;
  }
  case PERF_RECORD_FORK: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && is_sampled(task.parent_pid))
      began(task);
    break;
  }
  case PERF_RECORD_EXIT: {
    PerfTask task;
    whole = decode(layout_, record, task);
    if (whole && is_sampled(task.pid))
      ended(task);
    break;
  }
  case PERF_RECORD_READ: {
    PerfCount count;
    whole = decode(record, count);
    if (whole && children_ && is_sampled(count.pid))
      children_->exits.counted(count.tid, count.value);
    break;
  }
  case PERF_RECORD_SWITCH: {
    PerfSampleId id;
    whole = decode(layout_, record, id);
    if (!whole || !is_sampled(id.pid))
      break;
    if (waits_)
      waits_->switched(id.tid, id.time, record.misc);
    else if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0)
      end_switch(id.tid, (record.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0);
    break;
  }
  case PERF_RECORD_LOST:
  case PERF_RECORD_LOST_SAMPLES: {
    PerfLost lost;
    whole = decode(record, lost);
    if (whole)
      counters_.lost += lost.count;
    // The stacks of other events than the first one have rings of their own, without records.
    const uint32_t event = ids.event_of(lost.event_id);
    if (waits_ && record.type == PERF_RECORD_LOST &&
        (event >= events_.size() || events_[event].is_clock()))
      waits_->lost();
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

// The first thread of a process has the name of the process.
void SampleSink::name(const PerfComm &comm, uint64_t at_ns) {
  if (comm.is_exec) {
    give_up_held();
    if (waits_)
      waits_->settle(); // the stacks of the program so far
    if (collector_.region_filter() && at_ns != 0 && comm.pid == pid_)
      collector_.region_filter()->close_all(at_ns);
    collector_.forget_mappings(comm.pid);
    if (collector_.space_of(comm.pid))
      chain_of(comm.pid).begin_exec();
    if (waits_ && !children_)
      waits_->exec(comm.tid, at_ns);
    process_.has_executed |= comm.pid == pid_;
    if (children_) {
      // The thread that calls exec takes over the number of the first one, which has just ended.
      settle(UINT64_MAX);
      for (const pid_t was : collector_.keep_only_thread(comm.pid, comm.tid))
        children_->exits.renumbered(was, comm.tid);
    }
  }
  collector_.name_thread(comm.pid, comm.tid, comm.name);
}

void SampleSink::began(const PerfTask &task) {
  if (task.pid != task.parent_pid) {
    if (!children_)
      return;
    settle(children_->exits.has_ended(task.tid) ? UINT64_MAX : task.time);
    forget_chain(task.pid); // of an older process with this pid
    if (!collector_.begin_process(task.pid, task.parent_pid)) {
      ++counters_.processes_left;
      return;
    }
  } else if (children_ && children_->exits.has_ended(task.tid)) {
    settle(UINT64_MAX);
  }
  // The thread has its parent's name until a COMM record changes it.
  collector_.name_thread(task.pid, task.tid, std::string(collector_.thread_name(task.parent_tid)));
  if (waits_)
    waits_->began(task.tid, task.time);
}

void SampleSink::ended(const PerfTask &task) {
  if (const auto at = chains_.find(task.pid); at != chains_.end())
    at->second.forget_thread(task.tid);
  if (collector_.region_filter())
    collector_.region_filter()->close(task.tid, task.time);
  if (waits_)
    waits_->ended(task.tid, task.time);
  if (children_) {
    settle(task.time);
    children_->exits.ended(task.tid, task.time);
  } else {
    collector_.forget_thread(task.tid);
  }
}

// Forgets the threads that ended before, with the CPU time that their ticks do not show.
void SampleSink::settle(uint64_t at_ns) {
  if (!children_)
    return;
  children_->exits.settle(at_ns, [this](pid_t tid, int64_t ticks) {
    // Where in a region the time was spent is not known. WaitSink has counted what is not sampled.
    if (ticks > 0 && !children_->stopped && !collector_.region_filter() &&
        !(waits_ && waits_->is_unsampled())) {
      const std::array<uint64_t, 1> mark{unsampled_mark};
      collector_.add(tid, mark, ticks * tick_, 0);
      counters_.samples += static_cast<uint64_t>(ticks);
    }
    if (const pid_t pid = collector_.forget_thread(tid); pid != 0)
      forget_chain(pid);
  });
}

void SampleSink::forget_chain(pid_t pid) {
  if (const auto at = chains_.find(pid); at != chains_.end()) {
    at->second.give_up_held();
    chains_.erase(at);
  }
}

CallChain &SampleSink::chain_of(pid_t pid) {
  return chains_.try_emplace(pid, pid, unwinder_, *collector_.space_of(pid)).first->second;
}

void SampleSink::add_sample(const PerfSample &sample, uint32_t event) {
  chain_ = &chain_of(sample.pid);
  if (children_ && !collector_.knows_thread(sample.tid)) // the record of its begin is lost
    collector_.begin_thread(sample.pid, sample.tid);
  if (children_ && (event >= events_.size() || events_[event].is_clock()))
    children_->exits.ticked(sample.tid);
  if (sample.pid != pid_ && (children_->stopped || sample.time < children_->resumed_ns)) {
    ++counters_.outside;
    return;
  }
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
  StackEnd end = StackEnd::complete;
  if (chain_->is_in_exec(user_pc(layout_, sample), sample.in_kernel))
    chain_->clear();
  else
    end = collect_pcs(sample);
  if (Registers registers; chain_->can_be_joined(end) && !is_switch && !sample.stack.empty() &&
                           read_registers(layout_, sample, registers)) {
    hold(sample, registers, end, event);
    return;
  }
  add_end(end);
  // The kernel is a frame of its own, except in waits, whose leaf shows the system call.
  if (sample.in_kernel)
    chain_->enter_kernel(sample.ip);
  if (is_switch && process_.is_traced && sample.pid == pid_ && !is_in_system_call(layout_, sample))
    switches_.insert_or_assign(
        sample.tid,
        Switch{{chain_->pcs().begin(), chain_->pcs().end()}, sample.in_kernel, event, sample.time});
  else
    count(sample.tid, chain_->pcs(), sample.in_kernel, event, sample.time);
}

// A later sample of the thread may show the callers that are missing.
void SampleSink::hold(const PerfSample &sample, const Registers &registers, StackEnd end,
                      uint32_t event) {
  chain_->hold(registers, sample.stack, end, sample.tid,
               [this, chain = chain_, event, tid = sample.tid, in_kernel = sample.in_kernel,
                ip = sample.ip, at_ns = sample.time](StackEnd how) {
                 add_end(how);
                 if (in_kernel)
                   chain->enter_kernel(ip);
                 count(tid, chain->pcs(), in_kernel, event, at_ns);
               });
}

void SampleSink::give_up_held() {
  for (auto &[pid, chain] : chains_)
    chain.give_up_held();
}

void SampleSink::add_end(StackEnd end) {
  counters_.truncated_stacks += is_truncated(end);
  counters_.short_dumps += end == StackEnd::dump_too_short;
  counters_.joined_stacks += end == StackEnd::joined;
}

void SampleSink::begin_interval(const PerfSample &sample) {
  collect_pcs(sample); // truncated stacks are compared with the number of samples: this is none
  waits_->leaves(sample.tid, user_pc(layout_, sample), chain_->pcs(),
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
  chain_ = &chain_of(pid_);
  chain_->clear();
  if (stacks_ == StackMode::dwarf)
    chain_->unwind(registers, stack, stack_asked, tid);
  else
    chain_->leaf(registers.pc());
  waits_->clock().seen(tid, at_ns, chain_->pcs());
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
  give_up_held();
  for (const auto &[tid, held] : switches_)
    count(tid, held.pcs, held.in_kernel, held.event, held.at_ns);
  switches_.clear();
  if (waits_)
    waits_->finish(at_ns);
  settle(UINT64_MAX);
}

StackEnd SampleSink::collect_pcs(const PerfSample &sample) {
  chain_->clear();
  switch (stacks_) {
  case StackMode::none:
    if (const uint64_t pc = user_pc(layout_, sample); pc >= CallChain::lowest_code)
      chain_->leaf(pc);
    break;
  case StackMode::fp:
    follow(sample, *chain_);
    if (chain_->empty() && !sample.in_kernel)
      chain_->leaf(sample.ip);
    break;
  case StackMode::dwarf:
    return unwind(sample);
  }
  return StackEnd::complete; // or not known
}

StackEnd SampleSink::unwind(const PerfSample &sample) {
  Registers registers;
  StackEnd end = StackEnd::no_rule;
  if (read_registers(layout_, sample, registers)) {
    end = chain_->unwind(registers, sample.stack, sample.stack_asked, sample.tid);
    // C libraries have no unwind data at the call by which one thread makes another. The new one
    // begins behind it, on an empty stack.
    if (end == StackEnd::no_rule && chain_->pcs().size() == 2 &&
        (!sample.in_kernel || has_returned_zero(layout_, sample)) &&
        CreatingCalls(sample.pid).are_before(registers.pc())) {
      chain_->begins_at_leaf();
      end = StackEnd::complete;
    }
    splice(sample, *chain_);
  } else {
    // This is a 32-bit program, of which only the pc is known, or there are no user registers.
    const uint64_t pc = user_pc(layout_, sample);
    if (pc < CallChain::lowest_code)
      return StackEnd::complete;
    chain_->leaf(pc);
    chain_->ended(end);
  }
  // While a process or an image of it ends, it has no memory any more, and nothing can be mended.
  const bool is_gone = end == StackEnd::unreadable && sample.in_kernel && sample.stack.empty();
  if (end == StackEnd::unreadable && !is_gone)
    pages_.fetch(sample.pid, registers.sp() + sample.stack.size(),
                 sample.stack_asked - sample.stack.size(), sample.time);
  return is_gone ? StackEnd::complete : end;
}

void SampleSink::clear(uint64_t at_ns) {
  give_up_held();
  counters_ = {};
  switches_.clear();
  if (waits_)
    waits_->clear(at_ns);
  if (children_)
    children_->exits.clear();
  collector_.clear();
}

} // namespace tally
