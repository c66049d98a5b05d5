#include "capi/front.h"

#include <new>

#include "capi/handles.h"
#include "capi/refusals.h"

namespace tally::capi {

namespace {

// Calls a function of a front, which is null if the debugger cannot do this. Returns its answer.
template <class... Parameters, class... Arguments>
Result<void> call(const tally_front &front, void (*function)(void *, Parameters...), tally_sink &to,
                  Arguments... arguments) {
  if (function)
    function(front.self, arguments..., &to);
  else
    to.answer = tally_sink::Answer::refused;
  if (to.failed)
    throw std::bad_alloc();
  switch (to.answer) {
  case tally_sink::Answer::done:
    return {};
  case tally_sink::Answer::refused:
    return fail(ErrorCode::unsupported,
                to.refusal.text.empty() ? "the debugger cannot do this" : to.refusal.text);
  case tally_sink::Answer::cancelled:
    break;
  }
  return fail(interrupted());
}

// The two addresses of each range, as tally_front passes them.
std::vector<uint64_t> addresses_of(std::span<const live::AddressRange> ranges) {
  std::vector<uint64_t> out;
  for (const live::AddressRange &range : ranges)
    out.insert(out.end(), {range.low, range.high});
  return out;
}

} // namespace

Result<void> Front::progress(const std::string &text) {
  tally_sink to;
  return call(functions_, functions_.progress, to, text.c_str());
}

Result<std::vector<std::vector<Symbolization::Named>>>
Front::symbols(std::span<const uint64_t> addresses) {
  tally_sink to;
  to.frames.resize(addresses.size());
  TALLY_CHECK(call(functions_, functions_.symbols, to, addresses.data(), addresses.size()));
  return std::move(to.frames);
}

Result<std::vector<Instruction>> Front::disassemble(const std::vector<live::AddressRange> &ranges) {
  tally_sink to;
  const std::vector<uint64_t> addresses = addresses_of(ranges);
  TALLY_CHECK(call(functions_, functions_.disassemble, to, addresses.data(), ranges.size()));
  return std::move(to.instructions);
}

Result<std::vector<live::StoppedThread>> Front::stacks() {
  tally_sink to;
  TALLY_CHECK(call(functions_, functions_.stacks, to));
  return std::move(to.stacks);
}

Result<Debugger::LoadedFiles> Front::modules() {
  tally_sink to;
  TALLY_CHECK(call(functions_, functions_.modules, to));
  return std::move(to.files);
}

Result<std::optional<std::string>> Front::memory(const live::AddressRange &range) {
  tally_sink to;
  to.memory.resize(1);
  const uint64_t addresses[] = {range.low, range.high};
  TALLY_CHECK(call(functions_, functions_.memory, to, addresses, size_t{1}));
  return std::move(to.memory[0]);
}

Result<size_t> Front::break_once(const std::vector<uint64_t> &entries) {
  tally_sink to;
  TALLY_CHECK(call(functions_, functions_.break_once, to, entries.data(), entries.size()));
  return to.count;
}

Result<void> Front::set_breakpoint(const std::string &file, uint64_t at) {
  tally_sink to;
  return call(functions_, functions_.set_breakpoint, to, file.c_str(), at);
}

Result<void> Front::list_source(const std::string &file, uint64_t at) {
  tally_sink to;
  return call(functions_, functions_.list_source, to, file.c_str(), at);
}

Result<void> Front::preload(const std::string &library, const std::string &variable,
                            const std::vector<int32_t> &signals) {
  tally_sink to;
  return call(functions_, functions_.preload, to, library.c_str(), variable.c_str(), signals.data(),
              signals.size());
}

Result<void> Front::end_preload() {
  tally_sink to;
  return call(functions_, functions_.end_preload, to);
}

Result<void> Front::load(const std::string &library, const std::string &argument,
                         const std::vector<int32_t> &signals) {
  tally_sink to;
  auto done = call(functions_, functions_.load, to, library.c_str(), argument.c_str(),
                   signals.data(), signals.size());
  if (to.has_reason())
    done.error().message =
        load_refusal(to.refusal.reason, to.refusal.number, to.refusal.text, library);
  return done;
}

Result<void> Front::interrupt(int32_t signal, bool with_stacks) {
  tally_sink to;
  return call(functions_, functions_.interrupt, to, signal, with_stacks ? 1 : 0);
}

Result<void> Front::end_interrupt() {
  tally_sink to;
  return call(functions_, functions_.end_interrupt, to);
}

Result<void> Front::restore_signals() {
  tally_sink to;
  return call(functions_, functions_.restore_signals, to);
}

Result<void> Front::halt() {
  tally_sink to;
  return call(functions_, functions_.halt, to);
}

Result<void> Front::watch_region(const std::string &first, const std::string &second) {
  tally_sink to;
  auto done = call(functions_, functions_.watch_region, to, first.c_str(), second.c_str());
  if (to.has_reason())
    done.error().message = region_refusal(to.refusal.reason, to.refusal.text);
  return done;
}

Result<void> Front::end_region() {
  tally_sink to;
  return call(functions_, functions_.end_region, to);
}

} // namespace tally::capi

using namespace tally;
using namespace tally::capi;

namespace {

// No exception may cross the front. What cannot be kept fails the call of the session.
template <class Keep> void keep(tally_sink *to, Keep keep) noexcept {
  try {
    keep();
  } catch (...) {
    to->failed = true;
  }
}

} // namespace

extern "C" {

void tally_sink_done(tally_sink *to) { to->answer = tally_sink::Answer::done; }

void tally_sink_refuse(tally_sink *to, int32_t reason, int64_t number, const char *text) {
  to->answer = tally_sink::Answer::refused;
  keep(to, [&] { to->refusal = {reason, number, text_of(text)}; });
}

void tally_sink_frame(tally_sink *to, size_t index, const char *function, const char *file,
                      uint32_t line) {
  if (index < to->frames.size() && function && *function)
    keep(to, [&] { to->frames[index].push_back({text_of(function), text_of(file), line}); });
}

void tally_sink_instruction(tally_sink *to, uint64_t address, const char *text) {
  keep(to, [&] { to->instructions.push_back({address, text_of(text)}); });
}

void tally_sink_stack(tally_sink *to, int32_t tid, const uint64_t *pcs, size_t count) {
  keep(to, [&] { to->stacks.push_back({tid, {pcs, pcs + count}}); });
}

void tally_sink_module(tally_sink *to, uint64_t address, const char *section, const char *path) {
  keep(to, [&] { to->files.sections.push_back({address, text_of(section), text_of(path)}); });
}

void tally_sink_core(tally_sink *to, const char *path) {
  keep(to, [&] { to->files.core = text_of(path); });
}

void tally_sink_count(tally_sink *to, size_t count) { to->count = count; }

void tally_sink_memory(tally_sink *to, size_t index, const void *bytes, size_t size) {
  if (index < to->memory.size())
    keep(to, [&] { to->memory[index].emplace(static_cast<const char *>(bytes), size); });
}

} // extern "C"
