// A debugger for tests of sessions: it records what it is asked to do, and answers as a test says.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "session/debugger.h"

namespace tally {

class FakeDebugger final : public Debugger {
public:
  // The functions of Debugger.
  enum class Call : uint8_t {
    progress,
    symbols,
    disassemble,
    stacks,
    modules,
    memory,
    break_once,
    set_breakpoint,
    list_source,
    preload,
    end_preload,
    load,
    interrupt,
    end_interrupt,
    restore_signals,
    halt,
    watch_region,
    end_region,
  };
  struct Asked {
    Call call;
    std::vector<std::string> words{};
    std::vector<int32_t> signals{};
  };

  std::vector<Asked> asked; // without progress, symbols and memory
  std::map<Call, Error> errors;
  std::function<void(Call)> during = [](Call) {}; // runs in each function
  std::function<std::vector<Symbolization::Named>(uint64_t address)> name_of = [](uint64_t) {
    return std::vector<Symbolization::Named>();
  };
  std::vector<live::StoppedThread> threads;
  LoadedFiles files;
  std::function<std::optional<std::string>(const live::AddressRange &)> content_of =
      [](const live::AddressRange &) { return std::nullopt; };

  // Returns the functions that were called since the last call of this.
  std::vector<Call> taken() {
    std::vector<Call> calls;
    for (const Asked &each : std::exchange(asked, {}))
      calls.push_back(each.call);
    return calls;
  }
  void refuse(Call call, std::string why) {
    errors[call] = {ErrorCode::unsupported, std::move(why)};
  }
  void interrupt_call(Call call) { errors[call] = interrupted(); }

  Result<void> progress(const std::string &) override { return answer(Call::progress); }
  Result<std::vector<std::vector<Symbolization::Named>>>
  symbols(std::span<const uint64_t> addresses) override {
    TALLY_CHECK(answer(Call::symbols));
    std::vector<std::vector<Symbolization::Named>> names;
    for (const uint64_t address : addresses)
      names.push_back(name_of(address));
    return names;
  }
  Result<std::vector<Instruction>> disassemble(const std::vector<live::AddressRange> &) override {
    TALLY_CHECK(noted({Call::disassemble}));
    return std::vector<Instruction>();
  }
  Result<std::vector<live::StoppedThread>> stacks() override {
    TALLY_CHECK(noted({Call::stacks}));
    return threads;
  }
  Result<LoadedFiles> modules() override {
    TALLY_CHECK(noted({Call::modules}));
    return files;
  }
  Result<std::optional<std::string>> memory(const live::AddressRange &range) override {
    TALLY_CHECK(answer(Call::memory));
    return content_of(range);
  }
  Result<size_t> break_once(const std::vector<uint64_t> &entries) override {
    TALLY_CHECK(noted({Call::break_once}));
    return entries.size();
  }
  Result<void> set_breakpoint(const std::string &file, uint64_t at) override {
    return noted({Call::set_breakpoint, {file, std::to_string(at)}});
  }
  Result<void> list_source(const std::string &file, uint64_t at) override {
    return noted({Call::list_source, {file, std::to_string(at)}});
  }
  Result<void> preload(const std::string &library, const std::string &variable,
                       const std::vector<int32_t> &signals) override {
    return noted({Call::preload, {library, variable}, signals});
  }
  Result<void> end_preload() override { return noted({Call::end_preload}); }
  Result<void> load(const std::string &library, const std::string &argument,
                    const std::vector<int32_t> &signals) override {
    return noted({Call::load, {library, argument}, signals});
  }
  Result<void> interrupt(int32_t signal, bool with_stacks) override {
    return noted({Call::interrupt, {with_stacks ? "stacks" : "pcs"}, {signal}});
  }
  Result<void> end_interrupt() override { return noted({Call::end_interrupt}); }
  Result<void> restore_signals() override { return noted({Call::restore_signals}); }
  Result<void> halt() override { return noted({Call::halt}); }
  Result<void> watch_region(const std::string &first, const std::string &second) override {
    return noted({Call::watch_region, {first, second}});
  }
  Result<void> end_region() override { return noted({Call::end_region}); }

private:
  Result<void> noted(Asked what) {
    asked.push_back(what);
    return answer(what.call);
  }
  Result<void> answer(Call call) {
    during(call);
    const auto error = errors.find(call);
    return error == errors.end() ? Result<void>() : fail(error->second);
  }
};

} // namespace tally
