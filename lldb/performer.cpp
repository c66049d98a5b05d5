#include "performer.h"

#include <optional>
#include <vector>

#include "actions.h"
#include "agent_load.h"
#include "interpreter.h"
#include "source_view.h"
#include "stop.h"

namespace tally_lldb {

LldbPerformer::~LldbPerformer() {
  if (shown_)
    print(debugger_, "\r\x1b[K");
}

bool LldbPerformer::is_interrupted() const {
  return debugger_.GetCommandInterpreter().WasInterrupted();
}

// An answer without which a command would end is given in an event, because the interrupt may have
// been meant for the program.
Answer LldbPerformer::unless_interrupted() const {
  return of_command_ && is_interrupted() ? Answer::cancelled() : Answer::done();
}

Answer LldbPerformer::progress(const char *text) {
  if (is_terminal(debugger_) && debugger_.GetAsync()) {
    print(debugger_, std::string("\r") + text);
    shown_ = true;
  }
  return is_interrupted() ? Answer::cancelled() : Answer::done();
}

void LldbPerformer::add_names(uint64_t address, size_t index, tally_sink *to) {
  lldb::SBTarget target = process_of(debugger_, sampled_pid_).GetTarget();
  lldb::SBAddress at = target.ResolveLoadAddress(address);
  if (!at.IsValid())
    return;
  lldb::SBSymbolContext frame = at.GetSymbolContext(lldb::eSymbolContextEverything);
  const auto add = [&](const char *function) {
    lldb::SBLineEntry line = frame.GetLineEntry();
    library().tally_sink_frame(to, index, function, path_of(line.GetFileSpec()).c_str(),
                               line.GetLine());
  };
  // Each inlined function is a block. The next context is that of the function's call.
  for (int depth = 0; depth < 64 && frame.GetBlock().GetContainingInlinedBlock().IsValid();
       ++depth) {
    add(frame.GetBlock().GetContainingInlinedBlock().GetInlinedName());
    lldb::SBAddress call;
    frame = frame.GetParentOfInlinedScope(at, call);
    at = call;
  }
  const char *name = frame.GetFunction().GetDisplayName();
  if (!name)
    name = frame.GetSymbol().GetDisplayName();
  if (name)
    add(name);
}

Answer LldbPerformer::symbols(Addresses addresses, tally_sink *to) {
  for (size_t i = 0; i < addresses.size(); ++i)
    add_names(addresses[i], i, to);
  return unless_interrupted();
}

Answer LldbPerformer::disassemble(Addresses ranges, tally_sink *to) {
  lldb::SBProcess process = process_of(debugger_, sampled_pid_);
  return tally_lldb::disassemble(
      debugger_, process.IsValid() ? process : debugger_.GetSelectedTarget().GetProcess(), ranges,
      to);
}

Answer LldbPerformer::stacks(tally_sink *to) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  if (!is_stopped(process))
    return Answer::refused("the process is running");
  const lldb::tid_t selected = process.GetSelectedThread().GetThreadID();
  std::vector<lldb::SBThread> threads;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    threads.insert(thread.GetThreadID() == selected ? threads.begin() : threads.end(), thread);
  }
  for (lldb::SBThread &thread : threads) {
    const std::vector<uint64_t> pcs = pcs_of(thread, TALLY_LIMIT_STACK_FRAMES);
    library().tally_sink_stack(to, static_cast<int32_t>(thread.GetThreadID()), pcs.data(),
                               pcs.size());
  }
  return unless_interrupted();
}

Answer LldbPerformer::modules(tally_sink *to) {
  lldb::SBTarget target = debugger_.GetSelectedTarget();
  for (uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    for (const char *name : {".text", ".data"}) {
      lldb::SBSection section = module.FindSection(name);
      const lldb::addr_t address = section.GetLoadAddress(target);
      if (!section.IsValid() || address == LLDB_INVALID_ADDRESS)
        continue;
      library().tally_sink_module(to, address, name, path_of(module.GetFileSpec()).c_str());
      break;
    }
  }
  return unless_interrupted();
}

Answer LldbPerformer::memory(Addresses ranges, tally_sink *to) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    std::vector<unsigned char> bytes(ranges[i + 1] - ranges[i]);
    lldb::SBError error;
    const size_t got = process.ReadMemory(ranges[i], bytes.data(), bytes.size(), error);
    if (error.Success() && got == bytes.size())
      library().tally_sink_memory(to, i / 2, bytes.data(), bytes.size());
    else if (process.GetState() == lldb::eStateExited || process.GetState() == lldb::eStateDetached)
      return Answer::refused("the program is gone");
  }
  return unless_interrupted();
}

Answer LldbPerformer::break_once(Addresses entries, tally_sink *to) {
  const std::optional<size_t> set = actions_.temporary.begin(debugger_, entries);
  if (!set)
    return Answer::refused("the process is running");
  library().tally_sink_count(to, *set);
  return Answer::done();
}

Answer LldbPerformer::shown(const Outcome &outcome) {
  said_ += outcome.text;
  return outcome.ok() ? Answer::done() : Answer::refused(outcome.error);
}

Answer LldbPerformer::set_breakpoint(const char *file, uint64_t at) {
  return shown(tally_lldb::set_breakpoint(debugger_, file, at));
}

Answer LldbPerformer::list_source(const char *file, uint64_t at) {
  return shown(tally_lldb::list_source(debugger_, file, at));
}

Answer LldbPerformer::preload(const char *library, const char *variable, Signals) {
  actions_.preload(library, variable);
  return Answer::done();
}

Answer LldbPerformer::end_preload() {
  actions_.end_preload();
  return Answer::done();
}

Answer LldbPerformer::load(const char *library, const char *argument, Signals signals) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  for (const int32_t number : signals)
    actions_.signals.handle(process, number, {false, false, false});
  return load_agent(process, library, argument);
}

Answer LldbPerformer::interrupt(int32_t signal, bool with_stacks) {
  if (interpret(debugger_, "target stop-hook list").text.find("State: enabled") !=
      std::string::npos)
    return Answer::refused(
        "stop-hooks would run at each interrupt: enter `target stop-hook disable` first");
  actions_.interrupter.begin(signal, with_stacks);
  return Answer::done();
}

Answer LldbPerformer::end_interrupt() {
  actions_.interrupter.end();
  return Answer::done();
}

Answer LldbPerformer::restore_signals() {
  actions_.signals.restore();
  return Answer::done();
}

Answer LldbPerformer::watch_region(const char *first, const char *second) {
  return actions_.region.begin(debugger_, {first, second});
}

Answer LldbPerformer::end_region() {
  actions_.region.end();
  return Answer::done();
}

Answer LaterPerformer::preload(const char *library, const char *variable, Signals) {
  actions_.preload(library, variable); // for the next launch
  return Answer::done();
}

Answer LaterPerformer::end_preload() {
  actions_.end_preload();
  return Answer::done();
}

Answer LaterPerformer::interrupt(int32_t signal, bool with_stacks) {
  actions_.put_off([=](tally::Front &by) { by.interrupt(signal, with_stacks); });
  return Answer::done();
}

Answer LaterPerformer::end_interrupt() {
  actions_.put_off([](tally::Front &by) { by.end_interrupt(); });
  return Answer::done();
}

Answer LaterPerformer::restore_signals() {
  actions_.put_off([](tally::Front &by) { by.restore_signals(); });
  return Answer::done();
}

Answer LaterPerformer::end_region() {
  actions_.put_off([](tally::Front &by) { by.end_region(); });
  return Answer::done();
}

} // namespace tally_lldb
