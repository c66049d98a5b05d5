#include "coverage/llvm_counters.h"

#include <algorithm>

#include "support/checked.h"

namespace tally::llvm {

void add_counters(CounterRecord &sum, const CounterRecord &more) {
  sum.counts.resize(std::max(sum.counts.size(), more.counts.size()));
  for (size_t i = 0; i < more.counts.size(); ++i)
    sum.counts[i] = saturated_sum(sum.counts[i], more.counts[i]);
  sum.bitmap.resize(std::max(sum.bitmap.size(), more.bitmap.size()));
  for (size_t i = 0; i < more.bitmap.size(); ++i)
    sum.bitmap[i] = static_cast<char>(sum.bitmap[i] | more.bitmap[i]);
  sum.open.frames += more.open.frames;
  sum.open.frames_before += more.open.frames_before;
  sum.open.entered += more.open.entered;
  sum.open.entered_before += more.open.entered_before;
  sum.open.next.insert(sum.open.next.end(), more.open.next.begin(), more.open.next.end());
  sum.open.at_least |= more.open.at_least;
}

void CounterPool::add(CounterRecord &&record) {
  const auto [at, added] = functions_.try_emplace(record.name_hash);
  Versions &versions = at->second;
  if (added) {
    versions.first = std::move(record);
  } else if (versions.first.function_hash == record.function_hash) {
    add_counters(versions.first, record);
  } else {
    const auto [other, is_new] = versions.others.try_emplace(record.function_hash);
    if (is_new)
      other->second = std::move(record);
    else
      add_counters(other->second, record);
  }
}

std::vector<CounterRecord> CounterPool::take() {
  std::vector<CounterRecord> out;
  for (auto &[name, versions] : functions_) {
    out.push_back(std::move(versions.first));
    for (auto &[hash, record] : versions.others)
      out.push_back(std::move(record));
  }
  functions_.clear();
  std::ranges::sort(out, {}, [](const CounterRecord &record) {
    return std::pair(record.name_hash, record.function_hash);
  });
  return out;
}

CounterPool::Found CounterPool::find(uint64_t name_hash, uint64_t function_hash) const {
  const auto at = functions_.find(name_hash);
  if (at == functions_.end())
    return {};
  const Versions &versions = at->second;
  if (versions.first.function_hash == function_hash)
    return {&versions.first, true};
  const auto other = versions.others.find(function_hash);
  return {other == versions.others.end() ? nullptr : &other->second, true};
}

} // namespace tally::llvm
