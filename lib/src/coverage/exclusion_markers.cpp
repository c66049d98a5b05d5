#include "coverage/exclusion_markers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "support/sort.h"

namespace tally {

namespace {

constexpr std::string_view excluding = "_EXCL_", unreachable = "_UNREACHABLE_";

enum class Verb : uint8_t { line, start, stop };
// Says where a marker belongs: LINE, START and STOP after the word `before` add to `ranges`.
struct Scope {
  std::string_view before;
  std::vector<LineRange> ExcludedLines::*ranges;
};
constexpr std::array<Scope, 4> scopes{{{"_EXCL_EXCEPTION_BR_", &ExcludedLines::throw_branches},
                                       {"_EXCL_BR_", &ExcludedLines::branches},
                                       {"_EXCL_", &ExcludedLines::lines},
                                       {unreachable, &ExcludedLines::unreachable}}};

// Parses ": 2/6".
std::optional<BranchesWithoutHit> branch_numbers(std::string_view text, uint32_t line) {
  BranchesWithoutHit out{line, 0, 0};
  const auto number = [&](uint32_t &value) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return fault == std::errc();
  };
  const auto sign = [&](char c) {
    const bool has = text.starts_with(c);
    text.remove_prefix(has ? 1 : 0);
    return has;
  };
  if (!sign(':') || !number(out.without) || !sign('/') || !number(out.all))
    return std::nullopt;
  return out;
}

class Search {
public:
  Search(std::string_view path, Diagnostics &diagnostics)
      : path_(path), diagnostics_(diagnostics) {}

  ExcludedLines run(std::string_view source) {
    uint32_t line = 1;
    size_t counted = 0; // line ends before this offset have been counted
    size_t next_excluding = source.find(excluding), next_unreachable = source.find(unreachable);
    while (true) {
      const size_t at = std::min(next_excluding, next_unreachable);
      if (at == source.npos)
        break;
      size_t &next = at == next_excluding ? next_excluding : next_unreachable;
      next = source.find(at == next_excluding ? excluding : unreachable, at + 1);
      line += static_cast<uint32_t>(std::ranges::count(source.substr(counted, at - counted), '\n'));
      counted = at;
      if (const std::string_view prefix = prefix_before(source.substr(0, at)); !prefix.empty())
        marker(prefix, source.substr(at), line);
    }
    for (size_t i = 0; i < scopes.size(); ++i) {
      if (open_[i].prefix.empty())
        continue;
      find(open_[i].line, fmt::format("{}{}START has no STOP: the rest of the file is excluded",
                                      open_[i].prefix, scopes[i].before));
      add(i, open_[i].line, UINT32_MAX);
    }
    for (const Scope &scope : scopes)
      unite(out_.*scope.ranges);
    sort_stably(out_.functions);
    return std::move(out_);
  }

private:
  static std::string_view prefix_before(std::string_view text) {
    for (const std::string_view prefix : {"GCOVR", "GCOV", "LCOV"})
      if (text.ends_with(prefix))
        return prefix;
    return {};
  }

  void marker(std::string_view prefix, std::string_view rest, uint32_t line) {
    if (rest.starts_with("_EXCL_FUNCTION")) {
      out_.functions.push_back(line);
      return;
    }
    constexpr std::string_view without_hit = "_EXCL_BR_WITHOUT_HIT";
    if (rest.starts_with(without_hit)) {
      if (const auto numbers = branch_numbers(rest.substr(without_hit.size()), line))
        out_.without_hit.push_back(*numbers);
      else
        find(line, fmt::format("{}{} needs two numbers, as in ': 2/6': nothing is excluded", prefix,
                               without_hit));
      return;
    }
    for (size_t i = 0; i < scopes.size(); ++i) {
      if (!rest.starts_with(scopes[i].before))
        continue;
      const std::string_view verb = rest.substr(scopes[i].before.size());
      if (verb.starts_with("LINE"))
        return add(i, line, line);
      if (verb.starts_with("START"))
        return start(i, prefix, line);
      if (verb.starts_with("STOP"))
        return stop(i, prefix, line);
    }
    const size_t end = rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    find(line, fmt::format("{}{} is an unknown marker: nothing is excluded", prefix,
                           rest.substr(0, std::min<size_t>(end, 40))));
  }

  void start(size_t scope, std::string_view prefix, uint32_t line) {
    if (!open_[scope].prefix.empty())
      return find(line, fmt::format("{}{}START within the range that begins in line {}", prefix,
                                    scopes[scope].before, open_[scope].line));
    open_[scope] = {prefix, line};
  }

  void stop(size_t scope, std::string_view prefix, uint32_t line) {
    Open &open = open_[scope];
    if (open.prefix.empty())
      return find(line, fmt::format("{}{}STOP without a START", prefix, scopes[scope].before));
    if (open.prefix != prefix)
      find(line, fmt::format("{0}{1}STOP ends the range of {2}{1}START in line {3}", prefix,
                             scopes[scope].before, open.prefix, open.line));
    if (line > open.line)
      add(scope, open.line, line - 1);
    open = {};
  }

  void add(size_t scope, uint32_t first, uint32_t last) {
    (out_.*scopes[scope].ranges).push_back({first, last});
  }
  static void unite(std::vector<LineRange> &ranges) {
    sort_stably(ranges, {}, &LineRange::first);
    size_t kept = 0;
    for (const LineRange range : ranges) {
      if (kept > 0 && range.first <= ranges[kept - 1].last)
        ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
      else
        ranges[kept++] = range;
    }
    ranges.resize(kept);
  }
  void find(uint32_t line, std::string message) {
    diagnostics_.add(Severity::warning, std::move(message), std::string(path_),
                     Position::at_line(line), fmt::format("marker {}:{}", path_, line));
  }

  std::string_view path_;
  Diagnostics &diagnostics_;
  ExcludedLines out_;
  struct Open {
    std::string_view prefix; // that of the START; empty if no range is open
    uint32_t line = 0;
  };
  std::array<Open, scopes.size()> open_;
};

bool holds(const std::vector<LineRange> &ranges, uint32_t line) {
  const auto behind = std::ranges::upper_bound(ranges, line, {}, &LineRange::first);
  return behind != ranges.begin() && line <= (behind - 1)->last;
}

} // namespace

ExcludedLines find_exclusions(std::string_view source, std::string_view path,
                              Diagnostics &diagnostics) {
  return Search(path, diagnostics).run(source);
}

void decide_by_counts(const FileCoverage &file, ExcludedLines &excluded, Diagnostics &diagnostics) {
  const auto warn = [&](uint32_t line, std::string message) {
    diagnostics.add(Severity::warning, std::move(message), file.path, Position::at_line(line),
                    fmt::format("marker {}:{}", file.path, line));
  };
  for (const LineCoverage &line : file.lines) {
    if (!holds(excluded.unreachable, line.line))
      continue;
    if (line.count == 0)
      excluded.lines.push_back({line.line, line.line});
    else
      warn(line.line, "a line that is marked as unreachable ran: it counts");
  }
  excluded.unreachable.clear();
  for (const BranchesWithoutHit &marked : excluded.without_hit) {
    const auto line = std::ranges::lower_bound(file.lines, marked.line, {}, &LineCoverage::line);
    if (line == file.lines.end() || line->line != marked.line)
      continue;
    const auto branches = file.branches_of(*line);
    std::vector<BranchPosition> without;
    for (uint32_t i = 0; i < branches.size(); ++i)
      if (branches[i].count == 0)
        without.push_back({marked.line, i});
    if (without.size() != marked.without || branches.size() != marked.all)
      warn(marked.line,
           fmt::format("{} of {} branches were not taken, but the marker says {} of {}: "
                       "nothing is excluded",
                       without.size(), branches.size(), marked.without, marked.all));
    else
      excluded.positions.insert(excluded.positions.end(), without.begin(), without.end());
  }
  excluded.without_hit.clear();
  sort_stably(excluded.positions);
}

Result<void> exclude_lines(std::string_view source, std::span<const Pattern> patterns,
                           ExcludedLines &excluded) {
  for (uint32_t number = 1; !source.empty(); ++number) {
    const size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    for (const Pattern &pattern : patterns) {
      TALLY_TRY(found, pattern.is_in(line));
      if (found) {
        excluded.lines.push_back({number, number});
        break;
      }
    }
  }
  sort_stably(excluded.lines, {}, &LineRange::first);
  return {};
}

void exclude(FileCoverage &file, ExcludedLines excluded) {
  for (const FunctionCoverage &function : file.functions) {
    if (!std::ranges::binary_search(excluded.functions, function.start_line))
      continue;
    // A function whose end is unknown ends before the start of the next one.
    uint32_t end = function.end_line;
    if (end == 0) {
      const auto next = std::ranges::upper_bound(file.functions, function.start_line, {},
                                                 &FunctionCoverage::start_line);
      end = next == file.functions.end() ? UINT32_MAX : next->start_line - 1;
    }
    excluded.lines.push_back({function.start_line, std::max(function.start_line, end)});
  }
  sort_stably(excluded.lines, {}, &LineRange::first);
  // Ranges may be nested. holds() looks only at the last range that begins at or before a line, so
  // each range is extended to the latest end of the ranges before it.
  for (size_t i = 1; i < excluded.lines.size(); ++i)
    excluded.lines[i].last = std::max(excluded.lines[i].last, excluded.lines[i - 1].last);
  FileCoverage kept;
  kept.path = file.path;
  kept.segments = std::move(file.segments);
  kept.regions = file.regions;
  for (LineCoverage line : file.lines) {
    if (holds(excluded.lines, line.line))
      continue;
    const auto branches = file.branches_of(line);
    const auto conditions = file.conditions_of(line);
    line.first_branch = static_cast<uint32_t>(kept.branches.size());
    line.first_condition = static_cast<uint32_t>(kept.conditions.size());
    const auto decisions = file.decisions_of(line);
    line.first_decision = static_cast<uint32_t>(kept.decisions.size());
    if (!holds(excluded.branches, line.line)) {
      const bool without_throws = holds(excluded.throw_branches, line.line);
      for (uint32_t i = 0; i < branches.size(); ++i)
        if (!(without_throws && branches[i].throws) &&
            !std::ranges::binary_search(excluded.positions, BranchPosition{line.line, i}))
          kept.branches.push_back(branches[i]);
      kept.conditions.insert(kept.conditions.end(), conditions.begin(), conditions.end());
      kept.decisions.insert(kept.decisions.end(), decisions.begin(), decisions.end());
    }
    line.last_branch = static_cast<uint32_t>(kept.branches.size());
    line.last_condition = static_cast<uint32_t>(kept.conditions.size());
    line.last_decision = static_cast<uint32_t>(kept.decisions.size());
    kept.lines.push_back(line);
  }
  for (FunctionCoverage &function : file.functions)
    if (!holds(excluded.lines, function.start_line))
      kept.functions.push_back(std::move(function));
  file = std::move(kept);
}

} // namespace tally
