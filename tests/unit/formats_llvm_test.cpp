// Tests that profiles of source-based coverage are added up and written as they are read. Whole
// profiles are compared with those of llvm-profdata elsewhere.
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../support/sanitized.h"
#include "formats/formats.h"
#include "formats/llvm/indexed_writer.h"
#include "formats/llvm/profile_file.h"
#include "formats/llvm/profile_sum.h"
#include "support/byte_cursor.h"
#include "support/md5.h"
#include "temporary.h"

namespace tally::formats_llvm_test {
namespace {

using llvm::CounterRecord;
using llvm::ProfileDetail;
using llvm::ProfileSum;
using llvm::SourceProfile;

constexpr uint64_t largest = UINT64_MAX - 2; // that LLVM takes as a count

CounterRecord record(const std::string &name, uint64_t hash, std::vector<uint64_t> counts,
                     std::string bitmap = {}) {
  return {md5_low(name), hash, std::move(counts), std::move(bitmap), {}};
}

SourceProfile profile_of(uint64_t version,
                         const std::vector<std::pair<std::string, CounterRecord>> &records) {
  SourceProfile out;
  out.version = version;
  out.is_indexed = true;
  llvm::ProfileImage &image = out.images.emplace_back();
  for (const auto &[name, each] : records) {
    image.names.emplace(md5_low(name), name);
    image.records.push_back(each);
  }
  return out;
}

// The functions with their names and hashes: what a profile holds in any order.
using Functions = std::map<std::pair<std::string, uint64_t>, CounterRecord>;
Functions functions_of(const SourceProfile &profile) {
  Functions out;
  for (const llvm::ProfileImage &image : profile.images)
    for (const CounterRecord &each : image.records) {
      const auto name = image.names.find(each.name_hash);
      const bool is_new = name != image.names.end() &&
                          out.try_emplace({name->second, each.function_hash}, each).second;
      EXPECT_TRUE(is_new) << each.name_hash;
    }
  return out;
}

std::string written(const SourceProfile &profile) {
  auto bytes = llvm::write_indexed_profile(profile);
  EXPECT_TRUE(bytes) << bytes.error().text();
  return bytes ? std::move(*bytes) : std::string();
}

SourceProfile read_back(const std::string &bytes) {
  auto profile = llvm::read_indexed_profile(bytes, "x.profdata", ProfileDetail::everything);
  EXPECT_TRUE(profile) << profile.error().text();
  return profile ? std::move(*profile) : SourceProfile();
}

SourceProfile sum_of(const std::vector<SourceProfile> &profiles) {
  ProfileSum sum;
  for (const SourceProfile &each : profiles) {
    const auto added = sum.add(each);
    EXPECT_TRUE(added) << added.error().text();
  }
  return sum.profile();
}

SourceProfile random_profile(std::mt19937 &random, uint64_t version, size_t functions) {
  const auto any = [&](uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
  };
  SourceProfile out;
  out.version = version;
  out.is_indexed = true;
  llvm::ProfileImage &image = out.images.emplace_back();
  image.has_byte_counters = any(1) == 1;
  for (size_t i = 0; i < functions; ++i) {
    const std::string name = "f" + std::to_string(any(2 * functions)) + std::string(any(9), 'x');
    if (!image.names.emplace(md5_low(name), name).second)
      continue;
    for (uint64_t hash = any(2); hash < 4; hash += 1 + any(2)) {
      // The number of counters follows from the hashes, as it does in programs.
      std::vector<uint64_t> counts(1 + (hash + name.size()) % 5);
      for (uint64_t &count : counts)
        count = any(3) == 0 ? any(largest) : any(5);
      std::string bitmap(version >= 11 ? hash : 0, '\0');
      for (char &bits : bitmap)
        bits = static_cast<char>(any(255));
      image.records.push_back(record(name, hash, std::move(counts), std::move(bitmap)));
    }
  }
  std::set<std::string> ids;
  if (version >= 9)
    for (uint64_t i = 0; i < any(3); ++i)
      ids.insert(std::string(2 * any(20), "0123456789abcdef"[any(15)]));
  image.build_ids.assign(ids.begin(), ids.end());
  return out;
}

TEST(LlvmWrite, GivesWhatIsRead) {
  std::mt19937 random(1);
  for (uint64_t version = 5; version <= 13; ++version)
    for (const size_t functions :
         std::vector<size_t>{0, 1, 2, 3, 7, 50, TALLY_SANITIZED ? 200 : 1000}) {
      const SourceProfile profile = random_profile(random, version, functions);
      const std::string bytes = written(profile);
      const SourceProfile again = read_back(bytes);
      EXPECT_EQ(again.version, version);
      ASSERT_EQ(again.images.size(), 1u);
      EXPECT_EQ(functions_of(again), functions_of(profile));
      EXPECT_EQ(again.images[0].build_ids, profile.images[0].build_ids);
      EXPECT_EQ(again.images[0].has_byte_counters, profile.images[0].has_byte_counters);
      EXPECT_EQ(written(again), bytes);
      EXPECT_EQ(written(sum_of({profile})), bytes);
    }
}

TEST(LlvmWrite, SumsDoNotDependOnTheOrder) {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    const SourceProfile a = random_profile(random, 12, 40), b = random_profile(random, 12, 40),
                        c = random_profile(random, 13, 40);
    const std::string all = written(sum_of({a, b, c}));
    EXPECT_EQ(written(sum_of({c, a, b})), all);
    EXPECT_EQ(written(sum_of({read_back(written(sum_of({a, b}))), c})), all);
  }
}

TEST(LlvmWrite, LeavesOutWhatAVersionDoesNotHave) {
  SourceProfile profile = profile_of(8, {{"f", record("f", 1, {2}, "\x01")}});
  profile.images[0].build_ids = {"0123"};
  const SourceProfile again = read_back(written(profile));
  EXPECT_EQ(again.images[0].build_ids, std::vector<std::string>());
  EXPECT_EQ(again.images[0].records[0].bitmap, "");
}

// Looks a name up as LLVM does, by the hash table. Returns whether it is there.
bool is_found(const std::string &bytes, const std::string &name) {
  ByteCursor header(bytes);
  header.take(32);
  const uint64_t table = header.u64_whole();
  EXPECT_EQ(table % 8, 0u);
  ByteCursor buckets(std::string_view(bytes).substr(table));
  const uint64_t count = buckets.u64_whole();
  buckets.u64_whole();
  EXPECT_TRUE(std::has_single_bit(count));
  const uint64_t hash = md5_low(name);
  buckets.take((hash & (count - 1)) * 8);
  const uint64_t offset = buckets.u64_whole();
  if (offset == 0)
    return false;
  ByteCursor items(std::string_view(bytes).substr(offset));
  for (uint16_t left = items.u16(); left > 0; --left) {
    const uint64_t its_hash = items.u64_whole(), key = items.u64_whole(), data = items.u64_whole();
    const std::string_view text = items.take(key);
    if (its_hash == hash && text == name)
      return !items.failed();
    items.take(data);
  }
  EXPECT_FALSE(items.failed());
  return false;
}

TEST(LlvmWrite, LlvmFindsEachName) {
  std::mt19937 random(3);
  for (const size_t functions : std::vector<size_t>{1, 2, 3, 12, 500}) {
    const SourceProfile profile = random_profile(random, 12, functions);
    const std::string bytes = written(profile);
    for (const auto &[hash, name] : profile.images[0].names)
      EXPECT_TRUE(is_found(bytes, name)) << name;
    for (int i = 0; i < 50; ++i)
      EXPECT_FALSE(is_found(bytes, "absent" + std::to_string(i)));
  }
}

std::vector<uint64_t> summary_of(const SourceProfile &profile) {
  const std::string bytes = written(profile);
  ByteCursor from(bytes);
  from.take(9 * 8); // the header of version 12
  const uint64_t fields = from.u64_whole(), shares = from.u64_whole();
  EXPECT_EQ(shares, 16u);
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < fields + 3 * shares; ++i)
    out.push_back(from.u64_whole());
  return out;
}

TEST(LlvmWrite, SummarizesTheCounts) {
  const auto summary = summary_of(profile_of(12, {{"f", record("f", 1, {10, 50, 30})},
                                                  {"g", record("g", 1, {5, 5, 0})},
                                                  // LLVM takes this hash as that of another kind.
                                                  {"h", record("h", uint64_t{1} << 60, {1000})}}));
  // Functions, counters, the largest count of a function, of all, of other counters, the sum.
  EXPECT_EQ(std::vector(summary.begin(), summary.begin() + 6),
            (std::vector<uint64_t>{2, 6, 10, 50, 50, 100}));
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> shares;
  for (size_t i = 6; i < summary.size(); i += 3)
    shares[summary[i]] = {summary[i + 1], summary[i + 2]};
  EXPECT_EQ(shares.at(10'000), std::pair(50ul, 1ul));
  EXPECT_EQ(shares.at(500'000), std::pair(50ul, 1ul));
  EXPECT_EQ(shares.at(600'000), std::pair(30ul, 2ul));
  EXPECT_EQ(shares.at(900'000), std::pair(10ul, 3ul));
  EXPECT_EQ(shares.at(950'000), std::pair(5ul, 5ul));
  EXPECT_EQ(shares.at(999'999), std::pair(5ul, 5ul));
}

TEST(LlvmWrite, RefusesATruncatedProfile) {
  std::mt19937 random(4);
  for (const uint64_t version : {7u, 9u, 12u}) {
    const std::string bytes = written(random_profile(random, version, 4));
    for (size_t size = 8; size < bytes.size(); ++size) {
      const auto read = llvm::read_indexed_profile(bytes.substr(0, size), "x.profdata");
      ASSERT_FALSE(read) << size << " of " << bytes.size();
      EXPECT_EQ(read.error().where.kind, Position::Kind::offset);
      EXPECT_LE(read.error().where.offset, size);
    }
  }
}

TEST(LlvmSum, AddsEachFunction) {
  const auto a = profile_of(
      12, {{"f", record("f", 1, {1, largest - 1, 7}, "\x01\x10")}, {"g", record("g", 1, {4})}});
  const auto b = profile_of(12, {{"f", record("f", 1, {2, 5, 0}, "\x03\x20")},
                                 {"f", record("f", 2, {9})},
                                 {"h", record("h", 1, {6})}});
  EXPECT_EQ(functions_of(sum_of({a, b})),
            (Functions{{{"f", 1}, record("f", 1, {3, largest, 7}, "\x03\x30")},
                       {{"f", 2}, record("f", 2, {9})},
                       {{"g", 1}, record("g", 1, {4})},
                       {{"h", 1}, record("h", 1, {6})}}));
}

TEST(LlvmSum, HasTheVersionThatTheNewestLlvmWrites) {
  const auto version_of = [](std::vector<std::pair<uint64_t, bool>> versions) {
    ProfileSum sum;
    for (const auto &[version, is_indexed] : versions) {
      SourceProfile profile = profile_of(version, {});
      profile.is_indexed = is_indexed;
      EXPECT_TRUE(sum.add(profile));
    }
    return sum.profile().version;
  };
  constexpr bool raw = false, indexed = true;
  EXPECT_EQ(version_of({{5, raw}}), 6u);
  EXPECT_EQ(version_of({{7, raw}}), 7u);
  EXPECT_EQ(version_of({{8, raw}}), 7u);
  EXPECT_EQ(version_of({{9, raw}}), 11u);
  EXPECT_EQ(version_of({{10, raw}}), 12u);
  EXPECT_EQ(version_of({{8, raw}, {9, indexed}}), 9u);
  EXPECT_EQ(version_of({{13, indexed}, {10, raw}, {8, raw}}), 13u);
  EXPECT_EQ(version_of({{5, indexed}}), 5u);
}

TEST(LlvmSum, SaysWhatItLeavesOut) {
  auto profile = profile_of(7, {{"f", record("f", 1, {1})}, {"g", record("g", 1, {1})}});
  profile.images[0].build_ids = {"01"};
  profile.images[0].names.erase(md5_low("g"));
  profile.left_out.values = true;
  ProfileSum sum;
  ASSERT_TRUE(sum.add(profile));
  ASSERT_TRUE(sum.add(profile_of(7, {{"f", record("f", 1, {1, 2})}})));
  EXPECT_EQ(sum.lost(), (std::vector<std::string>{
                            "value data", "counters of 1 function without a name",
                            "counters of 1 function whose number differs between the profiles "
                            "(the first ones are kept)",
                            "build ids (LLVM 16 and later store them)"}));
  EXPECT_EQ(functions_of(sum.profile()), (Functions{{{"f", 1}, record("f", 1, {1})}}));
}

TEST(LlvmSum, IsUnchangedAfterAnError) {
  const auto newer = profile_of(12, {{"f", record("f", 1, {1}, "\x01")}});
  ProfileSum sum;
  ASSERT_TRUE(sum.add(newer));
  const auto older = profile_of(11, {{"f", record("f", 1, {1}, "\x01")}});
  EXPECT_FALSE(sum.add(older));
  auto nameless = profile_of(12, {});
  nameless.images[0].is_correlated = true;
  const auto refused = sum.add(nameless);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--object"), std::string::npos);
  EXPECT_EQ(written(sum.profile()), written(newer));
  EXPECT_TRUE(ProfileSum().add(older));
}

// Returns a raw profile of version 8, for functions of one counter each.
std::string raw_profile(const std::vector<std::pair<std::string, uint64_t>> &functions) {
  std::string out, records, counters, names;
  const auto put = [](std::string &to, uint64_t number, size_t bytes = 8) {
    for (size_t i = 0; i < bytes; ++i)
      to += static_cast<char>(number >> (8 * i));
  };
  for (const auto &[name, count] : functions) {
    put(records, md5_low(name));
    put(records, 42); // the hash of the function
    // The pointer to its counters: relative to the record, as the record is in the section.
    put(records, counters.size() - records.size() + 16);
    put(records, 0);
    put(records, 0);
    put(records, 1, 4);
    put(records, 0, 4);
    put(counters, count);
    names += (names.empty() ? "" : "\x01") + name;
  }
  names.insert(0, {static_cast<char>(names.size()), '\0'});
  for (const uint64_t field :
       {uint64_t{0xff6c70726f667281}, uint64_t{8}, uint64_t{0}, functions.size(), uint64_t{0},
        functions.size(), uint64_t{0}, names.size(), uint64_t{0}, uint64_t{0}, uint64_t{1}})
    put(out, field);
  out += records + counters + names;
  out.resize((out.size() + 7) / 8 * 8);
  return out;
}

std::unique_ptr<CounterFile> read_counters(const std::string &bytes, const std::string &name,
                                           std::string_view format) {
  Diagnostics findings;
  const auto source = ByteSource::of(bytes, name);
  auto file = (*format_by_name(format))->read_counters(*source, findings);
  EXPECT_TRUE(file) << file.error().text();
  return file ? std::move(*file) : nullptr;
}

TEST(LlvmFile, MergesRawAndIndexedProfiles) {
  const TemporaryFolder folder;
  Diagnostics findings;
  const std::vector<std::string> paths{
      folder.put("a.profraw", raw_profile({{"f", 1}, {"g", 2}})),
      folder.put("b.profdata", written(profile_of(9, {{"g", record("g", 42, {5})}})))};
  std::vector<ReadFile> files;
  for (const std::string &path : paths) {
    auto file = read_file(path, findings);
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(sum_format_of(*file->format).name, "llvm-indexed");
    files.push_back(std::move(*file));
  }
  EXPECT_EQ(files[0].format->name, "llvm-raw");
  EXPECT_EQ(files[1].format->name, "llvm-indexed");
  const Format &format = sum_format_of(*files[0].format);
  const auto content = merge_files(std::move(files), paths, findings);
  ASSERT_TRUE(content) << content.error().text();
  const auto sum = write_content(*content, format);
  ASSERT_TRUE(sum) << sum.error().text();
  EXPECT_EQ(functions_of(read_back(sum->bytes)),
            (Functions{{{"f", 42}, record("f", 42, {1})}, {{"g", 42}, record("g", 42, {7})}}));
  EXPECT_EQ(sum->lost, std::vector<std::string>());
  EXPECT_EQ(format_by_file_name("x.profdata"), &format);
  EXPECT_EQ(sum_format_of(**format_by_name("gcov-data")).name, "gcov-data");
}

TEST(LlvmFile, KeepsAnIndexedProfileThatIsNotChanged) {
  std::string bytes = written(profile_of(12, {{"f", record("f", 1, {3})}}));
  // The numbers of the summary may be others.
  bytes[11 * 8] = 99;
  const auto file = read_counters(bytes, "x.profdata", "llvm-indexed");
  ASSERT_TRUE(file->unite());
  EXPECT_EQ(*file->bytes(), bytes);
  ASSERT_TRUE(file->zero());
  EXPECT_EQ(functions_of(read_back(*file->bytes())), (Functions{{{"f", 1}, record("f", 1, {0})}}));
}

TEST(LlvmFile, DoesNotWriteARawProfile) {
  const auto file = read_counters(raw_profile({{"f", 1}}), "x.profraw", "llvm-raw");
  EXPECT_FALSE(file->bytes());
  EXPECT_FALSE(file->zero());
  ASSERT_TRUE(file->unite());
  EXPECT_EQ(functions_of(read_back(*file->bytes())),
            (Functions{{{"f", 42}, record("f", 42, {1})}}));
  EXPECT_FALSE((*format_by_name("llvm-raw"))->writes_counters());
}

TEST(LlvmFile, RefusesDamagedAndEmptyProfiles) {
  const auto error_of = [](const std::string &bytes) {
    Diagnostics findings;
    const auto source = ByteSource::of(bytes, "x.profraw");
    const auto file = (*format_by_name("llvm-raw"))->read_counters(*source, findings);
    return file ? std::string() : file.error().text();
  };
  EXPECT_EQ(error_of(""), "x.profraw: is empty");
  const std::string whole = raw_profile({{"f", 1}, {"g", 2}});
  EXPECT_EQ(error_of(whole), "");
  for (size_t size = 8; size < whole.size() - 3; ++size) // the rest is padding
    EXPECT_TRUE(error_of(whole.substr(0, size)).starts_with("x.profraw:0x")) << size;
  std::string names = whole;
  names[names.size() - 8] = 100; // the size of the names
  EXPECT_EQ(error_of(names).find(": the names of functions are damaged"),
            std::string("x.profraw:0xc8").size());
}

} // namespace
} // namespace tally::formats_llvm_test
