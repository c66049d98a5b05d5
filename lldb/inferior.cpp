#include "inferior.h"

#include <cstdio>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

#include "interpreter.h"
#include "performer.h"
#include "stop.h"

namespace tally_lldb {

// Aliases (`run`, `next`, `gdb-remote`) become one of these.
const Inferior::Watched Inferior::watched[] = {
    {"process launch", Change::launch},
    {"process continue", Change::run_on},
    {"thread continue", Change::resume},
    {"thread step-in", Change::resume},
    {"thread step-over", Change::resume},
    {"thread step-out", Change::resume},
    {"thread step-inst", Change::resume},
    {"thread step-inst-over", Change::resume},
    {"thread step-scripted", Change::resume},
    {"thread until", Change::resume},
    {"expression", Change::call},
    {"process detach", Change::detach},
    {"process kill", Change::kill},
    {"process attach", Change::nothing},
    {"process connect", Change::nothing},
    {"target delete", Change::nothing},
    // The user's environment is there again before it is looked at.
    {"settings show", Change::nothing},
    {"settings set", Change::nothing},
    {"settings append", Change::nothing},
    {"settings clear", Change::nothing},
    {"settings remove", Change::nothing},
    {"settings write", Change::nothing},
};

namespace {

constexpr int words_of_command = 2; // "process launch", before its arguments

// What LLDB is told by us is no command of the user's.
class Within {
public:
  explicit Within(int &depth) : depth_(depth) { ++depth_; }
  Within(const Within &) = delete;
  ~Within() { --depth_; }

private:
  int &depth_;
};

// As LLDB says it.
std::string end_of_run(lldb::SBDebugger &debugger, lldb::SBProcess &process) {
  if (process.GetState() != lldb::eStateExited)
    return interpret(debugger, "process status").text;
  const int status = process.GetExitStatus();
  char text[128];
  std::snprintf(text, sizeof text, "Process %llu exited with status = %d (0x%08x)\n",
                static_cast<unsigned long long>(process.GetProcessID()), status,
                static_cast<unsigned>(status));
  return text;
}

} // namespace

void Inferior::connect(lldb::SBDebugger &debugger) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  hooks_.reserve(std::size(watched));
  for (const Watched &each : watched) {
    hooks_.push_back({this, debugger.GetID(), each.change});
    interpreter.SetCommandOverrideCallback(each.command, &Inferior::before, &hooks_.back());
  }
}

void Inferior::close() { watch_.end(); }

bool Inferior::before(void *hook, const char **words) noexcept {
  try {
    const Hook &each = *static_cast<const Hook *>(hook);
    lldb::SBDebugger debugger =
        lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(each.debugger));
    return debugger.IsValid() && each.owner->before_command(debugger, each, words);
  } catch (...) {
    return false; // whatever is wrong with us, the command is the user's
  }
}

// True: the command has been done.
bool Inferior::before_command(lldb::SBDebugger &debugger, const Hook &hook, const char **words) {
  if (!used_ || within_ > 0)
    return false;
  const Within within(within_);
  const News news = look(debugger);
  print(debugger, news.text);
  print_error(debugger, news.errors);
  lldb::SBProcess process = debugger.GetSelectedTarget().GetProcess();
  const int32_t pid = process.IsValid() ? static_cast<int32_t>(process.GetProcessID()) : 0;
  const bool sampled = pid != 0 && session_.sampled_pid() == pid;
  bool done = false;
  switch (hook.change) {
  case Change::launch:
    done = before_launch(debugger, words);
    break;
  case Change::run_on:
  case Change::resume:
    before_resume(debugger);
    if (hook.change == Change::run_on && !words[words_of_command] && actions_.interrupter.is_on() &&
        running_ && session_.sampled_pid() == pid) {
      show_news(debugger);
      run_interrupted(debugger, process);
      done = true;
    }
    break;
  case Change::call:
    called_at_ns_ = now_ns();
    break;
  case Change::detach:
    if (sampled) { // afterwards LLDB tells of a stopped process for a while
      detached_pid_ = pid;
      Event event;
      event.kind = TALLY_EVENT_DETACHED;
      tell(debugger, event);
      watch_.follow(0);
      running_ = false;
    }
    break;
  case Change::kill:
    killing_ = sampled;
    break;
  case Change::nothing:
    break;
  }
  show_news(debugger);
  return done;
}

bool Inferior::before_launch(lldb::SBDebugger &debugger, const char **words) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  if (!actions_.interrupter.is_on()) {
    actions_.before_launch(debugger);
    launch_ = facts_of(target, {}, TALLY_EVENT_RESUMED);
    watch_.expect([this](int pid) { found(pid); });
    return false;
  }
  // Interrupts are within our own `process continue`.
  std::string command = "process launch --stop-at-entry";
  for (const char **word = words + words_of_command; *word; ++word) {
    if (std::string_view(*word) == "-s" || std::string_view(*word) == "--stop-at-entry")
      return false;
    command += " " + quoted(*word);
  }
  Outcome launched;
  {
    const Synchronous synchronous(debugger);
    launched = interpret(debugger, command);
  }
  if (!launched.ok()) {
    print_error(debugger, launched.error);
    return true;
  }
  lldb::SBProcess process = target.GetProcess();
  before_resume(debugger);
  show_news(debugger);
  if (running_)
    run_interrupted(debugger, process);
  return true;
}

void Inferior::run_interrupted(lldb::SBDebugger &debugger, lldb::SBProcess process) {
  LldbPerformer performer(debugger, session_.sampled_pid(), actions_);
  const std::string refused = actions_.interrupter.run(debugger, process, performer);
  print(debugger, end_of_run(debugger, process));
  if (!refused.empty())
    print_error(debugger, "error: " + refused + "\n");
}

void Inferior::show_news(lldb::SBDebugger &debugger) {
  const News news = take_news();
  print(debugger, news.text);
  print_error(debugger, news.errors);
}

void Inferior::found(int pid) {
  LaterPerformer performer(actions_);
  const int32_t before = session_.sampled_pid();
  if (before != 0 && before != pid) // `run` has killed it
    note(session_.event({.kind = TALLY_EVENT_KILLED, .at_ns = watch_.seen().died_ns}, performer));
  Event event = launch_;
  event.target = TALLY_TARGET_NATIVE;
  event.pid = pid;
  note(session_.event(event, performer));
  if (session_.sampled_pid() != pid)
    return;
  told_stop_ = 0;
  running_ = true;
  watch_.follow(pid);
}

void Inferior::before_resume(lldb::SBDebugger &debugger) {
  lldb::SBProcess process = debugger.GetSelectedTarget().GetProcess();
  if (!process.IsValid() || !is_stopped(process) || running_)
    return;
  const int32_t pid = static_cast<int32_t>(process.GetProcessID());
  const int32_t sampled = session_.sampled_pid();
  if ((sampled != 0 && sampled != pid) || pid == detached_pid_)
    return;
  tell(debugger, facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED));
  if (session_.sampled_pid() != pid)
    return;
  told_stop_ = process.GetStopID();
  told_calls_ = process.GetStopID(true);
  running_ = true;
  killing_ = false;
  watch_.follow(pid);
  watch_.reset();
}

void Inferior::tell(lldb::SBDebugger &debugger, const Event &event) {
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
  actions_.catch_up(debugger);
  if (const int32_t pid = session_.sampled_pid(); pid != 0)
    look_at_sampled(debugger, pid);
  const int32_t sampled = session_.sampled_pid();
  lldb::SBProcess process = process_of(debugger, sampled);
  lldb::SBTarget target = process.IsValid() ? process.GetTarget() : debugger.GetSelectedTarget();
  if (!process.IsValid())
    process = target.GetProcess();
  Event event = facts_of(target, process, TALLY_EVENT_TARGET);
  if (event.pid != 0 && event.pid == detached_pid_) {
    event.pid = 0;
    event.target = TALLY_TARGET_NONE;
  }
  tell(debugger, event);
  return take_news();
}

void Inferior::look_at_sampled(lldb::SBDebugger &debugger, int32_t pid) {
  lldb::SBProcess process = process_of(debugger, pid);
  const ProcessWatch::Seen seen = watch_.seen();
  const bool is_there = process.IsValid() && process.GetState() != lldb::eStateDetached;
  if (!is_there || process.GetState() == lldb::eStateExited) {
    Event event;
    if (is_there && !killing_)
      event = end_of(process, seen.exit_code, last_signal_);
    else
      event.kind = killing_ || seen.died_ns != 0 ? TALLY_EVENT_KILLED : TALLY_EVENT_DETACHED;
    event.at_ns = seen.died_ns;
    tell(debugger, event);
    watch_.follow(0);
    running_ = killing_ = false;
    last_signal_ = 0;
    return;
  }
  if (!is_stopped(process))
    return;
  const uint32_t stop = process.GetStopID(), calls = process.GetStopID(true);
  if (stop != told_stop_) {
    Event event = facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED);
    event.at_ns = seen.left_ns;
    if (!running_)
      tell(debugger, event);
    event = stop_of(process);
    event.at_ns = seen.stopped_ns;
    tell(debugger, event);
    running_ = false;
    last_signal_ = signal_of(process);
  } else if (calls != told_calls_ && !running_ && called_at_ns_ != 0) {
    Event event = facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED);
    event.at_ns = called_at_ns_;
    tell(debugger, event);
    event.kind = TALLY_EVENT_OTHER;
    event.text = "call";
    event.at_ns = seen.stopped_ns;
    tell(debugger, event);
  }
  told_stop_ = stop;
  told_calls_ = calls;
  called_at_ns_ = 0;
  watch_.reset();
}

Inferior::News Inferior::follow(lldb::SBDebugger &debugger) {
  const int32_t pid = session_.sampled_pid();
  watch_.follow(pid);
  lldb::SBProcess process = process_of(debugger, pid);
  if (process.IsValid() && !running_) {
    told_stop_ = process.GetStopID();
    told_calls_ = process.GetStopID(true);
    if (is_running(process)) {
      tell(debugger, facts_of(process.GetTarget(), process, TALLY_EVENT_RESUMED));
      running_ = true;
    }
  }
  return take_news();
}

} // namespace tally_lldb
