// Random coverage, in the form that a reader returns.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include "model/coverage.h"
#include "random_profile.h"

namespace tally {

struct CoverageShape {
  uint32_t files = 6, lines = 20, functions = 6;
  bool negative = false; // some counts are negative
};

inline FileCoverage random_file(Random &random, const CoverageShape &shape, std::string path) {
  const auto count = [&]() -> int64_t {
    if (pick(random, 3) == 0)
      return 0;
    const auto value = static_cast<int64_t>(pick(random, pick(random, 2) ? 5 : 1'000'000'000'000));
    return shape.negative && pick(random, 4) == 0 ? -value : value;
  };
  FileCoverage out;
  out.path = std::move(path);
  uint32_t number = 0;
  for (uint64_t i = pick(random, shape.lines + 1); i > 0; --i) {
    LineCoverage line;
    line.line = number += static_cast<uint32_t>(1 + pick(random, 4));
    line.count = count();
    line.first_branch = static_cast<uint32_t>(out.branches.size());
    for (uint64_t b = pick(random, 2) * pick(random, 5); b > 0; --b)
      out.branches.push_back({count(), pick(random, 2) == 0, pick(random, 2) == 0});
    line.last_branch = static_cast<uint32_t>(out.branches.size());
    line.first_condition = static_cast<uint32_t>(out.conditions.size());
    if (pick(random, 4) == 0)
      out.conditions.push_back({3, pick(random, 8), pick(random, 8)});
    line.last_condition = static_cast<uint32_t>(out.conditions.size());
    out.lines.push_back(line);
  }
  for (uint64_t i = pick(random, shape.functions + 1); i > 0; --i) {
    FunctionCoverage function;
    const std::string digit = std::to_string(i); // a single digit
    function.name = pick(random, 2) ? "f" + digit : "_ZN1n2g" + digit + "Ei";
    function.start_line = static_cast<uint32_t>(1 + pick(random, number + 1));
    if (pick(random, 2) == 0)
      function.end_line = function.start_line + static_cast<uint32_t>(pick(random, 20));
    function.count = count();
    out.functions.push_back(function);
  }
  std::ranges::sort(out.functions, {},
                    [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); });
  return out;
}

// Returns files below /r, up to two directories deep.
inline Coverage random_coverage(Random &random, const CoverageShape &shape = {}) {
  Coverage out;
  for (uint64_t i = pick(random, shape.files + 1); i > 0; --i) {
    std::string path = "/r/";
    for (uint64_t deep = pick(random, 3); deep > 0; --deep)
      path += pick(random, 2) ? "a/" : "b/";
    path += "f" + std::to_string(i) + ".c";
    out.files.push_back(random_file(random, shape, std::move(path)));
  }
  std::ranges::sort(out.files, {}, &FileCoverage::path);
  return out;
}

} // namespace tally
