// Does in LLDB what the session asks for.
#pragma once

#include <string>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

class Actions;

// Answers on the debugger's own thread.
class LldbPerformer : public tally::Front {
public:
  // `of_command` says whether the user can interrupt what is asked for, and repeat it.
  LldbPerformer(lldb::SBDebugger &debugger, int32_t sampled_pid, Actions &actions,
                bool of_command = false)
      : debugger_(debugger), sampled_pid_(sampled_pid), actions_(actions), of_command_(of_command) {
  }
  ~LldbPerformer() override;

  Answer progress(const char *text) override;
  Answer symbols(Addresses addresses, tally_sink *to) override;
  Answer disassemble(Addresses ranges, tally_sink *to) override;
  Answer stacks(tally_sink *to) override;
  Answer modules(tally_sink *to) override;
  Answer memory(Addresses ranges, tally_sink *to) override;
  Answer break_once(Addresses entries, tally_sink *to) override;
  Answer set_breakpoint(const char *file, uint64_t at) override;
  Answer list_source(const char *file, uint64_t at) override;
  Answer preload(const char *library, const char *variable, Signals signals) override;
  Answer end_preload() override;
  Answer load(const char *library, const char *argument, Signals signals) override;
  Answer interrupt(int32_t signal, bool with_stacks) override;
  Answer end_interrupt() override;
  Answer restore_signals() override;
  Answer watch_region(const char *first, const char *second) override;
  Answer end_region() override;
  // The output of LLDB's commands that have set breakpoints and listed source.
  const std::string &said() const { return said_; }

private:
  bool is_interrupted() const;
  Answer unless_interrupted() const;
  Answer shown(const Outcome &outcome);
  void add_names(uint64_t address, size_t index, tally_sink *to);

  lldb::SBDebugger &debugger_;
  int32_t sampled_pid_;
  Actions &actions_;
  bool of_command_;
  bool shown_ = false;
  std::string said_;
};

// Answers on any other thread. It does not call LLDB, but puts off what can be done later.
class LaterPerformer : public tally::Front {
public:
  explicit LaterPerformer(Actions &actions) : actions_(actions) {}
  Answer symbols(Addresses, tally_sink *) override { return Answer::refused("LLDB is busy"); }
  Answer modules(tally_sink *) override { return Answer::refused("LLDB is busy"); }
  Answer preload(const char *library, const char *variable, Signals signals) override;
  Answer end_preload() override;
  Answer interrupt(int32_t signal, bool with_stacks) override;
  Answer end_interrupt() override;
  Answer restore_signals() override;
  Answer end_region() override;

private:
  Actions &actions_;
};

} // namespace tally_lldb
