#include "report/cost_gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <tally/sample_filter.h>

#include "report/row_match.h"
#include "report/significance.h"
#include "support/pattern.h"
#include "transform/event_units.h"

namespace tally {

namespace {

// How often unchanged programs may fail.
constexpr double error_level = 1e-3;
// The relative standard deviation of a single run's cost. For CPU-bound programs on an idle
// machine, runs differ by 0.5 to 2 %.
constexpr double assumed_variation = 0.01;
constexpr double least_share = 0.01; // of a function that no pattern names

// The events that tools count one by one: those of Callgrind and Cachegrind, with the sums that
// they define, and our own of coverage.
constexpr std::array<std::string_view, 22> exact_events{
    "Ir", "Dr",  "Dw", "I1mr", "D1mr", "D1mw", "ILmr",     "DLmr", "DLmw", "Bc",   "Bcm",
    "Bi", "Bim", "Ge", "L1m",  "LLm",  "CEst", "sysCount", "I2mr", "D2mr", "D2mw", "Executions"};

// The fewest samples of a function on each side. The number of fewer is not distributed normally.
constexpr double least_samples = 50;

// Returns whether a row is not of a function: time that no sample explains. A function of the
// kernel or of a library without names has a name of this form, too, but is code.
bool is_marker(std::string_view name) {
  return name == "[not sampled]" || name == "[unknown]" || name.starts_with("[truncated") ||
         name.starts_with("[waits");
}

bool ends_a_run(std::string_view trigger) { return trigger.starts_with("exited"); }

// Returns the tables of the parts, if each part is a whole run. `trigger_of` returns what ended a
// part.
template <class AnyProfile>
Result<std::vector<FlatTable>> tables_of_runs(const AnyProfile &profile) {
  std::vector<FlatTable> out;
  const auto &parts = profile.parts();
  if (parts.size() < 2 || !std::ranges::all_of(parts, [&](const auto &part) {
        return ends_a_run(profile.strings[part.trigger]);
      }))
    return out;
  for (const auto &part : parts) {
    SampleFilter run;
    run.part = part.number;
    auto some = filter_samples(profile, run);
    if (!some && some.error().code == ErrorCode::no_data) {
      out.emplace_back(); // it ended without a sample
      continue;
    }
    if (!some)
      return fail(some.error());
    TALLY_TRY(table, flat_table(*some, By::function));
    out.push_back(std::move(table));
  }
  return out;
}

double cost_of_a_sample(const StackProfile &profile) {
  double sum = 0, number = 0;
  for (const SampleTime &time : profile.times())
    if (time.value == 0) {
      sum += static_cast<double>(time.amount);
      ++number;
    }
  if (number > 0 && sum > 0)
    return sum / number;
  if (profile.value_types().empty())
    return 0;
  const bool is_time = profile.strings[profile.value_types().front().unit] == unit_of_times;
  return is_time ? static_cast<double>(profile.period_ns) : 1;
}

double logarithm_of(double percent) { return std::log1p(percent / 100); }

// The costs of a row in each run.
struct Observed {
  const FlatRow *row = nullptr; // of AFTER, if it has the row
  double before = 0, after = 0; // the mean of the runs
  std::vector<double> before_runs, after_runs;
};

class Judge {
public:
  Judge(const GateSide &before, const GateSide &after, const GateLimit &limit)
      : before_(before), after_(after), limit_(limit), match_(before.all, after.all) {}

  Result<CostGate> run() {
    for (const GateSide *side : {&before_, &after_})
      if (side->all.totals.empty() || side->all.totals.front() == 0)
        return fail(ErrorCode::no_data, "holds no cost: there is nothing to judge", side->name);
    gate_.percent = limit_.percent;
    gate_.event = after_.all.events.front();
    gate_.unit = after_.all.units.empty() ? "" : after_.all.units.front();
    gate_.is_exact = before_.is_exact && after_.is_exact;
    gate_.runs_before = before_.run_count();
    gate_.runs_after = after_.run_count();
    observe();
    TALLY_CHECK(choose());
    for (const Observed *each : chosen_)
      add(*each);
    std::ranges::stable_sort(gate_.rows, [](const GateRow &a, const GateRow &b) {
      return std::tuple(!a.is_total(), a.before > 0, -a.growth()) <
             std::tuple(!b.is_total(), b.before > 0, -b.growth());
    });
    for (const GateVerdict verdict : {GateVerdict::undecided, GateVerdict::failed})
      if (std::ranges::count(gate_.rows, verdict, &GateRow::verdict) > 0)
        gate_.verdict = verdict;
    return std::move(gate_);
  }

private:
  double cost_in(const FlatRow &row) const {
    return static_cast<double>(limit_.cost == SortBy::self ? row.self.front()
                                                           : row.inclusive.front());
  }

  // Returns the number of samples that a mean cost of one run comes from.
  static double samples_of(const GateSide &side, double mean) {
    return side.sample > 0 ? mean / side.sample * static_cast<double>(side.run_count()) : 0;
  }

  void observe() {
    const auto add_side = [&](const GateSide &side, double Observed::*mean,
                              std::vector<double> Observed::*runs) {
      const auto count = static_cast<double>(side.run_count());
      total_.*mean = static_cast<double>(side.all.totals.front()) / count;
      for (const FlatRow &row : side.all.rows) {
        Observed &to = functions_[match_.key(row)];
        to.*mean += cost_in(row) / count;
        to.row = &row;
      }
      for (size_t i = 0; i < side.runs.size(); ++i) {
        const FlatTable &run = side.runs[i];
        (total_.*runs).push_back(run.totals.empty() ? 0 : static_cast<double>(run.totals.front()));
        for (const FlatRow &row : run.rows) {
          std::vector<double> &costs = functions_[match_.key(row)].*runs;
          costs.resize(side.runs.size());
          costs[i] += cost_in(row);
        }
      }
    };
    add_side(before_, &Observed::before, &Observed::before_runs);
    add_side(after_, &Observed::after, &Observed::after_runs);
  }

  // Sets what is judged.
  Result<void> choose() {
    if (!limit_.functions.empty())
      return choose_named();
    chosen_.push_back(&total_);
    double largest = 0;
    for (const auto &[key, each] : functions_) {
      if (each.before <= 0 && each.after <= 0)
        continue;
      const double share_before = each.before / total_.before,
                   share_after = each.after / total_.after;
      if (each.before <= 0) {
        ++gate_.only_after;
        gate_.percent_after += 100 * share_after;
        if (each.after > largest) {
          largest = each.after;
          gate_.largest_after = each.row->name;
        }
      } else if (each.after <= 0) {
        ++gate_.only_before;
        gate_.percent_before += 100 * share_before;
      } else if (std::max(share_before, share_after) >= least_share && !is_marker(each.row->name)) {
        if (has_enough_samples(each))
          chosen_.push_back(&each);
        else
          ++gate_.too_small;
      }
    }
    return {};
  }

  bool has_enough_samples(const Observed &of) const {
    const auto suffices = [](const GateSide &side, double mean) {
      return side.is_exact || side.sample <= 0 || samples_of(side, mean) >= least_samples;
    };
    return suffices(before_, of.before) && suffices(after_, of.after);
  }

  Result<void> choose_named() {
    std::vector<Pattern> patterns;
    for (const std::string &text : limit_.functions) {
      TALLY_TRY(pattern, Pattern::compile(text, "--function"));
      patterns.push_back(std::move(pattern));
    }
    for (const auto &[key, each] : functions_) {
      if (!each.row || (each.before <= 0 && each.after <= 0))
        continue;
      for (const Pattern &pattern : patterns) {
        auto found = pattern.is_in(each.row->name);
        if (!found)
          return fail(found.error().code, found.error().message, "--function");
        if (*found) {
          chosen_.push_back(&each);
          break;
        }
      }
    }
    if (chosen_.empty())
      return fail(ErrorCode::no_data,
                  fmt::format("no function with a cost matches, neither in {} nor in {}",
                              before_.name, after_.name),
                  "--function");
    return {};
  }

  void add(const Observed &of) {
    GateRow row;
    const bool is_total = &of == &total_;
    if (!is_total) {
      row.name = of.row->name.empty() ? "[unknown]" : of.row->name;
      row.file = of.row->file;
      row.object = of.row->object;
    }
    row.before = of.before;
    row.after = of.after;
    const std::string missing = gate_.is_exact ? judge_exact(row) : judge_sampled(of, row);
    if (row.verdict == GateVerdict::undecided) {
      if (!is_total && limit_.functions.empty()) {
        ++gate_.too_small;
        return;
      }
      if (gate_.missing.empty())
        gate_.missing = (is_total ? "" : row.name + ": ") + missing;
    }
    gate_.rows.push_back(std::move(row));
  }

  std::string judge_exact(GateRow &row) const {
    // In millionths of a percent, because a limit such as 0.7 is not exact in binary.
    const long double millionths = std::llround(limit_.percent * 1e6);
    const long double grown = static_cast<long double>(row.after) - row.before;
    if (grown * 1e8L > row.before * millionths)
      row.verdict = GateVerdict::failed;
    return {};
  }

  // Returns what is missing if the verdict is undecided.
  std::string judge_sampled(const Observed &of, GateRow &row) const {
    const double level = error_level / static_cast<double>(chosen_.size());
    if (row.after <= 0)
      return {};
    if (row.before <= 0)
      return judge_new(row, level);
    if (!has_enough_samples(of)) {
      row.verdict = GateVerdict::undecided;
      return fmt::format("{:.0f} and {:.0f} samples are too few: {:.0f} are needed on each side",
                         samples_of(before_, row.before), samples_of(after_, row.after),
                         least_samples);
    }
    double squares = 0;
    uint32_t freedom = 0;
    for (const auto &runs : {of.before_runs, of.after_runs}) {
      double mean = 0;
      for (const double cost : runs)
        mean += cost / static_cast<double>(runs.size());
      if (runs.size() < 2 || mean <= 0)
        continue;
      for (const double cost : runs)
        squares += (cost / mean - 1) * (cost / mean - 1);
      freedom += static_cast<uint32_t>(runs.size()) - 1;
    }
    if (freedom == 0 && (before_.sample <= 0 || after_.sample <= 0)) {
      row.verdict = GateVerdict::undecided;
      return fmt::format(
          "{} does not say what one sample stands for, so that chance cannot be told "
          "from growth",
          (before_.sample <= 0 ? before_ : after_).name);
    }
    // What the runs vary by includes what sampling does. A periodic clock adds less than one sample
    // to the total, and to functions at most the square root of their samples.
    const bool is_total = row.is_total();
    const auto sampling_of = [&](const GateSide &side, double mean) {
      const double one = side.sample / mean;
      return is_total || freedom > 0 ? one * one : one;
    };
    const double variance = freedom > 0 ? squares / freedom : assumed_variation * assumed_variation;
    const auto variance_of = [&](const GateSide &side, double mean) {
      const double sampling = sampling_of(side, mean);
      return (freedom > 0 ? std::max(variance, sampling) : variance + sampling) /
             static_cast<double>(side.run_count());
    };
    const double deviation =
        std::sqrt(variance_of(before_, row.before) + variance_of(after_, row.after));
    const double critical = critical_value(level, freedom);
    row.chance = upper_tail(std::log(row.after / row.before) / deviation, freedom);
    if (row.growth() * 100 > limit_.percent && *row.chance < level) {
      row.verdict = GateVerdict::failed;
      return {};
    }
    if (critical * deviation <= logarithm_of(limit_.percent))
      return {};
    row.verdict = GateVerdict::undecided;
    const std::string out = fmt::format(
        "a growth of {:g} % cannot be told from chance, only one of {:.1f} % and more: ",
        limit_.percent, std::ceil(std::expm1(critical * deviation) * 1000) / 10);
    // How often the variance of one run must be divided.
    const double per_side = 2 * critical * critical / std::pow(logarithm_of(limit_.percent), 2);
    if (freedom > 0)
      return out +
             fmt::format("the runs vary by {:.1f} %; about {:.0f} on each side are needed, or "
                         "longer ones, or more samples per second",
                         100 * std::sqrt(variance), std::ceil(per_side * variance));
    if (sampling_of(before_, row.before) > variance)
      return out +
             fmt::format("about {:.0f} samples are needed on each side, and there are {:.0f} and "
                         "{:.0f}; sample longer, more often, or several runs",
                         std::ceil(per_side), samples_of(before_, row.before),
                         samples_of(after_, row.after));
    return out +
           fmt::format("single runs are assumed to vary by {:g} %; record several on each side, "
                       "and join them with tally merge",
                       assumed_variation * 100);
  }

  // A function without a sample before: each of its samples would have been before the change with
  // the same probability as after it.
  std::string judge_new(GateRow &row, double level) const {
    const auto runs = static_cast<double>(after_.run_count());
    const double samples = samples_of(after_, row.after);
    const double share = runs / (runs + static_cast<double>(before_.run_count()));
    row.chance = std::pow(share, samples);
    row.verdict = *row.chance < level ? GateVerdict::failed : GateVerdict::undecided;
    return fmt::format("{:.0f} samples, and none in {}, are too few to tell whether it grew",
                       samples, before_.name);
  }

  const GateSide &before_, &after_;
  const GateLimit &limit_;
  const RowMatch match_;
  Observed total_;
  std::map<Identity, Observed> functions_;
  std::vector<const Observed *> chosen_;
  CostGate gate_;
};

} // namespace

Result<GateSide> gate_side(const StackProfile &profile, std::string name) {
  GateSide out;
  TALLY_TRY(all, flat_table(profile, By::function));
  TALLY_TRY(runs, tables_of_runs(profile));
  out.name = std::move(name);
  out.all = std::move(all);
  out.runs = std::move(runs);
  out.sample = cost_of_a_sample(profile);
  return out;
}

Result<GateSide> gate_side(const CostProfile &profile, std::string name) {
  GateSide out;
  TALLY_TRY(all, flat_table(profile, By::function));
  out.name = std::move(name);
  out.is_exact = !all.events.empty() && std::ranges::count(exact_events, all.events.front()) > 0;
  out.all = std::move(all);
  if (!out.is_exact) {
    TALLY_TRY(runs, tables_of_runs(profile));
    out.runs = std::move(runs);
    out.sample = !out.all.events.empty() && out.all.events.front() == "ticks" ? 1 : 0;
  }
  return out;
}

Result<CostGate> judge(const GateSide &before, const GateSide &after, const GateLimit &limit) {
  return Judge(before, after, limit).run();
}

} // namespace tally
