#include "inferior.h"

#include <tuple>
#include <utility>

#include "interpreter.h"
#include "passed_stops.h"
#include "performer.h"
#include "stop.h"

namespace tally_lldb {

namespace {

// Returns the event for a local process that has been seen to run. It takes the facts from /proc,
// because LLDB's objects take a lock that the client's thread may hold.
Event run_of(int pid) {
  Event event;
  event.kind = TALLY_EVENT_RESUMED;
  event.target = TALLY_TARGET_NATIVE;
  event.pid = pid;
  std::tie(event.program, event.command) = program_of(pid);
  return event;
}

constexpr int most_interrupts = 10; // a process that does not stop then does not react to them

// Performs what the session asks for at the end of the time of `profile start --for`.
class LimitPerformer : public LaterPerformer {
public:
  using LaterPerformer::LaterPerformer;
  Answer halt() override {
    halts = true;
    return Answer::done();
  }
  bool halts = false;
};

} // namespace

// If this debugger's launch has failed, another debugger in LLDB's process may launch the same
// program. The target's process id, which LLDB returns without a lock, shows which debugger's
// process it is while the process is still stopped.
bool Inferior::found(lldb::SBTarget target, int pid) {
  if (!wait_until(
          [&] { return target.GetProcess().GetProcessID() == static_cast<lldb::pid_t>(pid); }))
    return false;
  Event event = launch_;
  event.target = TALLY_TARGET_NATIVE;
  event.pid = pid;
  if (auto [program, command] = program_of(pid); !command.empty())
    event.command = std::move(command); // `run` may have words of its own
  event.at_ns = runs_since(pid);        // on a busy machine, LLDB may resume it before it is found
  reported_.is_unasked = false;
  return runs(event);
}

// Handles a process that a client of LLDB's API, not a command, has launched or resumed.
bool Inferior::found_unasked(int id, int pid, bool is_new) {
  lldb::SBDebugger debugger = lldb::SBDebugger::FindDebuggerWithID(id);
  if (!wait_until([&] { return process_of(debugger, pid).IsValid(); }))
    return false;
  reported_.is_unasked = true;
  Event event = run_of(pid);
  event.at_ns = is_new ? runs_since(pid) : 0;
  return runs(event);
}

bool Inferior::runs(const Event &event) {
  const int pid = event.pid;
  LaterPerformer performer(actions_);
  const int32_t before = session_.sampled_pid();
  if (before != 0 && before != pid && watch_.seen().died_ns == 0)
    return true;                    // another target's process is alive and stays the sampled one
  if (before != 0 && before != pid) // `run` has killed the previous process
    note(session_.event({.kind = TALLY_EVENT_KILLED, .at_ns = watch_.seen().died_ns}, performer));
  if (before == pid)
    return true;
  note(session_.event(event, performer));
  if (session_.sampled_pid() != pid)
    return true;
  reported_.stop = reported_.calls = 0;
  reported_.running = true;
  watch_.follow(pid);
  return true;
}

// Makes the watch report a launch or resume that no command causes, if sampling is armed.
void Inferior::watch_for_unasked(lldb::SBDebugger &debugger) {
  if (actions_.interrupter.is_on())
    return;
  if (const int32_t sampled = session_.sampled_pid(); sampled != 0)
    return watch_for_resume(sampled);
  if (!session_.is_armed())
    return;
  lldb::SBTarget target = debugger.GetSelectedTarget();
  lldb::SBProcess process = target.GetProcess();
  const int32_t kind = kind_of(process);
  session_.set_passed_stops(passed_stops(target));
  const bool is_new = kind == TALLY_TARGET_NONE;
  const auto found = [this, is_new, id = static_cast<int>(debugger.GetID())](int pid) {
    return found_unasked(id, pid, is_new);
  };
  if (is_new) {
    watch_.expect_any(found);
  } else if (kind == TALLY_TARGET_NATIVE && process.GetUniqueID() != detached_) {
    if (is_stopped(process))
      watch_.expect_run(static_cast<int>(process.GetProcessID()), found);
    else if (is_running(process) && session_.sampled_pid() == 0)
      runs(facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED));
  }
}

void Inferior::watch_for_resume(int sampled) {
  if (!reported_.running && watch_.follows(sampled))
    watch_.expect_run(sampled, [this](int pid) {
      const auto lock = reported_.lock();
      LaterPerformer performer(actions_);
      Event event = run_of(pid);
      event.at_ns = watch_.seen().left_ns;
      report_run(event, performer);
      return true;
    });
}

void Inferior::before_resume(lldb::SBDebugger &debugger) {
  watch_.forget();
  const auto lock = reported_.lock();
  lldb::SBProcess process = debugger.GetSelectedTarget().GetProcess();
  if (!process.IsValid() || !is_stopped(process) || reported_.running)
    return;
  const int32_t pid = static_cast<int32_t>(process.GetProcessID());
  const int32_t sampled = session_.sampled_pid();
  if ((sampled != 0 && sampled != pid) || process.GetUniqueID() == detached_)
    return;
  actions_.region.refresh(debugger);
  report(debugger, facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED));
  if (session_.sampled_pid() != pid) {
    if (sampled == 0 && session_.shows_stop_times()) {
      watch(process);
      watch_.reset();
    }
    return;
  }
  session_.set_passed_stops(passed_stops(process.GetTarget()));
  reported_.stop = process.GetStopID();
  reported_.calls = process.GetStopID(true);
  reported_.running = true;
  reported_.is_unasked = false;
  killing_ = false;
  watch(process);
  watch_.reset();
}

void Inferior::report(lldb::SBDebugger &debugger, const Event &event) {
  LldbPerformer performer(debugger, session_.sampled_pid(), actions_);
  note(session_.event(event, performer));
}

void Inferior::note(const Outcome &outcome) {
  const std::lock_guard lock(news_mutex_);
  news_.text += outcome.text;
  if (!outcome.ok())
    news_.errors += "profile: " + outcome.error + "\n";
}

Inferior::News Inferior::take_news() {
  const std::lock_guard lock(news_mutex_);
  return std::exchange(news_, {});
}

Inferior::News Inferior::look(lldb::SBDebugger &debugger) {
  const Within within(within_);
  used_ = true;
  watch_.forget();
  actions_.after_launch(debugger);
  {
    LldbPerformer performer(debugger, session_.sampled_pid(), actions_);
    actions_.catch_up(performer);
  }
  actions_.temporary.look();
  look_at_sampled(debugger, session_.sampled_pid());
  const int32_t sampled = session_.sampled_pid();
  lldb::SBProcess process = process_of(debugger, sampled);
  lldb::SBTarget target = process.IsValid() ? process.GetTarget() : debugger.GetSelectedTarget();
  if (!process.IsValid())
    process = target.GetProcess();
  Event event = facts_of(target, process, TALLY_EVENT_TARGET);
  if (detached_ != 0 && process.GetUniqueID() == detached_ && event.target == TALLY_TARGET_NATIVE)
    detached_ = 0; // LLDB has failed to detach
  if (event.pid != 0 && process.GetUniqueID() == detached_) {
    event.pid = 0;
    event.target = TALLY_TARGET_NONE;
  }
  report(debugger, event);
  if (sampled == 0 && event.target == TALLY_TARGET_NATIVE)
    look_at_unsampled(debugger, process);
  watch_for_unasked(debugger);
  return take_news();
}

// Reports a stop before the process leaves it, or before a command, while memory and stacks are as
// they were when it stopped. If sampling is armed, the resume that would begin it must be a real
// one.
void Inferior::look_at_unsampled(lldb::SBDebugger &debugger, lldb::SBProcess process) {
  const bool timed = session_.shows_stop_times();
  if ((!unsampled_.is_reported && !timed) || session_.is_armed() || !is_stopped(process))
    return;
  const Unsampled now{process.GetUniqueID(), process.GetStopID(), process.GetStopID(true), false,
                      true};
  const Unsampled before = std::exchange(unsampled_, now);
  Event resumed = facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED);
  if (now.process == before.process && now.stop == before.stop) {
    if (now.calls == before.calls)
      return;
    report(debugger, resumed);
    report(debugger, call_of(process));
    return;
  }
  // A client of LLDB's API may have resumed the process several times.
  if (now.process != before.process || !before.resumed) {
    resumed.kind = TALLY_EVENT_RAN;
    report(debugger, resumed);
  }
  Event stop = stop_of(process);
  if (timed && watch_.follows(static_cast<int>(process.GetProcessID())))
    stop.at_ns = watch_.seen().stopped_ns;
  report(debugger, stop);
}

// Waits until LLDB and the kernel agree whether the process has ended. LLDB may notice the end
// before or after the kernel reports it, and may notice a kill after the command has returned.
void Inferior::settle(lldb::SBProcess process) {
  wait_until([&] {
    const ProcessWatch::Seen seen = watch_.seen();
    const bool is_over = process.GetState() == lldb::eStateExited;
    const bool is_dead = seen.died_ns != 0;
    const bool is_known =
        seen.exit_code || (!seen.awaits_exit_code && process.GetExitStatus() >= 0);
    return is_over == is_dead && (is_dead ? is_known : !killing_);
  });
}

void Inferior::look_at_sampled(lldb::SBDebugger &debugger, int32_t pid) {
  if (pid == 0)
    return;
  lldb::SBProcess process = process_of(debugger, pid);
  if (process.IsValid() && process.GetState() != lldb::eStateDetached && watch_.follows(pid))
    settle(process);
  const auto lock = reported_.lock();
  const bool was_killed = std::exchange(killing_, false);
  const ProcessWatch::Seen seen = watch_.seen();
  const bool is_there = process.IsValid() && process.GetState() != lldb::eStateDetached;
  if (!is_there || process.GetState() == lldb::eStateExited) {
    Event event;
    if (is_there && !was_killed)
      event = end_of(process, seen.exit_code, reported_.signal);
    else
      event.kind = was_killed || seen.died_ns != 0 ? TALLY_EVENT_KILLED : TALLY_EVENT_DETACHED;
    event.at_ns = seen.died_ns;
    report(debugger, event);
    actions_.region.process_gone();
    watch_.follow(0);
    reported_.running = false;
    reported_.signal = 0;
    return;
  }
  if (!is_stopped(process))
    return;
  const uint32_t stop = process.GetStopID(), calls = process.GetStopID(true);
  const bool is_new =
      reported_.calls.exchange(calls) != calls; // false if look_at_held() has reported it
  const bool is_call = reported_.stop.exchange(stop) == stop;
  if (is_new && !is_call) {
    LldbPerformer performer(debugger, pid, actions_);
    const Event event = stop_of(process);
    report_stop(
        {facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED), event, signal_of(process)},
        seen, performer);
    if (is_exec(event))
      actions_.region.process_gone();
  } else if (reported_.running && !reported_.is_unasked && seen.left_ns == 0) {
    // The command that was to resume the process has failed.
    Event event = facts_of(process.GetTarget(), process, TALLY_EVENT_OTHER);
    event.at_ns = seen.stopped_ns;
    report(debugger, event);
    reported_.running = false;
  } else if (is_new && (reported_.running || called_at_ns_ != 0)) {
    LldbPerformer performer(debugger, pid, actions_);
    Event event = facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED);
    event.at_ns = called_at_ns_;
    report_run(event, performer);
    report_stop({event, call_of(process), signal_of(process)}, seen, performer);
  }
  called_at_ns_ = 0;
  watch_.reset();
}

void Inferior::report_run(const Event &run, tally::Front &front) {
  if (!reported_.running.exchange(true))
    note(session_.event(run, front));
}

void Inferior::report_stop(const Stopped &stopped, const ProcessWatch::Seen &seen,
                           tally::Front &front) {
  Event run = stopped.run, stop = stopped.stop;
  run.at_ns = seen.left_ns;
  run.kind = TALLY_EVENT_RAN;
  report_run(run, front);
  stop.at_ns = seen.stopped_ns;
  note(session_.event(stop, front));
  reported_.signal = stopped.signal;
  reported_.running = false;
  reported_.is_unasked = true;
  if (session_.sampled_pid() == 0) // the time of `profile start --for` is over
    watch_.follow(0);
}

void Inferior::look_at_held(int id, int pid, uint64_t held) {
  lldb::SBDebugger debugger = lldb::SBDebugger::FindDebuggerWithID(id);
  lldb::SBProcess process = process_of(debugger, pid);
  if (!reported_.is_unasked || actions_.interrupter.is_on() || !is_stopped(process))
    return;
  uint32_t calls_before = reported_.calls;
  const uint32_t stop = process.GetStopID(), calls = process.GetStopID(true);
  const Event event = stop == reported_.stop ? call_of(process) : stop_of(process);
  if (calls == calls_before || is_exec(event)) // an exec needs the debugger's thread
    return;
  const Stopped stopped{facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED), event,
                        signal_of(process)}; // no call of LLDB, which may wait, is made below
  const std::unique_lock lock(reported_.mutex, std::try_to_lock);
  if (!lock)
    return;
  const std::optional<ProcessWatch::Seen> seen = watch_.take(held);
  if (!seen || !reported_.calls.compare_exchange_strong(calls_before, calls))
    return;
  LaterPerformer performer(actions_);
  reported_.stop = stop;
  report_stop(stopped, *seen, performer);
  watch_for_resume(pid);
}

// Called where the debugger's thread may wait for the process.
void Inferior::end_at_limit(int id, int pid) {
  if (!actions_.interrupter.is_on() && !watch_.is_running(pid))
    return; // LLDB handles a stop of its own; the watch asks again when the process runs
  lldb::SBDebugger debugger = lldb::SBDebugger::FindDebuggerWithID(id);
  LimitPerformer performer(actions_);
  const Outcome outcome = session_.limit_reached(performer);
  // The user waits for the process, which runs on.
  print(debugger, outcome.text);
  if (!outcome.ok())
    print_error(debugger, "profile: " + outcome.error + "\n");
  if (session_.sampled_pid() == 0) {
    reported_.running = false;
    watch_.follow(0);
  }
  if (!performer.halts)
    return;
  if (actions_.interrupter.is_on())
    return actions_.interrupter.stop_for_user();
  // LLDB loses an early interrupt. A second one must not stop a later run.
  const auto has_stopped = [&] { return !watch_.is_running(pid) || session_.sampled_pid() != pid; };
  for (int attempts = 0; attempts < most_interrupts && !has_stopped(); ++attempts) {
    process_of(debugger, pid).SendAsyncInterrupt();
    wait_until(has_stopped);
  }
}

// The id of a remote process denotes another process on this machine, so only a local one is
// watched.
void Inferior::watch(lldb::SBProcess process) {
  const bool is_here = kind_of(process) == TALLY_TARGET_NATIVE;
  watch_.follow(is_here ? static_cast<int>(process.GetProcessID()) : 0);
}

Inferior::News Inferior::follow(lldb::SBDebugger &debugger) {
  lldb::SBProcess process = process_of(debugger, session_.sampled_pid());
  watch(process);
  if (process.IsValid() && !reported_.running) {
    reported_.stop = process.GetStopID();
    reported_.calls = process.GetStopID(true);
    if (is_running(process)) {
      report(debugger, facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED));
      reported_.running = true;
    }
  }
  watch_for_unasked(debugger);
  return take_news();
}

} // namespace tally_lldb
