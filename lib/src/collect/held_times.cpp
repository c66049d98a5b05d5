#include "collect/held_times.h"

#include <algorithm>
#include <utility>

namespace tally {

void HeldTimes::open(uint64_t at_ns) {
  const std::lock_guard lock(mutex_);
  open_ns_ = holds_.empty() ? at_ns : std::max(at_ns, holds_.back().end_ns);
}

void HeldTimes::close(uint64_t at_ns, uint64_t length_ns) {
  const std::lock_guard lock(mutex_);
  const auto begin_ns = std::exchange(open_ns_, std::nullopt);
  if (!begin_ns || at_ns <= *begin_ns)
    return;
  Hold hold{*begin_ns, at_ns, 0, std::max(length_ns, at_ns - *begin_ns)};
  if (!holds_.empty()) {
    const Hold &last = holds_.back();
    hold.before_ns = last.before_ns + last.length_ns;
    hold.length_ns = std::min(hold.length_ns, at_ns - last.end_ns);
  }
  holds_.push_back(hold);
  if (holds_.size() > most_holds)
    holds_.pop_front();
}

void HeldTimes::drop_open() {
  const std::lock_guard lock(mutex_);
  open_ns_.reset();
}

uint64_t HeldTimes::before(uint64_t at_ns) const {
  const auto later = std::ranges::upper_bound(holds_, at_ns, {}, &Hold::begin_ns);
  uint64_t sum = holds_.empty() ? 0 : holds_.front().before_ns;
  if (later != holds_.begin()) {
    const Hold &last = *std::prev(later);
    const uint64_t part =
        at_ns >= last.end_ns ? last.length_ns : std::min(at_ns - last.begin_ns, last.length_ns);
    sum = last.before_ns + part;
  }
  return sum + (open_ns_ && *open_ns_ < at_ns ? at_ns - *open_ns_ : 0);
}

uint64_t HeldTimes::until(uint64_t at_ns) const {
  const std::lock_guard lock(mutex_);
  return before(at_ns);
}

uint64_t HeldTimes::between(uint64_t from_ns, uint64_t to_ns) const {
  if (from_ns >= to_ns)
    return 0;
  const std::lock_guard lock(mutex_);
  return std::min(before(to_ns) - before(from_ns), to_ns - from_ns);
}

} // namespace tally
