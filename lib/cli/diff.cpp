#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "profiles.h"
#include "report/cost_gate.h"
#include "session/common_options.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

Result<Side> side_in(const std::string &file, const ParsedCommand &given) {
  // A gate that judged the first half of a file would pass.
  const auto damage = given.has("fail-over") ? OnDamage::refuse : OnDamage::warn;
  TALLY_TRY(profile, read_for_table(file, input_options(given), {}, damage));
  return select_side(side_of(std::move(profile), file), given.filter());
}

Result<Comparison> both_in(const ParsedCommand &given) {
  TALLY_TRY(before, side_in(given.arguments[0], given));
  TALLY_TRY(after, side_in(given.arguments[1], given));
  return Comparison{std::move(before), std::move(after),
                    "; --event NAME selects one that both have"};
}

Result<void> write_stacks(const Comparison &both, const Format &format, const std::string &path) {
  WriteOptions how;
  how.time = stated_time();
  TALLY_TRY(written, write_difference(both, format, path, how));
  for (const std::string &what : written.lost)
    say("tally: not in " + std::string(format.name) + ": " + what);
  return {};
}

Result<GateSide> gate_side_of(const Side &side) {
  return side.stacks ? gate_side(*side.stacks, side.name) : gate_side(*side.costs, side.name);
}

Result<CostGate> judged(const Comparison &both, const ParsedCommand &given, SortBy cost) {
  GateLimit limit;
  limit.percent = std::strtod(std::string(given.value("fail-over")).c_str(), nullptr);
  limit.cost = cost;
  limit.functions = given.values("function");
  TALLY_CHECK(check_comparable(both));
  TALLY_TRY(before, gate_side_of(both.before));
  TALLY_TRY(after, gate_side_of(both.after));
  // The ticks of a clock add up to the CPU time. Those that patterns select are counted by chance.
  if (!given.filter().takes_all_frames())
    before.clocks = after.clocks = 0;
  if (limit.percent == 0 && !(before.is_exact && after.is_exact))
    return fail(ErrorCode::invalid_argument,
                "0 requires exact costs, such as Callgrind's Ir: sampled ones always vary",
                "--fail-over");
  return judge(before, after, limit);
}

// Prints what was judged, and sets the exit status.
void conclude(const CostGate &gate, Outcome &outcome) {
  const std::string text = to_text(gate);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    say(fmt::format("tally: {}", rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  if (gate.verdict == GateVerdict::failed)
    outcome.status = below_threshold;
  else if (gate.verdict == GateVerdict::undecided)
    outcome.status = no_data;
}

} // namespace

Result<void> diff_command(const ParsedCommand &given, Outcome &outcome) {
  TALLY_CHECK(check_inputs(given.arguments, "diff"));
  const bool has_gate = given.has("fail-over");
  if (given.has("function") && !has_gate)
    return fail(ErrorCode::invalid_argument, "requires --fail-over", "--function");
  TALLY_TRY(by, by_of(given.value("by")));
  TALLY_TRY(sort, sort_by_of(given.value("sort")));
  const std::string path(given.value("o"));
  const bool is_markdown = path.ends_with(".md");
  const Format *format = nullptr;
  if (given.has("o") && !is_markdown) {
    TALLY_TRY(named, difference_format_of(given, path));
    format = named;
  }
  if (is_markdown && given.has("json"))
    return fail(ErrorCode::invalid_argument, "cannot be used with -o FILE.md", "--json");
  TALLY_TRY(both, both_in(given));
  std::optional<CostGate> gate;
  if (has_gate) {
    TALLY_TRY(result, judged(both, given, sort));
    gate = std::move(result);
  }
  if (format) {
    TALLY_CHECK(write_stacks(both, *format, path));
  } else {
    TALLY_TRY(changes, changes_of(both, by, sort));
    const TableOptions options = table_options(given);
    if (is_markdown)
      TALLY_CHECK(write_file(path, to_markdown(changes, gate ? &*gate : nullptr,
                                               given.has("limit") ? options.limit : 20)));
    else if (options.json)
      TALLY_CHECK(write_file("-", gate ? to_json(changes, *gate, options.limit)
                                       : to_json(changes, options.limit)));
    else
      TALLY_CHECK(write_file("-", to_text(changes, options.text())));
  }
  if (gate)
    conclude(*gate, outcome);
  return {};
}

} // namespace tally::cli
