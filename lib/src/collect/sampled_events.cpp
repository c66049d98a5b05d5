// The events that can be sampled in place of the clock, by perf's names (perf-list(1)).
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <tally/sampler.h>

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

constexpr std::array<Row, 13> rows{{
    {"page-faults", software, PERF_COUNT_SW_PAGE_FAULTS, each, false},
    {"minor-faults", software, PERF_COUNT_SW_PAGE_FAULTS_MIN, each, false},
    {"major-faults", software, PERF_COUNT_SW_PAGE_FAULTS_MAJ, each, false},
    {"context-switches", software, PERF_COUNT_SW_CONTEXT_SWITCHES, each, true},
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
  for (const Row &row : rows)
    if (row.name == name)
      return SampledEvent{std::string(name), row.type, row.config, row.period, row.in_kernel};
  if (const auto config = raw_config(name))
    return SampledEvent{std::string(name), PERF_TYPE_RAW, *config, of_many, false};
  return fail(ErrorCode::invalid_argument, fmt::format("expected one of {} or rHEX, found '{}'",
                                                       fmt::join(event_names(), ", "), name));
}

} // namespace tally
