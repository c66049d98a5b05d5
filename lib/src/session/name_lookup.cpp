#include "session/name_lookup.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "support/path.h"

namespace tally {

namespace {

constexpr std::chrono::milliseconds slice{100};
// Limits the wait: a debugger answers this many in a few seconds.
constexpr size_t most_asked_addresses = 2000;

std::string fetching_text(const FetchProgress &now) {
  const auto in_mb = [](uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  std::string text = fmt::format("fetching debug information of {}: {:.1f}", base_name(now.module),
                                 in_mb(now.received));
  if (now.size != 0)
    text += fmt::format(" of {:.1f}", in_mb(now.size));
  return fmt::format("{} MB (file {} of {})", text, now.done + 1, now.all);
}

} // namespace

bool NameLookup::set_debuginfod(bool on) {
  if (on == debuginfod_ || job_)
    return false;
  debuginfod_ = on;
  symbolizer_.reset();
  return true;
}

void NameLookup::begin_run() {
  symbolizer_.reset();
  diagnostics_.clear();
  answers_.clear();
}

Symbolizer &NameLookup::symbolizer() {
  if (!symbolizer_)
    symbolizer_ = make_symbolizer({.debuginfod = debuginfod_});
  return *symbolizer_;
}

Result<Reply> NameLookup::begin(StackProfile profile, int32_t pid, CanAsk can_ask, Then then) {
  pid_ = pid;
  job_ = std::make_unique<Symbolization>(std::move(profile), symbolizer(), diagnostics_);
  asked_ = false;
  can_ask_ = std::move(can_ask);
  then_ = std::move(then);
  return pump();
}

Result<Reply> NameLookup::pump() {
  if (!job_->step(slice)) {
    Reply reply;
    reply.request = {RequestKind::progress,
                     job_->fetching() ? fetching_text(*job_->fetching())
                                      : fmt::format("looking up names: {} of {} addresses",
                                                    job_->done(), job_->total()),
                     {}};
    return reply;
  }
  if (!asked_ && !answers_.empty())
    for (const uint64_t address : job_->unnamed())
      if (const auto at = answers_.find({pid_, address}); at != answers_.end())
        use(address, at->second);
  if (!asked_ && can_ask_()) {
    asked_ = true;
    std::vector<uint64_t> unnamed = job_->unnamed();
    unnamed.resize(std::min(unnamed.size(), most_asked_addresses));
    if (!unnamed.empty()) {
      Reply reply;
      reply.request = {RequestKind::symbols, {}, std::move(unnamed)};
      return reply;
    }
  }
  auto profile = job_->finish();
  job_.reset();
  symbolizer_->save_cache();
  const Then next = std::exchange(then_, nullptr);
  if (!profile)
    return fail(std::move(profile.error()));
  return next(std::move(*profile));
}

Result<Reply> NameLookup::answer(std::span<const std::string> answers) {
  if (asked_) {
    const std::vector<uint64_t> asked = job_->unnamed();
    for (size_t i = 0; i < std::min(asked.size(), answers.size()); ++i) {
      remember(pid_, asked[i], answers[i]);
      use(asked[i], answers[i]);
    }
  }
  return pump();
}

void NameLookup::skip_fetching() {
  if (job_)
    job_->skip_fetching();
}

void NameLookup::cancel() {
  if (job_ && job_->fetching())
    symbolizer_->stop_fetching();
  job_.reset();
  then_ = nullptr;
}

void NameLookup::remember(int32_t pid, uint64_t address, std::string answer) {
  answers_.insert_or_assign({pid, address}, std::move(answer));
}

// The answer's form is that of RequestKind::symbols.
void NameLookup::use(uint64_t address, std::string_view answer) {
  const auto take = [](std::string_view &rest, char end) {
    const size_t at = std::min(rest.find(end), rest.size());
    const std::string_view taken = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return taken;
  };
  std::vector<Symbolization::Named> frames;
  while (!answer.empty()) {
    std::string_view line = take(answer, '\n');
    Symbolization::Named frame;
    frame.function = take(line, '\t');
    frame.file = take(line, '\t');
    std::from_chars(line.data(), line.data() + line.size(), frame.line);
    if (!frame.function.empty())
      frames.push_back(frame);
  }
  if (!frames.empty())
    job_->set_names(address, frames);
}

} // namespace tally
