// Follows the process from start to end, and the profile with it.
#include <tally/session.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "session/state.h"
#include "session/stop_code.h"
#include "support/clock.h"
#include "support/path.h"
#include "support/text.h"

namespace tally {

namespace {

constexpr std::chrono::milliseconds slice{100};
// A debugger answers about this many in a few seconds; nobody waits for more.
constexpr size_t most_asked_addresses = 2000;

std::string trigger_of(const DebugEvent &event) {
  std::string place(base_name(event.file));
  if (!place.empty() && event.line > 0)
    place += fmt::format(":{}", event.line);
  const auto at = [&](std::string text) {
    return place.empty() ? text : fmt::format("{}, {}", text, place);
  };
  switch (event.kind) {
  case EventKind::breakpoint:
    return at(fmt::format("breakpoint {}", event.number));
  case EventKind::watchpoint:
    return at(fmt::format("watchpoint {}", event.number));
  case EventKind::catchpoint:
    return event.text.empty() ? fmt::format("catchpoint {}", event.number)
                              : fmt::format("catchpoint {} ({})", event.number, event.text);
  case EventKind::signal:
    return event.text;
  case EventKind::step:
    return at(event.text.empty() ? "step" : event.text);
  case EventKind::exited:
    return fmt::format("exited, status {}", event.number);
  case EventKind::signalled:
    return fmt::format("ended by {}", event.text);
  case EventKind::killed:
    return "killed";
  case EventKind::detached:
    return "detached";
  case EventKind::other:
  case EventKind::target:
  case EventKind::resumed:
    break;
  }
  return at(event.text.empty() ? "stopped" : event.text);
}

} // namespace

Session::State::State() {
  for (const OptionSpec &setting : profile_settings())
    settings.emplace(setting.name, setting.fallback);
}

// --- following the process

// Names the samples that a cancelled lookup left in `frozen`, which is needed for the next ones.
Result<void> Session::State::name_frozen() {
  if (!frozen)
    return {};
  auto reply = with_names([](const StackProfile &) { return Result<Reply>(Reply{}); });
  auto finished = reply ? finish_requests(std::move(*reply)) : fail(reply.error());
  if (!finished)
    frozen.reset(); // a later attempt would fail in the same way
  return finished;
}

void Session::State::adopt(std::unique_ptr<Sampler> started) {
  const bool same = target.pid == sampled_pid && options == sampled_options && kept;
  if (!same) {
    if (kept)
      previous = std::exchange(kept, nullptr);
    done = {};
    running_ns = stopped_ns = 0;
    symbolizer = make_symbolizer();
    diagnostics.clear();
    told.clear();
  }
  named.reset();
  sampler = std::move(started);
  sampled_pid = target.pid;
  sampled_command = target.command;
  sampled_options = options;
  if (options.region) {
    if (!same)
      options.region->clear();
    sampler->set_gate(options.region->gate());
  }
  running = false;
  given_up_pid = 0;
  agent_facts = {};
  changed_at_ns = now_ns();
}

uint64_t Session::State::event_time() const {
  const uint64_t now = now_ns();
  return event_ns == 0 ? now : std::clamp(event_ns, std::min(changed_at_ns, now), now);
}

void Session::State::note_resume() {
  if (!sampler || running)
    return;
  const uint64_t now = event_time();
  stopped_ns += now - changed_at_ns;
  changed_at_ns = now;
  running = true;
  named.reset();
  loaded.reset();
  if (interrupts)
    clock.resumed();
}

void Session::State::note_stop() {
  if (!running)
    return;
  const uint64_t now = event_time();
  running_ns += now - changed_at_ns;
  changed_at_ns = now;
  running = false;
  if (interrupts)
    clock.stopped();
}

void Session::State::end_part(std::string_view trigger) {
  const uint64_t begin = running_ns;
  const bool was_running = running;
  note_stop();
  if (sampler && was_running)
    sampler->end_part(trigger, begin, running_ns);
}

Result<Reply> Session::State::end_sampling(std::string_view trigger, bool tell) {
  if (!sampler)
    return Reply{};
  end_part(trigger);
  if (sampled_options.region)
    sampled_options.region->end_open(event_time());
  stopped_ns += event_time() - changed_at_ns;
  sampler->stop();
  done = sums();
  done.threads = done.parts = 0; // counted in `frozen` and `kept` from now on
  auto raw = sampler->snapshot(trigger, running_ns, running_ns);
  if (agent)
    agent_facts = agent->facts();
  agent = nullptr;
  interrupts = nullptr;
  naming.clear();
  sampler.reset();
  if (!raw)
    return fail(std::move(raw.error()));
  frozen = std::make_shared<const StackProfile>(std::move(*raw));
  named.reset(); // finish_names() must make `kept` from `frozen`
  // Look names up now, while the files are those that ran: the next build replaces them.
  return with_names([tell, ended = fmt::format("Sampling of process {} ended: {}", sampled_pid,
                                               trigger)](const StackProfile &profile) {
    Reply reply;
    const int64_t ticks = profile.totals().front();
    if (tell)
      reply.text =
          fmt::format("{}; {} {} kept.\n", ended, counted(static_cast<uint64_t>(ticks), "ticks"),
                      ticks == 1 ? "is" : "are");
    return Result<Reply>(std::move(reply));
  });
}

Result<Reply> Session::State::event(const DebugEvent &event) {
  if (event.kind == EventKind::target && sampler && event.pid != sampled_pid) {
    // The front end did not notice how the process ended.
    target = event;
    Result<Reply> ended = end_sampling("gone", true);
    end_requests(true);
    return ended;
  }
  if (event.kind == EventKind::resumed && sampler && event.pid != sampled_pid) {
    TALLY_TRY(ended, end_sampling("gone"));
    TALLY_CHECK(finish_requests(std::move(ended))); // before the new run begins
  }
  target = event;
  switch (event.kind) {
  case EventKind::target:
    if (event.pid == 0 && !sampler)
      end_requests(true);
    return Reply{};
  case EventKind::resumed: {
    Reply news;
    if (!sampler && armed && event.pid != 0 && event.pid != given_up_pid) {
      auto begun = begin_armed();
      if (!begun) {
        armed = false;
        end_requests(false);
        Error error = std::move(begun.error());
        error.context.push_back("starting to sample; `profile start` tries again");
        return fail(std::move(error));
      }
      news = std::move(*begun);
    }
    note_resume();
    return news;
  }
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached: {
    const bool detached = event.kind == EventKind::detached;
    armed = armed && !(detached && sampler);
    if (agent) {
      const AgentFacts facts = agent->facts();
      if (facts.clock.empty()) // the agent never worked
        said +=
            fmt::format("Nothing was sampled: {}.\n",
                        facts.reason.empty() ? "the program did not load the agent" : facts.reason);
      else if (facts.phase == AgentPhase::ended && !facts.exited)
        said += fmt::format("Sampling ended before the process did: {}.\n", facts.reason);
    }
    Result<Reply> ended = end_sampling(trigger_of(event), detached);
    end_requests(true);
    return ended;
  }
  case EventKind::breakpoint:
  case EventKind::watchpoint:
  case EventKind::catchpoint:
  case EventKind::signal:
  case EventKind::step:
  case EventKind::other:
    end_part(trigger_of(event));
    return follow_sampler();
  }
  return Reply{};
}

SamplerStatus Session::State::sums() {
  if (!sampler)
    return done;
  SamplerStatus all = sampler->status();
  for (const auto counter :
       {&SamplerStatus::samples, &SamplerStatus::outside, &SamplerStatus::rounds,
        &SamplerStatus::kernel_samples, &SamplerStatus::lost, &SamplerStatus::queued,
        &SamplerStatus::unheld, &SamplerStatus::throttled, &SamplerStatus::cut_stacks,
        &SamplerStatus::cpu_ns, &SamplerStatus::unsampled_ns})
    all.*counter += done.*counter;
  return all;
}

// --- looking names up, one time slice after another

Result<Reply> Session::State::with_names(Then what) {
  if (!named && !frozen && !sampler)
    named = kept;
  if (running)
    named.reset();
  if (named)
    return what(*named);
  if (!frozen && !sampler)
    return fail(ErrorCode::no_data,
                armed ? "nothing was collected yet: since `profile start` no process has run"
                      : "nothing was collected yet: `profile start`, then run the program");
  if (!symbolizer)
    symbolizer = make_symbolizer();
  const uint64_t until = running_ns + (running ? now_ns() - changed_at_ns : 0);
  TALLY_TRY(raw, frozen ? Result<StackProfile>(*frozen) // a copy, since cancel() drops the job
                        : sampler->snapshot("running", running_ns, until));
  job = std::make_unique<Symbolization>(std::move(raw), *symbolizer, diagnostics);
  asked_debugger = false;
  then = std::move(what);
  return pump();
}

Result<Reply> Session::State::pump() {
  if (!job->step(slice)) {
    Reply reply;
    reply.request = {RequestKind::progress,
                     fmt::format("looking up names: {} of {} addresses", job->done(), job->total()),
                     {}};
    return reply;
  }
  // Use the debugger's answers of earlier stops; it has none once the process is gone.
  if (!asked_debugger && !told.empty())
    for (const uint64_t address : job->unnamed())
      if (const auto at = told.find(address); at != told.end())
        use_answer(address, at->second);
  const bool can_ask = sampler && !running && target.pid != 0;
  if (!asked_debugger && can_ask) {
    asked_debugger = true;
    std::vector<uint64_t> unnamed = job->unnamed();
    unnamed.resize(std::min(unnamed.size(), most_asked_addresses));
    if (!unnamed.empty()) {
      Reply reply;
      reply.request = {RequestKind::symbols, {}, std::move(unnamed)};
      return reply;
    }
  }
  return finish_names();
}

Result<Reply> Session::State::finish_names() {
  auto profile = job->finish();
  job.reset();
  symbolizer->save_cache();
  const Then next = std::exchange(then, nullptr);
  if (!profile)
    return fail(std::move(profile.error()));
  if (!sampled_command.empty())
    profile->command = profile->strings.intern(sampled_command);
  if (kept) {
    StackProfileBuilder all(*kept);
    TALLY_CHECK(append(all, *profile));
    TALLY_TRY(sum, all.finish());
    named = std::make_shared<const StackProfile>(std::move(sum));
  } else {
    named = std::make_shared<const StackProfile>(std::move(*profile));
  }
  if (frozen) {
    kept = named;
    frozen.reset();
  }
  return next(*named);
}

Result<Reply> Session::State::answer(std::span<const std::string> answers) {
  if (!naming.empty()) {
    for (size_t i = 0; i < naming.size(); ++i)
      told.insert_or_assign(naming[i], i < answers.size() ? answers[i] : std::string());
    naming.clear();
    clock.done();
    return Reply{};
  }
  if (!job)
    return fail(ErrorCode::bad_state, "nothing was requested");
  if (asked_debugger) {
    const std::vector<uint64_t> asked = job->unnamed();
    for (size_t i = 0; i < std::min(asked.size(), answers.size()); ++i) {
      told.insert_or_assign(asked[i], answers[i]);
      use_answer(asked[i], answers[i]);
    }
  }
  return pump();
}

void Session::State::use_answer(uint64_t address, std::string_view answer) {
  const auto take = [](std::string_view &rest, char end) {
    const size_t at = std::min(rest.find(end), rest.size());
    const std::string_view taken = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return taken;
  };
  std::vector<Symbolization::Named> frames;
  while (!answer.empty()) {
    std::string_view line = take(answer, '\n');
    Symbolization::Named frame;
    frame.function = take(line, '\t');
    frame.file = take(line, '\t');
    std::from_chars(line.data(), line.data() + line.size(), frame.line);
    if (!frame.function.empty())
      frames.push_back(frame);
  }
  if (!frames.empty())
    job->set_names(address, frames);
}

Result<void> Session::State::finish_requests(Reply reply) {
  const std::vector<std::string> no_answers;
  bool unanswered = false;
  while (reply.request.kind != RequestKind::none) {
    unanswered |= reply.request.kind == RequestKind::symbols;
    TALLY_TRY(next, answer(no_answers));
    reply = std::move(next);
  }
  if (unanswered)
    named.reset(); // the next command may ask the debugger for the missing names
  return {};
}

// Abandons the pending command, because a new one came instead of an answer.
void Session::State::give_up() {
  job.reset();
  doing.reset();
  naming.clear();
  said.clear();
  failed.reset();
}

Result<Reply> Session::State::cancel() {
  job.reset();
  then = nullptr;
  return fail(ErrorCode::cancelled, "interrupted; what was collected is kept");
}

Result<void> Session::State::set(std::string_view name, std::string_view value) {
  TALLY_TRY(setting, setting_by_name(name));
  TALLY_CHECK(check_value(*setting, value, name));
  settings.find(name)->second = value;
  return {};
}

Result<Reply> Session::State::settle(Result<Reply> reply) {
  if (reply) {
    said += reply->text;
    reply->text.clear();
    if (reply->request.kind != RequestKind::none)
      return reply;
  } else if (!failed) {
    failed = std::move(reply.error());
  }
  if (todo.empty() && region_asked && !armed && !sampler) {
    region_asked = false;
    if (options.region)
      options.region->close();
    options.region.reset();
    ask(RequestKind::region_end);
  }
  if (!todo.empty()) {
    doing = std::move(todo.front());
    todo.pop_front();
    return Reply{{}, doing->request};
  }
  std::string text = std::exchange(said, {});
  if (auto error = std::exchange(failed, std::nullopt))
    return fail(std::move(*error));
  return Reply{std::move(text), {}};
}

// --- the public interface

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

Result<Reply> Session::command(std::string_view line) {
  TALLY_TRY(parsed, parse_command(line));
  state_->give_up();
  return state_->settle(state_->run(parsed));
}

Result<Reply> Session::event(const DebugEvent &event) {
  state_->event_ns = event.at_ns;
  const std::unique_ptr<uint64_t, void (*)(uint64_t *)> now_again(
      &state_->event_ns, [](uint64_t *at) { *at = 0; }); // also when an exception is thrown
  return state_->settle(state_->event(event));
}

Result<Reply> Session::answer(std::span<const std::string> answers) {
  if (!state_->doing)
    return state_->settle(state_->answer(answers));
  const Action action = std::move(*state_->doing);
  state_->doing.reset();
  const std::string answer = answers.empty() ? "the debugger cannot do this" : answers[0];
  return state_->settle(action.then ? action.then(answer) : Reply{});
}

uint64_t Session::tick_wait_ns() { return state_->clock.wait_ns(); }
size_t Session::tick_interrupt() { return state_->clock.interrupt(); }
InterruptClock::Stop Session::tick_take(int32_t tid) { return state_->clock.take(tid); }
void Session::tick_withdraw() { state_->clock.withdraw(); }
Result<Reply> Session::tick(std::span<const ThreadStack> stacks) { return state_->tick(stacks); }

uint64_t Session::region_hit(const RegionHit &hit) { return state_->region_hit(hit); }

void Session::set_passed_stops(std::span<const StopPlace> places, bool steps_by_copy) {
  const pid_t pid = state_->target.target == TargetKind::native ? state_->target.pid : 0;
  StopPlaces now;
  if (pid != 0 && steps_by_copy && !places.empty())
    note_step_area(now, pid);
  add_stops(now, pid, places);
  state_->passed_stops->replace(now);
}

Result<Reply> Session::cancel() { return state_->cancel(); }

std::vector<std::string> Session::complete(std::string_view line) const {
  return complete_words(line, [&](std::string_view kind) { return state_->words_of(kind); });
}

std::string Session::symbol_to_complete(std::string_view line) const {
  const auto symbol = tally::symbol_to_complete(line);
  return symbol && !symbol->empty() && complete(line).empty() ? *symbol : std::string();
}

std::vector<std::string> Session::complete(std::string_view line,
                                           std::span<const std::string> functions,
                                           std::span<const std::string> files) const {
  return complete_words(line, [&](std::string_view kind) -> std::vector<std::string> {
    if (kind == "FUNCTION")
      return {functions.begin(), functions.end()};
    if (kind == "FILE")
      return {files.begin(), files.end()};
    return {};
  });
}

int32_t Session::sampled_pid() const { return state_->sampler ? state_->sampled_pid : 0; }

bool Session::is_armed() const { return state_->armed; }

std::string_view Session::setting(std::string_view name) const {
  const auto at = state_->settings.find(name);
  return at == state_->settings.end() ? std::string_view() : std::string_view(at->second);
}

Result<void> Session::set(std::string_view name, std::string_view value) {
  return state_->set(name, value);
}

void Session::set_width(uint32_t columns) { state_->width = columns; }

void Session::set_disassembly_flavor(std::string_view name) {
  state_->flavor = name == "intel" ? DisassemblyFlavor::intel : DisassemblyFlavor::att;
}

Result<void> Session::set_style(std::string_view role, std::string_view sgr) {
  return state_->style.set(role, sgr);
}

StatusRows Session::status() const {
  StatusRows out;
  for (StatusRow &row : state_->status_rows())
    out.emplace_back(std::move(row.name), std::move(row.text));
  return out;
}

Result<FlatTable> Session::table(By by, SortBy sort) {
  if (const auto &loaded = state_->loaded)
    return std::visit([&](const auto &each) { return flat_table(each, by, sort); },
                      loaded->read.profile);
  std::optional<Result<FlatTable>> table;
  const auto then = [&](const StackProfile &profile) {
    table = flat_table(profile, by, sort);
    return Result<Reply>(Reply{});
  };
  TALLY_TRY(reply, state_->with_names(then));
  TALLY_CHECK(state_->finish_requests(std::move(reply)));
  return std::move(*table);
}

} // namespace tally
