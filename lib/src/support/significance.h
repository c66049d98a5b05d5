// Tests of significance: Student's t distribution, and what unchanged programs are assumed to do.
#pragma once

#include <cstdint>

namespace tally {

// How often a comparison of unchanged programs may find a change.
inline constexpr double error_level = 1e-3;
// The relative standard deviation of a single run's cost. For CPU-bound programs on an idle
// machine, runs differ by 0.5 to 2 %.
inline constexpr double assumed_variation = 0.01;

// Returns the probability that a variable of Student's t distribution exceeds `t`. `freedom` is the
// degrees of freedom; 0 means infinitely many, which is the normal distribution. Accurate to about
// 1e-12. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
double upper_tail(double t, uint32_t freedom);
// Returns the t that such a variable exceeds with the probability, which is between 1e-10 and 0.5.
double critical_value(double probability, uint32_t freedom);
// Returns the least number of runs, on each of two sides, with which a test at the level
// `probability` detects that the means of the sides differ by `difference`, if the runs have this
// variance. At most 1'000'000.
uint32_t runs_to_detect(double difference, double variance, double probability);

// Returns the least difference of two shares, `a` of `all_a` samples and `b` of `all_b`, that
// chance causes with less than the probability of which `critical` is the critical_value(). The
// totals are not 0.
double least_change_of_shares(double a, double all_a, double b, double all_b, double critical);

} // namespace tally
