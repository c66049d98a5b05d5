
#include <filesystem>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "coverage_collect/test_counters.h"
#include "temporary.h"

namespace tally::coverage_collect_test_counters_test {
namespace {

class PackedCountersTest : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(folder / "a/b");
    for (const auto &[name, bytes] : files)
      folder.put(name.substr(1), bytes);
    folder.put("a/empty.gcda", "");
    folder.put("a/else.txt", "else");
    path = folder / "";
    path.pop_back();
    auto result = pack_counters(path, findings);
    ASSERT_TRUE(result) << result.error().text();
    packed = std::move(*result);
  }

  TemporaryFolder folder;
  Diagnostics findings;
  const std::map<std::string, std::string> files{{"/a/b/many.gcda", std::string(100'000, '\0')},
                                                 {"/one.gcda", "adcg counters"}};
  std::string path, packed;
};

TEST_F(PackedCountersTest, HoldsTheCounters) {
  EXPECT_LT(packed.size(), 1000U);
  auto read = PackedCounters::read(packed, "x");
  ASSERT_TRUE(read);
  const PackedCounters moved = std::move(*read); // its views stay valid
  std::map<std::string, std::string> found;
  for (const PackedCounters::File &file : moved.files()) {
    auto bytes = moved.unpack(file);
    ASSERT_TRUE(bytes);
    found.emplace(file.path, std::move(*bytes));
  }
  EXPECT_EQ(found, files);
}

TEST_F(PackedCountersTest, AppendsMoreCounters) {
  auto twice = pack_counters(path, findings, packed);
  ASSERT_TRUE(twice);
  const auto read = PackedCounters::read(*twice, "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->files().size(), 2 * files.size());
}

// Every truncated file is refused, unless it ends directly after a file of counters.
TEST_F(PackedCountersTest, RefusesTruncatedFiles) {
  size_t whole = 0;
  for (size_t size = 0; size < packed.size(); ++size) {
    const auto read = PackedCounters::read(packed.substr(0, size), "x");
    if (read)
      ++whole;
    else
      EXPECT_TRUE(read.error().text().starts_with("x:0x")) << read.error().text();
  }
  EXPECT_EQ(whole, files.size()); // after the first line, and after each file but the last
}

TEST_F(PackedCountersTest, SurvivesDamage) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = packed;
    for (uint32_t n = random() % 4 + 1; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto read = PackedCounters::read(bytes, "x");
    if (!read)
      continue;
    for (const PackedCounters::File &file : read->files()) {
      EXPECT_LE(file.size, 1100 * bytes.size());
      const auto unpacked = read->unpack(file);
      EXPECT_TRUE(!unpacked || unpacked->size() == file.size);
    }
  }
}

} // namespace
} // namespace tally::coverage_collect_test_counters_test
