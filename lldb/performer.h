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

  bool progress(const std::string &text) override;
  std::string symbol(uint64_t address) override;
  std::string instructions(const std::vector<uint64_t> &ranges) override;
  std::optional<std::string> stacks() override;
  std::string modules() override;
  Contents memory(const std::vector<uint64_t> &ranges) override;
  std::optional<std::string> break_once(const std::vector<uint64_t> &entries) override;
  std::optional<std::string> act(int request, const Words &words,
                                 const std::vector<int32_t> &signals) override;
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
  bool progress(const std::string &) override { return true; }
  std::string symbol(uint64_t) override { return {}; }
  std::string instructions(const std::vector<uint64_t> &) override { return "LLDB is busy"; }
  std::optional<std::string> stacks() override { return std::nullopt; }
  std::string modules() override { return "LLDB is busy"; }
  Contents memory(const std::vector<uint64_t> &ranges) override {
    return Contents(ranges.size() / 2);
  }
  std::optional<std::string> break_once(const std::vector<uint64_t> &) override {
    return std::nullopt;
  }
  std::optional<std::string> act(int request, const Words &words,
                                 const std::vector<int32_t> &signals) override;

private:
  Actions &actions_;
};

} // namespace tally_lldb
