// Random profiles, and a plain way to count them: sample by sample, with maps.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../support/sanitized.h"
#include "model/cost_profile.h"
#include "model/stack_profile.h"

namespace tally {

using Random = std::mt19937_64;

// Returns how often a property is checked, or how large an input is that only tests a limit.
// Sanitized code takes ten times as long, and what a sanitizer reports does not depend on sizes.
constexpr int rounds(int count) { return TALLY_SANITIZED ? (count + 7) / 8 : count; }

// Returns a random number from 0 to below - 1.
inline uint64_t pick(Random &random, uint64_t below) {
  return std::uniform_int_distribution<uint64_t>(0, below - 1)(random);
}

struct RandomShape {
  uint32_t functions = 6;
  uint32_t locations = 10;
  uint32_t samples = 30;
  uint32_t depth = 10;
  uint32_t value_types = 1;
  int64_t largest_value = 5;
  bool strange_names = false; // names with bytes of all kinds
  uint64_t tables_seed = 0;   // equal seeds: equal mappings, functions and locations; 0 means any
};

// Returns a profile in which every location has lines and every sample has a stack. Functions recur
// in a stack, are inlined into each other, and some of them look alike in every table.
StackProfile random_profile(Random &random, const RandomShape &shape = {});
RandomShape random_shape(Random &random);

struct CostShape {
  std::vector<std::string> events{"A"};
  bool addresses = false, lines = true;
  bool headers = false; // commands, descriptions, summaries and the like, which differ
};

CostShape random_cost_shape(Random &random); // with headers
// Returns some of four events in random order.
std::vector<std::string> random_events(Random &random);

// Returns a profile with blocks in any order, several parts, calls, jumps, and costs of all sizes.
CostProfile random_costs(Random &random, const CostShape &shape = {});

using Costs = std::vector<uint64_t>;
using FunctionKey = std::tuple<std::string, std::string, std::string>; // object, file, name
using LocationKey =
    std::tuple<FunctionKey, std::string, uint64_t, uint32_t>; // line's file, address
using ArcKey = std::pair<LocationKey, FunctionKey>;

// Rows without a cost are omitted.
struct Counted {
  std::map<LocationKey, Costs> self;
  std::map<ArcKey, std::pair<uint64_t, Costs>> arcs; // calls, inclusive
  std::map<FunctionKey, Costs> inclusive;
  friend bool operator==(const Counted &, const Counted &) = default;
};

Counted count_samples(const StackProfile &profile, PartId only = none<PartId>);
Counted rows_of(const CostProfile &profile);

// One frame of a stack; inlined functions have frames, too.
struct Frame {
  FunctionKey function;
  std::string file;
  uint64_t address = 0; // the link-time address if it is known
  uint32_t line = 0;
};
std::vector<Frame> frames_of(const StackProfile &profile, StackId stack); // leaf first

inline void add_to(Costs &sum, const Costs &more) {
  sum.resize(more.size(), 0);
  for (size_t i = 0; i < more.size(); ++i)
    sum[i] += more[i];
}

} // namespace tally
