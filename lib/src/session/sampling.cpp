#include "session/sampling.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/value_text.h"
#include "support/clock.h"
#include "support/text.h"

namespace tally {

void Sampling::adopt(std::unique_ptr<Sampler> started, const StartOptions &options) {
  const bool same = target_.pid == pid_ && options == options_ && profiles_.kept();
  if (!same) {
    profiles_.begin_run();
    names_.begin_run();
    ended_ = {};
    time_.clear();
  }
  profiles_.drop_named();
  sampler_ = std::move(started);
  pid_ = target_.pid;
  command_ = target_.command;
  options_ = options;
  if (options_.region) {
    if (!same)
      options_.region->clear();
    sampler_->set_region_filter(options_.region->region_filter());
  }
  ended_agent_ = {};
  time_.set_stopped();
}

void Sampling::note_resume() {
  if (!sampler_ || time_.is_running())
    return;
  time_.resume();
  sampler_->resumed(time_.changed_at_ns(), time_.ran_ns());
  profiles_.process_resumed();
  if (interrupts())
    clock_.resumed();
}

void Sampling::end_part(std::string_view trigger) {
  if (!time_.is_running())
    return;
  const uint64_t begin = time_.ran_ns();
  time_.stop();
  if (interrupts())
    clock_.stopped();
  if (sampler_)
    sampler_->end_part(trigger, begin, time_.ran_ns());
}

Result<Reply> Sampling::end(std::string_view trigger, bool announce) {
  if (!sampler_)
    return Reply{};
  end_part(trigger);
  if (options_.region)
    options_.region->end_open(time_.event_time(), time_.ran_ns());
  time_.close();
  sampler_->stop();
  ended_ = sums();
  ended_.threads = ended_.parts = 0; // the profile holds them once it is kept
  auto raw = snapshot(trigger, time_.ran_ns(), time_.ran_ns());
  if (options_.region)
    options_.region->forget_passes();
  ended_agent_ = agent_facts();
  tick_asks_.clear();
  sampler_.reset();
  if (!raw)
    return fail(std::move(raw.error()));
  profiles_.freeze(std::move(*raw));
  // The names are looked up now, because the next build replaces the files.
  return with_names(
      [announce, ended = fmt::format("Sampling of process {} ended: {}", pid_, trigger)](
          const StackProfile &profile) -> Result<Reply> {
        if (!announce)
          return Reply{};
        return Reply{fmt::format("{}; {} {} kept.\n", ended, totals_text(profile),
                                 profile.totals() == std::vector<int64_t>{1} ? "is" : "are"),
                     {}};
      });
}

void Sampling::abandon() {
  sampler_->stop();
  sampler_.reset();
  time_.abandon();
}

void Sampling::set_region(std::shared_ptr<Region> region) {
  options_.region = std::move(region);
  if (sampler_)
    sampler_->set_region_filter(options_.region->region_filter());
  forget();
}

void Sampling::forget() {
  profiles_.clear();
  ended_ = {};
  time_.clear();
  if (options_.region)
    options_.region->clear();
  if (!sampler_)
    return;
  sampler_->clear();
  sampler_->resumed(time_.changed_at_ns(), 0);
}

SamplerStatus Sampling::sums() {
  if (!sampler_)
    return ended_;
  SamplerStatus all = sampler_->status();
  for (const auto counter :
       {&SamplerStatus::samples, &SamplerStatus::outside, &SamplerStatus::rounds,
        &SamplerStatus::kernel_samples, &SamplerStatus::lost, &SamplerStatus::queued,
        &SamplerStatus::unheld, &SamplerStatus::throttled, &SamplerStatus::truncated_stacks,
        &SamplerStatus::cpu_ns, &SamplerStatus::unsampled_ns, &SamplerStatus::waits,
        &SamplerStatus::wait_ns, &SamplerStatus::ready_ns})
    all.*counter += ended_.*counter;
  all.counted.resize(std::max(all.counted.size(), ended_.counted.size()), 0);
  for (size_t i = 0; i < ended_.counted.size(); ++i)
    all.counted[i] += ended_.counted[i];
  return all;
}

AgentFacts Sampling::agent_facts() const {
  AgentSampler *const now = agent();
  return now ? now->facts() : ended_agent_;
}

// --- names

Result<StackProfile> Sampling::snapshot(std::string_view trigger, uint64_t begin_ns,
                                        uint64_t end_ns) {
  TALLY_TRY(profile, sampler_->snapshot(trigger, begin_ns, end_ns));
  if (options_.region)
    options_.region->add_passes(profile, end_ns);
  return profile;
}

Result<Reply> Sampling::with_names(Then then) {
  if (!sampler_)
    profiles_.name_from_kept();
  if (time_.is_running())
    profiles_.drop_named();
  if (profiles_.named())
    return then(*profiles_.named());
  const ProfilePtr &frozen = profiles_.frozen();
  // The frozen profile is copied, because the look-up may be cancelled.
  TALLY_TRY(raw, frozen ? Result<StackProfile>(*frozen)
                        : snapshot("running", time_.ran_ns(), time_.ran_ns(now_ns())));
  const auto can_ask = [this] { return sampler_ && !time_.is_running() && target_.pid != 0; };
  return names_.begin(std::move(raw), can_ask,
                      [this, then = std::move(then)](StackProfile profile) -> Result<Reply> {
                        if (!command_.empty())
                          profile.command = profile.strings.intern(command_);
                        TALLY_CHECK(profiles_.take_named(std::move(profile)));
                        return then(*profiles_.named());
                      });
}

Result<void> Sampling::name_frozen() {
  if (!profiles_.frozen())
    return {};
  auto reply = with_names([](const StackProfile &) { return Result<Reply>(Reply{}); });
  auto finished = reply ? finish_requests(std::move(*reply)) : fail(reply.error());
  if (!finished)
    profiles_.drop_frozen(); // a later attempt would fail in the same way
  return finished;
}

Result<void> Sampling::finish_requests(Reply reply) {
  const std::vector<std::string> no_answers;
  bool unanswered = false;
  while (reply.request.kind != RequestKind::none) {
    unanswered |= reply.request.kind == RequestKind::symbols;
    names_.skip_fetching();
    TALLY_TRY(next, answer(no_answers));
    reply = std::move(next);
  }
  if (unanswered)
    profiles_.drop_named(); // so that the next command, which can ask the debugger, does so
  return {};
}

Result<Reply> Sampling::answer(std::span<const std::string> answers) {
  if (!tick_asks_.empty()) {
    for (size_t i = 0; i < tick_asks_.size(); ++i)
      names_.remember(tick_asks_[i], i < answers.size() ? answers[i] : std::string());
    tick_asks_.clear();
    clock_.done();
    return Reply{};
  }
  if (!names_.is_active())
    return fail(ErrorCode::bad_state, "nothing was requested");
  return names_.answer(answers);
}

void Sampling::give_up() {
  names_.cancel();
  if (std::exchange(tick_asks_, {}).empty())
    return;
  clock_.done();
}

Result<Reply> Sampling::tick(std::span<const ThreadStack> stacks) {
  InterruptSampler *const counts = interrupts();
  if (!counts)
    return Reply{};
  for (const ThreadStack &stack : stacks)
    counts->add(stack);
  if (options_.remote)
    for (const ThreadStack &stack : stacks)
      for (const uint64_t pc : stack.pcs)
        if (!names_.knows(pc) && std::ranges::find(tick_asks_, pc) == tick_asks_.end())
          tick_asks_.push_back(pc);
  Reply reply;
  if (tick_asks_.empty()) {
    clock_.done();
    return reply;
  }
  reply.request.kind = RequestKind::symbols; // answer() ends the round
  reply.request.addresses = tick_asks_;
  return reply;
}

} // namespace tally
