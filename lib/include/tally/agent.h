// Samples a process from inside: through a small library that it preloads, or is made to load.
//
// For where perf_event_open is refused to the debugger. Where it is allowed to the program itself,
// the kernel's clocks are opened there and handed over (clock "ring"); where it is refused
// altogether, a thread of the agent looks who runs and interrupts it ("ticker"); at 100 Hz and less
// a CPU timer for each thread does ("timer"). lib/src/agent/wire.h says what both sides share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include <tally/result.h>
#include <tally/sampler.h>

namespace tally {

// What a program must be started with.
struct AgentLaunch {
  std::string library;  // first in LD_PRELOAD; the user's own list follows behind a colon
  std::string variable; // "TALLY_AGENT=/proc/PID/fd/N", one word of the environment
  std::vector<int>
      signals; // one of these interrupts the program: pass them, neither stop nor print
};

enum class AgentPhase : uint8_t {
  waiting, // nobody has said anything yet
  working, // samples come, or may come
  refused, // by the agent: AgentFacts::reason says why
  ended,   // the process exited, executed another program, or the agent had to stop
};

struct AgentFacts {
  AgentPhase phase = AgentPhase::waiting;
  std::string clock;    // "ring", "ticker" or "timer"; empty before it is known
  bool exited = false;  // ended: only because the process did, nothing of it was missed
  std::string reason;   // of a refusal or an end, in words; while waiting past its time, a guess
  std::string conflict; // what disturbs the program or the counts, in words; empty: nothing known
  uint64_t interruptions = 0; // signals sent to the program; 0 with the clock "ring"
};

// The process that is sampled is named by expect(). Until then, and while the agent waits, status()
// and snapshot() are those of nothing sampled. All calls from one thread; none throws.
class TALLY_API AgentSampler : public Sampler {
public:
  // Stays the same as long as this object lives. stop() makes it void.
  virtual const AgentLaunch &launch() const = 0;

  // The process that is about to load the agent: call it at its first instruction, or at a stop
  // before tally_agent_start() is called in it. An agent that is not expected refuses, so a child
  // of a static program cannot take its place. A memory that an earlier process used is made anew;
  // what was collected from that process stays.
  virtual void expect(pid_t pid) = 0;

  virtual AgentFacts facts() = 0; // drains first
};

// Makes the shared memory and the thread that reads it; no process is touched. `library` is
// libtally-agent.so; empty: $TALLY_AGENT_LIBRARY, or the installed one (LIBDIR/tally beside
// libtally.so), or that of the build folder that holds libtally.so.
//
// An error says which of these is not there, or what could not be made (descriptors, memory), or
// which option cannot be had. `options.enable_on_exec` has no meaning here.
TALLY_API Result<std::unique_ptr<AgentSampler>> make_agent_sampler(SamplerOptions options,
                                                                   std::string library = {});

// Whether the program at `path` can preload anything: none for "yes", else why not, in words
// (static, set-user-id, of another machine, not ELF: a script's interpreter is looked at).
TALLY_API std::string why_agent_cannot_load(const std::string &path);

} // namespace tally
