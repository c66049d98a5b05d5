#include "formats/llvm/profile_sum.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"

namespace tally::llvm {

namespace {

constexpr uint64_t llvm_18 = 11, first_with_ids = 9; // versions of indexed profiles

// Returns the version in which the LLVM that reads the profile writes indexed ones. If several
// versions of LLVM write the same raw profile, it is that of the oldest.
uint64_t indexed_version(const SourceProfile &profile) {
  if (profile.is_indexed)
    return profile.version;
  switch (profile.version) {
  case 5:
    return 6; // LLVM 11
  case 9:
    return llvm_18;
  case 10:
    return 12; // LLVM 19
  case 11:
    return 13;
  default:
    return 7; // LLVM 12 to 14
  }
}

// The bitmaps of LLVM 18 have a layout of their own.
bool has_bitmaps_of_llvm_18(const SourceProfile &profile) {
  return indexed_version(profile) == llvm_18 &&
         std::ranges::any_of(profile.images, [](const ProfileImage &image) {
           return std::ranges::any_of(
               image.records, [](const CounterRecord &record) { return !record.bitmap.empty(); });
         });
}

uint64_t counted_sum(uint64_t a, uint64_t b) {
  return a > most_counted || b > most_counted - a ? most_counted : a + b;
}

std::string counters_of(size_t functions) {
  return fmt::format("counters of {} function{}", functions, functions == 1 ? "" : "s");
}

} // namespace

Result<void> ProfileSum::add(const SourceProfile &profile) {
  for (const ProfileImage &image : profile.images)
    if (image.is_correlated)
      return fail(ErrorCode::unsupported, "has counters without names, which are in the program "
                                          "(-profile-correlate=binary): name it by --object");
  const uint64_t version = std::max(sum_.version, indexed_version(profile));
  if (version != llvm_18 && (has_bitmaps_of_llvm_18(profile) || has_bitmaps_of_llvm_18(sum_)))
    return fail(ErrorCode::invalid_input,
                "the bitmaps of LLVM 18's MC/DC do not fit profiles of newer versions");
  sum_.version = version;
  sum_.left_out.values |= profile.left_out.values;
  sum_.left_out.memory_profile |= profile.left_out.memory_profile;
  sum_.left_out.traces |= profile.left_out.traces;
  sum_.left_out.virtual_tables |= profile.left_out.virtual_tables;
  ProfileImage &to = sum_.images[0];
  for (const ProfileImage &image : profile.images) {
    to.has_byte_counters |= image.has_byte_counters;
    for (const std::string &id : image.build_ids)
      if (build_ids_.insert(id).second)
        to.build_ids.push_back(id);
    for (const CounterRecord &record : image.records)
      add(record, image);
  }
  return {};
}

void ProfileSum::add(const CounterRecord &record, const ProfileImage &from) {
  ProfileImage &to = sum_.images[0];
  const auto [at, added] =
      index_.try_emplace({record.name_hash, record.function_hash}, to.records.size());
  if (added) {
    const auto name = from.names.find(record.name_hash);
    if (name == from.names.end()) {
      index_.erase(at);
      unnamed_.insert(record.name_hash);
      return;
    }
    to.names.insert(*name);
    to.records.push_back(record);
    return;
  }
  CounterRecord &sum = to.records[at->second];
  if (sum.counts.size() != record.counts.size()) { // two functions have the same hash
    mismatched_.insert(at->second);
    return;
  }
  for (size_t i = 0; i < sum.counts.size(); ++i)
    sum.counts[i] = counted_sum(sum.counts[i], record.counts[i]);
  sum.bitmap.resize(std::max(sum.bitmap.size(), record.bitmap.size()));
  for (size_t i = 0; i < record.bitmap.size(); ++i)
    sum.bitmap[i] = static_cast<char>(sum.bitmap[i] | record.bitmap[i]);
}

void ProfileSum::zero() {
  for (CounterRecord &record : sum_.images[0].records) {
    std::ranges::fill(record.counts, 0);
    std::ranges::fill(record.bitmap, '\0');
  }
}

std::vector<std::string> ProfileSum::lost() const {
  std::vector<std::string> out;
  const LeftOut &left_out = sum_.left_out;
  if (left_out.values)
    out.emplace_back("value data");
  if (left_out.memory_profile)
    out.emplace_back("profiles of memory");
  if (left_out.traces)
    out.emplace_back("traces of the order in which functions began");
  if (left_out.virtual_tables)
    out.emplace_back("names of virtual tables");
  if (!unnamed_.empty())
    out.push_back(counters_of(unnamed_.size()) + " without a name");
  if (!mismatched_.empty())
    out.push_back(counters_of(mismatched_.size()) +
                  " whose number differs between the profiles (the first ones are kept)");
  if (sum_.version < first_with_ids && !sum_.images[0].build_ids.empty())
    out.emplace_back("build ids (LLVM 16 and later store them)");
  return out;
}

} // namespace tally::llvm
