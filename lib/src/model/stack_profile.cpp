
#include "model/stack_profile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/demangle.h"
#include "support/hash.h"
#include "support/id_table.h"
#include "support/memory_limit.h"
#include "support/sort.h"

namespace tally {

namespace {

// Fills a table with existing rows, each of which is distinct.
template <class HashOf> void index_rows(IdTable &table, uint32_t rows, HashOf hash) {
  for (uint32_t i = 0; i < rows; ++i)
    table.find_or_add(
        hash(i), i, [](uint32_t) { return false; }, hash);
}

// Times of the same moment keep their order.
void sort_by_time(std::vector<SampleTime> &times) {
  if (!std::ranges::is_sorted(times, {}, &SampleTime::at_ns))
    std::ranges::stable_sort(times, {}, &SampleTime::at_ns);
}

} // namespace

StackProfile::StackProfile() = default;
StackProfile::StackProfile(const StackProfile &) = default;
StackProfile &StackProfile::operator=(const StackProfile &) = default;
StackProfile::StackProfile(StackProfile &&) noexcept = default;
StackProfile &StackProfile::operator=(StackProfile &&) noexcept = default;
StackProfile::~StackProfile() = default;

struct StackProfileBuilder::Tables {
  IdTable functions, locations, stacks, samples, threads;
  SeededMap<StringId, StringId> demangled; // the names that begin like mangled ones
};

namespace {

uint64_t hash_of(const SourceFunction &f) {
  uint64_t h = combine(index_of(f.name), index_of(f.system_name));
  h = combine(h, (uint64_t{index_of(f.file)} << 32) | index_of(f.object));
  return combine(h, f.line);
}

uint64_t hash_of(const Thread &t) {
  return combine(static_cast<uint32_t>(t.pid), static_cast<uint32_t>(t.tid));
}

uint64_t hash_of(MappingId mapping, uint64_t address, std::span<const SourceLine> lines) {
  uint64_t h = combine(index_of(mapping), address);
  if (mapping == none<MappingId>)
    for (const SourceLine &line : lines)
      h = combine(h, (uint64_t{index_of(line.function)} << 32) | line.line);
  return h;
}

uint64_t hash_of(const Location &at) { return hash_of(at.mapping, at.address, at.lines); }

uint64_t hash_of(StackId caller, LocationId callee) {
  return mix((uint64_t{index_of(caller)} << 32) | index_of(callee));
}

uint64_t hash_of(StackId stack, ThreadId thread, PartId part) {
  return combine((uint64_t{index_of(stack)} << 32) | index_of(thread), index_of(part));
}

} // namespace

bool StackProfile::has_places() const {
  if (std::ranges::any_of(location_address_, [](uint64_t address) { return address != 0; }))
    return true;
  return std::ranges::any_of(lines_, [](const SourceLine &line) { return line.line != 0; });
}

Location StackProfile::location(LocationId id) const {
  const uint32_t first = location_first_line_[id];
  const uint32_t next = index_of(id) + 1 < location_first_line_.size()
                            ? location_first_line_[static_cast<LocationId>(index_of(id) + 1)]
                            : static_cast<uint32_t>(lines_.size());
  return {location_mapping_[id], location_address_[id],
          std::span(lines_).subspan(first, next - first)};
}

Sample StackProfile::sample(size_t row) const {
  const size_t width = value_types_.size();
  return {sample_stack_[row], sample_thread_[row], sample_part_[row],
          std::span(sample_values_).subspan(row * width, width)};
}

std::vector<int64_t> StackProfile::totals() const {
  std::vector<int64_t> sums(value_types_.size(), 0);
  for (size_t i = 0; i < sample_values_.size(); ++i)
    sums[i % sums.size()] += sample_values_[i]; // validate() has shown that this fits
  return sums;
}

uint64_t StackProfile::end_ns() const {
  const uint64_t last = times_.empty() ? 0 : times_.back().at_ns;
  return parts_.size() == 0 ? last
                            : std::max(last, parts_[static_cast<PartId>(parts_.size() - 1)].end_ns);
}

bool measures_intervals(const StackProfile &profile, size_t value) {
  const ValueType &type = profile.value_types()[value];
  const std::string_view name = profile.strings[type.type];
  return profile.strings[type.unit] == "nanoseconds" && (name == "wait" || name == "queued");
}

StackProfileBuilder::StackProfileBuilder() : tables_(std::make_unique<Tables>()) {}
StackProfileBuilder::StackProfileBuilder(StackProfile profile) : StackProfileBuilder() {
  profile_ = std::move(profile);
  const StackProfile &p = profile_;
  index_rows(tables_->functions, p.functions_.size(),
             [&](uint32_t i) { return hash_of(p.functions_[static_cast<SourceFunctionId>(i)]); });
  index_rows(tables_->threads, p.threads_.size(),
             [&](uint32_t i) { return hash_of(p.threads_[static_cast<ThreadId>(i)]); });
  index_rows(tables_->locations, p.location_count(),
             [&](uint32_t i) { return hash_of(p.location(static_cast<LocationId>(i))); });
  index_rows(tables_->stacks, p.stack_count(), [&](uint32_t i) {
    const auto id = static_cast<StackId>(i);
    return hash_of(p.stack_caller_[id], p.stack_location_[id]);
  });
  index_samples();
}

void StackProfileBuilder::index_samples() {
  const StackProfile &p = profile_;
  index_rows(tables_->samples, static_cast<uint32_t>(p.sample_count()), [&](uint32_t i) {
    return hash_of(p.sample_stack_[i], p.sample_thread_[i], p.sample_part_[i]);
  });
}
StackProfileBuilder::StackProfileBuilder(StackProfileBuilder &&) noexcept = default;
StackProfileBuilder &StackProfileBuilder::operator=(StackProfileBuilder &&) noexcept = default;
StackProfileBuilder::~StackProfileBuilder() = default;

void StackProfileBuilder::add_value_type(std::string_view type, std::string_view unit) {
  profile_.value_types_.push_back({intern(type), intern(unit)});
}

SourceFunction StackProfileBuilder::with_name_for_people(SourceFunction function) {
  if ((function.system_name != StringId{} && function.system_name != function.name) ||
      !so_far().strings[function.name].starts_with('_'))
    return function;
  const auto [found, added] = tables_->demangled.try_emplace(function.name, function.name);
  if (added)
    found->second = intern(demangled(so_far().strings[function.name]));
  if (found->second != function.name)
    function.system_name = std::exchange(function.name, found->second);
  return function;
}

SourceFunctionId StackProfileBuilder::add_function(const SourceFunction &given) {
  auto &rows = profile_.functions_;
  const SourceFunction function = with_name_for_people(given);
  const auto [id, added] = tables_->functions.find_or_add(
      hash_of(function), rows.size(),
      [&](uint32_t i) { return rows[static_cast<SourceFunctionId>(i)] == function; },
      [&](uint32_t i) { return hash_of(rows[static_cast<SourceFunctionId>(i)]); });
  if (added) {
    MemoryLimit::tick();
    rows.push(function);
  }
  return static_cast<SourceFunctionId>(id);
}

LocationId StackProfileBuilder::add_location(MappingId mapping, uint64_t address,
                                             std::span<const SourceLine> lines) {
  auto &p = profile_;
  const auto add = [&] {
    MemoryLimit::tick(1 + lines.size());
    p.location_mapping_.push(mapping);
    p.location_address_.push(address);
    const LocationId id = p.location_first_line_.push(static_cast<uint32_t>(p.lines_.size()));
    p.lines_.insert(p.lines_.end(), lines.begin(), lines.end());
    return id;
  };
  // Within a mapping, the address identifies a location; elsewhere the lines must be equal as well.
  const auto [id, added] = tables_->locations.find_or_add(
      hash_of(mapping, address, lines), p.location_address_.size(),
      [&](uint32_t i) {
        const auto at = static_cast<LocationId>(i);
        return p.location_address_[at] == address && p.location_mapping_[at] == mapping &&
               (mapping != none<MappingId> || std::ranges::equal(p.location(at).lines, lines));
      },
      [&](uint32_t i) { return hash_of(p.location(static_cast<LocationId>(i))); });
  return added ? add() : static_cast<LocationId>(id);
}

ThreadId StackProfileBuilder::add_thread(int32_t pid, int32_t tid, std::string_view name) {
  auto &rows = profile_.threads_;
  const Thread thread{pid, tid, intern(name), {}};
  const auto [id, added] = tables_->threads.find_or_add(
      hash_of(thread), rows.size(),
      [&](uint32_t i) {
        const Thread &other = rows[static_cast<ThreadId>(i)];
        return other.pid == pid && other.tid == tid;
      },
      [&](uint32_t i) { return hash_of(rows[static_cast<ThreadId>(i)]); });
  if (added) {
    MemoryLimit::tick();
    rows.push(thread);
  }
  return static_cast<ThreadId>(id);
}

void StackProfileBuilder::rename_thread(ThreadId thread, std::string_view name) {
  profile_.threads_[thread].name = intern(name);
}
void StackProfileBuilder::set_process(ThreadId thread, std::string_view name) {
  profile_.threads_[thread].process = intern(name);
}

void StackProfileBuilder::close_part(PartId part, std::string_view trigger, uint64_t end_ns) {
  profile_.parts_[part].trigger = intern(trigger);
  profile_.parts_[part].end_ns = end_ns;
}

void StackProfileBuilder::sort_parts() {
  auto &p = profile_;
  std::vector<PartId> order;
  for (uint32_t i = 0; i < p.parts_.size(); ++i)
    order.push_back(static_cast<PartId>(i));
  sort_stably(order, {}, [&](PartId id) { return p.parts_[id].end_ns; });
  Column<PartId, Part> sorted;
  std::vector<PartId> now(order.size());
  for (const PartId id : order) {
    Part part = p.parts_[id];
    part.number = sorted.size() + 1;
    now[index_of(id)] = sorted.push(part);
  }
  p.parts_ = std::move(sorted);
  for (PartId &part : p.sample_part_)
    if (part != none<PartId>)
      part = now[index_of(part)];
  tables_->samples = {};
  index_samples();
}

StackId StackProfileBuilder::push(StackId caller, LocationId callee) {
  auto &p = profile_;
  const auto [id, added] = tables_->stacks.find_or_add(
      hash_of(caller, callee), p.stack_location_.size(),
      [&](uint32_t i) {
        const auto at = static_cast<StackId>(i);
        return p.stack_location_[at] == callee && p.stack_caller_[at] == caller;
      },
      [&](uint32_t i) {
        const auto at = static_cast<StackId>(i);
        return hash_of(p.stack_caller_[at], p.stack_location_[at]);
      });
  if (added) {
    MemoryLimit::tick();
    p.stack_location_.push(callee);
    p.stack_caller_.push(caller);
  }
  return static_cast<StackId>(id);
}

uint32_t StackProfileBuilder::add_sample(StackId stack, ThreadId thread, PartId part,
                                         std::span<const int64_t> values) {
  auto &p = profile_;
  const auto [row, added] = tables_->samples.find_or_add(
      hash_of(stack, thread, part), static_cast<uint32_t>(p.sample_stack_.size()),
      [&](uint32_t i) {
        return p.sample_stack_[i] == stack && p.sample_thread_[i] == thread &&
               p.sample_part_[i] == part;
      },
      [&](uint32_t i) {
        return hash_of(p.sample_stack_[i], p.sample_thread_[i], p.sample_part_[i]);
      });
  const size_t width = p.value_types_.size();
  if (added) {
    p.sample_stack_.push_back(stack);
    p.sample_thread_.push_back(thread);
    p.sample_part_.push_back(part);
    MemoryLimit::tick(1 + width);
    p.sample_values_.resize(p.sample_values_.size() + width, 0);
  }
  for (size_t i = 0; i < std::min(width, values.size()); ++i)
    if (!checked_add(p.sample_values_[row * width + i], values[i]))
      overflow_ = true;
  return row;
}

void StackProfileBuilder::replace_lines(std::span<const std::span<const SourceLine>> lines) {
  std::vector<SourceLine> all;
  for (uint32_t i = 0; i < lines.size(); ++i) {
    profile_.location_first_line_[static_cast<LocationId>(i)] = static_cast<uint32_t>(all.size());
    all.insert(all.end(), lines[i].begin(), lines[i].end());
  }
  profile_.lines_ = std::move(all);
  tables_->locations = {};
  index_rows(tables_->locations, profile_.location_count(),
             [&](uint32_t i) { return hash_of(profile_.location(static_cast<LocationId>(i))); });
}

void StackProfileBuilder::place_stackless(const SourceLine &line) {
  auto &samples = profile_.sample_stack_;
  if (std::ranges::find(samples, none<StackId>) == samples.end())
    return;
  const StackId stack = push(none<StackId>, add_location(none<MappingId>, 0, std::span(&line, 1)));
  std::ranges::replace(samples, none<StackId>, stack);
}

void StackProfileBuilder::keep_value(size_t index) {
  auto &p = profile_;
  const size_t width = p.value_types_.size();
  for (size_t row = 0; row < p.sample_stack_.size(); ++row)
    p.sample_values_[row] = p.sample_values_[row * width + index];
  p.sample_values_.resize(p.sample_stack_.size());
  p.value_types_ = {p.value_types_[index]};
  std::erase_if(p.times_, [&](const SampleTime &time) { return time.value != index; });
  for (SampleTime &time : p.times_)
    time.value = 0;
  if (index != 0)
    p.period_ns = 0;
}

Result<StackProfile> StackProfileBuilder::snapshot() const {
  if (overflow_)
    return fail(ErrorCode::overflow, "the sum of the counts of a sample exceeds 63 bits");
  StackProfile copy = profile_;
  sort_by_time(copy.times_);
  TALLY_CHECK(validate(copy));
  return copy;
}

Result<StackProfile> StackProfileBuilder::finish() {
  if (overflow_)
    return fail(ErrorCode::overflow, "the sum of the counts of a sample exceeds 63 bits");
  sort_by_time(profile_.times_);
  TALLY_CHECK(validate(profile_));
  StackProfile out = std::move(profile_);
  *this = StackProfileBuilder();
  return out;
}

Result<void> validate(const StackProfile &p) {
  const auto broken = [](const std::string &message) {
    return fail(ErrorCode::invalid_input, "not a valid profile: " + message);
  };
  for (uint32_t i = 0; i < p.mappings().size(); ++i) {
    const Mapping &m = p.mappings()[static_cast<MappingId>(i)];
    if (m.limit < m.start)
      return broken(fmt::format("mapping {} ends before it begins", i));
  }
  for (uint32_t i = 0; i < p.location_count(); ++i) {
    const Location at = p.location(static_cast<LocationId>(i));
    if (at.mapping != none<MappingId> && !p.mappings().contains(at.mapping))
      return broken(fmt::format("location {} lies in mapping {}, which does not exist", i,
                                index_of(at.mapping)));
    for (const SourceLine &line : at.lines)
      if (!p.functions().contains(line.function))
        return broken(fmt::format("location {} names function {}, which does not exist", i,
                                  index_of(line.function)));
  }
  for (uint32_t i = 0; i < p.stack_count(); ++i) {
    const auto id = static_cast<StackId>(i);
    if (index_of(p.stack_location(id)) >= p.location_count())
      return broken(fmt::format("stack {} holds location {}, which does not exist", i,
                                index_of(p.stack_location(id))));
    const StackId caller = p.stack_caller(id);
    if (caller != none<StackId> && index_of(caller) >= i)
      return broken(fmt::format("stack {} has a caller that comes after it", i));
  }
  for (size_t i = 0; i < p.passes.size(); ++i)
    if (p.passes[i].end_ns < p.passes[i].begin_ns)
      return broken(fmt::format("pass {} ends before it begins", i));
  uint32_t number = 0;
  for (const Part &part : p.parts()) {
    if (part.number <= number)
      return broken(fmt::format("part {} comes after part {}", part.number, number));
    if (part.end_ns < part.begin_ns)
      return broken(fmt::format("part {} ends before it begins", part.number));
    number = part.number;
  }
  std::vector<int64_t> sums(p.value_types().size(), 0);
  for (size_t row = 0; row < p.sample_count(); ++row) {
    const Sample sample = p.sample(row);
    if (sample.stack != none<StackId> && index_of(sample.stack) >= p.stack_count())
      return broken(fmt::format("sample {} names a stack that does not exist", row));
    if (sample.thread != none<ThreadId> && !p.threads().contains(sample.thread))
      return broken(fmt::format("sample {} names a thread that does not exist", row));
    if (sample.part != none<PartId> && !p.parts().contains(sample.part))
      return broken(fmt::format("sample {} names a part that does not exist", row));
    for (size_t i = 0; i < sums.size(); ++i)
      if (!checked_add(sums[i], sample.values[i]))
        return fail(ErrorCode::overflow, fmt::format("the sum of the {} exceeds 63 bits",
                                                     p.strings[p.value_types()[i].type]));
  }
  for (const SampleTime &time : p.times())
    if (time.row >= p.sample_count() || time.value >= sums.size() || time.amount < 0)
      return broken("a time belongs to a sample or value that does not exist, or takes from it");
  return {};
}

} // namespace tally
