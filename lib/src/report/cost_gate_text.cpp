// Shows what a gate judged, as text and as Markdown.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "report/cost_gate.h"
#include "report/markdown.h"
#include "report/render.h"
#include "report/value_text.h"
#include "support/text.h"

namespace tally {

namespace {

std::string value_of(double cost, std::string_view unit) {
  constexpr double beyond = 0x1p64;
  return value_text(cost < beyond ? static_cast<uint64_t>(std::round(cost)) : UINT64_MAX, unit);
}

bool has_runs(const CostGate &gate) { return gate.runs_before > 1 || gate.runs_after > 1; }

// Returns the growth with as many digits as distinguish it from the limit that it exceeds.
std::string growth_text(double growth, double limit) {
  int digits = 1;
  const auto text = [&] { return fmt::format("{:.{}f}", growth * 100, digits); };
  while (digits < 12 && std::strtod(text().c_str(), nullptr) <= limit)
    ++digits;
  return text() + " %";
}

std::string named(const GateRow &row) {
  if (row.is_total())
    return "the total";
  const std::string place = row.file.empty() ? row.object : row.file;
  return printable(row.name) + (place.empty() ? "" : fmt::format(" ({})", printable(place)));
}

// Smaller probabilities are not computed accurately.
constexpr double least_chance = 1e-10;

std::string chance_text(double chance) {
  return chance < least_chance ? fmt::format(", p < {:.0g}", least_chance)
                               : fmt::format(", p = {:.1g}", chance);
}

std::string what_failed(const CostGate &gate, const GateRow &row) {
  const bool has_unit = !gate.unit.empty() && gate.unit != "count";
  const std::string of_runs = (has_unit ? "" : " " + gate.event) + (has_runs(gate) ? " a run" : "");
  const std::string after = value_of(row.after, gate.unit) + of_runs;
  const std::string chance = row.chance ? chance_text(*row.chance) : "";
  if (row.before <= 0)
    return fmt::format("{} is new: {}{}", named(row), after, chance);
  return fmt::format("{} grew by {}: {} to {}{}", named(row),
                     growth_text(row.growth(), gate.percent), value_of(row.before, gate.unit),
                     after, chance);
}

std::string what_was_judged(const CostGate &gate) {
  const bool has_total = !gate.rows.empty() && gate.rows.front().is_total();
  const size_t functions = gate.rows.size() - (has_total ? 1 : 0);
  std::string out = has_total ? "the total" : "";
  if (has_total && functions > 0)
    out += " and ";
  if (functions > 0 || !has_total)
    out += counted(functions, "functions");
  return out + (gate.rows.size() == 1 ? " was judged" : " were judged");
}

std::string only_on_one_side(const CostGate &gate) {
  std::string out;
  if (gate.only_after > 0)
    out = fmt::format("only AFTER has {} with {:.1f} % of its cost, the largest is {}",
                      counted(gate.only_after, "functions"), gate.percent_after,
                      printable(gate.largest_after));
  if (gate.only_before > 0)
    out += fmt::format("{}only BEFORE has {} with {:.1f} % of its cost", out.empty() ? "" : "; ",
                       counted(gate.only_before, "functions"), gate.percent_before);
  return out.empty() ? out : out + ": they count in the total alone";
}

// What is worth mentioning: names come and go with a cost of a few samples.
bool is_notable(const CostGate &gate) {
  return gate.percent_after >= 1 || gate.percent_before >= 1;
}

std::string heading_of(const CostGate &gate) {
  switch (gate.verdict) {
  case GateVerdict::passed:
    return fmt::format("nothing grew by more than {:g} %", gate.percent);
  case GateVerdict::failed:
    return fmt::format("grew by more than {:g} %", gate.percent);
  case GateVerdict::undecided:
    break;
  }
  return fmt::format("a growth of {:g} % could not be judged", gate.percent);
}

std::string verdict_text(const CostGate &gate) {
  const std::string judged = what_was_judged(gate);
  switch (gate.verdict) {
  case GateVerdict::passed:
    return fmt::format("nothing grew by more than {:g} %: {}", gate.percent, judged);
  case GateVerdict::failed:
    return fmt::format("the limit is {:g} %: {}", gate.percent, judged);
  case GateVerdict::undecided:
    break;
  }
  return gate.missing;
}

} // namespace

std::string to_text(const CostGate &gate) {
  std::string out;
  for (const GateRow &row : gate.rows)
    if (row.verdict == GateVerdict::failed)
      out += what_failed(gate, row) + '\n';
  out += verdict_text(gate) + '\n';
  if (gate.runs_before != gate.runs_after)
    out += fmt::format("the means of {} and {} runs were compared\n", gate.runs_before,
                       gate.runs_after);
  if (gate.too_small > 0)
    out += fmt::format("{} {} too few samples for {:g} %, or {} too much, and {} not judged\n",
                       counted(gate.too_small, "functions"), gate.too_small == 1 ? "has" : "have",
                       gate.percent, gate.too_small == 1 ? "varies" : "vary",
                       gate.too_small == 1 ? "was" : "were");
  if (is_notable(gate))
    out += only_on_one_side(gate) + '\n';
  return out;
}

std::string to_markdown(const DiffTable &table, const CostGate *gate, size_t most) {
  std::string out = "### Cost";
  if (gate) {
    out += fmt::format(": {}\n\n", heading_of(*gate));
    const std::string text = to_text(*gate);
    for (std::string_view lines = text; !lines.empty();) {
      const size_t end = lines.find('\n');
      out += fmt::format("- {}\n", markdown_text(lines.substr(0, end)));
      lines.remove_prefix(end + 1);
    }
    out += '\n';
  } else {
    out += "\n\n";
  }
  // The costs of one run, as in the verdict.
  const auto mean = [](uint64_t cost, size_t runs) {
    return static_cast<double>(cost) / static_cast<double>(runs);
  };
  const std::string_view unit = gate ? std::string_view(gate->unit) : std::string_view();
  const size_t runs_before = gate ? gate->runs_before : 1, runs_after = gate ? gate->runs_after : 1;
  const auto row_of = [&](const std::string &name, uint64_t before, uint64_t after) {
    const double was = mean(before, runs_before), now = mean(after, runs_after);
    return fmt::format("| {} | {} | {} | {} |\n", name, value_of(was, unit), value_of(now, unit),
                       before == 0 ? "new" : fmt::format("{:+.1f} %", 100 * (now - was) / was));
  };
  out += fmt::format("| {} | before | after | change |\n|:--|--:|--:|--:|\n",
                     markdown_text(gate && has_runs(*gate) ? table.event + " a run" : table.event));
  out += row_of("**total**", table.before_total, table.after_total);
  std::map<std::string_view, size_t> by_name; // the number of rows; a place distinguishes several
  for (const DiffRow &row : table.rows)
    ++by_name[row.name];
  size_t rows = 0, left_out = 0;
  for (const DiffRow &row : table.rows) {
    if (mean(row.before, runs_before) == mean(row.after, runs_after))
      continue;
    if (most > 0 && ++rows > most) {
      ++left_out;
      continue;
    }
    std::string name = markdown_name(row.name.empty() ? row.object : row.name);
    const std::string place = location_of(row.file, row.line, row.object);
    if (by_name[row.name] > 1 && !row.name.empty() && !place.empty())
      name += ' ' + markdown_text(place);
    out += row_of(name, row.before, row.after);
  }
  if (left_out > 0)
    out += fmt::format("\n{} more changed.\n", left_out);
  return out;
}

} // namespace tally
