#include "collect/agent_words.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "agent/wire.h"

namespace tally {

std::string words_of_refusal(uint32_t refusal, int errno_value) {
  const char *known = errno_value > 0 ? strerrordesc_np(errno_value) : nullptr;
  const std::string why = known ? fmt::format(" ({})", known) : "";
  switch (refusal) {
  case TALLY_REFUSED_BUSY:
    return "another debugger already uses the program's agent";
  case TALLY_REFUSED_SIGNAL:
    return fmt::format("the program, or the process that started it, already uses the signals "
                       "SIGRTMAX-3 to SIGRTMAX-5 ({} to {})",
                       SIGRTMAX - 3, SIGRTMAX - 5);
  case TALLY_REFUSED_THREAD:
    return "the agent could not start its thread" + why;
  case TALLY_REFUSED_TIMER:
    return "the agent could not create a timer" + why +
           (errno_value == EAGAIN ? ": RLIMIT_SIGPENDING (ulimit -i) is too low" : "");
  default:
    return fmt::format("the agent refused, code {}", refusal) + why;
  }
}

std::string words_of_end(uint32_t end, int signal) {
  switch (end) {
  case TALLY_END_EXEC:
    return "the process has executed another program, which the agent does not follow";
  case TALLY_END_SIGNAL:
    return fmt::format("the program has changed the handler of the agent's signal {}", signal);
  case TALLY_END_STOPPED:
    return "the agent was stopped";
  default:
    return "the process has ended";
  }
}

std::string words_of_notes(uint32_t notes, std::string_view clock) {
  std::string text;
  const auto say = [&](uint32_t note, const char *words) {
    if ((notes & note) != 0)
      text += (text.empty() ? "" : "; ") + std::string(words);
  };
  if (clock == "ticker")
    say(TALLY_NOTE_SIGPROF, "the program has a profiling timer of its own: that timer also counts "
                            "the agent's CPU time");
  say(TALLY_NOTE_BLIND, "the agent cannot read /proc: threads created by clone() are not sampled");
  say(TALLY_NOTE_CROWDED, "the program has more threads than the agent can follow");
  say(TALLY_NOTE_LATE, "the agent was loaded late: a signal may be pending when the program "
                       "executes another program, and would terminate that program");
  say(TALLY_NOTE_BLOCKED, "a thread runs with the agent's signal blocked: its time counts as lost");
  say(TALLY_NOTE_LIMIT, "signals could not be queued: RLIMIT_SIGPENDING (ulimit -i) is too low");
  return text;
}

} // namespace tally
