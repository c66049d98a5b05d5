#include "report/cost_gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <tally/sample_filter.h>

#include "report/row_match.h"
#include "report/significance.h"
#include "support/checked.h"
#include "support/pattern.h"
#include "support/text.h"
#include "transform/event_units.h"

namespace tally {

namespace {

__extension__ typedef unsigned __int128 Product;

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

// Returns whether a part with this trigger lasted until the end of the process. A debugger's part
// may have begun at a stop, but then another part, which does not end so, precedes it.
bool ends_a_run(std::string_view trigger) {
  return trigger.starts_with("exited") || trigger.starts_with("ended by ");
}

// Returns what ended each part, if each is a whole run.
template <class AnyProfile> std::vector<std::string> ends_of_runs(const AnyProfile &profile) {
  std::vector<std::string> out;
  for (const auto &part : profile.parts()) {
    const std::string_view trigger = profile.strings[part.trigger];
    if (!ends_a_run(trigger))
      return {};
    out.emplace_back(trigger);
  }
  return out;
}

// Returns the tables of the parts, which are whole runs, if there are several.
template <class AnyProfile>
Result<std::vector<FlatTable>> tables_of_runs(const AnyProfile &profile) {
  std::vector<FlatTable> out;
  const auto &parts = profile.parts();
  if (parts.size() < 2)
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
  double sum = 0, squares = 0;
  for (const SampleTime &time : profile.times())
    if (time.value == 0) {
      const auto amount = static_cast<double>(time.amount);
      sum += amount;
      squares += amount * amount;
    }
  if (sum > 0)
    return squares / sum; // the variance of the sum is that of the squares
  if (profile.value_types().empty())
    return 0;
  const bool is_time = profile.strings[profile.value_types().front().unit] == unit_of_times;
  return is_time ? static_cast<double>(profile.period_ns) : 1;
}

uint64_t length_of_a_tick(const StackProfile &profile) {
  const bool has_ticks = !profile.value_types().empty() &&
                         profile.strings[profile.value_types().front().type] == "ticks";
  return has_ticks ? profile.period_ns : 0;
}

double logarithm_of(double percent) { return std::log1p(percent / 100); }

// The costs of a row on one side.
struct ObservedCost {
  uint64_t sum = 0; // of all runs
  double mean = 0;  // of the runs
  std::vector<double> runs{};

  // Returns the sum of the squares of the runs' relative deviations from the mean, and adds to the
  // degrees of freedom.
  double squares(uint32_t &freedom) const {
    const double mean_of_runs =
        std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size());
    if (runs.size() < 2 || mean_of_runs <= 0)
      return 0;
    freedom += static_cast<uint32_t>(runs.size()) - 1;
    return std::accumulate(runs.begin(), runs.end(), 0.0, [&](double so_far, double cost) {
      return so_far + std::pow(cost / mean_of_runs - 1, 2);
    });
  }
};

struct Observed {
  const FlatRow *row = nullptr; // of AFTER, if it has the row
  ObservedCost before, after;
};

// Returns why the runs of the sides did different work, empty if they did not.
std::string different_end(const GateSide &side, const GateSide &other) {
  if (other.ends.empty())
    return {};
  for (size_t i = 0; i < side.ends.size(); ++i)
    if (std::ranges::count(other.ends, side.ends[i]) == 0)
      return fmt::format("run {} {}, and none in {} did: their costs cannot be compared", i + 1,
                         printable(side.ends[i]), other.name);
  return {};
}

class Judge {
public:
  Judge(const GateSide &before, const GateSide &after, const GateLimit &limit)
      : before_(before), after_(after), limit_(limit), match_(before.all, after.all) {}

  Result<CostGate> run() {
    for (const GateSide *side : {&before_, &after_})
      if (side->all.totals.empty() || side->all.totals.front() == 0)
        return fail(ErrorCode::no_data, "holds no cost: there is nothing to judge", side->name);
    for (const auto &[side, other] : {std::pair(&before_, &after_), std::pair(&after_, &before_)})
      if (std::string why = different_end(*side, *other); !why.empty())
        return fail(ErrorCode::no_data, std::move(why), side->name);
    if (before_.tick_ns != after_.tick_ns && before_.tick_ns > 0 && after_.tick_ns > 0)
      return fail(ErrorCode::no_data,
                  fmt::format("was sampled every {} ns, and {} every {} ns: their ticks cannot be "
                              "compared",
                              after_.tick_ns, before_.name, before_.tick_ns),
                  after_.name);
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
  uint64_t cost_in(const FlatRow &row) const {
    return limit_.cost == SortBy::self ? row.self.front() : row.inclusive.front();
  }

  // Returns the number of samples that a mean cost of one run comes from.
  static double samples_of(const GateSide &side, double mean) {
    return side.sample > 0 ? mean / side.sample * static_cast<double>(side.run_count()) : 0;
  }

  void observe() {
    const auto add_side = [&](const GateSide &side, ObservedCost Observed::*cost) {
      const auto add_sum = [&](ObservedCost &to, uint64_t sum) {
        to.sum = saturated_sum(to.sum, sum);
        to.mean += static_cast<double>(sum) / static_cast<double>(side.run_count());
      };
      add_sum(total_.*cost, side.all.totals.front());
      for (const FlatRow &row : side.all.rows) {
        Observed &to = functions_[match_.key(row)];
        add_sum(to.*cost, cost_in(row));
        to.row = &row;
      }
      for (size_t i = 0; i < side.runs.size(); ++i) {
        const FlatTable &run = side.runs[i];
        (total_.*cost)
            .runs.push_back(run.totals.empty() ? 0 : static_cast<double>(run.totals.front()));
        for (const FlatRow &row : run.rows) {
          std::vector<double> &costs = (functions_[match_.key(row)].*cost).runs;
          costs.resize(side.runs.size());
          costs[i] += static_cast<double>(cost_in(row));
        }
      }
    };
    add_side(before_, &Observed::before);
    add_side(after_, &Observed::after);
  }

  // Sets what is judged.
  Result<void> choose() {
    if (!limit_.functions.empty())
      return choose_named();
    chosen_.push_back(&total_);
    double largest = 0;
    for (const auto &[key, each] : functions_) {
      if (each.before.mean <= 0 && each.after.mean <= 0)
        continue;
      const double share_before = each.before.mean / total_.before.mean,
                   share_after = each.after.mean / total_.after.mean;
      if (each.before.mean <= 0) {
        ++gate_.only_after;
        gate_.percent_after += 100 * share_after;
        if (each.after.mean > largest) {
          largest = each.after.mean;
          gate_.largest_after = each.row->name;
        }
      } else if (each.after.mean <= 0) {
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
    return suffices(before_, of.before.mean) && suffices(after_, of.after.mean);
  }

  Result<void> choose_named() {
    std::vector<Pattern> patterns;
    for (const std::string &text : limit_.functions) {
      TALLY_TRY(pattern, Pattern::compile(text, "--function"));
      patterns.push_back(std::move(pattern));
    }
    for (const auto &[key, each] : functions_) {
      if (!each.row || (each.before.sum == 0 && each.after.sum == 0))
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
    row.before = of.before.mean;
    row.after = of.after.mean;
    const std::string missing = gate_.is_exact ? judge_exact(of, row) : judge_sampled(of, row);
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

  std::string judge_exact(const Observed &of, GateRow &row) const {
    // In millionths of a percent, because a limit such as 0.7 is not exact in binary.
    constexpr uint64_t one = 100'000'000;
    const auto most = one + static_cast<uint64_t>(std::llround(limit_.percent * 1e6));
    if (Product{of.after.sum} * one > Product{of.before.sum} * most)
      row.verdict = GateVerdict::failed;
    return {};
  }

  // Returns the variance that sampling adds to the cost of a run, relative to the cost.
  static double sampling_variance(const GateSide &side, double mean, bool is_total) {
    const double one = side.sample / mean;
    return is_total && side.clocks > 0 ? std::min(one, static_cast<double>(side.clocks) * one * one)
                                       : one;
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
    uint32_t freedom_before = 0, freedom_after = 0;
    const double squares_before = of.before.squares(freedom_before),
                 squares_after = of.after.squares(freedom_after);
    const uint32_t freedom = freedom_before + freedom_after;
    if (freedom == 0 && (before_.sample <= 0 || after_.sample <= 0)) {
      row.verdict = GateVerdict::undecided;
      return fmt::format(
          "{} does not say what one sample stands for, so that chance cannot be told "
          "from growth",
          (before_.sample <= 0 ? before_ : after_).name);
    }
    const double sampling_before = sampling_variance(before_, row.before, row.is_total()),
                 sampling_after = sampling_variance(after_, row.after, row.is_total());
    const auto runs_before = static_cast<double>(before_.run_count()),
               runs_after = static_cast<double>(after_.run_count());
    double of_one_run = assumed_variation * assumed_variation;
    double variance =
        (of_one_run + sampling_before) / runs_before + (of_one_run + sampling_after) / runs_after;
    if (freedom > 0) {
      // The variation among the runs includes that of sampling.
      of_one_run =
          std::max({(squares_before + squares_after) / freedom, sampling_before, sampling_after});
      variance = of_one_run * (1 / runs_before + 1 / runs_after);
      // The fewer runs may vary more than the others.
      if (freedom_before > 0 && freedom_after > 0)
        variance = std::max(variance, squares_before / freedom_before / runs_before +
                                          squares_after / freedom_after / runs_after);
    }
    const double deviation = std::sqrt(variance), critical = critical_value(level, freedom);
    row.chance = upper_tail(std::log(row.after / row.before) / deviation, freedom);
    if (row.growth() * 100 > limit_.percent && *row.chance < level) {
      row.verdict = GateVerdict::failed;
      return {};
    }
    if (critical * deviation <= logarithm_of(limit_.percent))
      return {};
    row.verdict = GateVerdict::undecided;
    const double least_growth = std::expm1(critical * deviation);
    const std::string out =
        fmt::format("a growth of {:g} % cannot be told from chance, {}: ", limit_.percent,
                    least_growth > 10 ? "not even one of 1000 %"
                                      : fmt::format("only one of {:.1f} % and more",
                                                    std::ceil(least_growth * 1000) / 10));
    if (freedom > 0)
      return out + fmt::format("the runs vary by {:.1f} %; about {} on each side are needed, and "
                               "there are {} and {}; or use longer runs, or more samples per "
                               "second",
                               100 * std::sqrt(of_one_run),
                               runs_to_detect(logarithm_of(limit_.percent), of_one_run, level),
                               before_.run_count(), after_.run_count());
    if (sampling_before > of_one_run)
      return out +
             fmt::format("about {:.0f} samples are needed on each side, and there are {:.0f} and "
                         "{:.0f}; sample longer, more often, or several runs",
                         std::ceil(2 * std::pow(critical / logarithm_of(limit_.percent), 2)),
                         samples_of(before_, row.before), samples_of(after_, row.after));
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
  out.ends = ends_of_runs(profile);
  if (!out.ends.empty()) {
    TALLY_TRY(runs, tables_of_runs(profile));
    out.runs = std::move(runs);
  }
  out.name = std::move(name);
  out.all = std::move(all);
  out.sample = cost_of_a_sample(profile);
  if (profile.period_ns != 0)
    out.clocks = profile.threads().size();
  out.tick_ns = length_of_a_tick(profile);
  return out;
}

Result<GateSide> gate_side(const CostProfile &profile, std::string name) {
  GateSide out;
  TALLY_TRY(all, flat_table(profile, By::function));
  out.name = std::move(name);
  out.is_exact = !all.events.empty() && std::ranges::count(exact_events, all.events.front()) > 0;
  out.all = std::move(all);
  if (!out.is_exact) {
    out.ends = ends_of_runs(profile);
    if (!out.ends.empty()) {
      TALLY_TRY(runs, tables_of_runs(profile));
      out.runs = std::move(runs);
    }
    out.sample = !out.all.events.empty() && out.all.events.front() == "ticks" ? 1 : 0;
  }
  return out;
}

Result<CostGate> judge(const GateSide &before, const GateSide &after, const GateLimit &limit) {
  return Judge(before, after, limit).run();
}

} // namespace tally
