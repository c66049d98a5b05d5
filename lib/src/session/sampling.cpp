#include "session/sampling.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/value_text.h"
#include "session/sampling_remarks.h"
#include "support/clock.h"
#include "support/text.h"
#include "transform/append.h"

namespace tally {

namespace {

void add_counts(SamplerStatus &to, const SamplerStatus &more) {
  for (const auto counter :
       {&SamplerStatus::samples, &SamplerStatus::outside, &SamplerStatus::rounds,
        &SamplerStatus::periods, &SamplerStatus::kernel_samples, &SamplerStatus::lost,
        &SamplerStatus::queued, &SamplerStatus::unheld, &SamplerStatus::throttled,
        &SamplerStatus::truncated_stacks, &SamplerStatus::short_dumps,
        &SamplerStatus::joined_stacks, &SamplerStatus::cpu_ns, &SamplerStatus::unsampled_ns,
        &SamplerStatus::missed_ns, &SamplerStatus::waits, &SamplerStatus::wait_ns,
        &SamplerStatus::queued_ns, &SamplerStatus::divided_ns})
    to.*counter += more.*counter;
  if (to.problem.empty())
    to.problem = more.problem;
  to.counted.resize(std::max(to.counted.size(), more.counted.size()), 0);
  for (size_t i = 0; i < more.counted.size(); ++i)
    to.counted[i] += more.counted[i];
}

// Returns the name of a part of a process beside the first. That of the first process only is not
// named in the table of parts.
std::string part_end(int32_t pid, std::string_view trigger) {
  return fmt::format("process {}: {}", pid, trigger);
}

} // namespace

void Sampling::adopt(std::unique_ptr<Sampler> started, const StartOptions &options,
                     uint64_t missed_ns) {
  const bool same =
      target_.pid == first_.pid && !first_.is_gone && options == options_ && profiles_.kept();
  if (!same) {
    profiles_.begin_run();
    names_.begin_run();
    ended_ = {};
    time_.clear();
  } else if (options.remote) {
    names_.begin_run(); // another program may have been written to the target's memory
  }
  ended_.missed_ns += missed_ns;
  profiles_.drop_named();
  first_ = {target_.pid, target_.command, std::move(started)};
  options_ = options;
  if (options_.region && !same)
    options_.region->clear();
  ended_agent_ = {};
  time_.set_stopped();
  set_limit();
}

void Sampling::set_limit() {
  const uint64_t limit_ns = options_.limit_ns == 0 ? no_limit : options_.limit_ns;
  limit_at_ns_ = limit_ns + std::min(time_.ran_ns(), no_limit - limit_ns);
}

bool Sampling::any_runs() const {
  return first_.is_running || std::ranges::any_of(others_, &SampledProcess::is_running);
}

std::vector<pid_t> Sampling::running_pids() const {
  std::vector<pid_t> out;
  if (first_.is_running)
    out.push_back(first_.pid);
  for (const SampledProcess &process : others_)
    if (process.is_running)
      out.push_back(process.pid);
  return out;
}

void Sampling::resume(SampledProcess &process) {
  if (!process.sampler || process.is_running)
    return;
  const uint64_t now = time_.event_time();
  if (!time_.is_running())
    time_.resume();
  process.is_running = true;
  process.began_ns = time_.ran_ns(std::max(now, time_.changed_at_ns()));
  process.sampler->resumed({std::max(now, time_.changed_at_ns()), process.began_ns, time_.held()});
  profiles_.process_resumed();
  if (interrupts())
    clock_.resumed();
}

void Sampling::end_part(SampledProcess &process, std::string_view trigger) {
  if (!process.is_running)
    return;
  process.is_running = false;
  profiles_.drop_named(); // what was named while it ran
  uint64_t end = time_.ran_ns(time_.event_time());
  if (!any_runs()) {
    time_.stop();
    end = time_.ran_ns();
  }
  if (interrupts())
    clock_.stopped();
  if (process.sampler)
    process.sampler->end_part(trigger, process.began_ns, end);
}

Result<void> Sampling::finish(SampledProcess &process, std::string_view trigger) {
  end_part(process, trigger);
  if (options_.region)
    options_.region->end_open(time_.event_time(), time_.ran_ns());
  if (!any_runs())
    time_.close();
  process.sampler->stop();
  SamplerStatus status = process.sampler->status();
  needs_deep_dumps_ |= has_short_dumps(status);
  status.threads = status.parts = 0; // the profile holds them once it is kept
  add_counts(status, ended_);
  ended_ = std::move(status);
  auto raw = snapshot(process, trigger, time_.ran_ns(), time_.ran_ns());
  if (options_.region)
    options_.region->forget_passes();
  if (&process == &first_)
    ended_agent_ = agent_facts();
  process.sampler.reset();
  if (!raw)
    return fail(std::move(raw.error()));
  profiles_.freeze(process.pid, std::move(*raw));
  return {};
}

Result<std::string> Sampling::keep_ended(int32_t pid, std::string_view trigger) {
  // The names are looked up now, because the next build replaces the files.
  TALLY_CHECK(keep_frozen(NameLookup::Asks::progress));
  if (pid == 0 || !profiles_.kept())
    return "";
  const StackProfile &kept = *profiles_.kept();
  return fmt::format("Sampling of process {} ended: {}; {} {} kept.\n", pid, trigger,
                     totals_text(kept), kept.totals() == std::vector<int64_t>{1} ? "is" : "are");
}

void Sampling::begin_with_other() {
  if (others_.empty())
    return;
  first_ = std::move(others_.front());
  others_.erase(others_.begin());
}

Result<void> Sampling::finish_first(std::string_view trigger) {
  Result<void> finished = finish(first_, trigger);
  begin_with_other();
  return finished;
}

Result<std::string> Sampling::end(std::string_view trigger, bool announce) {
  if (!first_.sampler)
    return "";
  const int32_t pid = first_.pid;
  TALLY_CHECK(finish_first(trigger));
  return keep_ended(announce ? pid : 0, trigger);
}

Result<std::string> Sampling::end_all(std::string_view trigger) {
  const bool ends = is_active();
  TALLY_CHECK(finish_all(trigger));
  return ends ? keep_ended(0, trigger) : "";
}

Result<void> Sampling::finish_all(std::string_view trigger) {
  while (!others_.empty())
    TALLY_CHECK(finish_other(others_.back().pid, trigger));
  return first_.sampler ? finish(first_, trigger) : Result<void>();
}

uint64_t Sampling::limit_left_ns() const {
  if (!is_active() || !any_runs() || limit_at_ns_ == no_limit || limit_at_ns_ == 0)
    return no_limit;
  return limit_at_ns_ - std::min(limit_at_ns_, time_.ran_ns(now_ns()));
}

void Sampling::abandon() {
  first_.sampler->stop();
  first_.sampler.reset();
  first_.is_running = false;
  time_.abandon();
}

// --- the other processes

std::vector<SampledProcess>::const_iterator Sampling::other(int32_t pid) const {
  return std::ranges::find(others_, pid, &SampledProcess::pid);
}

void Sampling::note_resume_of(int32_t pid) {
  for (SampledProcess &process : others_)
    if (process.pid == pid)
      resume(process);
}

void Sampling::end_part_of(int32_t pid, std::string_view trigger) {
  for (SampledProcess &process : others_)
    if (process.pid == pid)
      end_part(process, part_end(pid, trigger));
}

Result<void> Sampling::finish_other(int32_t pid, std::string_view trigger) {
  const auto at = other(pid);
  if (at == others_.end())
    return {};
  SampledProcess process = std::move(others_[static_cast<size_t>(at - others_.begin())]);
  others_.erase(at);
  return finish(process, part_end(pid, trigger));
}

Result<std::string> Sampling::end_other(int32_t pid, std::string_view trigger, bool announce) {
  if (!samples_other(pid))
    return "";
  TALLY_CHECK(finish_other(pid, trigger));
  return keep_ended(announce ? pid : 0, trigger);
}

void Sampling::set_region(std::shared_ptr<Region> region) {
  options_.region = std::move(region);
  if (first_.sampler)
    first_.sampler->set_region_filter(options_.region->region_filter());
  forget();
}

void Sampling::forget() {
  profiles_.clear();
  ended_ = {};
  time_.clear();
  set_limit();
  if (options_.region)
    options_.region->clear();
  const auto clear = [this](SampledProcess &process) {
    if (!process.sampler)
      return;
    process.sampler->clear();
    process.began_ns = 0;
    if (process.is_running)
      process.sampler->resumed({time_.changed_at_ns(), 0, time_.held()});
  };
  clear(first_);
  std::ranges::for_each(others_, clear);
}

SamplerStatus Sampling::sums() {
  if (!first_.sampler)
    return ended_;
  SamplerStatus all = first_.sampler->status();
  add_counts(all, ended_);
  for (const SampledProcess &process : others_) {
    const SamplerStatus more = process.sampler->status();
    add_counts(all, more);
    for (const auto counter : {&SamplerStatus::threads, &SamplerStatus::parts,
                               &SamplerStatus::rings, &SamplerStatus::events})
      all.*counter += more.*counter;
    all.memory_bytes += more.memory_bytes;
  }
  return all;
}

AgentFacts Sampling::agent_facts() const {
  AgentSampler *const now = agent();
  return now ? now->facts() : ended_agent_;
}

// --- names

Result<StackProfile> Sampling::snapshot(SampledProcess &process, std::string_view trigger,
                                        uint64_t begin_ns, uint64_t end_ns) {
  TALLY_TRY(profile, process.sampler->snapshot(trigger, begin_ns, end_ns));
  if (options_.region)
    options_.region->add_passes(profile, end_ns);
  if (!process.command.empty())
    profile.command = profile.strings.intern(process.command);
  return profile;
}

Result<void> Sampling::keep_frozen(NameLookup::Asks asks) {
  while (!profiles_.frozen().empty()) {
    // The frozen profile is copied, because the user may interrupt the look-up.
    const FrozenProfile &oldest = profiles_.frozen().front();
    TALLY_TRY(named, names_.look_up(StackProfile(*oldest.profile), oldest.pid, asks));
    TALLY_CHECK(profiles_.keep(std::move(named)));
  }
  return {};
}

Result<StackProfile> Sampling::live_profile() {
  std::optional<StackProfileBuilder> all; // if there are several
  for (size_t index = 0; index <= others_.size(); ++index) {
    SampledProcess &process = index == 0 ? first_ : others_[index - 1];
    const uint64_t now = time_.ran_ns(now_ns());
    TALLY_TRY(raw, snapshot(process, "running", process.is_running ? process.began_ns : now, now));
    const bool may_ask = index == 0 && !first_.is_running && target_.pid != 0;
    TALLY_TRY(named,
              names_.look_up(std::move(raw), process.pid,
                             may_ask ? NameLookup::Asks::names : NameLookup::Asks::progress));
    if (others_.empty())
      return named;
    if (all)
      TALLY_CHECK(append_same_axis(*all, named));
    else
      all.emplace(std::move(named));
  }
  return all->finish();
}

Result<ProfilePtr> Sampling::profile() {
  if (time_.is_running())
    profiles_.drop_named();
  if (profiles_.named())
    return profiles_.named();
  TALLY_CHECK(keep_frozen(NameLookup::Asks::progress));
  if (first_.sampler) {
    TALLY_TRY(named, live_profile());
    TALLY_CHECK(profiles_.take_named(std::move(named)));
  } else {
    profiles_.name_from_kept();
  }
  if (!profiles_.named())
    return fail(ErrorCode::no_data, "nothing is kept of what was collected");
  return profiles_.named();
}

Result<void> Sampling::name_frozen() {
  auto kept = keep_frozen(NameLookup::Asks::nothing);
  if (!kept)
    profiles_.drop_frozen(); // a later attempt would fail in the same way
  return kept;
}

Result<void> Sampling::tick(std::span<const ThreadStack> stacks) {
  InterruptSampler *const counts = interrupts();
  if (!counts)
    return {};
  for (const ThreadStack &stack : stacks)
    counts->add(stack);
  std::vector<uint64_t> unknown;
  if (options_.remote)
    for (const ThreadStack &stack : stacks)
      for (const uint64_t pc : stack.pcs)
        if (!names_.knows(first_.pid, pc) && std::ranges::find(unknown, pc) == unknown.end())
          unknown.push_back(pc);
  Result<void> asked;
  if (!unknown.empty())
    asked = names_.ask(first_.pid, unknown);
  clock_.done(); // the round takes as long as its look-up
  return asked;
}

} // namespace tally
