#!/usr/bin/env python3
"""Writes a C++ program of N template-heavy units, to be built with coverage for bench.py.

  make_units.py FOLDER N && ninja -C FOLDER -j1 && FOLDER/program

The headers hold templates that all units share. Each unit instantiates these and the standard
library's, mostly with its own types, so that its notes and counters are as large as in real C++.
Each unit has one of several parts, which a generator with a fixed seed chooses. The notes and
counters that GCC 12 writes for a unit are about 250 KB together.
"""
import argparse
import pathlib
import random

HEADERS = {
    "text.h": r"""#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

struct BadPattern : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The pattern's rest, all of its {} replaced.
inline void fill(std::ostream &out, std::string_view pattern) {
  if (pattern.find("{}") != pattern.npos)
    throw BadPattern("too few values");
  out << pattern;
}
template <class First, class... Rest>
void fill(std::ostream &out, std::string_view pattern, const First &first, const Rest &...rest) {
  const auto at = pattern.find("{}");
  if (at == pattern.npos)
    throw BadPattern("too many values");
  out << pattern.substr(0, at) << first;
  fill(out, pattern.substr(at + 2), rest...);
}
template <class... Values>
std::string text(std::string_view pattern, const Values &...values) {
  std::ostringstream out;
  fill(out, pattern, values...);
  return out.str();
}
""",
    "table.h": r"""#pragma once
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

/// Rows by key; at most `limit` of them.
template <class Key, class Row> class Table {
public:
  explicit Table(std::size_t limit) : limit_(limit) {}
  Row &add(const Key &key, Row row) {
    auto found = rows_.find(key);
    if (found != rows_.end()) {
      found->second.insert(found->second.end(), std::move(row));
      return found->second.back();
    }
    if (rows_.size() >= limit_)
      throw std::length_error("the table is full");
    return rows_[key].emplace_back(std::move(row));
  }
  std::optional<Row> last(const Key &key) const {
    auto found = rows_.find(key);
    if (found == rows_.end() || found->second.empty())
      return std::nullopt;
    return found->second.back();
  }
  template <class Predicate> std::size_t remove(Predicate predicate) {
    std::size_t removed = 0;
    for (auto row = rows_.begin(); row != rows_.end();)
      if (predicate(row->first, row->second)) {
        row = rows_.erase(row);
        removed++;
      } else {
        ++row;
      }
    return removed;
  }
  template <class Visitor> void each(Visitor visit) const {
    for (const auto &[key, rows] : rows_)
      for (const auto &row : rows)
        visit(key, row);
  }
  std::size_t size() const { return rows_.size(); }

private:
  std::size_t limit_;
  std::map<Key, std::vector<Row>> rows_;
};
""",
    "steps.h": r"""#pragma once
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

template <class T, class Function> auto mapped(const std::vector<T> &all, Function function) {
  std::vector<decltype(function(all.front()))> out;
  std::transform(all.begin(), all.end(), std::back_inserter(out), function);
  return out;
}
template <class T, class Predicate> auto parted(std::vector<T> all, Predicate predicate) {
  auto middle = std::stable_partition(all.begin(), all.end(), predicate);
  return std::pair(std::vector<T>(all.begin(), middle), std::vector<T>(middle, all.end()));
}
template <class T, class Order> void arrange(std::vector<T> &all, Order order) {
  if (all.size() > 8)
    std::sort(all.begin(), all.end(), order);
  else
    for (auto at = all.begin(); at != all.end(); ++at)
      std::iter_swap(at, std::min_element(at, all.end(), order));
}

template <class... Cases> struct choose : Cases... {
  using Cases::operator()...;
};
template <class... Cases> choose(Cases...) -> choose<Cases...>;
""",
}

# A unit's text. $N is its number, $K a small number of its own.
UNIT = r"""#include "steps.h"
#include "table.h"
#include "text.h"
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>
#include <variant>

namespace unit_$N {
struct Key {
  int number;
  std::string name;
  bool operator<(const Key &o) const {
    return number != o.number ? number < o.number : name < o.name;
  }
};
std::ostream &operator<<(std::ostream &out, const Key &key) {
  return out << (key.number % 2 ? "odd " : "even ") << key.name;
}
struct Item {
  Key key;
  std::vector<double> weights;
  double sum() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }
};
std::vector<Item> items(int count) {
  std::vector<Item> out;
  for (int i = 0; i < count; i++)
    out.push_back({{(i * 7) % $K, text("item {} of {}", i, count)}, std::vector<double>(i % 5, i)});
  return out;
}
$PARTS
} // namespace unit_$N

long run_$N(int seed) {
  using namespace unit_$N;
  return $PART(seed);
}
"""

PARTS = {
    "tabled": r"""
long tabled(int seed) {
  Table<Key, Item> table($K);
  long refused = 0;
  for (auto &item : items(seed + $K))
    try {
      table.add(item.key, item);
    } catch (const std::length_error &) {
      refused++;
    }
  table.each([&](const Key &, const Item &item) { refused += item.weights.size(); });
  auto removed = table.remove([&](const Key &key, auto &rows) {
    return key.number < seed || rows.size() > $K;
  });
  return refused + removed + (table.last({$K, "none"}) ? 1 : 0);
}
""",
    "ordered": r"""
long ordered(int seed) {
  auto all = items(seed + $K);
  arrange(all, [](const Item &a, const Item &b) {
    return a.sum() != b.sum() ? a.sum() < b.sum() : a.key < b.key;
  });
  auto [light, heavy] = parted(all, [&](const Item &item) { return item.sum() < seed * 2; });
  auto names = mapped(light, [](const Item &item) { return item.key.name + "!"; });
  auto keys = mapped(heavy, [](const Item &item) { return item.key; });
  std::set<Key> unique(keys.begin(), keys.end());
  std::reverse(names.begin(), names.end());
  return names.size() + unique.size();
}
""",
    "events": r"""
struct Open { Key key; };
struct Write { Key key; std::vector<int> values; };
struct Close { int status; };
using Event = std::variant<Open, Write, Close, std::string>;
long events(int seed) {
  std::vector<Event> queue;
  for (int i = 0; i < seed + $K; i++)
    switch (i % 4) {
    case 0: queue.push_back(Open{{i, "open"}}); break;
    case 1: queue.push_back(Write{{i, "write"}, std::vector<int>(i, seed)}); break;
    case 2: queue.push_back(Close{i}); break;
    default: queue.emplace_back(text("note {}", i));
    }
  long sum = 0;
  for (const Event &event : queue)
    sum += std::visit(choose{
      [](const Open &open) { return long(open.key.number); },
      [](const Write &write) { return long(write.values.size()); },
      [&](const Close &close) { return close.status > seed && close.status < $K ? 1L : 2L; },
      [](const std::string &note) { return long(note.size()); }}, event);
  return sum;
}
""",
    "tree": r"""
struct Node {
  Item item;
  std::unique_ptr<Node> left, right;
};
void insert(std::unique_ptr<Node> &at, const Item &item) {
  if (!at)
    at = std::make_unique<Node>(Node{item, nullptr, nullptr});
  else
    insert(item.key < at->item.key ? at->left : at->right, item);
}
long depth(const std::unique_ptr<Node> &at) {
  return at ? 1 + std::max(depth(at->left), depth(at->right)) : 0;
}
long tree(int seed) {
  std::unique_ptr<Node> root;
  for (const auto &item : items(seed * $K))
    insert(root, item);
  return depth(root);
}
""",
    "indexed": r"""
struct Hash {
  std::size_t operator()(const Key &key) const {
    return std::hash<std::string>()(key.name) ^ std::size_t(key.number);
  }
};
bool operator==(const Key &a, const Key &b) { return !(a < b) && !(b < a); }
long indexed(int seed) {
  std::unordered_map<Key, Item, Hash> index;
  for (const auto &item : items(seed + $K))
    if (!index.emplace(item.key, item).second && seed > $K)
      index.erase(item.key);
  std::multimap<double, Key> by_sum;
  for (const auto &[key, item] : index)
    by_sum.emplace(item.sum(), key);
  auto found = by_sum.lower_bound($K);
  return found == by_sum.end() ? -1 : found->second.number;
}
""",
    "checked": r"""
struct Refused : std::runtime_error {
  Refused(const Key &key) : std::runtime_error(text("{} is refused", key)), number(key.number) {}
  int number;
};
const Item &check(const Item &item) {
  if (item.weights.empty() || item.sum() > 40)
    throw Refused(item.key);
  return item;
}
long checked(int seed) {
  std::vector<std::function<long(const Item &)>> checks;
  for (int i = 0; i < 3; i++)
    checks.push_back([=](const Item &item) { return check(item).key.number * i + seed; });
  long sum = 0;
  for (const auto &item : items($K))
    for (const auto &each : checks)
      try {
        sum += each(item);
        text(sum % $K ? "{} and {}" : "{}", item.key, item.sum());
      } catch (const Refused &refused) {
        sum -= refused.number;
      } catch (const BadPattern &) {
        sum++;
      }
  return sum;
}
""",
    "heaped": r"""
long heaped(int seed) {
  auto less = [](const auto &a, const auto &b) { return a.second < b.second; };
  std::vector<std::pair<Item, Key>> heap;
  for (const auto &item : items(seed + $K)) {
    heap.emplace_back(item, item.key);
    std::push_heap(heap.begin(), heap.end(), less);
  }
  while (heap.size() > $K / 2 && !(heap.front().first.sum() < 2)) {
    std::pop_heap(heap.begin(), heap.end(), less);
    heap.pop_back();
  }
  auto last = std::unique(heap.begin(), heap.end(), [](const auto &a, const auto &b) {
    return a.second.number == b.second.number;
  });
  heap.erase(last, heap.end());
  return heap.size();
}
""",
}

NINJA = """rule compile
  command = g++ -std=c++20 -O0 --coverage -c $in -o $out
rule link
  command = g++ --coverage $in -o $out
"""


def unit(number, chance):
    """Returns the source of a unit: the common text, and one part, which its function calls."""
    part = chance.choice(list(PARTS))
    source = UNIT.replace("$PARTS", PARTS[part]).replace("$PART", part)
    return source.replace("$N", str(number)).replace("$K", str(chance.randrange(9, 40)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("number", type=int)
    options = parser.parse_args()
    chance = random.Random(1)
    files = dict(HEADERS)
    for number in range(options.number):
        files[f"unit_{number}.cpp"] = unit(number, chance)
    runs = range(options.number)
    files["main.cpp"] = (
        "".join(f"long run_{n}(int seed);\n" for n in runs)
        + "int main(int count, char **) {\n  long sum = 0;\n"
        + "".join(f"  sum += run_{n}(count);\n" for n in runs)
        + "  return sum == 0;\n}\n"
    )
    sources = [name.removesuffix(".cpp") for name in files if name.endswith(".cpp")]
    files["build.ninja"] = (
        NINJA
        + "".join(f"build {name}.o: compile {name}.cpp | {' '.join(HEADERS)}\n" for name in sources)
        + f"build program: link {' '.join(f'{name}.o' for name in sources)}\n"
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, contents in files.items():
        (options.folder / name).write_text(contents)


if __name__ == "__main__":
    main()
