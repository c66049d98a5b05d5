#include "live_table.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "profiles.h"
#include "report/report.h"
#include "support/sort.h"
#include "transform/symbolization.h"

namespace tally::cli {

namespace {

constexpr uint32_t rows_without_terminal = 20;
constexpr uint32_t other_lines = 6;    // around the rows
constexpr size_t functions_of_now = 3; // in the line about the last interval
constexpr std::string_view clear_screen = "\x1b[2J\x1b[H";

uint32_t rows_that_fit() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row <= other_lines)
    return rows_without_terminal;
  return size.ws_row - other_lines;
}

} // namespace

LiveTable::LiveTable(Sampler &sampler, std::string what)
    : sampler_(sampler), what_(std::move(what)), terminal_(::isatty(STDOUT_FILENO) == 1),
      symbolizer_(make_symbolizer()) {}

void LiveTable::draw(uint64_t took_ns) {
  std::string shown = text(took_ns);
  if (terminal_)
    shown.insert(0, clear_screen);
  else
    shown += '\n';
  // The recording goes on if nobody reads the tables any more.
  static_cast<void>(std::fwrite(shown.data(), 1, shown.size(), stdout));
  static_cast<void>(std::fflush(stdout));
}

std::string LiveTable::text(uint64_t took_ns) {
  std::string out =
      fmt::format("{}: {:.1f} s; Ctrl-C ends it\n", what_, static_cast<double>(took_ns) * 1e-9);
  auto raw = sampler_.snapshot("running", 0, took_ns);
  if (!raw)
    return out + raw.error().text() + '\n';
  if (raw->sample_count() == 0)
    return out + "no samples yet\n";
  Diagnostics findings; // the recording's end reports them
  Symbolization names(std::move(*raw), *symbolizer_, findings);
  while (!names.step(std::chrono::milliseconds(500))) {
  }
  const auto profile = names.finish();
  const auto table =
      profile ? flat_table(*profile, By::function) : Result<FlatTable>(fail(profile.error()));
  if (!table)
    return out + table.error().text() + '\n';

  uint64_t in_all = 0;
  std::vector<std::pair<uint64_t, std::string>> now;
  std::map<std::string, uint64_t> counts;
  for (const FlatRow &row : table->rows)
    counts[row.name] += row.self.front();
  for (const auto &[name, count] : counts) {
    const auto at = before_.find(name);
    const uint64_t more = count - (at == before_.end() ? 0 : std::min(at->second, count));
    in_all += more;
    if (more > 0)
      now.emplace_back(more, name);
  }
  before_ = std::move(counts);
  sort_stably(now, std::greater());
  out += in_all == 0 ? "now: nothing runs\n" : "now: ";
  for (size_t i = 0; i < std::min(now.size(), functions_of_now); ++i)
    if (i == 0 || 200 * now[i].first >= in_all) // at least 0.5 %
      out += fmt::format("{}{:.0f}% {}", i == 0 ? "" : ", ",
                         100.0 * static_cast<double>(now[i].first) / static_cast<double>(in_all),
                         now[i].second);
  if (in_all != 0)
    out += '\n';
  return out + to_text(*table, TableOptions{rows_that_fit()}.text());
}

} // namespace tally::cli
