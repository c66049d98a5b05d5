
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "report/groups.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/value_text.h"
#include "support/sort.h"
#include "support/text.h"
#include "transform/event_units.h"
#include "transform/stack_walk.h"

namespace tally {

namespace {

// Numbers the distinct rows, and maps each line of each location to the number of its row.
class RowKeys {
public:
  RowKeys(const StackProfile &profile, By by) : profile_(profile), by_(by) {
    for (uint32_t i = 0; i < profile.location_count(); ++i) {
      first_.push_back(keys_.size());
      for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
        keys_.push_back(key_of(line));
    }
    first_.push_back(keys_.size());
  }

  std::span<const uint32_t> of(LocationId location) const {
    const size_t at = index_of(location);
    return std::span(keys_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  std::vector<FlatRow> take_rows() { return std::move(rows_); }
  size_t size() const { return rows_.size(); }

private:
  uint32_t group_key(SourceFunctionId id) {
    groups_.resize(profile_.functions().size(), UINT32_MAX);
    uint32_t &group = groups_[index_of(id)];
    if (group == UINT32_MAX) {
      const SourceFunction &f = profile_.functions()[id];
      std::string name = group_of(by_, profile_.strings[f.name], profile_.strings[f.file]);
      const auto [at, added] = group_ids_.try_emplace(name, static_cast<uint32_t>(rows_.size()));
      if (added)
        rows_.emplace_back().name = std::move(name);
      group = at->second;
    }
    return group;
  }

  uint32_t key_of(const SourceLine &line) {
    if (is_group(by_))
      return group_key(line.function);
    const SourceFunction &f = profile_.functions()[line.function];
    const bool object_only = by_ == By::object;
    const bool by_line = by_ == By::line;
    const std::tuple key{object_only ? StringId{} : f.name,
                         object_only ? StringId{}
                         : by_line   ? line.file
                                     : f.file,
                         f.object, by_line ? line.line : 0};
    const auto [at, added] = ids_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (added) {
      FlatRow row;
      row.name = profile_.strings[std::get<0>(key)];
      row.file = profile_.strings[std::get<1>(key)];
      row.object = profile_.strings[f.object];
      row.line = by_line ? line.line : object_only ? 0 : f.line;
      rows_.push_back(std::move(row));
    }
    return at->second;
  }

  const StackProfile &profile_;
  By by_;
  std::map<std::tuple<StringId, StringId, StringId, uint32_t>, uint32_t> ids_;
  std::vector<uint32_t> groups_; // by SourceFunctionId: its row; UINT32_MAX if not known yet
  std::map<std::string, uint32_t> group_ids_;
  std::vector<FlatRow> rows_;
  std::vector<uint32_t> keys_;
  std::vector<size_t> first_;
};

template <class Number> void add_to(std::vector<uint64_t> &sum, std::span<const Number> values) {
  sum.resize(values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i)
    sum[i] += static_cast<uint64_t>(values[i]);
}

struct Visitor {
  const StackProfile &profile;
  const StackWeights &weights;
  const RowKeys &keys;
  std::vector<FlatRow> &rows;
  OnPath on_path{};

  void enter(StackId node) {
    const auto at = keys.of(profile.stack_location(node));
    if (at.empty())
      return;
    add_to(rows[at.front()].self, weights.self(node));
    for (uint32_t key : at)
      if (on_path.enter(key))
        add_to(rows[key].inclusive, weights.total(node));
  }
  void leave(StackId node) {
    for (uint32_t key : keys.of(profile.stack_location(node)))
      on_path.leave(key);
  }
};

Result<std::vector<FlatRow>> stack_rows(const StackProfile &profile, By by) {
  TALLY_TRY(weights, StackWeights::of(profile));
  RowKeys keys(profile, by);
  std::vector<FlatRow> rows = keys.take_rows();
  walk_stacks(profile, weights, Visitor{profile, weights, keys, rows});
  return rows;
}

// With more processes than this, as in a build, those of one name share a row. The inferiors of a
// debugger and the processes of a server have rows of their own.
constexpr size_t most_own_rows = 20;

// Returns a row for each process or, if there are many, for all processes of each name.
std::vector<FlatRow> process_rows(const StackProfile &profile) {
  std::set<int32_t> all;
  for (const Thread &thread : profile.threads())
    all.insert(thread.pid);
  const bool by_name = all.size() > most_own_rows;
  std::map<std::pair<std::string_view, int32_t>, std::pair<FlatRow, std::set<int32_t>>> rows;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    const Thread thread =
        sample.thread == none<ThreadId> ? Thread{} : profile.threads()[sample.thread];
    const std::string_view name = profile.strings[thread.process];
    auto &[row, pids] = rows[{name, by_name && !name.empty() ? 0 : thread.pid}];
    pids.insert(thread.pid);
    add_to(row.self, sample.values);
  }
  std::vector<FlatRow> out;
  for (auto &[key, value] : rows) {
    auto &[row, pids] = value;
    row.name = key.first;
    row.id = static_cast<uint64_t>(*pids.begin());
    if (row.id == 0 && row.name.empty())
      row.name = "[no process]";
    row.processes = pids.size();
    row.inclusive = row.self;
    out.push_back(std::move(row));
  }
  return out;
}

// Returns whether any thread's process is known.
bool knows_processes(const StackProfile &profile) {
  return std::ranges::any_of(profile.threads(), [&](const Thread &thread) {
    return thread.pid != 0 || !profile.strings[thread.process].empty();
  });
}

// Returns the rows of threads or parts. A sample has one thread and one part, independent of its
// stack, so the inclusive cost equals the self cost.
std::vector<FlatRow> sample_rows(const StackProfile &profile, By by) {
  std::map<uint32_t, FlatRow> rows;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    const uint32_t key = by == By::thread ? index_of(sample.thread) : index_of(sample.part);
    FlatRow &row = rows[key];
    add_to(row.self, sample.values);
  }
  std::vector<FlatRow> out;
  for (auto &[key, row] : rows) {
    if (by == By::thread && key != none<uint32_t>) {
      const Thread &thread = profile.threads()[static_cast<ThreadId>(key)];
      row.id = static_cast<uint64_t>(thread.tid);
      row.name = profile.strings[thread.name];
    } else if (by == By::part && key != none<uint32_t>) {
      const Part &part = profile.parts()[static_cast<PartId>(key)];
      row.id = part.number;
      row.name = profile.strings[part.trigger];
    } else {
      row.name = by == By::part ? "[no part]" : "[no thread]";
    }
    row.inclusive = row.self;
    out.push_back(std::move(row));
  }
  return out;
}

} // namespace

Result<By> by_of(std::string_view word) {
  constexpr std::array<std::string_view, 8> words{"function", "line",      "object",    "thread",
                                                  "part",     "namespace", "directory", "process"};
  if (word == "module")
    return By::object;
  const auto at = std::ranges::find(words, word);
  if (at == words.end())
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected one of {}, found '{}'", joined_text(words, ", "), word),
                "by");
  return static_cast<By>(at - words.begin());
}

Result<SortBy> sort_by_of(std::string_view word) {
  if (word == "self")
    return SortBy::self;
  if (word == "inclusive")
    return SortBy::inclusive;
  return fail(ErrorCode::invalid_argument,
              fmt::format("expected one of self, inclusive, found '{}'", word), "sort");
}

bool has_all_totals(std::span<const std::string> units) {
  return units.size() > 1 && units.size() <= most_value_columns;
}

bool has_value_columns(std::span<const std::string> events, std::span<const std::string> units) {
  const bool is_one_clock =
      events.size() == 2 && events[0] == "ticks" && events[1] == "cpu" && units[1] == unit_of_times;
  return has_all_totals(units) && !is_one_clock;
}

void finish_rows(FlatTable &table, SortBy sort) {
  table.sort = sort;
  const bool has_columns = has_value_columns(table.events, table.units);
  for (FlatRow &row : table.rows) {
    row.self.resize(table.events.size(), 0);
    row.inclusive.resize(table.events.size(), 0);
  }
  sort_stably(table.rows, [&](const FlatRow &a, const FlatRow &b) {
    const auto &first_a = sort == SortBy::self ? a.self : a.inclusive;
    const auto &first_b = sort == SortBy::self ? b.self : b.inclusive;
    const auto &then_a = sort == SortBy::self ? a.inclusive : a.self;
    const auto &then_b = sort == SortBy::self ? b.inclusive : b.self;
    const int64_t id_a = signed_id(a), id_b = signed_id(b);
    if (has_columns && first_a != first_b) {
      const uint64_t weight_a = weight_of(first_a, table.units);
      const uint64_t weight_b = weight_of(first_b, table.units);
      return std::tie(weight_b, first_b) < std::tie(weight_a, first_a);
    }
    return std::tie(first_b[0], then_b[0], a.name, a.file, a.object, a.line, id_a) <
           std::tie(first_a[0], then_a[0], b.name, b.file, b.object, b.line, id_b);
  });
}

Result<FlatTable> flat_table(const StackProfile &profile, By by, SortBy sort) {
  FlatTable table;
  table.by = by;
  for (const ValueType &type : profile.value_types())
    table.events.emplace_back(profile.strings[type.type]);
  for (const ValueType &type : profile.value_types())
    table.units.emplace_back(profile.strings[type.unit]);
  for (int64_t total : profile.totals())
    table.totals.push_back(static_cast<uint64_t>(total));
  if (table.events.empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  for (size_t i = 0; i < profile.sample_count(); ++i)
    if (std::ranges::any_of(profile.sample(i).values, [](int64_t value) { return value < 0; }))
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
  if (by == By::process && !knows_processes(profile))
    return fail(ErrorCode::unsupported, "the profile does not distinguish processes", "--by");
  if (by == By::process) {
    table.rows = process_rows(profile);
  } else if (by == By::thread || by == By::part) {
    table.rows = sample_rows(profile, by);
  } else {
    TALLY_TRY(rows, stack_rows(profile, by));
    table.rows = std::move(rows);
  }
  std::erase_if(table.rows, [](const FlatRow &row) {
    return std::ranges::all_of(row.inclusive, [](uint64_t value) { return value == 0; });
  });
  finish_rows(table, sort);
  return table;
}

} // namespace tally
