// Sorts where speed matters less than the size of the library.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tally {

// Returns whether the element `a` comes before `b`.
using ComesBefore = bool (*)(const void *how, const void *a, const void *b);

// Returns the order of `count` elements of `size` bytes from `first` on: the index of the element
// that comes first, and so on. Equal elements keep their order. The result is empty if the elements
// are in order.
std::vector<size_t> sorted_order(const void *first, size_t count, size_t size, ComesBefore before,
                                 const void *how);

// Moves each element to its place in `order`, which it uses up.
template <class T> void move_to_order(T *elements, std::span<size_t> order) {
  for (size_t start = 0; start < order.size(); ++start) {
    if (order[start] == start)
      continue;
    T first = std::move(elements[start]);
    size_t place = start;
    while (order[place] != start) {
      const size_t next = order[place];
      elements[place] = std::move(elements[next]);
      order[place] = place;
      place = next;
    }
    elements[place] = std::move(first);
    order[place] = place;
  }
}

// Sorts as std::ranges::stable_sort() does, with the same arguments. Each call of that is a copy of
// 4 to 8 KB of the algorithm, whereas here only the comparison and the moves depend on the types.
// For millions of elements that are cheap to compare, the standard's is faster.
template <std::ranges::contiguous_range Range, class Less = std::ranges::less,
          class Key = std::identity>
void sort_stably(Range &&range, Less less = {}, Key key = {}) {
  using T = std::ranges::range_value_t<Range>;
  const auto is_before = [&](const T &a, const T &b) -> bool {
    return std::invoke(less, std::invoke(key, a), std::invoke(key, b));
  };
  const ComesBefore before = [](const void *how, const void *a, const void *b) {
    return (*static_cast<const decltype(is_before) *>(how))(*static_cast<const T *>(a),
                                                            *static_cast<const T *>(b));
  };
  T *const first = std::ranges::data(range);
  constexpr size_t size = sizeof(T); // NOLINT(bugprone-sizeof-expression): T may be a pointer
  std::vector<size_t> order =
      sorted_order(first, std::ranges::size(range), size, before, &is_before);
  move_to_order(first, std::span(order));
}

} // namespace tally
