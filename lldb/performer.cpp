#include "performer.h"

#include <cinttypes>
#include <cstdio>

#include "actions.h"
#include "interpreter.h"
#include "source_view.h"
#include "stop.h"

namespace tally_lldb {

namespace {

std::string row_of(const char *function, lldb::SBLineEntry entry) {
  if (!function)
    return {};
  return std::string(function) + "\t" + path_of(entry.GetFileSpec()) + "\t" +
         std::to_string(entry.GetLine());
}

} // namespace

LldbPerformer::~LldbPerformer() {
  if (shown_)
    print(debugger_, "\r\x1b[K");
}

bool LldbPerformer::progress(const std::string &text) {
  if (is_terminal(debugger_) && debugger_.GetAsync()) {
    print(debugger_, "\r" + text);
    shown_ = true;
  }
  return !debugger_.GetCommandInterpreter().WasInterrupted();
}

std::string LldbPerformer::symbol(uint64_t address) {
  lldb::SBTarget target = process_of(debugger_, sampled_pid_).GetTarget();
  lldb::SBAddress at = target.ResolveLoadAddress(address);
  if (!at.IsValid())
    return {};
  const lldb::SBSymbolContext context = at.GetSymbolContext(lldb::eSymbolContextEverything);
  lldb::SBSymbolContext frame = context;
  std::string rows;
  // Each inlined function is a block. The next context is that of the function's call.
  for (int depth = 0; depth < 64 && frame.GetBlock().GetContainingInlinedBlock().IsValid();
       ++depth) {
    const char *const name = frame.GetBlock().GetContainingInlinedBlock().GetInlinedName();
    rows += row_of(name ? name : "", frame.GetLineEntry()) + "\n";
    lldb::SBAddress call;
    frame = frame.GetParentOfInlinedScope(at, call);
    at = call;
  }
  std::string last = row_of(frame.GetFunction().GetDisplayName(), frame.GetLineEntry());
  if (last.empty())
    last = row_of(frame.GetSymbol().GetDisplayName(), frame.GetLineEntry());
  return rows + last;
}

std::string LldbPerformer::instructions(const std::vector<uint64_t> &ranges) {
  lldb::SBProcess process = process_of(debugger_, sampled_pid_);
  return disassemble(
      debugger_, process.IsValid() ? process : debugger_.GetSelectedTarget().GetProcess(), ranges);
}

std::optional<std::string> LldbPerformer::stacks() {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  if (!is_stopped(process))
    return "the process is running";
  const lldb::tid_t selected = process.GetSelectedThread().GetThreadID();
  std::vector<lldb::SBThread> threads;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    threads.insert(thread.GetThreadID() == selected ? threads.begin() : threads.end(), thread);
  }
  std::string out;
  for (lldb::SBThread &thread : threads) {
    out += std::to_string(thread.GetThreadID());
    for (const uint64_t pc : pcs_of(thread, TALLY_LIMIT_STACK_FRAMES)) {
      char text[24];
      std::snprintf(text, sizeof text, " %" PRIx64, pc);
      out += text;
    }
    out += '\n';
  }
  return out;
}

std::string LldbPerformer::modules() {
  lldb::SBTarget target = debugger_.GetSelectedTarget();
  std::string out;
  for (uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    for (const char *name : {".text", ".data"}) {
      lldb::SBSection section = module.FindSection(name);
      const lldb::addr_t address = section.GetLoadAddress(target);
      if (!section.IsValid() || address == LLDB_INVALID_ADDRESS)
        continue;
      char text[40];
      std::snprintf(text, sizeof text, "module %" PRIx64 " %s ", address, name);
      out += text + path_of(module.GetFileSpec()) + "\n";
      break;
    }
  }
  return out;
}

Contents LldbPerformer::memory(const std::vector<uint64_t> &ranges) {
  lldb::SBProcess process = debugger_.GetSelectedTarget().GetProcess();
  Contents out;
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    std::vector<unsigned char> bytes(ranges[i + 1] - ranges[i]);
    lldb::SBError error;
    const size_t got = process.ReadMemory(ranges[i], bytes.data(), bytes.size(), error);
    if (error.Success() && got == bytes.size())
      out.emplace_back(std::move(bytes));
    else
      out.emplace_back();
  }
  return out;
}

std::optional<std::string> LldbPerformer::break_once(const std::vector<uint64_t> &entries) {
  return actions_.temporary().begin(debugger_, entries);
}

std::optional<std::string> LldbPerformer::act(int request, const Words &words,
                                              const std::vector<int32_t> &signals) {
  if (request == TALLY_REQUEST_BREAK || request == TALLY_REQUEST_LIST) {
    const Outcome outcome = show_location(debugger_, request, words);
    said_ += outcome.text;
    return outcome.error;
  }
  return actions_.act(debugger_, request, words, signals);
}

std::optional<std::string> LaterPerformer::act(int request, const Words &words,
                                               const std::vector<int32_t> &signals) {
  actions_.put_off(request, words, signals);
  return "";
}

} // namespace tally_lldb
