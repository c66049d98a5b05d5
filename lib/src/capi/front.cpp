#include "capi/front.h"

#include <cstdlib>
#include <new>
#include <span>

#include <fmt/format.h>

#include "capi/handles.h"

namespace tally::capi {

namespace {

const char *word(const Request &request, size_t index) {
  return index < request.words.size() ? request.words[index].c_str() : "";
}

// Returns why a front refuses a request, in the words that the session parses; nothing if the front
// does not say so.
std::optional<std::string> reason_of(const tally_sink &to, RequestKind kind) {
  const auto &[reason, number, text] = to.refusal;
  if (kind == RequestKind::load && reason == TALLY_LOAD_UNSAFE)
    return fmt::format("{} {} {}", reason, number, text);
  if (kind == RequestKind::load && reason == TALLY_LOAD_REFUSED)
    return fmt::format("{} {}", reason, number);
  if (reason != 0)
    return fmt::format("{} {}", reason, text);
  if (text.empty())
    return std::nullopt;
  if (kind == RequestKind::load)
    return fmt::format("{} {}", int{TALLY_LOAD_FAILED}, text);
  if (kind == RequestKind::region)
    return fmt::format("{} {}", int{TALLY_REGION_FAILED}, text);
  return text;
}

} // namespace

void Front::call(const Request &request, tally_sink &to) const {
  const std::span<const uint64_t> addresses = request.addresses;
  const size_t ranges = addresses.size() / 2;
  const auto at = [&] { return std::strtoull(word(request, 1), nullptr, 0); };
  const int32_t *const signals = request.signals.data();
  const size_t signal_count = request.signals.size();
  switch (request.kind) {
  case RequestKind::progress:
    return call(functions_.progress, to, request.text.c_str());
  case RequestKind::symbols:
    return call(functions_.symbols, to, addresses.data(), addresses.size());
  case RequestKind::disassemble:
    return call(functions_.disassemble, to, addresses.data(), ranges);
  case RequestKind::stacks:
    return call(functions_.stacks, to);
  case RequestKind::modules:
    return call(functions_.modules, to);
  case RequestKind::memory:
    return call(functions_.memory, to, addresses.data(), ranges);
  case RequestKind::break_once:
    return call(functions_.break_once, to, addresses.data(), addresses.size());
  case RequestKind::set_breakpoint:
    return call(functions_.set_breakpoint, to, word(request, 0), at());
  case RequestKind::list_source:
    return call(functions_.list_source, to, word(request, 0), at());
  case RequestKind::preload:
    return call(functions_.preload, to, word(request, 0), word(request, 1), signals, signal_count);
  case RequestKind::preload_end:
    return call(functions_.end_preload, to);
  case RequestKind::load:
    return call(functions_.load, to, word(request, 0), word(request, 1), signals, signal_count);
  case RequestKind::interrupt:
    return call(functions_.interrupt, to, signal_count == 0 ? 0 : signals[0],
                request.words.front() == "stacks" ? 1 : 0);
  case RequestKind::interrupt_end:
    return call(functions_.end_interrupt, to);
  case RequestKind::signals_restore:
    return call(functions_.restore_signals, to);
  case RequestKind::halt:
    return call(functions_.halt, to);
  case RequestKind::region:
    return call(functions_.watch_region, to, word(request, 0), word(request, 1));
  case RequestKind::region_end:
    return call(functions_.end_region, to);
  case RequestKind::none:
    break;
  }
}

Result<Reply> Front::answer(Session &session, const Request &request) const {
  tally_sink to;
  to.frames.resize(request.kind == RequestKind::symbols ? request.addresses.size() : 0);
  to.memory.resize(request.kind == RequestKind::memory ? request.addresses.size() / 2 : 0);
  call(request, to);
  if (to.failed)
    throw std::bad_alloc();
  if (to.answer == tally_sink::Answer::cancelled)
    return session.cancel();
  switch (request.kind) {
  case RequestKind::progress:
    return session.answer({});
  case RequestKind::symbols:
    return session.answer(to.frames);
  case RequestKind::memory:
    return session.answer_memory(std::move(to.memory));
  default:
    break;
  }
  std::vector<std::string> texts;
  if (to.answer == tally_sink::Answer::refused) {
    if (auto reason = reason_of(to, request.kind))
      texts.push_back(std::move(*reason));
  } else {
    texts.push_back(std::move(to.lines));
  }
  return session.answer(texts);
}

Result<std::string> Front::perform(Session &session, Result<Reply> step) const {
  try {
    for (;;) {
      TALLY_TRY(reply, std::move(step));
      if (reply.request.kind == RequestKind::none)
        return std::move(reply.text);
      step = answer(session, reply.request);
    }
  } catch (...) {
    static_cast<void>(session.cancel()); // no action is left half performed
    throw;
  }
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
  if (index < to->frames.size())
    keep(to, [&] {
      std::string &all = to->frames[index];
      all += fmt::format("{}{}\t{}\t{}", all.empty() ? "" : "\n", text_of(function), text_of(file),
                         line);
    });
}

void tally_sink_instruction(tally_sink *to, uint64_t address, const char *text) {
  keep(to, [&] {
    to->lines += fmt::format("{}{:#x}\t{}", to->lines.empty() ? "" : "\n", address, text_of(text));
  });
}

void tally_sink_stack(tally_sink *to, int32_t tid, const uint64_t *pcs, size_t count) {
  keep(to, [&] {
    to->lines += std::to_string(tid);
    for (size_t i = 0; i < count; ++i)
      to->lines += fmt::format(" {:x}", pcs[i]);
    to->lines += '\n';
  });
}

void tally_sink_module(tally_sink *to, uint64_t address, const char *section, const char *path) {
  keep(to, [&] {
    to->lines += fmt::format("module {:x} {} {}\n", address, text_of(section), text_of(path));
  });
}

void tally_sink_core(tally_sink *to, const char *path) {
  keep(to, [&] { to->lines += fmt::format("core {}\n", text_of(path)); });
}

void tally_sink_count(tally_sink *to, size_t count) {
  keep(to, [&] { to->lines = std::to_string(count); });
}

void tally_sink_memory(tally_sink *to, size_t index, const void *bytes, size_t size) {
  if (index < to->memory.size())
    keep(to, [&] { to->memory[index].emplace(static_cast<const char *>(bytes), size); });
}

} // extern "C"
