#include "coverage/llvm_counters.h"

#include <algorithm>

#include "support/checked.h"

namespace tally::llvm {

void CounterSum::add(std::span<const uint64_t> more, std::string_view more_bits) {
  values.resize(std::max(values.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i)
    values[i] = saturated_sum(values[i], more[i]);
  bitmap.resize(std::max(bitmap.size(), more_bits.size()));
  for (size_t i = 0; i < more_bits.size(); ++i)
    bitmap[i] = static_cast<char>(bitmap[i] | more_bits[i]);
}

void CounterPool::add(CounterRecord &&record) {
  const auto [at, added] = functions_.try_emplace(record.name_hash);
  Versions &versions = at->second;
  if (added) {
    versions.function_hash = record.function_hash;
    versions.counters = {std::move(record.counts), std::move(record.bitmap)};
    return;
  }
  (versions.function_hash == record.function_hash ? versions.counters
                                                  : versions.others[record.function_hash])
      .add(record.counts, record.bitmap);
}

CounterPool::Found CounterPool::find(uint64_t name_hash, uint64_t function_hash) const {
  const auto at = functions_.find(name_hash);
  if (at == functions_.end())
    return {};
  const Versions &versions = at->second;
  if (versions.function_hash == function_hash)
    return {&versions.counters, true};
  const auto other = versions.others.find(function_hash);
  return {other == versions.others.end() ? nullptr : &other->second, true};
}

} // namespace tally::llvm
