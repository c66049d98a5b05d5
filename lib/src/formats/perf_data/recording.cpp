#include "formats/perf_data/recording.h"

#include <algorithm>
#include <limits>
#include <map>

#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "model/jit_code.h"
#include "model/kernel_code.h"
#include "stacks/perf_chain.h"
#include "support/memory_limit.h"
#include "support/text.h"

namespace tally::perf_data {

namespace {

// The number of ended processes that are kept, because samples of a process may follow shortly
// after its end.
constexpr size_t most_ended = 256;

// Replaces addresses in a guest, because no file contains them. The value is the kernel's mark for
// a guest.
constexpr auto guest_address = static_cast<uint64_t>(PERF_CONTEXT_GUEST);

enum class Where : uint8_t { user, kernel, guest };

Where where_of(uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
  case PERF_RECORD_MISC_USER:
    return Where::user;
  case PERF_RECORD_MISC_GUEST_KERNEL:
  case PERF_RECORD_MISC_GUEST_USER:
    return Where::guest;
  default:
    return Where::kernel;
  }
}

} // namespace

Recording::Process &Recording::process(int32_t pid) {
  auto &at = processes_[pid];
  if (!at)
    at = std::make_unique<Process>(*this);
  return *at;
}

Recording::ThreadState &Recording::thread(int32_t pid, int32_t tid) {
  return threads_[uint64_t{static_cast<uint32_t>(pid)} << 32 | static_cast<uint32_t>(tid)];
}

void Recording::set_name(int32_t pid, int32_t tid, std::string_view name) {
  ThreadState &state = thread(pid, tid);
  state.name = name;
  if (state.id != none<ThreadId>)
    builder_.rename_thread(state.id, name);
}

void Recording::handle(const PerfRecord &record, uint64_t offset) {
  const PerfLayout &layout = events_[events_.of(record)].attr.layout;
  bool whole = true;
  switch (record.type) {
  case PERF_RECORD_SAMPLE:
    whole = handle_sample(record);
    break;
  case PERF_RECORD_MMAP:
  case PERF_RECORD_MMAP2:
    whole = handle_mmap(layout, record);
    break;
  case PERF_RECORD_COMM:
    whole = handle_comm(layout, record);
    break;
  case PERF_RECORD_FORK:
    whole = handle_fork(layout, record);
    break;
  case PERF_RECORD_EXIT:
    whole = handle_exit(layout, record);
    break;
  case PERF_RECORD_LOST:
  case PERF_RECORD_LOST_SAMPLES: {
    constexpr uint16_t dropped_by_filter = 1 << 15; // PERF_RECORD_MISC_LOST_SAMPLES_BPF
    PerfLost lost;
    whole = decode(record, lost, layout.swapped);
    if (whole && (record.type == PERF_RECORD_LOST || (record.misc & dropped_by_filter) == 0))
      losses_.lost += std::min(lost.count, std::numeric_limits<uint64_t>::max() - losses_.lost);
    break;
  }
  case PERF_RECORD_THROTTLE:
    ++losses_.throttled;
    break;
  default:
    break;
  }
  if (!whole)
    diagnostics_.add(Severity::error,
                     fmt::format("a record of type {} is shorter than its content, or its content "
                                 "is not valid: it is ignored",
                                 record.type),
                     source_, Position::at_offset(offset));
}

std::string Recording::perf_map_of(int32_t pid) {
  const auto [at, added] = perf_maps_.try_emplace(pid);
  std::string path = perf_map_path(pid);
  if (added && ::access(path.c_str(), R_OK) == 0)
    at->second = std::move(path);
  return at->second;
}

bool Recording::handle_mmap(const PerfLayout &layout, const PerfRecord &record) {
  PerfMmap mmap;
  if (!decode(layout, record, mmap))
    return false;
  // There are also records for the mappings of the kernel and of guests.
  const unsigned mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  // In the record of "[kernel.kallsyms]_text", the file offset is the address of that symbol
  // (perf's machine__create_kernel_maps()).
  if (mode == PERF_RECORD_MISC_KERNEL && mmap.path.starts_with(kernel_object))
    kernel_text_ = mmap.file_offset;
  if (!mmap.executable || (mode != PERF_RECORD_MISC_USER && mode != 0))
    return true;
  CodeRange range{mmap.address, mmap.address + mmap.length, mmap.file_offset, mmap.device,
                  mmap.inode,   std::string(mmap.path)};
  if (!mmap.build_id.empty())
    range.build_id =
        hex({reinterpret_cast<const char *>(mmap.build_id.data()), mmap.build_id.size()});
  else if (const auto known = features_.build_ids.find(range.path);
           known != features_.build_ids.end())
    range.build_id = known->second;
  Process &of = process(mmap.pid);
  if (is_jit_dump(range.path))
    of.jit.open(mmap.pid, range);
  if (is_anonymous_memory(range.path))
    if (std::string map = perf_map_of(mmap.pid); !map.empty())
      range.path = std::move(map);
  of.space.map(range);
  return true;
}

bool Recording::handle_comm(const PerfLayout &layout, const PerfRecord &record) {
  PerfComm comm;
  if (!decode(layout, record, comm))
    return false;
  if (comm.is_exec) {
    process(comm.pid).chain.forget_memory();
    process(comm.pid).space.reset();
    process(comm.pid).jit = {};
  }
  set_name(comm.pid, comm.tid, comm.name);
  return true;
}

bool Recording::handle_fork(const PerfLayout &layout, const PerfRecord &record) {
  PerfTask task;
  if (!decode(layout, record, task))
    return false;
  if (task.pid != task.parent_pid) {
    // perf also writes such records, without a time, for processes that existed before. These must
    // not inherit their parents' mappings.
    const auto parent = processes_.find(task.parent_pid);
    auto child = std::make_unique<Process>(*this);
    if (parent != processes_.end() && task.time != 0)
      child->space.inherit(parent->second->space);
    processes_[task.pid] = std::move(child);
  }
  // A new thread has its parent's name until it sets another one.
  set_name(task.pid, task.tid, std::string(thread(task.parent_pid, task.parent_tid).name));
  return true;
}

bool Recording::handle_exit(const PerfLayout &layout, const PerfRecord &record) {
  PerfTask task;
  if (!decode(layout, record, task))
    return false;
  const auto at = processes_.find(task.pid);
  if (at != processes_.end())
    at->second->chain.forget_thread(task.tid);
  if (task.pid != task.tid || at == processes_.end())
    return true;
  at->second->chain.forget_memory();
  ended_.emplace_back(task.pid, at->second->number);
  if (ended_.size() > most_ended) {
    const auto [pid, process_number] = ended_.front();
    ended_.pop_front();
    // The pid may belong to a new process now, which must not be removed.
    if (const auto oldest = processes_.find(pid);
        oldest != processes_.end() && oldest->second->number == process_number)
      processes_.erase(oldest);
  }
  return true;
}

LocationId Recording::named_location(std::string_view name, uint64_t address) {
  const SourceLine line{builder_.add_function({builder_.intern(name), {}, {}, {}, 0}), {}, 0};
  return builder_.add_location(none<MappingId>, address, std::span(&line, 1));
}

bool Recording::handle_sample(const PerfRecord &record) {
  const size_t number = events_.of(record);
  const PerfAttr &attr = events_[number].attr;
  PerfSample sample;
  if (!decode(attr.layout, record, sample))
    return false;
  uint64_t period = attr.is_frequency ? 1 : std::max<uint64_t>(1, attr.period_or_hz);
  if ((attr.layout.sample_type & PERF_SAMPLE_PERIOD) != 0)
    period = sample.period;
  if (period > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return false;

  Process &of = process(sample.pid);
  const bool has_time = (attr.layout.sample_type & PERF_SAMPLE_TIME) != 0;
  of.jit.advance(has_time && attr.clock == CLOCK_MONOTONIC ? sample.time : UINT64_MAX, of.space);
  const Where where = where_of(record.misc);
  of.chain.clear();
  if (where != Where::guest)
    find_chain(of, attr.layout, sample);
  if (where == Where::kernel)
    of.chain.enter_kernel(sample.ip);
  StackId stack = none<StackId>;
  if (!of.chain.empty())
    stack = of.stacks.stack_of(builder_, of.chain.pcs());
  if (where == Where::guest)
    stack = builder_.push(stack, named_location("[guest]", guest_address));

  ThreadState &state = thread(sample.pid, sample.tid);
  if (state.id == none<ThreadId>)
    state.id = builder_.add_thread(sample.pid, sample.tid, state.name);
  MemoryLimit::tick();
  rows_.push_back({stack, state.id, static_cast<uint32_t>(number), static_cast<int64_t>(period),
                   has_time ? sample.time : no_time});
  return true;
}

// Sets the part of the chain that is in user mode. For a sample in the kernel, these are the
// callers of the kernel.
void Recording::find_chain(Process &of, const PerfLayout &layout, const PerfSample &sample) {
  const uint64_t type = layout.sample_type;
  if ((type & PERF_SAMPLE_REGS_USER) != 0 && (type & PERF_SAMPLE_STACK_USER) != 0 && unwinder_) {
    unwind(of, layout, sample);
    return;
  }
  follow(sample, of.chain);
  if (of.chain.empty())
    if (const uint64_t pc = user_pc(layout, sample); pc >= CallChain::lowest_code)
      of.chain.leaf(pc);
  if (!sample.stack.empty())
    ++losses_.not_unwound;
}

void Recording::unwind(Process &of, const PerfLayout &layout, const PerfSample &sample) {
  Registers registers;
  // LoongArch has RISC-V's mask of registers, but stacks that are not supported.
  if (!features_.machine.starts_with("loongarch") && read_registers(layout, sample, registers)) {
    const StackEnd end = of.chain.unwind(registers, sample.stack, sample.stack_asked, sample.tid);
    if (of.chain.can_be_joined(end) && !sample.stack.empty())
      hold(of, registers, sample, end);
    add_end(end);
    return;
  }
  // The program has 32 bits or is for another processor. A kernel thread has no part in user mode.
  if (!sample.in_kernel) {
    of.chain.leaf(sample.ip);
    of.chain.ended(StackEnd::no_rule);
    ++losses_.truncated;
  }
}

// A later sample of the thread may show the callers that are missing. The sample has the next row.
void Recording::hold(Process &of, const Registers &registers, const PerfSample &sample,
                     StackEnd end) {
  of.chain.hold(
      registers, sample.stack, end, sample.tid,
      [this, &of, row = rows_.size(), in_kernel = sample.in_kernel, ip = sample.ip](StackEnd how) {
        if (how != StackEnd::joined)
          return;
        if (in_kernel)
          of.chain.enter_kernel(ip);
        --losses_.truncated;
        add_end(how);
        rows_[row].stack = of.stacks.stack_of(builder_, of.chain.pcs());
      });
}

void Recording::add_end(StackEnd end) {
  losses_.truncated += is_truncated(end);
  losses_.joined += end == StackEnd::joined;
}

// Adds the build IDs of the features. If the file is read from a pipe, the features come after the
// records.
void Recording::add_build_ids() {
  for (uint32_t i = 0; i < builder_.so_far().mappings().size(); ++i) {
    Mapping mapping = builder_.so_far().mappings()[static_cast<MappingId>(i)];
    if (builder_.string(mapping.path) == kernel_object) {
      mapping.inode = kernel_text_;
      builder_.replace_mapping(static_cast<MappingId>(i), mapping);
    }
    const auto known = features_.build_ids.find(std::string(builder_.string(mapping.path)));
    if (!builder_.string(mapping.build_id).empty() || known == features_.build_ids.end())
      continue;
    mapping.build_id = builder_.intern(known->second);
    builder_.replace_mapping(static_cast<MappingId>(i), mapping);
  }
}

void Recording::report_losses() {
  const auto report = [&](Severity severity, std::string message) {
    diagnostics_.add(severity, std::move(message), source_);
  };
  if (losses_.lost > 0)
    report(Severity::warning,
           fmt::format("{} {} lost while it was recorded: perf was too slow",
                       counted(losses_.lost, "records"), losses_.lost == 1 ? "was" : "were"));
  if (losses_.throttled > 0)
    report(Severity::note,
           fmt::format("the kernel throttled sampling {}", counted(losses_.throttled, "times")));
  if (losses_.not_unwound > 0)
    report(Severity::warning, "holds stack dumps, which are not unwound here: callers are not "
                              "known");
  if (losses_.truncated > 0)
    report(losses_.truncated > rows_.size() / 20 ? Severity::warning : Severity::note,
           fmt::format("{} of {} stacks are truncated; `tally tree` shows why", losses_.truncated,
                       rows_.size()));
  if (losses_.joined > 0)
    report(Severity::note,
           fmt::format("{} of {} stacks are deeper than their dumps: their outer callers are those "
                       "of other samples of the threads",
                       losses_.joined, rows_.size()));
}

// The first thread of a process has the name of the process.
void Recording::name_processes() {
  // The order of the names in what is written is the same in each run.
  for (const auto &[key, state] : std::map(threads_.begin(), threads_.end())) {
    const auto pid = static_cast<uint32_t>(key >> 32);
    if (const auto first = threads_.find(uint64_t{pid} << 32 | pid);
        first != threads_.end() && state.id != none<ThreadId>)
      builder_.set_process(state.id, first->second.name);
  }
}

Result<StackProfile> Recording::finish() {
  name_processes();
  add_build_ids();
  report_losses();
  builder_.set_command(features_.command);

  std::vector<EventKind> kinds;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event &event = events_[i];
    const uint64_t hz_or_period = event.attr.period_or_hz;
    const bool in_hz = event.attr.is_frequency;
    kinds.push_back({event.name, event.is_clock(), true,
                     in_hz && hz_or_period > 0 ? 1'000'000'000 / hz_or_period : hz_or_period});
  }
  TALLY_CHECK(add_event_rows(builder_, kinds, rows_, diagnostics_, source_));
  return builder_.finish();
}

} // namespace tally::perf_data
