#include "coverage/llvm_counts.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "coverage/llvm_counters.h"
#include "coverage/llvm_evaluation.h"
#include "support/hash.h"
#include "support/sort.h"

namespace tally::llvm {

namespace {

// Pools by their index, sorted.
using Pools = std::vector<uint32_t>;

void add_pools(Pools &to, const Pools &more) {
  if (to == more)
    return;
  Pools all;
  std::ranges::set_union(to, more, std::back_inserter(all));
  to = std::move(all);
}

// Returns the name without "<file>:", which local functions begin with.
std::string_view own_name(std::string_view name, std::string_view file) {
  if (!file.empty() && name.size() > file.size() && name.starts_with(file))
    name.remove_prefix(file.size() + 1);
  return name;
}

// A record that is equal in some objects.
struct SharedRecord {
  const CoverageObject *object;
  const MappingRecord *record;
  Pools pools; // whose counts belong to it
};

// Compares records. Objects that link the same library have equal ones.
struct SameRecord {
  size_t operator()(const MappingRecord *record) const {
    return combine(combine(mix(record->name_hash), record->function_hash), record->files_key);
  }
  bool operator()(const MappingRecord *a, const MappingRecord *b) const {
    return a->name_hash == b->name_hash && a->function_hash == b->function_hash &&
           a->files_key == b->files_key && a->mapping == b->mapping;
  }
};

// Identifies a function, which other objects may have from another unit.
struct FunctionKey {
  std::string_view name;
  std::vector<std::string_view> files;
  friend auto operator<=>(const FunctionKey &, const FunctionKey &) = default;
};
struct HashFunction {
  size_t operator()(const FunctionKey &key) const {
    uint64_t out = hash_bytes(key.name);
    for (const std::string_view file : key.files)
      out = combine(out, hash_bytes(file));
    return out;
  }
};

class CountFunctions {
public:
  CountFunctions(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                 CountedObjects which, Diagnostics &diagnostics,
                 const std::function<void(const CountedFunction &)> &take)
      : objects_(objects), which_(which), diagnostics_(diagnostics), take_(take) {
    for (ReadProfile &each : profiles)
      for (ProfileImage &image : each.profile.images)
        add_image(image, each);
  }

  void run() {
    for (const CoverageObject &object : objects_)
      collect(object);
    for (const SharedRecord &each : records_)
      count(each);
    finish_dummies();
    for (const auto &[name, count] : mismatched_)
      diagnostics_.add(Severity::warning,
                       fmt::format("{} function{} changed since the profile was written: left out",
                                   count, count == 1 ? " has" : "s have"),
                       name);
    if (negative_)
      diagnostics_.add(Severity::warning,
                       "some counts contradict each other, as threads leave them without "
                       "-fprofile-update=atomic: negative ones count as 0");
  }

private:
  void add_image(ProfileImage &image, const ReadProfile &from) {
    const Owner owner{from.profile.is_indexed ? std::vector<std::string>() : image.build_ids,
                      from.object};
    const auto [at, added] = pool_of_.try_emplace(owner, static_cast<uint32_t>(pools_.size()));
    if (added)
      pools_.emplace_back();
    CounterPool &pool = pools_[at->second];
    for (CounterRecord &record : image.records)
      pool.add(std::move(record));
    image.records.clear();
    counted_.has_other_bitmap |=
        from.profile.version == (from.profile.is_indexed ? 11 : 9); // of LLVM 18
    if (!image.is_correlated)
      return;
    bool is_matched = false;
    for (const CoverageObject &object : objects_) {
      if (!object.correlates(image) || !belongs(owner, object))
        continue;
      auto records = object.correlate(image);
      if (!records) {
        const Error &error = records.error();
        diagnostics_.add(Severity::warning, error.message + ": the object is left out",
                         error.source, error.where);
        continue;
      }
      is_matched = true;
      for (CounterRecord &record : *records)
        pool.add(std::move(record));
    }
    if (!is_matched)
      diagnostics_.add(Severity::warning,
                       "has counters without names, and no object has their names", from.path);
  }

  // Tells which objects an image belongs to, by its build ids and ReadProfile::object.
  using Owner = std::pair<std::vector<std::string>, const CoverageObject *>;
  static bool belongs(const Owner &owner, const CoverageObject &object) {
    const std::vector<std::string> &ids = owner.first;
    if (owner.second)
      return owner.second == &object;
    return ids.empty() || object.build_id().empty() ||
           std::ranges::find(ids, object.build_id()) != ids.end();
  }

  // Adds the records of an object. The first one of a name wins, but one of a function that is used
  // replaces a dummy.
  void collect(const CoverageObject &object) {
    Pools pools;
    for (const auto &[owner, pool] : pool_of_)
      if (belongs(owner, object))
        pools.push_back(pool);
    if (pools.empty() && which_ == CountedObjects::of_profiles)
      return;
    sort_stably(pools);
    struct Chosen {
      size_t index = 0;          // of `order`
      bool may_be_dummy = false; // if not looked at yet, or if it is
    };
    SeededMap<uint64_t, Chosen> chosen; // by the name's hash
    chosen.reserve(object.records().size());
    std::vector<const MappingRecord *> order;
    for (const MappingRecord &record : object.records()) {
      const auto [at, added] =
          chosen.try_emplace(record.name_hash, Chosen{order.size(), record.function_hash == 0});
      Chosen &first = at->second;
      if (added)
        order.push_back(&record);
      if (added || !first.may_be_dummy)
        continue;
      first.may_be_dummy = is_dummy(object, *order[first.index]);
      if (first.may_be_dummy && !is_dummy(object, record)) {
        order[first.index] = &record;
        first.may_be_dummy = false;
      }
    }
    for (const MappingRecord *record : order) {
      const auto [at, added] = known_.try_emplace(record, records_.size());
      if (added)
        records_.push_back({&object, record, pools});
      else
        add_pools(records_[at->second].pools, pools);
    }
  }

  bool is_dummy(const CoverageObject &object, const MappingRecord &record) {
    return record.function_hash == 0 && object.decode(record, mapped_) && mapped_.is_dummy();
  }

  // Adds up the counters of a function in all pools. Returns whether the function is to be counted:
  // not if only other versions of it are known.
  bool take_counters(const SharedRecord &shared) {
    const MappingRecord &record = *shared.record;
    now_.sum.counts.clear();
    now_.sum.bitmap.clear();
    now_.sum.open = {};
    now_.pools.clear();
    bool has_name = false;
    for (const uint32_t pool : shared.pools) {
      const auto found = pools_[pool].find(record.name_hash, record.function_hash);
      has_name |= found.has_name;
      if (found.counters) {
        now_.pools.push_back(pool);
        add_counters(now_.sum, *found.counters);
      }
    }
    if (!now_.pools.empty() || !has_name)
      return true;
    if (record.function_hash != 0) // a dummy's function runs in another unit
      ++mismatched_[shared.object->name()];
    return false;
  }

  void count(const SharedRecord &shared) {
    if (const auto decoded = shared.object->decode(*shared.record, mapped_); !decoded) {
      const Error &error = decoded.error();
      diagnostics_.add(Severity::warning, error.message + ": left out", error.source, error.where);
      return;
    }
    if (!take_counters(shared))
      return;
    if (mapped_.regions.size() == 1 && mapped_.regions[0].count.kind == Counter::Kind::zero &&
        !now_.sum.counts.empty() && now_.sum.counts[0] > 0)
      return;
    if (evaluate())
      add();
  }

  // Counters that threads do not add to atomically may contradict each other, so that a difference
  // is below 0. While a thread is in the function, this is usual.
  uint64_t not_negative(int64_t count, bool is_open) {
    negative_ |= count < 0 && !is_open;
    return count < 0 ? 0 : static_cast<uint64_t>(count);
  }

  // Finds for each counter the region where it is increased. Several regions may have the counter,
  // as the increment and the body of a loop, and what follows an `if` of which one side returns.
  // The region is the first, unless a gap with the same counter leads to another one, as to a body.
  void find_own_regions() {
    now_.own.assign(now_.sum.counts.size(), nullptr);
    std::vector<bool> has_gap(now_.own.size());
    const MappingRegion *before = nullptr;
    for (const MappingRegion &region : mapped_.regions) {
      const size_t index = region.count.index;
      if (region.count.kind == Counter::Kind::counter && region.kind == MappingRegion::Kind::code &&
          index < now_.own.size()) {
        const bool follows_gap = before && before->kind == MappingRegion::Kind::gap &&
                                 before->count == region.count && before->end == region.start;
        if (!now_.own[index] || (follows_gap && !has_gap[index])) {
          now_.own[index] = &region;
          has_gap[index] = follows_gap;
        }
      }
      before = &region;
    }
  }

  bool is_own(const MappingRegion &region) const {
    return region.count.kind == Counter::Kind::counter && region.count.index < now_.own.size() &&
           now_.own[region.count.index] == &region;
  }

  // Evaluates the function that was decoded. Returns false if its mapping and counters do not fit.
  bool evaluate() {
    now_.evaluation.begin(mapped_, now_.pools.empty() ? nullptr : &now_.sum);
    const bool is_open = now_.sum.open != CounterRecord::Open();
    if (is_open)
      find_own_regions();
    counted_.regions.clear();
    bool is_first = true;
    for (const MappingRegion &region : mapped_.regions) {
      const auto count =
          region.kind == MappingRegion::Kind::branch
              ? now_.evaluation.value_of_outcome(region.count)
              : now_.evaluation.value_of_region(region.count, !is_open || is_own(region));
      const auto false_count = now_.evaluation.value_of_outcome(region.false_count);
      if (!count || !false_count)
        return false;
      CountedRegion counted{region, not_negative(count->least, is_open),
                            not_negative(false_count->least, is_open), 0};
      if (is_open)
        counted.uncertain =
            now_.sum.open.at_least
                ? UINT64_MAX
                : std::max(not_negative(count->most, true), counted.count) - counted.count;
      if (is_first && region.is_stretch()) {
        count_calls(counted);
        is_first = false;
      }
      counted_.regions.push_back(counted);
    }
    if (is_first || mapped_.files.empty())
      return false;
    counted_.name = own_name(mapped_.name, mapped_.files[0]);
    counted_.files = mapped_.files;
    counted_.bitmap = now_.sum.bitmap;
    return true;
  }

  // A call that has begun is one, before the code of the function's first region has counted it.
  void count_calls(const CountedRegion &first) {
    const CounterRecord::Open &open = now_.sum.open;
    const uint64_t begun = first.count + open.entered;
    counted_.count = begun - std::min<uint64_t>(begun, open.entered_before);
    counted_.uncertain = open.at_least
                             ? UINT64_MAX
                             : first.uncertain - std::min<uint64_t>(first.uncertain, open.entered);
  }

  // Other objects may have the same function, compiled in another unit. Their records have counts
  // of their own, unless they share a profile, in which case only the first counts. A function that
  // runs replaces a dummy, so that dummies come last.
  void add() {
    const bool is_real = !mapped_.is_dummy();
    const auto [at, added] = functions_.try_emplace({counted_.name, counted_.files});
    Known &known = at->second;
    if (!is_real) {
      if (added)
        known.dummy.emplace(counted_);
      return;
    }
    const bool is_new = !now_.pools.empty() && std::ranges::none_of(now_.pools, [&](uint32_t pool) {
      return std::ranges::binary_search(known.pools, pool);
    });
    if (known.is_real && !is_new)
      return;
    known.is_real = true;
    known.dummy.reset();
    add_pools(known.pools, now_.pools);
    take_(counted_);
  }

  void finish_dummies() {
    std::map<FunctionKey, const CountedFunction *> dummies;
    for (const auto &[key, known] : functions_)
      if (known.dummy)
        dummies.emplace(key, &*known.dummy);
    for (const auto &[key, dummy] : dummies)
      take_(*dummy);
  }

  struct Known {
    bool is_real = false;
    std::optional<CountedFunction> dummy; // which counts if no real one follows
    Pools pools;                          // that have counts of it
  };

  std::span<const CoverageObject> objects_;
  const CountedObjects which_;
  Diagnostics &diagnostics_;
  const std::function<void(const CountedFunction &)> &take_;
  std::vector<CounterPool> pools_;
  std::map<Owner, uint32_t> pool_of_;
  std::vector<SharedRecord> records_;
  std::unordered_map<const MappingRecord *, size_t, SameRecord, SameRecord> known_; // of records_
  std::unordered_map<FunctionKey, Known, HashFunction> functions_;
  std::map<std::string, uint64_t> mismatched_; // by object
  bool negative_ = false;
  // These describe the function that is being counted. They are here because their memory is used
  // again.
  MappedFunction mapped_;
  struct {
    Evaluation evaluation;
    CounterRecord sum;
    Pools pools;                            // that have counters of it
    std::vector<const MappingRegion *> own; // by counter, where it is increased, if open
  } now_;
  CountedFunction counted_;
};

} // namespace

void count_functions(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which, Diagnostics &diagnostics,
                     const std::function<void(const CountedFunction &)> &take) {
  CountFunctions(objects, std::move(profiles), which, diagnostics, take).run();
}

} // namespace tally::llvm
