// Writes the times of an axis.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

// Writes times in one unit and with equally many digits, so that they can be compared.
class TimeAxis {
public:
  // The times are between `from_ns` and `to_ns`, and differ by `step_ns` at least.
  TimeAxis(uint64_t to_ns, uint64_t step_ns);
  std::string text(uint64_t ns) const; // "1.25 s"; 0 is "0"

private:
  std::string_view unit_;
  double unit_ns_;
  int digits_;
};

// Returns the multiples of a round number (1, 2 or 5 with zeros) between the two times, both
// included: `most` at most, and two at least unless the stretch has less than 10 ns.
std::vector<uint64_t> round_times(uint64_t from_ns, uint64_t to_ns, uint32_t most);

} // namespace tally
