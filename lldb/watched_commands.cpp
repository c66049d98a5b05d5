// Performs what must happen before LLDB executes a command that changes the process.
#include "inferior.h"

#include <cstdio>
#include <exception>
#include <iterator>
#include <string_view>

#include "interpreter.h"
#include "passed_stops.h"
#include "performer.h"
#include "stop.h"

namespace tally_lldb {

// LLDB resolves aliases (`run`, `next`, `gdb-remote`) to these commands.
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
    {"dwim-print", Change::call},
    {"process load", Change::call},
    {"process detach", Change::detach},
    {"process kill", Change::kill},
    {"process attach", Change::nothing},
    {"process connect", Change::nothing},
    {"target delete", Change::nothing},
    // These commands may remove the reason of the last stop, so the plug-in reads the reason before
    // them.
    {"breakpoint delete", Change::nothing},
    {"breakpoint disable", Change::nothing},
    {"watchpoint delete", Change::nothing},
    {"watchpoint disable", Change::nothing},
    {"thread select", Change::nothing},
    // The user's environment must be restored before these commands read or change it.
    {"settings show", Change::nothing},
    {"settings set", Change::nothing},
    {"settings append", Change::nothing},
    {"settings clear", Change::nothing},
    {"settings remove", Change::nothing},
    {"settings write", Change::nothing},
};

namespace {

constexpr int words_of_command = 2; // the words of "process launch" before its arguments

std::string line_with(const std::string &text, const char *words) {
  const size_t at = text.find(words);
  if (at == text.npos)
    return {};
  const size_t begin = text.rfind('\n', at) + 1; // npos + 1 is 0
  return text.substr(begin, text.find('\n', at) + 1 - begin);
}

// Returns the text that LLDB's own `process continue` prints at its end.
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

void show(lldb::SBDebugger &debugger, const Inferior::News &news) {
  print(debugger, news.text);
  print_error(debugger, news.errors);
}

} // namespace

void Inferior::connect(lldb::SBDebugger &debugger) {
  watch_.when_held([this, id = static_cast<int>(debugger.GetID())](int pid, uint64_t held) {
    look_at_held(id, pid, held);
  });
  watch_.when_due(
      [this] { return !actions_.interrupter.is_on() && session_.is_past_limit(); },
      [this, id = static_cast<int>(debugger.GetID())](int pid) { end_at_limit(id, pid); });
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
    return false; // after an error in the plug-in, LLDB executes the user's command as usual
  }
}

// Returns true if the plug-in itself has executed the command.
bool Inferior::before_command(lldb::SBDebugger &debugger, const Hook &hook, const char **words) {
  // LLDB runs a breakpoint's commands on another thread. That thread must not wait here.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !used_ || within_ > 0)
    return false;
  const Within within(within_);
  show(debugger, look(debugger));
  lldb::SBProcess process = debugger.GetSelectedTarget().GetProcess();
  const int32_t pid = process.IsValid() ? static_cast<int32_t>(process.GetProcessID()) : 0;
  const bool sampled = pid != 0 && session_.sampled_pid() == pid;
  bool done = false;
  switch (hook.change) {
  case Change::launch:
    actions_.region.process_gone(); // `run` kills a live process first
    actions_.region.refresh(debugger);
    done = before_launch(debugger, words);
    break;
  case Change::run_on:
  case Change::resume:
    before_resume(debugger);
    if (process.IsValid() && process.GetUniqueID() == unsampled_.process)
      unsampled_.resumed = process.GetStopID() == unsampled_.stop;
    if (hook.change == Change::run_on && !words[words_of_command] && actions_.interrupter.is_on() &&
        reported_.running && session_.sampled_pid() == pid) {
      show(debugger, take_news());
      run_interrupted(debugger, process);
      done = true;
    }
    break;
  case Change::call:
    watch_.forget(); // the call itself resumes the process next
    called_at_ns_ = now_ns();
    break;
  case Change::detach:
    if (sampled) {
      actions_.interrupter.take_pending(debugger, process);
      // After the command, LLDB still reports a stopped process for a while.
      detached_ = process.GetUniqueID();
      Event event;
      event.kind = TALLY_EVENT_DETACHED;
      report(debugger, event);
      actions_.region.process_gone();
      watch_.follow(0);
      reported_.running = false;
    }
    break;
  case Change::kill:
    killing_ = sampled;
    break;
  case Change::nothing:
    break;
  }
  show(debugger, take_news());
  return done;
}

bool Inferior::before_launch(lldb::SBDebugger &debugger, const char **words) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  lldb::SBProcess sampled = process_of(debugger, session_.sampled_pid());
  if (sampled.IsValid() && sampled.GetTarget() != target)
    return false; // the process of the other target is still being sampled
  if (session_.is_armed())
    session_.set_passed_stops(passed_stops(target));
  if (!actions_.interrupter.is_on()) {
    actions_.before_launch(debugger);
    launch_ = facts_of(target, {}, TALLY_EVENT_RESUMED);
    watch_.expect(launch_.program, [this, target](int pid) { return found(target, pid); });
    return false;
  }
  // The interrupt backend works only within run_interrupted(), so the process stops at its entry.
  std::string command = "process launch --stop-at-entry";
  bool is_option = true;
  for (const char **word = words + words_of_command; *word; ++word) {
    if (std::string_view(*word) == "--")
      is_option = false;
    if (is_option &&
        (std::string_view(*word) == "-s" || std::string_view(*word) == "--stop-at-entry"))
      return false;
    command += " " + as_word(*word);
  }
  Outcome launched;
  {
    const Synchronous synchronous(debugger);
    launched = interpret(debugger, command);
  }
  if (!launched.ok())
    return false; // LLDB executes the command again, because only LLDB can report a failure
  print(debugger, line_with(launched.text, " launched: "));
  lldb::SBProcess process = target.GetProcess();
  wait_until([&] { return is_stopped(process); });
  if (debugger.GetCommandInterpreter().WasInterrupted()) {
    print(debugger, interpret(debugger, "process status").text);
    return true;
  }
  before_resume(debugger);
  show(debugger, take_news());
  if (reported_.running)
    run_interrupted(debugger, process);
  return true;
}

void Inferior::run_interrupted(lldb::SBDebugger &debugger, lldb::SBProcess process) {
  LldbPerformer performer(debugger, session_.sampled_pid(), actions_);
  const auto look = [&] {
    if (session_.is_past_limit())
      end_at_limit(static_cast<int>(debugger.GetID()), session_.sampled_pid());
  };
  const std::string refused = actions_.interrupter.run(debugger, process, performer, look);
  print(debugger, end_of_run(debugger, process));
  if (!refused.empty())
    print_error(debugger, "error: " + refused + "\n");
  look_at_sampled(debugger, session_.sampled_pid()); // the time of the stop is known now
}

} // namespace tally_lldb
