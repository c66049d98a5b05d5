#include "support/sort.h"

#include <algorithm>

namespace tally {

std::vector<size_t> sorted_order(const void *first, size_t count, size_t size, ComesBefore before,
                                 const void *how) {
  const auto *const bytes = static_cast<const std::byte *>(first);
  const auto is_before = [&](size_t a, size_t b) {
    return before(how, bytes + a * size, bytes + b * size);
  };
  // Much of what is sorted is in order already.
  size_t at = 1;
  while (at < count && !is_before(at, at - 1))
    ++at;
  std::vector<size_t> order;
  if (at >= count)
    return order;
  order.resize(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), is_before);
  return order;
}

} // namespace tally
