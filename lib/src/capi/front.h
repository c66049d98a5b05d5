// Calls the functions of a front for a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally.h>

#include "session/debugger.h"

// Collects what a function of a front finds. tally.h describes the functions that fill it.
struct tally_sink {
  std::vector<std::vector<tally::Symbolization::Named>> frames;
  std::vector<tally::Instruction> instructions;
  std::vector<tally::live::StoppedThread> stacks;
  tally::Debugger::LoadedFiles files;
  std::vector<std::optional<std::string>> memory;
  size_t count = 0;
  struct {
    int32_t reason = 0;
    int64_t number = 0;
    std::string text;
  } refusal;
  enum class Answer { cancelled, done, refused } answer = Answer::cancelled;
  bool failed = false; // what was found could not be kept, because memory is exhausted

  bool has_reason() const {
    return answer == Answer::refused && (refusal.reason != 0 || !refusal.text.empty());
  }
};

namespace tally::capi {

class Front final : public Debugger {
public:
  explicit Front(const tally_front &functions) : functions_(functions) {}

  Result<void> progress(const std::string &text) override;
  Result<std::vector<std::vector<Symbolization::Named>>>
  symbols(std::span<const uint64_t> addresses) override;
  Result<std::vector<Instruction>>
  disassemble(const std::vector<live::AddressRange> &ranges) override;
  Result<std::vector<live::StoppedThread>> stacks() override;
  Result<LoadedFiles> modules() override;
  Result<std::optional<std::string>> memory(const live::AddressRange &range) override;
  Result<size_t> break_once(const std::vector<uint64_t> &entries) override;
  Result<void> set_breakpoint(const std::string &file, uint64_t at) override;
  Result<void> list_source(const std::string &file, uint64_t at) override;
  Result<void> preload(const std::string &library, const std::string &variable,
                       const std::vector<int32_t> &signals) override;
  Result<void> end_preload() override;
  Result<void> load(const std::string &library, const std::string &argument,
                    const std::vector<int32_t> &signals) override;
  Result<void> interrupt(int32_t signal, bool with_stacks) override;
  Result<void> end_interrupt() override;
  Result<void> restore_signals() override;
  Result<void> halt() override;
  Result<void> watch_region(const std::string &first, const std::string &second) override;
  Result<void> end_region() override;

private:
  tally_front functions_;
};

} // namespace tally::capi
