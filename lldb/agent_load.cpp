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
Answer unsafe_frame(lldb::SBProcess &process, lldb::SBThread thread) {
  constexpr uint32_t most = TALLY_LIMIT_CHECKED_FRAMES;
  std::array<unsigned char, TALLY_LIMIT_SYSTEM_CALL_BYTES> before{};
  for (uint32_t i = 0; i < std::min(thread.GetNumFrames(), most); ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    lldb::SBError error;
    const size_t size = i > 0 ? 0
                              : process.ReadMemory(frame.GetPC() - before.size(), before.data(),
                                                   before.size(), error);
    const char *const name = frame.GetFunctionName();
    const char *const inside = library().tally_unsafe_frame(
        module_of(frame).c_str(), name ? name : "", i == 0, before.data(), size);
    if (*inside)
      return Answer::refused(inside, TALLY_LOAD_UNSAFE, thread.GetIndexID());
  }
  return Answer::done();
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

Answer load_agent(lldb::SBProcess process, const char *library, const std::string &argument) {
  if (!is_stopped(process))
    return Answer::refused({}, TALLY_LOAD_RUNNING);
  lldb::SBTarget target = process.GetTarget();
  if (address_of(target, "dlopen") == LLDB_INVALID_ADDRESS)
    return Answer::refused({}, TALLY_LOAD_NO_DLOPEN);
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i)
    if (Answer safe = unsafe_frame(process, process.GetThreadAtIndex(i)); !safe.is_done())
      return safe;
  lldb::SBFileSpec file(library, false);
  lldb::SBError error;
  if (process.LoadImage(file, error) == LLDB_INVALID_IMAGE_TOKEN || error.Fail())
    return Answer::refused(error.GetCString() ? error.GetCString() : "", TALLY_LOAD_FAILED);
  const lldb::addr_t start = address_of(target, "tally_agent_start");
  if (start == LLDB_INVALID_ADDRESS)
    return Answer::refused({}, TALLY_LOAD_NO_START);
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
      (call + quoted(argument, "\"\\") + ")").c_str(), options);
  if (value.GetError().Fail())
    return Answer::refused(value.GetError().GetCString(), TALLY_LOAD_FAILED);
  const int64_t result = value.GetValueAsSigned();
  return result == 0 ? Answer::done() : Answer::refused({}, TALLY_LOAD_REFUSED, result);
}

} // namespace tally_lldb
