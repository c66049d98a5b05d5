// Samples a process from inside, by a small library, the agent, that the process preloads or is
// made to load.
//
// The agent serves systems on which the debugger may not call perf_event_open(). If the program
// itself may call it, the agent opens the kernel's clocks and hands them over to the debugger
// (clock "ring"). Otherwise a thread of the agent determines which threads run, and interrupts them
// (clock "ticker"); at 100 Hz or less, each thread has a CPU timer instead (clock "timer").
// lib/src/agent/wire.h describes the memory that both sides share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "collect/sampler.h"
#include "support/result.h"

namespace tally {

// Describes how a program must be started.
struct AgentLaunch {
  std::string library;  // goes first in LD_PRELOAD; a colon and the user's own list follow
  std::string variable; // "TALLY_AGENT=/proc/PID/fd/N", for the environment
  std::vector<int>
      signals; // one of them interrupts the program: pass them without stopping or printing
};

enum class AgentPhase : uint8_t {
  waiting, // the agent has not reported yet
  working, // the agent samples the process
  refused, // the agent refused to work; AgentFacts::reason says why
  ended,   // the process exited or executed another program, or the agent stopped
};

struct AgentFacts {
  AgentPhase phase = AgentPhase::waiting;
  std::string clock;          // "ring", "ticker" or "timer"; empty while unknown
  bool exited = false;        // for `ended`: the process exited, and was sampled until then
  std::string reason;         // why it refused or ended; a guess if it does not report in time
  std::string conflict;       // what disturbs the program or the counts; empty if nothing is known
  uint64_t interruptions = 0; // signals sent to the program; 0 for the clock "ring"
};

// Samples the process that expect() names. Until that call, and while the agent has not reported,
// status() and snapshot() contain no samples. One thread makes all calls. No call throws.
class AgentSampler : public Sampler {
public:
  // Returns the same value as long as this object lives. After stop() the value is no longer
  // usable.
  virtual const AgentLaunch &launch() const = 0;

  // Names the process that is about to load the agent. Call this at the process's first
  // instruction, or while it is stopped and before it calls tally_agent_start(). The agent refuses
  // to work in any other process, so that a child of a static program cannot take its place. If an
  // earlier process used the shared memory, new memory is made; the earlier samples are kept.
  virtual void expect(pid_t pid) = 0;

  virtual AgentFacts facts() = 0; // reads pending samples first
};

// Makes the shared memory and the thread that reads it, without touching any process. `library` is
// the path of libtally-agent.so. If it is empty, the path is $TALLY_AGENT_LIBRARY if that is set;
// otherwise the installed library is used (in LIBDIR/tally, where LIBDIR holds libtally.so), or
// that of the build directory which holds libtally.so.
//
// Errors: not_found if there is no such library, unsupported if its path has a space or a colon,
// which LD_PRELOAD cannot represent, invalid_argument for an unusable option (more than 20000 Hz),
// and a system error if descriptors or memory cannot be allocated. `options.enable_on_exec` is
// ignored.
Result<std::unique_ptr<AgentSampler>> make_agent_sampler(SamplerOptions options,
                                                         const std::string &library = {});

// Returns empty if the program at `path` can preload the agent, otherwise the reason why it cannot:
// it is static, set-user-ID, not ELF, or for another machine. For a script, its interpreter is
// checked.
std::string why_agent_cannot_load(const std::string &path);

} // namespace tally
