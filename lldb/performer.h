// What LLDB does for the session, on its request.
#pragma once

#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

class Actions;

// For the debugger's own thread.
class LldbPerformer : public Performer {
public:
  LldbPerformer(lldb::SBDebugger &debugger, int32_t sampled_pid, Actions &actions)
      : debugger_(debugger), sampled_pid_(sampled_pid), actions_(actions) {}
  ~LldbPerformer() override;

  bool progress(const std::string &text) override;
  std::string symbol(uint64_t address) override;
  std::string instructions(const std::vector<uint64_t> &ranges) override;
  std::string act(int request, const Words &words, const std::vector<int32_t> &signals) override;
  // By LLDB, of what it was asked to show.
  const std::string &said() const { return said_; }

private:
  lldb::SBDebugger &debugger_;
  int32_t sampled_pid_;
  Actions &actions_;
  bool shown_ = false;
  std::string said_;
};

// For any other thread: LLDB is not asked, what can wait is put off.
class LaterPerformer : public Performer {
public:
  explicit LaterPerformer(Actions &actions) : actions_(actions) {}
  bool progress(const std::string &) override { return true; }
  std::string symbol(uint64_t) override { return {}; }
  std::string instructions(const std::vector<uint64_t> &) override { return "LLDB is busy"; }
  std::string act(int request, const Words &words, const std::vector<int32_t> &signals) override;

private:
  Actions &actions_;
};

} // namespace tally_lldb
