#include "report/cost_gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "report/row_match.h"
#include "support/checked.h"
#include "support/pattern.h"
#include "support/significance.h"
#include "support/sort.h"
#include "support/text.h"
#include "transform/event_units.h"
#include "transform/sample_filter.h"

namespace tally {

namespace {

__extension__ typedef unsigned __int128 Product;

constexpr double least_share = 0.01; // of a function that no pattern names
constexpr size_t most_runs = 1000;   // of a side; each of them takes a look at all samples

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

// Sets what ended each part, if each is a whole run, and otherwise the one run's last trigger.
// Fails if only some parts are whole runs: their mean would not be the cost of a run. A debugger's
// profile has a part for each stop, and only the last one may end the run.
template <class AnyProfile> Result<void> find_runs(const AnyProfile &profile, GateSide &side) {
  uint32_t runs = 0, other = 0; // `other` is the number of the first part that ends otherwise
  std::string end_of_other;
  bool has_other = false;
  for (const auto &part : profile.parts()) {
    side.last_trigger = profile.strings[part.trigger];
    if (ends_a_run(side.last_trigger)) {
      ++runs;
      side.ends.push_back(side.last_trigger);
    } else if (!has_other) {
      has_other = true;
      other = part.number;
      end_of_other = side.last_trigger;
    }
  }
  if (!has_other)
    return {};
  side.ends.clear();
  if (runs > 1 || (runs == 1 && !ends_a_run(side.last_trigger)))
    return fail(ErrorCode::no_data,
                fmt::format("part {} ends with '{}', and others with the end of the program: they "
                            "cannot be compared",
                            other, printable(end_of_other)),
                side.name);
  return {};
}

// Returns the tables of the parts, which are whole runs, if there are several.
template <class AnyProfile>
Result<std::vector<FlatTable>> tables_of_runs(const AnyProfile &profile, const std::string &name) {
  std::vector<FlatTable> out;
  const auto &parts = profile.parts();
  if (parts.size() < 2)
    return out;
  if (parts.size() > most_runs)
    return fail(ErrorCode::unsupported,
                fmt::format("has {} runs; at most {} can be compared", parts.size(), most_runs),
                name);
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
  const ValueType &first = profile.value_types().front();
  return size_of_a_sample(profile.strings[first.type], profile.strings[first.unit],
                          profile.period_ns);
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
  bool is_chosen = false; // it is judged
};

// Returns why the runs of the sides did different work, empty if they did not.
std::string different_end(const GateSide &side, const GateSide &other) {
  if (other.ends.empty())
    return {};
  if (side.ends.empty() && !side.last_trigger.empty() && !ends_a_run(side.last_trigger))
    return fmt::format("ends with '{}', and {} with the end of the program: their costs cannot be "
                       "compared",
                       printable(side.last_trigger), other.name);
  const std::set<std::string_view> known(other.ends.begin(), other.ends.end());
  for (size_t i = 0; i < side.ends.size(); ++i)
    if (!known.contains(side.ends[i]))
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
    for (const auto &[side, other] : {std::pair(&before_, &after_), std::pair(&after_, &before_)})
      if (side->tick_ns == 0 && other->tick_ns > 0)
        return fail(ErrorCode::no_data,
                    fmt::format("does not say how long a tick is, and {} does: their ticks cannot "
                                "be compared",
                                other->name),
                    side->name);
    if (before_.tick_ns != after_.tick_ns)
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
    observe_runs();
    for (const Observed *each : chosen_)
      add(*each);
    sort_stably(gate_.rows, [](const GateRow &a, const GateRow &b) {
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
    };
    add_side(before_, &Observed::before);
    add_side(after_, &Observed::after);
  }

  // Sets the costs of the runs of what is judged: those of all functions take too much memory.
  void observe_runs() {
    for (Observed *each : chosen_)
      each->is_chosen = true;
    const auto add_side = [&](const GateSide &side, ObservedCost Observed::*cost) {
      for (size_t i = 0; i < side.runs.size(); ++i) {
        const FlatTable &run = side.runs[i];
        (total_.*cost)
            .runs.push_back(run.totals.empty() ? 0 : static_cast<double>(run.totals.front()));
        for (const FlatRow &row : run.rows) {
          Observed &to = functions_[match_.key(row)];
          if (!to.is_chosen)
            continue;
          (to.*cost).runs.resize(side.runs.size());
          (to.*cost).runs[i] += static_cast<double>(cost_in(row));
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
    for (auto &[key, each] : functions_) {
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
    std::vector<bool> has_matched(patterns.size()); // a function that AFTER has
    for (auto &[key, each] : functions_) {
      if (!each.row || (each.before.sum == 0 && each.after.sum == 0))
        continue;
      bool matches = false;
      for (size_t i = 0; i < patterns.size(); ++i) {
        auto found = patterns[i].is_in_name(each.row->name);
        if (!found)
          return fail(found.error().code, found.error().message, "--function");
        matches = matches || *found;
        if (*found && each.after.sum > 0)
          has_matched[i] = true;
      }
      if (matches)
        chosen_.push_back(&each);
    }
    if (chosen_.empty())
      return fail(ErrorCode::no_data,
                  fmt::format("no function with a cost matches, neither in {} nor in {}",
                              before_.name, after_.name),
                  "--function");
    // A pattern guards nothing once its function has another name, or is inlined.
    for (size_t i = 0; i < patterns.size(); ++i)
      if (!has_matched[i])
        return fail(ErrorCode::no_data,
                    fmt::format("no function with a cost in {} matches '{}'", after_.name,
                                printable(limit_.functions[i])),
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
      return judge_gone(row);
    if (row.before <= 0)
      return judge_new(of, row, level);
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
      // Without the size of a sample, the floor is unknown, and equal runs may be equal by chance.
      const double floor = before_.sample > 0 && after_.sample > 0
                               ? std::max(sampling_before, sampling_after)
                               : assumed_variation * assumed_variation;
      of_one_run = std::max((squares_before + squares_after) / freedom, floor);
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

  // A function without a sample after.
  std::string judge_gone(GateRow &row) const {
    const double expected =
        after_.sample > 0 ? row.before / after_.sample * static_cast<double>(after_.run_count())
                          : least_samples;
    if (expected >= least_samples)
      return {};
    row.verdict = GateVerdict::undecided;
    return fmt::format("{} has no sample of it, and {:.0f} would be expected: {:.0f} are needed",
                       after_.name, expected, least_samples);
  }

  // A function without a sample before. Without a change, each of its samples would have been
  // before with a probability that depends on how much was sampled, and likewise each run that has
  // one: the samples of one run are not independent.
  std::string judge_new(const Observed &of, GateRow &row, double level) const {
    const auto weight = [](const GateSide &side) {
      return static_cast<double>(side.run_count()) / (side.sample > 0 ? side.sample : 1);
    };
    const double samples = samples_of(after_, row.after);
    row.chance = std::pow(weight(after_) / (weight(after_) + weight(before_)), samples);
    const auto has_it = [](double cost) { return cost > 0; };
    const auto runs_after = static_cast<double>(after_.run_count()),
               all_runs = runs_after + static_cast<double>(before_.run_count());
    double chance_of_runs = 1;
    for (auto i = std::ranges::count_if(of.after.runs, has_it); i-- > 0;)
      chance_of_runs *= (runs_after - static_cast<double>(i)) / (all_runs - static_cast<double>(i));
    if (!of.after.runs.empty())
      row.chance = std::max(*row.chance, chance_of_runs);
    row.verdict = *row.chance < level ? GateVerdict::failed : GateVerdict::undecided;
    return fmt::format("{:.0f} samples, and none in {}, are too few to tell whether it grew",
                       samples, before_.name);
  }

  const GateSide &before_, &after_;
  const GateLimit &limit_;
  const RowMatch match_;
  Observed total_;
  std::map<Identity, Observed> functions_;
  std::vector<Observed *> chosen_;
  CostGate gate_;
};

} // namespace

Result<GateSide> gate_side(const StackProfile &profile, std::string name) {
  GateSide out;
  out.name = std::move(name);
  TALLY_TRY(all, flat_table(profile, By::function));
  out.all = std::move(all);
  TALLY_CHECK(find_runs(profile, out));
  if (!out.ends.empty()) {
    TALLY_TRY(runs, tables_of_runs(profile, out.name));
    out.runs = std::move(runs);
  }
  out.sample = cost_of_a_sample(profile);
  if (profile.period_ns != 0)
    out.clocks = profile.threads().size();
  out.tick_ns = length_of_a_tick(profile);
  return out;
}

Result<GateSide> gate_side(const CostProfile &profile, std::string name) {
  GateSide out;
  out.name = std::move(name);
  TALLY_TRY(all, flat_table(profile, By::function));
  out.is_exact = !all.events.empty() && std::ranges::count(exact_events, all.events.front()) > 0;
  out.all = std::move(all);
  if (out.is_exact)
    return out;
  TALLY_CHECK(find_runs(profile, out));
  if (!out.ends.empty()) {
    TALLY_TRY(runs, tables_of_runs(profile, out.name));
    out.runs = std::move(runs);
  }
  out.sample = !out.all.events.empty() && out.all.events.front() == "ticks" ? 1 : 0;
  return out;
}

Result<CostGate> judge(const GateSide &before, const GateSide &after, const GateLimit &limit) {
  return Judge(before, after, limit).run();
}

} // namespace tally
