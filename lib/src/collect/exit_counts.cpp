#include "collect/exit_counts.h"

#include <algorithm>

namespace tally {

bool ExitCounts::has_ended(pid_t tid) const {
  return std::ranges::find(ended_, tid, &std::pair<pid_t, uint64_t>::first) != ended_.end();
}

void ExitCounts::renumbered(pid_t from, pid_t to) {
  const auto at = left_.find(from);
  if (at == left_.end())
    return;
  const Left moved = at->second;
  left_.erase(at);
  Left &left = left_[to];
  left.ns += moved.ns;
  left.is_counted |= moved.is_counted;
}

int64_t ExitCounts::take(pid_t tid) {
  const auto at = left_.find(tid);
  if (at == left_.end())
    return 0;
  if (at->second.is_counted)
    carry_ns_ += at->second.ns;
  left_.erase(at);
  const int64_t ticks = std::max<int64_t>(carry_ns_ / period_ns_, 0);
  carry_ns_ -= ticks * period_ns_;
  return ticks;
}

void ExitCounts::clear() {
  left_.clear();
  carry_ns_ = 0;
}

} // namespace tally
