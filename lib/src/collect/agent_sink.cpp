#include "collect/agent_sink.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "collect/agent_library.h"
#include "collect/held_times.h"
#include "collect/proc_info.h"
#include "collect/wait_sink.h"
#include "stacks/truncation_mark.h"
#include "support/path.h"

namespace tally {

namespace {

// A row is kept for each thread that had a tick, also after its end.
constexpr size_t most_threads = 100'000;

// The number of waits is not known.
StackCollector::Counted counted_values(const SamplerOptions &options, uint64_t period_ns) {
  StackCollector::Counted out{period_ns};
  if (options.waits) {
    out.period_ns = 0;
    out.values = WaitSink::values(static_cast<int64_t>(period_ns));
    out.values.resize(WaitSink::waits);
  }
  return out;
}

} // namespace

AgentSink::AgentSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
                     std::function<bool()> may_look)
    : collector_(pid, counted_values(options, period_ns)), pid_(pid),
      may_look_(std::move(may_look)), chain_(pid, options.unwinder.get(), collector_.space()),
      unwinds_(options.unwinder != nullptr) {
  if (options.waits) {
    waits_.emplace(Waits{{}, WaitPolls(pid, [this](uint64_t at_ns) {
                           return waits_->held ? waits_->held->until(at_ns) : 0;
                         })});
    tick_ = static_cast<int64_t>(period_ns);
  }
  collector_.set_passed_stops(options.passed_stops);
  collector_.set_region_filter(options.region_filter);
}

void AgentSink::look() {
  const std::string proc = "/proc/" + std::to_string(pid_);
  const std::vector<pid_t> tids = thread_ids(pid_);
  auto maps = read_small_file(proc + "/maps");
  // After the first thread has ended, its maps file is empty; those of other threads are not.
  for (auto tid = tids.rbegin(); tid != tids.rend() && (!maps || maps->empty()); ++tid)
    maps = read_small_file(proc + "/task/" + std::to_string(*tid) + "/maps");
  // The check comes after the read: if the process has not executed another program by now, the
  // text belongs to the sampled program.
  if (!maps || maps->empty() || !may_look_())
    return;
  if (*maps != maps_) {
    for (const CodeRange &range : parse_maps(*maps))
      collector_.map(range);
    maps_ = std::move(*maps);
  }
  for (const pid_t tid : tids)
    if (std::string name = thread_name(pid_, tid);
        !name.empty() && name != collector_.thread_name(tid) && may_look_()) {
      collector_.name_thread(tid, name);
      if (waits_ && name == "tally-ticker")
        waits_->ticker = tid;
    }
}

bool AgentSink::is_code(uint64_t pc) {
  if (collector_.space().find(pc) != AddressSpace::nowhere)
    return true;
  if (looked_in_round_)
    return false;
  looked_in_round_ = true;
  look();
  return collector_.space().find(pc) != AddressSpace::nowhere;
}

bool AgentSink::chain_of(const AgentRecord &record) {
  chain_.clear();
  if (record.kind == TALLY_RECORD_CHAIN) {
    const uint64_t pc = record.words[0];
    is_code(pc);
    chain_.leaf(pc);
    for (const uint64_t address :
         record.words.subspan(1, std::min(record.words.size(), size_t{TALLY_WIRE_FRAMES}) - 1))
      if (!chain_.caller(address))
        break;
    return true;
  }
  if (record.words.size() < TALLY_WIRE_REGISTERS || !unwinds_)
    return false;
  Registers registers;
  registers.processor = Processor::x86_64; // the only one on which the agent copies stacks
  std::copy_n(record.words.begin(), TALLY_WIRE_REGISTERS, registers.value.begin());
  is_code(registers.pc());
  const auto stack = std::as_bytes(record.words.subspan(TALLY_WIRE_REGISTERS));
  const StackEnd end = chain_.unwind(registers, stack, TALLY_WIRE_STACK_BYTES, record.tid);
  truncated_stacks_ += is_truncated(end);
  joined_stacks_ += end == StackEnd::joined;
  return true;
}

bool AgentSink::is_agents(uint64_t pc) {
  const uint32_t range = collector_.space().find(pc);
  return range != AddressSpace::nowhere &&
         base_name(collector_.space().ranges()[range].path) == agent_library_name;
}

// Returns the chain without the agent's function in which each thread of the program begins.
std::span<const uint64_t> AgentSink::programs_own(std::span<const uint64_t> pcs) {
  if (std::ranges::none_of(pcs, [this](uint64_t pc) { return is_agents(pc); }))
    return pcs;
  programs_.clear();
  std::ranges::copy_if(pcs, std::back_inserter(programs_),
                       [this](uint64_t pc) { return !is_agents(pc); });
  return programs_.empty() ? pcs : programs_; // a new thread may be in the agent only
}

bool AgentSink::handle(const AgentRecord &record) {
  const size_t pc_at = record.kind == TALLY_RECORD_COPY ? TALLY_WIRE_REGISTERS - 1 : 0;
  const uint64_t pc = pc_at < record.words.size() ? record.words[pc_at] : 0;
  if (!collector_.counts(record.tid, record.at_ns, StackCollector::TickOrigin::delayed, pc)) {
    outside_ += record.weight;
    return true;
  }
  if (!chain_of(record))
    return false;
  const bool is_new = !collector_.knows_thread(record.tid);
  if (is_new && collector_.thread_count() >= most_threads) {
    lost_ += record.weight;
    return true;
  }
  if (is_new)
    collector_.name_thread(record.tid, may_look_() ? thread_name(pid_, record.tid) : "");
  ticks_ += record.weight;
  collector_.add(record.tid, programs_own(chain_.pcs()), record.weight * tick_, record.at_ns);
  return true;
}

void AgentSink::count_waits(bool held) {
  if (!waits_ || pid_ == 0)
    return;
  const auto unwind = [this](pid_t tid, const WaitLook::Seen &seen) {
    Registers registers;
    registers.value[register_numbers(registers.processor).sp] = seen.sp;
    registers.value[register_numbers(registers.processor).pc] = seen.pc;
    registers.only_sp_and_pc = true;
    is_code(seen.pc);
    chain_.clear();
    if (unwinds_)
      chain_.unwind(registers, seen.stack, WaitLook::stack_bytes, tid);
    else
      chain_.leaf(seen.pc);
    return std::vector<uint64_t>(chain_.pcs().begin(), chain_.pcs().end());
  };
  std::vector<pid_t> tids = thread_ids(pid_);
  std::erase(tids, waits_->ticker);
  waits_->polls.poll(tids, held, unwind, [this](const WaitPolls::Spent &spent) {
    if (!may_look_()) // the program is another one
      return;
    RegionFilter *const region = collector_.region_filter();
    if (region && !region->holds(spent.tid, spent.at_ns))
      return;
    const std::array<uint64_t, 1> unseen{spent.wait_ns != 0 ? long_wait_mark : queued_mark};
    const std::span<const uint64_t> stack =
        spent.stack.empty() ? unseen : programs_own(spent.stack);
    waits_->wait_ns += spent.wait_ns;
    waits_->queued_ns += spent.queued_ns;
    if (spent.wait_ns != 0)
      collector_.add(spent.tid, stack, static_cast<int64_t>(spent.wait_ns),
                     spent.at_ns - spent.queued_ns, WaitSink::wait);
    if (spent.queued_ns != 0)
      collector_.add(spent.tid, stack, static_cast<int64_t>(spent.queued_ns), spent.at_ns,
                     WaitSink::queued);
  });
}

void AgentSink::clear() {
  ticks_ = outside_ = lost_ = truncated_stacks_ = joined_stacks_ = 0;
  forget_time();
  if (waits_)
    waits_->wait_ns = waits_->queued_ns = 0;
  collector_.clear();
}

} // namespace tally
