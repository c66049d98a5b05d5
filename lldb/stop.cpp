#include "stop.h"

#include <cstring>
#include <utility>

#include <signal.h>
#include <sys/wait.h>

#include "process_watch.h"
#include "region.h"

namespace tally_lldb {

namespace {

std::string signal_name(int number) {
  const char *const name = ::sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

// Returns whether LLDB has stopped the process for Ctrl-C. For Ctrl-C, LLDB's server sends a
// SIGSTOP.
bool is_interrupted_by_lldb(lldb::SBProcess &process, lldb::SBThread &thread) {
  if (signal_of(thread) != SIGSTOP || kind_of(process) != TALLY_TARGET_NATIVE)
    return false;
  lldb::SBValue sender = thread.GetSiginfo().GetValueForExpressionPath("._sifields._kill.si_pid");
  return sender.IsValid() &&
         sender.GetValueAsSigned() == tracer_of(static_cast<int>(process.GetProcessID()));
}

// Returns the selected thread if it has a stop reason, otherwise the first thread that has one. The
// user may have selected another thread since the stop.
lldb::SBThread stopped_thread(lldb::SBProcess &process) {
  const auto has_reason = [](lldb::SBThread &thread) {
    return thread.IsValid() && thread.GetStopReason() > lldb::eStopReasonNone;
  };
  lldb::SBThread selected = process.GetSelectedThread();
  if (has_reason(selected))
    return selected;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i)
    if (lldb::SBThread thread = process.GetThreadAtIndex(i); has_reason(thread))
      return thread;
  return selected;
}

} // namespace

std::string path_of(lldb::SBFileSpec spec) {
  char path[4096];
  return spec.GetPath(path, sizeof path) > 0 ? path : "";
}

int32_t kind_of(lldb::SBProcess process) {
  if (!process.IsValid() || process.GetState() == lldb::eStateExited ||
      process.GetState() == lldb::eStateDetached || process.GetState() == lldb::eStateUnloaded)
    return TALLY_TARGET_NONE;
  const char *const plugin = process.GetPluginName();
  if (plugin && (std::strstr(plugin, "core") || std::strstr(plugin, "minidump")))
    return TALLY_TARGET_CORE;
  return is_traced_by_child(static_cast<int>(process.GetProcessID())) ? TALLY_TARGET_NATIVE
                                                                      : TALLY_TARGET_REMOTE;
}

Event facts_of(lldb::SBTarget target, lldb::SBProcess process, int32_t kind) {
  Event out;
  out.kind = kind;
  out.target = kind_of(process);
  out.pid = out.target == TALLY_TARGET_NONE ? 0 : static_cast<int32_t>(process.GetProcessID());
  out.program = path_of(target.GetExecutable());
  out.command = out.program;
  lldb::SBLaunchInfo info = target.GetLaunchInfo();
  for (uint32_t i = 0; i < info.GetNumArguments(); ++i)
    out.command += std::string(" ") + info.GetArgumentAtIndex(i);
  return out;
}

bool is_stopped(lldb::SBProcess process) {
  const lldb::StateType state = process.GetState();
  return state == lldb::eStateStopped || state == lldb::eStateCrashed ||
         state == lldb::eStateSuspended;
}

bool is_running(lldb::SBProcess process) {
  const lldb::StateType state = process.GetState();
  return state == lldb::eStateRunning || state == lldb::eStateStepping;
}

int signal_of(lldb::SBProcess process) { return signal_of(stopped_thread(process)); }

int signal_of(lldb::SBThread thread) {
  return thread.GetStopReason() == lldb::eStopReasonSignal
             ? static_cast<int>(thread.GetStopReasonDataAtIndex(0))
             : 0;
}

Event stop_of(lldb::SBProcess process) {
  Event out = facts_of(process.GetTarget(), process, TALLY_EVENT_OTHER);
  lldb::SBThread thread = stopped_thread(process);
  lldb::SBLineEntry entry = thread.GetFrameAtIndex(0).GetLineEntry();
  if (entry.IsValid()) {
    out.file = path_of(entry.GetFileSpec());
    out.line = entry.GetLine();
  }
  const auto number = [&] { return static_cast<int32_t>(thread.GetStopReasonDataAtIndex(0)); };
  switch (thread.GetStopReason()) {
  case lldb::eStopReasonBreakpoint:
    // The data are pairs of a breakpoint id and a location id. LLDB's own ids are negative. A
    // region's breakpoints never stop the process by themselves.
    for (uint32_t i = 0; i < thread.GetStopReasonDataCount(); i += 2) {
      const auto id = static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(i));
      if (id <= 0 || process.GetTarget().FindBreakpointByID(id).MatchesName(region_name))
        continue;
      out.kind = TALLY_EVENT_BREAKPOINT;
      out.number = id;
      break;
    }
    break;
  case lldb::eStopReasonWatchpoint:
    out.kind = TALLY_EVENT_WATCHPOINT;
    out.number = number();
    break;
  case lldb::eStopReasonSignal: {
    if (is_interrupted_by_lldb(process, thread)) {
      out.kind = TALLY_EVENT_SIGNAL;
      out.text = "interrupted";
      break;
    }
    const char *const name = process.GetUnixSignals().GetSignalAsCString(number());
    out.kind = TALLY_EVENT_SIGNAL;
    out.text = name ? name : signal_name(number());
    break;
  }
  case lldb::eStopReasonTrace:
  case lldb::eStopReasonPlanComplete:
    out.kind = TALLY_EVENT_STEP;
    break;
  case lldb::eStopReasonExec:
    out.text = "exec";
    break;
  case lldb::eStopReasonException:
    out.text = "exception";
    break;
  default:
    break;
  }
  return out;
}

bool is_exec(const Event &stop) { return stop.kind == TALLY_EVENT_OTHER && stop.text == "exec"; }

Event call_of(lldb::SBProcess process) {
  Event out = facts_of(process.GetTarget(), process, TALLY_EVENT_OTHER);
  out.text = "call";
  return out;
}

Event end_of(lldb::SBProcess process, std::optional<int> status, int last_signal) {
  Event out;
  out.kind = TALLY_EVENT_EXITED;
  out.number = process.GetExitStatus();
  int signal = 0;
  if (status) {
    signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
    out.number = WEXITSTATUS(*status);
  } else if (out.number == last_signal) {
    signal = last_signal; // LLDB reports an exit status and a signal by the same number
  }
  if (signal != 0) {
    out.kind = TALLY_EVENT_SIGNALLED;
    out.text = signal_name(signal);
  }
  return out;
}

namespace {

bool is_signal_frame(lldb::SBFrame frame) {
  const char *const name = frame.GetFunctionName();
  return name && std::strstr(name, "restore_rt");
}

} // namespace

std::vector<uint64_t> pcs_of(lldb::SBThread thread, uint32_t most) {
  std::vector<uint64_t> out;
  bool returned_to = false; // whether the previous (inner) frame was called from this one
  bool was_inlined = false; // whether the previous frame was inlined into this one
  for (uint32_t i = 0; i < most; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid())
      break;
    // The library finds inlined frames itself. Only the innermost one has the true pc: that of the
    // others, and of the function that contains them, is where the inlined code begins.
    if (std::exchange(was_inlined, frame.IsInlined()))
      continue;
    const bool is_signal = is_signal_frame(frame);
    if (returned_to && frame.GetPC() == 0)
      break; // a guess in code without unwind information
    out.push_back(frame.GetPC() - (returned_to && !is_signal ? 1 : 0));
    returned_to = !is_signal;
  }
  return out;
}

} // namespace tally_lldb
