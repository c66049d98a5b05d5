#include "agent_load.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "interpreter.h"
#include "stop.h"

namespace tally_lldb {

namespace {

constexpr uint32_t call_timeout_us = 5'000'000;

std::string module_of(lldb::SBFrame frame) { return path_of(frame.GetModule().GetFileSpec()); }

// Refuses if a call into the program could hang while this thread is stopped here.
Refused unsafe_frame(Session &session, lldb::SBProcess &process, lldb::SBThread thread) {
  constexpr uint32_t most = TALLY_LIMIT_CHECKED_FRAMES;
  std::array<unsigned char, TALLY_LIMIT_SYSTEM_CALL_BYTES> before{};
  for (uint32_t i = 0; i < std::min(thread.GetNumFrames(), most); ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    lldb::SBError error;
    const size_t size = i > 0 ? 0
                              : process.ReadMemory(frame.GetPC() - before.size(), before.data(),
                                                   before.size(), error);
    const char *const name = frame.GetFunctionName();
    std::string inside =
        session.unsafe_frame(module_of(frame), name ? name : "", i == 0, before.data(), size);
    if (!inside.empty())
      return Refusal{std::move(inside), TALLY_LOAD_UNSAFE, thread.GetIndexID()};
  }
  return std::nullopt;
}

lldb::addr_t address_of(lldb::SBTarget target, const char *function) {
  lldb::SBSymbolContextList found = target.FindSymbols(function);
  for (uint32_t i = 0; i < found.GetSize(); ++i) {
    const lldb::addr_t at =
        found.GetContextAtIndex(i).GetSymbol().GetStartAddress().GetLoadAddress(target);
    if (at != LLDB_INVALID_ADDRESS)
      return at;
  }
  return LLDB_INVALID_ADDRESS;
}

} // namespace

Refused load_agent(Session &session, lldb::SBProcess process, const Words &words) {
  if (!is_stopped(process))
    return Refusal{{}, TALLY_LOAD_RUNNING};
  lldb::SBTarget target = process.GetTarget();
  if (address_of(target, "dlopen") == LLDB_INVALID_ADDRESS)
    return Refusal{{}, TALLY_LOAD_NO_DLOPEN};
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i)
    if (Refused why = unsafe_frame(session, process, process.GetThreadAtIndex(i)))
      return why;
  lldb::SBFileSpec library(words[0].c_str(), false);
  lldb::SBError error;
  if (process.LoadImage(library, error) == LLDB_INVALID_IMAGE_TOKEN || error.Fail())
    return Refusal{error.GetCString() ? error.GetCString() : "", TALLY_LOAD_FAILED};
  const lldb::addr_t start = address_of(target, "tally_agent_start");
  if (start == LLDB_INVALID_ADDRESS)
    return Refusal{{}, TALLY_LOAD_NO_START};
  lldb::SBExpressionOptions options;
  options.SetLanguage(lldb::eLanguageTypeC);
  options.SetIgnoreBreakpoints(true);
  options.SetUnwindOnError(true);
  options.SetTryAllThreads(false);
  options.SetStopOthers(true);
  options.SetTimeoutInMicroSeconds(call_timeout_us);
  char call[64];
  std::snprintf(call, sizeof call, "((int (*)(const char *))0x%llx)(",
                static_cast<unsigned long long>(start));
  lldb::SBValue value = process.GetSelectedThread().GetFrameAtIndex(0).EvaluateExpression(
      (call + quoted(words[1], "\"\\") + ")").c_str(), options);
  if (value.GetError().Fail())
    return Refusal{value.GetError().GetCString(), TALLY_LOAD_FAILED};
  const int64_t result = value.GetValueAsSigned();
  return result == 0 ? std::nullopt : Refused(Refusal{{}, TALLY_LOAD_REFUSED, result});
}

} // namespace tally_lldb
