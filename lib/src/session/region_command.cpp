// `profile region`.
#include <utility>

#include <fmt/format.h>

#include "session/profile_commands.h"
#include "session/profile_table.h"
#include "session/refusals.h"
#include "support/text.h"

namespace tally {

namespace {

// Formats a duration with three significant digits: "850 ns", "12.3 us", "1.25 s".
std::string span_of_time(uint64_t ns) {
  struct Unit {
    uint64_t ns;
    std::string_view name;
  };
  static constexpr Unit units[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  for (const Unit &unit : units)
    if (ns >= unit.ns) {
      const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
      return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit.name);
    }
  return fmt::format("{} ns", ns);
}

// What was collected before the region begins becomes the previous run.
Result<Reply> begin_region(ProfileGroup &group, std::shared_ptr<Region> region) {
  const std::string text = fmt::format("Region: {}.\n", region->words());
  if (!group.sampling.is_active() && !group.backends.is_armed()) {
    ParsedCommand none;
    none.spec = profile_table().find("start");
    StartOptions wanted = start_options(group.settings, none);
    wanted.region = std::move(region);
    group.front.actions.say(text);
    return group.backends.begin(wanted);
  }
  group.backends.set_region(region);
  if (!group.sampling.is_active())
    return Reply{text, {}};
  return group.with_names([&group, region, text](const StackProfile &profile) -> Result<Reply> {
    if (profile.sample_count() != 0)
      group.profiles.set_previous(group.profiles.named());
    group.sampling.set_region(region);
    return Reply{text, {}};
  });
}

} // namespace

Result<Reply> region_command(ProfileGroup &group, const ParsedCommand &command) {
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
  auto region = std::make_shared<Region>(command.arguments);
  Request request;
  request.kind = RequestKind::region;
  request.words = command.arguments;
  const bool before = std::exchange(group.region_requested, true);
  group.front.actions.push(
      std::move(request), [&group, region, before](std::string_view answer) -> Result<Reply> {
        if (answer.empty())
          return begin_region(group, region);
        group.region_requested = before;
        return fail(ErrorCode::not_found, region_refusal(answer), "profile region");
      });
  return Reply{};
}

void add_region(const Region &region, std::vector<StatusRow> &rows) {
  const auto line = [&](std::string_view name, const auto &value) {
    rows.emplace_back(name, value);
  };
  const auto time = [&](std::string_view name, uint64_t ns) {
    rows.push_back(StatusRow::seconds(name, ns, span_of_time(ns)));
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
  rows.push_back(StatusRow("region_stops", region.stops().count()));
  if (const StopTimes &stops = region.stops(); stops.mean_ns() != 0)
    rows.back() =
        std::move(rows.back())
            .with_note(fmt::format("{} each, excluded from passes", span_of_time(stops.mean_ns())));
  if (passes.count() == 0)
    return;
  time("pass_min", passes.least_ns());
  time("pass_median", passes.median_ns());
  if (passes.stride() != 1)
    rows.back() =
        std::move(rows.back()).with_note(fmt::format("over one pass in {}", passes.stride()));
  time("pass_max", passes.most_ns());
  time("pass_total", passes.total_ns());
}

std::string region_footer(const Region &region) {
  const PassTimes &passes = region.passes();
  if (passes.count() == 0)
    return fmt::format("(region {}: no pass has ended)", joined_text(region.locations(), " to "));
  const StopTimes &stops = region.stops();
  const std::string each =
      stops.mean_ns() == 0 ? "" : fmt::format(" of {}, left out", span_of_time(stops.mean_ns()));
  return fmt::format("(region {}: {} {}, min {}, median {}, max {}; {} stops{})",
                     joined_text(region.locations(), " to "), passes.count(),
                     passes.count() == 1 ? "pass" : "passes", span_of_time(passes.least_ns()),
                     span_of_time(passes.median_ns()), span_of_time(passes.most_ns()),
                     stops.count(), each);
}

} // namespace tally
