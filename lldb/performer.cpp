#include "performer.h"

#include "actions.h"
#include "interpreter.h"
#include "source_view.h"
#include "stop.h"

namespace tally_lldb {

namespace {

Frame frame_of(const char *function, lldb::SBLineEntry entry) {
  return {function ? function : "", path_of(entry.GetFileSpec()), entry.GetLine()};
}

} // namespace

LldbPerformer::~LldbPerformer() {
  if (shown_)
    print(debugger_, "\r\x1b[K");
}

void LldbPerformer::progress(const std::string &text) {
  if (is_terminal(debugger_) && debugger_.GetAsync()) {
    print(debugger_, "\r" + text);
    shown_ = true;
  }
}

std::vector<Frame> LldbPerformer::symbol(uint64_t address) {
  lldb::SBTarget target = process_of(debugger_, sampled_pid_).GetTarget();
  lldb::SBAddress at = target.ResolveLoadAddress(address);
  if (!at.IsValid())
    return {};
  const lldb::SBSymbolContext context = at.GetSymbolContext(lldb::eSymbolContextEverything);
  lldb::SBSymbolContext frame = context;
  std::vector<Frame> out;
  // Each inlined function is a block. The next context is that of the function's call.
  for (int depth = 0; depth < 64 && frame.GetBlock().GetContainingInlinedBlock().IsValid();
       ++depth) {
    const char *const name = frame.GetBlock().GetContainingInlinedBlock().GetInlinedName();
    out.push_back(frame_of(name, frame.GetLineEntry()));
    lldb::SBAddress call;
    frame = frame.GetParentOfInlinedScope(at, call);
    at = call;
  }
  const char *name = frame.GetFunction().GetDisplayName();
  if (!name)
    name = frame.GetSymbol().GetDisplayName();
  if (name)
    out.push_back(frame_of(name, frame.GetLineEntry()));
  return out;
}

Refused LldbPerformer::disassemble(std::span<const Range> ranges, const Sink &to) {
  lldb::SBProcess process = process_of(debugger_, sampled_pid_);
  return tally_lldb::disassemble(
      debugger_, process.IsValid() ? process : debugger_.GetSelectedTarget().GetProcess(), ranges,
      to);
}

Refused LldbPerformer::stacks(const Sink &to) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  if (!is_stopped(process))
    return Refusal{"the process is running"};
  const lldb::tid_t selected = process.GetSelectedThread().GetThreadID();
  std::vector<lldb::SBThread> threads;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    threads.insert(thread.GetThreadID() == selected ? threads.begin() : threads.end(), thread);
  }
  for (lldb::SBThread &thread : threads) {
    const std::vector<uint64_t> pcs = pcs_of(thread, TALLY_LIMIT_STACK_FRAMES);
    to.library.tally_sink_stack(to.to, static_cast<int32_t>(thread.GetThreadID()), pcs.data(),
                                pcs.size());
  }
  return std::nullopt;
}

Refused LldbPerformer::modules(const Sink &to) {
  lldb::SBTarget target = debugger_.GetSelectedTarget();
  for (uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    for (const char *name : {".text", ".data"}) {
      lldb::SBSection section = module.FindSection(name);
      const lldb::addr_t address = section.GetLoadAddress(target);
      if (!section.IsValid() || address == LLDB_INVALID_ADDRESS)
        continue;
      to.library.tally_sink_module(to.to, address, name, path_of(module.GetFileSpec()).c_str());
      break;
    }
  }
  return std::nullopt;
}

Contents LldbPerformer::memory(std::span<const Range> ranges) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  Contents out;
  for (const Range &range : ranges) {
    std::vector<unsigned char> bytes(range.high - range.low);
    lldb::SBError error;
    const size_t got = process.ReadMemory(range.low, bytes.data(), bytes.size(), error);
    if (error.Success() && got == bytes.size())
      out.emplace_back(std::move(bytes));
    else
      out.emplace_back();
  }
  return out;
}

Refused LldbPerformer::break_once(std::span<const uint64_t> entries, const Sink &to) {
  const std::optional<size_t> set = actions_.temporary().begin(debugger_, entries);
  if (!set)
    return Refusal{"the process is running"};
  to.library.tally_sink_count(to.to, *set);
  return std::nullopt;
}

Refused LldbPerformer::act(Act act, const Words &words, const std::vector<int32_t> &signals) {
  if (act == Act::set_breakpoint || act == Act::list_source) {
    Outcome outcome = show_location(debugger_, act, words);
    said_ += outcome.text;
    return outcome.ok() ? std::nullopt : Refused(Refusal{std::move(outcome.error)});
  }
  return actions_.act(debugger_, act, words, signals);
}

Refused LaterPerformer::act(Act act, const Words &words, const std::vector<int32_t> &signals) {
  actions_.put_off(act, words, signals);
  return std::nullopt;
}

} // namespace tally_lldb
