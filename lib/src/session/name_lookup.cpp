#include "session/name_lookup.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "support/path.h"
#include "support/text.h"

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
  if (on == debuginfod_)
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

Result<StackProfile> NameLookup::look_up(StackProfile profile, int32_t pid, Asks asks) {
  Symbolization job(std::move(profile), symbolizer(), diagnostics_);
  TALLY_CHECK(find_in_files(job, asks));
  use_answers(job, pid);
  if (asks == Asks::names) {
    std::vector<uint64_t> unnamed = job.unnamed();
    unnamed.resize(std::min(unnamed.size(), most_asked_addresses));
    if (!unnamed.empty()) {
      TALLY_CHECK(ask(pid, unnamed));
      use_answers(job, pid);
    }
  }
  auto named = job.finish();
  symbolizer().save_cache();
  return named;
}

Result<void> NameLookup::find_in_files(Symbolization &job, Asks asks) {
  while (!job.step(slice)) {
    if (asks == Asks::nothing) {
      job.skip_fetching();
      continue;
    }
    auto shown = debugger_.progress(printable(
        job.fetching()
            ? fetching_text(*job.fetching())
            : fmt::format("looking up names: {} of {} addresses", job.done(), job.total())));
    if (shown || !is_interrupted(shown.error())) // a debugger need not show it
      continue;
    if (job.fetching())
      symbolizer().stop_fetching();
    return shown;
  }
  return {};
}

Result<void> NameLookup::ask(int32_t pid, std::span<const uint64_t> addresses) {
  auto named = debugger_.symbols(addresses);
  if (!named && is_interrupted(named.error()))
    return fail(std::move(named.error()));
  if (!named) // a debugger that refuses knows no names
    named.emplace();
  named->resize(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    answers_.insert_or_assign({pid, addresses[i]}, std::move((*named)[i]));
  return {};
}

void NameLookup::use_answers(Symbolization &job, int32_t pid) const {
  if (answers_.empty())
    return;
  for (const uint64_t address : job.unnamed())
    if (const auto at = answers_.find({pid, address}); at != answers_.end() && !at->second.empty())
      job.set_names(address, at->second);
}

} // namespace tally
