// `profile region`.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/render.h"
#include "report/value_text.h"
#include "session/profile_commands.h"
#include "session/profile_group.h"
#include "session/profile_table.h"
#include "support/json_out.h"
#include "support/text.h"

namespace tally {

namespace {

// Returns the smallest of 1, 2, 5, 10, 20, … that is not below the number.
uint64_t round_above(uint64_t number) {
  for (uint64_t ten = 1;; ten *= 10)
    for (const uint64_t digit : {uint64_t{1}, uint64_t{2}, uint64_t{5}})
      if (digit * ten >= number || ten > UINT64_MAX / 100)
        return digit * ten;
}

// A time below twice its error may be zero.
bool is_noise(uint64_t ns, uint64_t error_ns) { return error_ns != 0 && ns < 2 * error_ns; }

std::string span_text(uint64_t ns, uint64_t error_ns) {
  return is_noise(ns, error_ns) ? "under " + duration_text(round_above(2 * error_ns))
                                : duration_text(ns);
}

void add_times(std::vector<StatusRow> &rows, std::string_view prefix, const PassTimes &times,
               uint64_t error_ns, uint64_t error_of_median_ns) {
  if (times.count() == 0)
    return;
  const auto add = [&](std::string_view name, uint64_t ns, uint64_t error) {
    rows.push_back(StatusRow::seconds(fmt::format("{}{}", prefix, name), ns, span_text(ns, error)));
  };
  add("min", times.least_ns(), error_ns);
  add("median", times.median_ns(), error_of_median_ns);
  std::string note = times.stride() == 1 ? "" : fmt::format("over one pass in {}", times.stride());
  if (error_of_median_ns != 0 && !is_noise(times.median_ns(), error_of_median_ns))
    note += fmt::format("{}± {}", note.empty() ? "" : ", ", duration_text(error_of_median_ns));
  if (!note.empty())
    rows.back() = std::move(rows.back()).with_note(note);
  add("max", times.most_ns(), error_ns);
  add("total", times.total_ns(), times.count() * error_of_median_ns);
}

struct PassBin {
  uint64_t from_ns = 0, to_ns = 0, passes = 0;
};

// Counts the passes by their CPU time, or by the wall's clock if that of a pass is not known. The
// limits are 1, 2, 5, 10, … and the first one is where the noise ends.
struct PassHistogram {
  explicit PassHistogram(const Region &region)
      : of_cpu(region.cpu_of_passes().count() == region.passes().count()) {
    const PassTimes &times = of_cpu ? region.cpu_of_passes() : region.passes();
    const Spent of_one = region.errors().one;
    const uint64_t error = of_cpu ? of_one.cpu_ns : of_one.wall_ns;
    std::vector<uint64_t> values = times.kept();
    std::ranges::sort(values);
    for (const uint64_t value : values) {
      const uint64_t above = round_above(std::max({value + 1, 2 * error, uint64_t{1}}));
      if (bins.empty() || bins.back().to_ns != above)
        bins.push_back({bins.empty() ? 0 : bins.back().to_ns, above, 0});
      bins.back().passes += times.stride();
    }
  }
  bool of_cpu;
  std::vector<PassBin> bins;
};

std::string to_text(const PassHistogram &histogram, const TextOptions &options) {
  uint64_t most = 0;
  for (const PassBin &each : histogram.bins)
    most = std::max(most, each.passes);
  TextTable table;
  table.add_column(histogram.of_cpu ? "CPU time below" : "time below", true);
  table.add_column("passes", true);
  table.add_column("", false);
  for (const PassBin &each : histogram.bins)
    table.add_row({duration_text(each.to_ns), std::to_string(each.passes),
                   bar(static_cast<double>(each.passes) / static_cast<double>(most))});
  return table.render({.width = options.width, .style = options.style});
}

// `profile region` without a location.
Result<std::string> show_region(Region *region, const Front &front, bool json) {
  if (!region)
    return fail(ErrorCode::invalid_argument, "there is no region: expected LOCATION [LOCATION]",
                "profile region");
  region->give_up_closed();
  std::vector<StatusRow> rows;
  add_region(*region, rows);
  const PassHistogram histogram(*region);
  if (json) {
    const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
    JsonOut bins = JsonOut::list();
    for (const PassBin &each : histogram.bins)
      bins.push_back({{"from_s", seconds(each.from_ns)},
                      {"to_s", seconds(each.to_ns)},
                      {"passes", each.passes}});
    JsonOut out = to_json_object(rows);
    if (region->stops().is_known() && region->passes().count() != 0) {
      const Region::Errors of = region->errors();
      JsonOut errors{{"pass_s", seconds(of.one.wall_ns)},
                     {"pass_median_s", seconds(of.median.wall_ns)}};
      if (region->cpu_of_passes().count() != 0) {
        errors.add("pass_cpu_s", seconds(of.one.cpu_ns));
        errors.add("pass_cpu_median_s", seconds(of.median.cpu_ns));
      }
      out.add("errors", errors);
    }
    out.add("histogram_of", histogram.of_cpu ? "cpu" : "wall");
    out.add("histogram", bins);
    return out.text() + '\n';
  }
  std::string out = to_text(rows, front.style);
  if (!histogram.bins.empty())
    out += to_text(histogram, front.text_options());
  return out;
}

// What was collected before the region begins becomes the previous run.
Result<std::string> begin_region(ProfileGroup &group, std::shared_ptr<Region> region) {
  const std::string text = fmt::format("Region: {}.\n", region->words());
  if (!group.has_begun()) {
    ParsedCommand none;
    none.spec = profile_table().find("start");
    StartOptions wanted = start_options(group.settings, none);
    wanted.region = std::move(region);
    TALLY_TRY(begun, group.backends.begin(wanted));
    return text + begun;
  }
  group.backends.set_region(region);
  if (!group.sampling.is_active())
    return text;
  TALLY_TRY(profile, group.shown.collected());
  if (profile->sample_count() != 0)
    group.profiles.set_previous(profile);
  group.sampling.set_region(region);
  return text;
}

} // namespace

Result<std::string> region_command(ProfileGroup &group, const ParsedCommand &command) {
  if (command.arguments.empty())
    return show_region(group.region.current(), group.front, command.has("json"));
  if (command.has("json"))
    return fail(ErrorCode::invalid_argument,
                "--json shows the passes of the region that is set, and takes no LOCATION",
                "profile region");
  TALLY_CHECK(group.backends.check_target());
  const std::string &first = command.arguments[0];
  const size_t colon = first.rfind(':');
  const bool is_line =
      first.find_first_not_of("0123456789", colon == first.npos ? 0 : colon + 1) == first.npos;
  if (command.arguments.size() == 1 && is_line && !first.starts_with('*'))
    return fail(ErrorCode::invalid_argument,
                "a single location must be a function; otherwise name two", first);
  if (command.arguments.size() == 2 && first == command.arguments[1])
    return fail(ErrorCode::invalid_argument, "a region must begin and end at different locations",
                first);
  TALLY_TRY(region, group.region.watch(command.arguments));
  return begin_region(group, std::move(region));
}

static std::string cost_words(const Region &region) {
  if (!region.stops().is_known())
    return "their cost could not be measured, and is part of the passes' times";
  const Spent cost = region.stops().median();
  std::string out = fmt::format("each costs {}", duration_text(cost.wall_ns));
  if (cost.cpu_ns != 0)
    out += fmt::format(", of which {} are the thread's CPU time", duration_text(cost.cpu_ns));
  out += "; that is subtracted from passes";
  if (region.stops().uncorrected() != 0)
    out += fmt::format(
        ", but not from the first {}, which ended before",
        region.stops().uncorrected() == 1 ? "one" : std::to_string(region.stops().uncorrected()));
  return out;
}

void add_region(const Region &region, std::vector<StatusRow> &rows) {
  const auto line = [&](std::string_view name, const auto &value) {
    rows.emplace_back(name, value);
  };
  const PassTimes &passes = region.passes();
  line("region", region.words());
  line("passes", passes.count());
  line("inside", region.inside());
  if (region.unfinished() != 0)
    rows.push_back(StatusRow("unfinished", region.unfinished())
                       .with_note("passes whose end was not observed"));
  if (region.inlined() != 0)
    rows.push_back(
        StatusRow("inlined", region.inlined())
            .with_note("entries to inlined copies, which do not return and are not passes"));
  if (region.unreturning() != 0)
    rows.push_back(
        StatusRow("unreturning", region.unreturning())
            .with_note("entries at which the stack holds no return address; they are not "
                       "passes"));
  const StopCost &stops = region.stops();
  rows.push_back(StatusRow("region_stops", stops.count()));
  if (stops.count() != 0)
    rows.back() = std::move(rows.back()).with_note(cost_words(region));
  const auto [error, of_median] = region.errors();
  add_times(rows, "pass_", passes, error.wall_ns, of_median.wall_ns);
  add_times(rows, "pass_cpu_", region.cpu_of_passes(), error.cpu_ns, of_median.cpu_ns);
}

std::string region_footer(const Region &region) {
  const PassTimes &passes = region.passes(), &cpu = region.cpu_of_passes();
  if (passes.count() == 0)
    return fmt::format("(region {}: no pass has ended)", region.name());
  const auto [error, of_median] = region.errors();
  const auto times = [](const PassTimes &of, uint64_t error_ns, uint64_t error_of_median_ns) {
    return fmt::format("min {}, median {}, max {}", span_text(of.least_ns(), error_ns),
                       span_text(of.median_ns(), error_of_median_ns),
                       span_text(of.most_ns(), error_ns));
  };
  std::string out = fmt::format("(region {}: {} {}, {}", region.name(), passes.count(),
                                passes.count() == 1 ? "pass" : "passes",
                                times(passes, error.wall_ns, of_median.wall_ns));
  if (cpu.count() != 0)
    out += fmt::format("; of CPU time {}", times(cpu, error.cpu_ns, of_median.cpu_ns));
  const StopCost &stops = region.stops();
  out += fmt::format("; {} stops", stops.count());
  return out + (stops.uncorrected() < passes.count()
                    ? fmt::format(" of {}, left out)", duration_text(stops.median().wall_ns))
                    : ", not left out)");
}

} // namespace tally
