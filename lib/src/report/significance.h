// Student's t distribution, for tests of significance.
#pragma once

#include <cstdint>

namespace tally {

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

} // namespace tally
