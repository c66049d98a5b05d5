// The C interface reads a difference of profiles, as `pprof -proto -diff_base` writes it: its
// samples may have negative values.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

#include "capi_results.h"
#include "pprof_bytes.h"
#include "temporary.h"

namespace tally::capi_difference_test {
namespace {

using Texts = std::vector<std::string>;
using Counts = std::vector<uint64_t>;

struct Difference : pprof_bytes::File {
  Difference(const std::vector<int64_t> &first, const std::vector<int64_t> &second) {
    type(1, 2).type(string("cpu"), string("nanoseconds"));
    location(1, 0, 0x10, 1, 7).location(2, 0, 0x20, 1, 8).function(1, 3);
    sample({1}, first).sample({2}, second);
  }
};

class CDifference : public testing::Test {
protected:
  ~CDifference() override { tally_profile_free(profile); }

  void read(Difference difference) {
    path = folder.put("a.pb", difference.with_strings());
    tally_error *error = tally_profile_read(path.c_str(), nullptr, &profile);
    ASSERT_EQ(error, nullptr) << take(error);
  }

  TemporaryFolder folder;
  std::string path;
  tally_profile *profile = nullptr;
  Table table;
};

TEST_F(CDifference, HasTotalsThatAreListed) {
  read({{5, 70}, {-2, -70}});
  ASSERT_EQ(tally_profile_events(profile, table.out()), nullptr);
  // The value that pprof shows by default is first.
  EXPECT_EQ(table.column_texts("name"), (Texts{"cpu", "samples"}));
  EXPECT_EQ(table.column_texts("unit"), (Texts{"nanoseconds", "count"}));
  EXPECT_EQ(table.column_texts("formula"), (Texts{"", ""}));
  EXPECT_EQ(table.column_counts("total"), (Counts{0, 3}));
}

TEST_F(CDifference, HasATotalThatIsNoCount) {
  read({{5, 70}, {-2, -71}});
  tally_table *out = nullptr;
  tally_error *error = tally_profile_events(profile, &out);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_UNSUPPORTED);
  EXPECT_EQ(take(error), path + ": the total of the event cpu is -1, and the table of events holds "
                                "no negative numbers");
}

TEST_F(CDifference, HasNoFlatTable) {
  read({{5, 70}, {-2, -70}});
  tally_table *out = nullptr;
  tally_error *error = tally_profile_report(profile, nullptr, &out);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_INVALID_INPUT);
  EXPECT_EQ(take(error), path + ": a sample has a negative value");
}

} // namespace
} // namespace tally::capi_difference_test
