#include "coverage/llvm_counts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "support/checked.h"

namespace tally::llvm {

std::vector<const CountedRegion *> CountedFunction::expansions() const {
  std::vector<const CountedRegion *> out(files.size());
  for (const CountedRegion &each : regions)
    if (each.region.kind == MappingRegion::Kind::expansion)
      out[each.region.expanded] = &each;
  return out;
}

const Result<MappedFunction> &DecodedMappings::of(const CoverageObject &object,
                                                  const MappingRecord &record) {
  const Key key(record.name_hash, record.function_hash, record.files_key, record.mapping);
  auto at = functions_.find(key);
  if (at == functions_.end())
    at = functions_.emplace(key, object.decode(record)).first;
  return at->second;
}

void add_counts(CounterRecord &sum, const CounterRecord &more) {
  sum.counts.resize(std::max(sum.counts.size(), more.counts.size()));
  for (size_t i = 0; i < more.counts.size(); ++i)
    sum.counts[i] = saturated_sum(sum.counts[i], more.counts[i]);
  sum.bitmap.resize(std::max(sum.bitmap.size(), more.bitmap.size()));
  for (size_t i = 0; i < more.bitmap.size(); ++i)
    sum.bitmap[i] = static_cast<char>(sum.bitmap[i] | more.bitmap[i]);
}

namespace {

// The sum of all images with the same build ids.
class Pool {
public:
  void add(const CounterRecord &record) {
    add_counts(counts_[record.name_hash][record.function_hash], record);
  }
  // Returns the counts of the versions of a function; null if it is unknown.
  const std::map<uint64_t, CounterRecord> *of(uint64_t name_hash) const {
    const auto at = counts_.find(name_hash);
    return at == counts_.end() ? nullptr : &at->second;
  }

private:
  std::unordered_map<uint64_t, std::map<uint64_t, CounterRecord>> counts_;
};

// Evaluates the counters of one function.
class Evaluation {
public:
  // `counts` is null if the function is unknown: then all counts are 0.
  Evaluation(const MappedFunction &function, const std::vector<uint64_t> *counts)
      : function_(function), counts_(counts), values_(function.expressions.size()),
        states_(function.expressions.size()) {}

  // Returns nothing if a counter does not exist, or if an expression refers to itself.
  std::optional<uint64_t> value(Counter counter) {
    if (counter.kind != Counter::Kind::expression)
      return simple(counter);
    // Expressions may be nested deeply, so that this does not recurse.
    stack_ = {counter.index};
    while (!stack_.empty()) {
      const uint32_t at = stack_.back();
      if (states_[at] == State::known) {
        stack_.pop_back();
        continue;
      }
      const Expression &expression = function_.expressions[at];
      const bool is_second_visit = states_[at] == State::open;
      states_[at] = State::open;
      const auto left = operand(expression.left, is_second_visit);
      const auto right = operand(expression.right, is_second_visit);
      if (failed_)
        return std::nullopt;
      if (!left || !right)
        continue;
      values_[at] = expression.is_sum ? *left + *right : *left - *right; // modulo 2^64
      states_[at] = State::known;
      stack_.pop_back();
    }
    return values_[counter.index];
  }

private:
  enum class State : uint8_t { unknown, open, known };

  std::optional<uint64_t> simple(Counter counter) const {
    if (counter.kind == Counter::Kind::zero || !counts_)
      return 0;
    return counter.index < counts_->size() ? std::optional((*counts_)[counter.index])
                                           : std::nullopt;
  }
  // Returns nothing if the operand must be evaluated before, and puts it on the stack.
  std::optional<uint64_t> operand(Counter counter, bool is_second_visit) {
    if (counter.kind != Counter::Kind::expression) {
      const auto value = simple(counter);
      failed_ |= !value;
      return value;
    }
    if (states_[counter.index] == State::known)
      return values_[counter.index];
    failed_ |= is_second_visit || states_[counter.index] == State::open;
    stack_.push_back(counter.index);
    return std::nullopt;
  }

  const MappedFunction &function_;
  const std::vector<uint64_t> *counts_;
  std::vector<uint64_t> values_;
  std::vector<State> states_;
  std::vector<uint32_t> stack_;
  bool failed_ = false;
};

// Returns the name without "<file>:", which local functions begin with.
std::string own_name(std::string name, std::string_view file) {
  if (!file.empty() && name.size() > file.size() && name.starts_with(file))
    name.erase(0, file.size() + 1);
  return name;
}

// A record that is equal in some objects.
struct SharedRecord {
  const CoverageObject *object;
  const MappingRecord *record;
  std::set<size_t> pools; // whose counts belong to it
};

class CountFunctions {
public:
  CountFunctions(std::span<const CoverageObject> objects, std::span<const ReadProfile> profiles,
                 CountedObjects which, DecodedMappings *mappings, Diagnostics &diagnostics)
      : objects_(objects), which_(which), mappings_(mappings), diagnostics_(diagnostics) {
    for (const ReadProfile &each : profiles)
      for (const ProfileImage &image : each.profile.images)
        add_image(image, each);
  }

  std::vector<CountedFunction> run() {
    for (const CoverageObject &object : objects_)
      collect(object);
    std::vector<CountedFunction> out;
    for (const SharedRecord &each : records_)
      if (auto function = count(each))
        add(std::move(*function), out);
    for (const auto &[name, count] : mismatched_)
      diagnostics_.add(Severity::warning,
                       fmt::format("{} function{} changed since the profile was written: left out",
                                   count, count == 1 ? " has" : "s have"),
                       name);
    if (negative_)
      diagnostics_.add(Severity::warning,
                       "some counts contradict each other, as threads leave them without "
                       "-fprofile-update=atomic: negative ones count as 0");
    return out;
  }

private:
  void add_image(const ProfileImage &image, const ReadProfile &from) {
    const std::vector<std::string> ids =
        from.is_indexed ? std::vector<std::string>() : image.build_ids;
    const auto [at, added] = pool_of_.try_emplace(ids, pools_.size());
    if (added)
      pools_.emplace_back();
    Pool &pool = pools_[at->second];
    for (const CounterRecord &record : image.records)
      pool.add(record);
    has_other_bitmaps_ |= from.profile.version == (from.is_indexed ? 11 : 9); // of LLVM 18
    if (!image.is_correlated)
      return;
    bool is_matched = false;
    for (const CoverageObject &object : objects_) {
      if (!object.correlates() || !belongs(ids, object))
        continue;
      auto records = object.correlate(image);
      if (!records) {
        const Error &error = records.error();
        diagnostics_.add(Severity::warning, error.message + ": the object is left out",
                         error.source, error.where);
        continue;
      }
      is_matched = true;
      for (const CounterRecord &record : *records)
        pool.add(record);
    }
    if (!is_matched)
      diagnostics_.add(Severity::warning,
                       "has counters without names, and no object has their names", from.path);
  }

  static bool belongs(const std::vector<std::string> &ids, const CoverageObject &object) {
    return ids.empty() || object.build_id().empty() ||
           std::ranges::find(ids, object.build_id()) != ids.end();
  }

  // Adds the records of an object. The first one of a name wins, but one of a function that is used
  // replaces a dummy.
  void collect(const CoverageObject &object) {
    std::set<size_t> pools;
    for (const auto &[ids, pool] : pool_of_)
      if (belongs(ids, object))
        pools.insert(pool);
    if (pools.empty() && which_ == CountedObjects::of_profiles)
      return;
    std::unordered_map<uint64_t, size_t> chosen; // by the name's hash: the index in `order`
    std::vector<const MappingRecord *> order;
    for (const MappingRecord &record : object.records()) {
      const auto [at, added] = chosen.try_emplace(record.name_hash, order.size());
      if (added)
        order.push_back(&record);
      else if (is_dummy(object, *order[at->second]) && !is_dummy(object, record))
        order[at->second] = &record;
    }
    for (const MappingRecord *record : order) {
      const auto key =
          std::tuple(record->name_hash, record->function_hash, record->files_key, record->mapping);
      const auto [at, added] = known_.try_emplace(key, records_.size());
      if (added)
        records_.push_back({&object, record, {}});
      records_[at->second].pools.insert(pools.begin(), pools.end());
    }
  }

  // The result is valid until the next call.
  const Result<MappedFunction> &decoded(const CoverageObject &object, const MappingRecord &record) {
    if (mappings_)
      return mappings_->of(object, record);
    return last_.emplace(object.decode(record));
  }

  bool is_dummy(const CoverageObject &object, const MappingRecord &record) {
    if (record.function_hash != 0)
      return false;
    const auto &function = decoded(object, record);
    return function && function->is_dummy();
  }

  std::optional<CountedFunction> count(const SharedRecord &shared) {
    const MappingRecord &record = *shared.record;
    const auto &mapped = decoded(*shared.object, record);
    if (!mapped) {
      const Error &error = mapped.error();
      diagnostics_.add(Severity::warning, error.message + ": left out", error.source, error.where);
      return std::nullopt;
    }
    const MappedFunction &function = *mapped;
    is_dummy_now_ = function.is_dummy();
    CounterRecord counts;
    bool is_known = false, has_others = false;
    now_.clear();
    for (const size_t pool : shared.pools)
      if (const auto *versions = pools_[pool].of(record.name_hash)) {
        const auto at = versions->find(record.function_hash);
        is_known |= at != versions->end();
        has_others |= at == versions->end();
        if (at != versions->end()) {
          now_.insert(pool);
          add_counts(counts, at->second);
        }
      }
    if (!is_known && has_others) {
      if (record.function_hash != 0) // a dummy's function runs in another unit
        ++mismatched_[shared.object->name()];
      return std::nullopt;
    }
    if (function.regions.size() == 1 && function.regions[0].count.kind == Counter::Kind::zero &&
        !counts.counts.empty() && counts.counts[0] > 0)
      return std::nullopt;
    return evaluated(function, is_known ? &counts : nullptr);
  }

  // Counters that threads do not add to atomically may contradict each other, so that a difference
  // is below 0.
  uint64_t not_negative(uint64_t count) {
    const bool is_negative = count > std::numeric_limits<int64_t>::max();
    negative_ |= is_negative;
    return is_negative ? 0 : count;
  }

  std::optional<CountedFunction> evaluated(const MappedFunction &function,
                                           const CounterRecord *counts) {
    CountedFunction out;
    Evaluation evaluation(function, counts ? &counts->counts : nullptr);
    bool is_first = true;
    for (const MappingRegion &region : function.regions) {
      const auto count = evaluation.value(region.count);
      const auto false_count = evaluation.value(region.false_count);
      if (!count || !false_count)
        return std::nullopt;
      if (is_first && region.is_stretch()) {
        out.count = not_negative(*count);
        is_first = false;
      }
      out.regions.push_back({region, not_negative(*count), not_negative(*false_count)});
    }
    if (is_first || function.files.empty())
      return std::nullopt;
    out.name = own_name(function.name, function.files[0]);
    out.files = function.files;
    if (counts)
      out.bitmap = counts->bitmap;
    out.has_other_bitmap = has_other_bitmaps_;
    return out;
  }

  // Other objects may have the same function, compiled in another unit. Their records have counts
  // of their own, unless they share a profile, in which case only the first counts. A function that
  // runs replaces a dummy.
  void add(CountedFunction function, std::vector<CountedFunction> &out) {
    const bool is_real = !is_dummy_now_;
    const auto [at, added] = known_functions_.try_emplace({function.name, function.files},
                                                          Known{out.size(), is_real, {}});
    Known &known = at->second;
    const bool is_new = !now_.empty() && std::ranges::none_of(now_, [&](size_t pool) {
      return known.pools.contains(pool);
    });
    if (added) {
      known.pools = now_;
      out.push_back(std::move(function));
    } else if (is_real && !known.is_real) {
      known.is_real = true;
      known.pools = now_;
      out[known.index] = std::move(function);
    } else if (is_real && is_new) {
      known.pools.insert(now_.begin(), now_.end());
      out.push_back(std::move(function)); // their counts add up
    }
  }

  std::span<const CoverageObject> objects_;
  const CountedObjects which_;
  DecodedMappings *const mappings_;            // may be null
  std::optional<Result<MappedFunction>> last_; // decoded without mappings_
  Diagnostics &diagnostics_;
  std::vector<Pool> pools_;
  bool has_other_bitmaps_ = false, negative_ = false;
  std::map<std::vector<std::string>, size_t> pool_of_; // by build ids
  using Key = std::tuple<uint64_t, uint64_t, uint64_t, std::string_view>;
  std::map<Key, size_t> known_;
  std::vector<SharedRecord> records_;
  std::map<std::string, uint64_t> mismatched_; // by object
  struct Known {
    size_t index; // of the first record's function
    bool is_real;
    std::set<size_t> pools; // that have counts of it
  };
  std::map<std::pair<std::string, std::vector<std::string_view>>, Known> known_functions_;
  // These describe the function that is being counted: the pools that have counts of it, and
  // whether it is a dummy.
  std::set<size_t> now_;
  bool is_dummy_now_ = false;
};

} // namespace

std::vector<CountedFunction> count_functions(std::span<const CoverageObject> objects,
                                             std::span<const ReadProfile> profiles,
                                             Diagnostics &diagnostics) {
  return count_functions(objects, profiles, CountedObjects::all, nullptr, diagnostics);
}

std::vector<CountedFunction> count_functions(std::span<const CoverageObject> objects,
                                             std::span<const ReadProfile> profiles,
                                             CountedObjects which, DecodedMappings *mappings,
                                             Diagnostics &diagnostics) {
  return CountFunctions(objects, profiles, which, mappings, diagnostics).run();
}

} // namespace tally::llvm
