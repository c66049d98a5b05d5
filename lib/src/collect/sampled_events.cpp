// The events that can be sampled in place of the clock or beside it, by perf's names
// (perf-list(1)).
#include "collect/sampled_events.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <linux/perf_event.h>

#include "collect/sampler.h"
#include "support/text.h"

namespace tally {

namespace {

struct Row {
  std::string_view name;
  uint32_t type;
  uint64_t config;
  uint64_t period;
  bool in_kernel;
};

// An event that is rare is counted each time: a frequency would miss the first ones, and would
// attribute many to the function that happens to be sampled. The periods of the others are odd
// numbers, so that they do not keep step with the program's own loops.
constexpr uint64_t each = 1, of_many = 100'003, of_cycles = 1'000'003;
constexpr uint32_t software = PERF_TYPE_SOFTWARE, hardware = PERF_TYPE_HARDWARE;

// The clock's period depends on the frequency, and is set elsewhere.
constexpr Row clock_row{"clock", software, PERF_COUNT_SW_TASK_CLOCK, each, false};

constexpr Row switches_row{"context-switches", software, PERF_COUNT_SW_CONTEXT_SWITCHES, each,
                           true};

constexpr std::array<Row, 13> rows{{
    {"page-faults", software, PERF_COUNT_SW_PAGE_FAULTS, each, false},
    {"minor-faults", software, PERF_COUNT_SW_PAGE_FAULTS_MIN, each, false},
    {"major-faults", software, PERF_COUNT_SW_PAGE_FAULTS_MAJ, each, false},
    switches_row,
    {"cpu-migrations", software, PERF_COUNT_SW_CPU_MIGRATIONS, each, true},
    {"cycles", hardware, PERF_COUNT_HW_CPU_CYCLES, of_cycles, false},
    {"instructions", hardware, PERF_COUNT_HW_INSTRUCTIONS, of_cycles, false},
    {"ref-cycles", hardware, PERF_COUNT_HW_REF_CPU_CYCLES, of_cycles, false},
    {"bus-cycles", hardware, PERF_COUNT_HW_BUS_CYCLES, of_many, false},
    {"branches", hardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, of_many, false},
    {"branch-misses", hardware, PERF_COUNT_HW_BRANCH_MISSES, of_many, false},
    {"cache-references", hardware, PERF_COUNT_HW_CACHE_REFERENCES, of_many, false},
    {"cache-misses", hardware, PERF_COUNT_HW_CACHE_MISSES, of_many, false},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> other_names{{
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
    {"cache-refs", "cache-references"},
}};

SampledEvent event_of(const Row &row) {
  return {std::string(row.name), row.type, row.config, row.period, row.in_kernel};
}

// Returns the number of a raw event, as "r1a8" denotes it.
std::optional<uint64_t> raw_config(std::string_view name) {
  uint64_t config = 0;
  if (name.size() < 2 || name[0] != 'r')
    return std::nullopt;
  const char *const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 1, end, config, 16);
  return error == std::errc() && stop == end ? std::optional(config) : std::nullopt;
}

} // namespace

bool SampledEvent::is_switch() const {
  return type == software && config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

bool SampledEvent::is_clock() const { return type == clock_row.type && config == clock_row.config; }

std::vector<SampledEvent> SamplerOptions::sampled_events() const {
  std::vector<SampledEvent> out = events;
  if (out.empty())
    out.push_back(event_of(clock_row));
  if (waits)
    out.push_back(event_of(switches_row));
  return out;
}

std::vector<std::string_view> event_names() {
  std::vector<std::string_view> out;
  out.reserve(rows.size());
  for (const Row &row : rows)
    out.push_back(row.name);
  return out;
}

Result<SampledEvent> event_by_name(std::string_view name) {
  for (const auto &[other, usual] : other_names)
    if (name == other)
      name = usual;
  if (name == clock_row.name)
    return event_of(clock_row);
  for (const Row &row : rows)
    if (row.name == name)
      return event_of(row);
  if (const auto config = raw_config(name))
    return SampledEvent{std::string(name), PERF_TYPE_RAW, *config, of_many, false};
  return fail(ErrorCode::invalid_argument, fmt::format("expected one of {} or rHEX, found '{}'",
                                                       joined_text(event_names(), ", "), name));
}

bool has_clock(std::span<const SampledEvent> events) {
  return events.empty() || events.front().is_clock();
}

bool has_others(std::span<const SampledEvent> events) {
  return std::ranges::any_of(events, [](const SampledEvent &event) { return !event.is_clock(); });
}

std::string names_of_others(std::span<const SampledEvent> events) {
  std::string out;
  for (const SampledEvent &event : events)
    if (!event.is_clock())
      out += (out.empty() ? "" : ", ") + event.name;
  return out;
}

std::string counts_text(std::span<const SampledEvent> events, std::span<const uint64_t> counts) {
  std::string out;
  for (size_t i = 0; i < std::min(events.size(), counts.size()); ++i)
    if (!events[i].is_clock())
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[i], events[i].name);
  return out;
}

Result<std::vector<SampledEvent>> events_by_names(std::string_view names) {
  std::vector<SampledEvent> out;
  for (bool more = true; more;) {
    const size_t comma = names.find(',');
    more = comma != names.npos;
    TALLY_TRY(event, event_by_name(names.substr(0, comma)));
    names.remove_prefix(more ? comma + 1 : names.size());
    if (std::ranges::find(out, event) != out.end())
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is repeated", event.name));
    out.insert(event.is_clock() ? out.begin() : out.end(), std::move(event));
  }
  if (out.size() == 1 && out.front().is_clock())
    out.clear();
  return out;
}

} // namespace tally
