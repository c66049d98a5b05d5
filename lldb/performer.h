// Performs the session's requests in LLDB.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

class Actions;

// Performs requests on the debugger's own thread.
class LldbPerformer : public Performer {
public:
  LldbPerformer(lldb::SBDebugger &debugger, int32_t sampled_pid, Actions &actions)
      : debugger_(debugger), sampled_pid_(sampled_pid), actions_(actions) {}
  ~LldbPerformer() override;

  void progress(const std::string &text) override;
  bool is_interrupted() override { return debugger_.GetCommandInterpreter().WasInterrupted(); }
  std::vector<Frame> symbol(uint64_t address) override;
  Refused disassemble(std::span<const Range> ranges, const Sink &to) override;
  Refused stacks(const Sink &to) override;
  Refused modules(const Sink &to) override;
  Contents memory(std::span<const Range> ranges) override;
  Refused break_once(std::span<const uint64_t> entries, const Sink &to) override;
  Refused act(Act act, const Words &words, const std::vector<int32_t> &signals) override;
  // The output of LLDB's commands that have set breakpoints and listed source.
  const std::string &said() const { return said_; }

private:
  lldb::SBDebugger &debugger_;
  int32_t sampled_pid_;
  Actions &actions_;
  bool shown_ = false;
  std::string said_;
};

// Answers requests on any other thread. It does not call LLDB, but queues the requests that can be
// performed later.
class LaterPerformer : public Performer {
public:
  explicit LaterPerformer(Actions &actions) : actions_(actions) {}
  void progress(const std::string &) override {}
  bool is_interrupted() override { return false; }
  std::vector<Frame> symbol(uint64_t) override { return {}; }
  Refused disassemble(std::span<const Range>, const Sink &) override { return busy(); }
  Refused stacks(const Sink &) override { return Refusal{}; }
  Refused modules(const Sink &) override { return busy(); }
  Contents memory(std::span<const Range>) override { return {}; }
  Refused break_once(std::span<const uint64_t>, const Sink &) override { return Refusal{}; }
  Refused act(Act act, const Words &words, const std::vector<int32_t> &signals) override;

private:
  static Refusal busy() { return {"LLDB is busy"}; }
  Actions &actions_;
};

} // namespace tally_lldb
