// Structures of tally.h grow: callers of an older and of a newer header are understood.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

#include "capi/handles.h"
#include "capi_results.h"
#include "temporary.h"

namespace tally::capi_growth_test {
namespace {

// A structure as it is after it has grown twice: the first release had `size` and `kind`.
struct Grown {
  uint32_t size;
  int32_t kind;
  uint64_t second;
  const char *third;
};
constexpr size_t first_grown = offsetof(Grown, second);

TEST(CGrowth, AStructureOfAnyReleaseIsUnderstood) {
  struct Newer {
    Grown known;
    uint64_t fourth;
  };
  const Newer newer{{sizeof(Newer), 7, 8, "nine"}, 10};
  const auto of_size = [&](size_t size) {
    // A block of exactly this size, so that sanitizers see a read beyond it.
    std::vector<char> bytes(size);
    std::copy_n(reinterpret_cast<const char *>(&newer), size, bytes.begin());
    return capi::received<Grown>(bytes.data(), size, first_grown);
  };
  for (const size_t size : {sizeof(Newer), sizeof(Grown)}) {
    ASSERT_TRUE(of_size(size));
    EXPECT_EQ(of_size(size)->second, 8u);
    EXPECT_STREQ(of_size(size)->third, "nine");
  }
  ASSERT_TRUE(of_size(offsetof(Grown, third)));
  EXPECT_EQ(of_size(offsetof(Grown, third))->second, 8u);
  EXPECT_EQ(of_size(offsetof(Grown, third))->third, nullptr);
  ASSERT_TRUE(of_size(first_grown));
  EXPECT_EQ(of_size(first_grown)->kind, 7);
  EXPECT_EQ(of_size(first_grown)->second, 0u);
  EXPECT_FALSE(of_size(first_grown - 1));
  EXPECT_FALSE(of_size(0));
  EXPECT_FALSE(capi::received_by_size<Grown>(nullptr, first_grown));
}

TEST(CGrowth, ElementsOfAnArrayAreApartByTheirSize) {
  struct Old {
    uint32_t size;
    int32_t kind;
  };
  const Old old[] = {{8, 1}, {8, 2}, {8, 3}};
  const auto grown = capi::received_array<Grown>(old, 3, sizeof(Old), first_grown);
  ASSERT_TRUE(grown);
  ASSERT_EQ(grown->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*grown)[i].kind, old[i].kind);
    EXPECT_EQ((*grown)[i].second, 0u);
    EXPECT_EQ((*grown)[i].third, nullptr);
  }
  EXPECT_FALSE(capi::received_array<Grown>(old, 3, first_grown - 1, first_grown));
  EXPECT_FALSE(capi::received_array<Grown>(nullptr, 3, sizeof(Old), first_grown));
  EXPECT_TRUE(capi::received_array<Grown>(nullptr, 0, 0, first_grown));
}

class CGrowthOfSessions : public testing::Test {
protected:
  CGrowthOfSessions() { EXPECT_EQ(tally_session_new(nullptr, &session), nullptr); }
  ~CGrowthOfSessions() override { tally_session_free(session); }
  tally_session *session = nullptr;
};

TEST_F(CGrowthOfSessions, Events) {
  struct Newer {
    tally_event known;
    const char *later;
  };
  for (const size_t size : {offsetof(tally_event, at_ns), sizeof(tally_event), sizeof(Newer)}) {
    Newer newer{};
    newer.known.size = static_cast<uint32_t>(size);
    newer.known.kind = TALLY_EVENT_TARGET;
    newer.known.target = TALLY_TARGET_NATIVE;
    newer.later = "unknown to this library";
    const char *text = nullptr;
    EXPECT_EQ(tally_session_event(session, &newer.known, &text), nullptr) << size;
  }
}

TEST_F(CGrowthOfSessions, Stacks) {
  struct Newer {
    tally_stack known;
    uint64_t later;
  };
  const uint64_t pcs[] = {0x1000, 0x2000};
  const Newer stacks[] = {{{1, 2, pcs, "main"}, 5}, {{2, 1, pcs, nullptr}, 6}};
  const auto tick = [&](size_t count, size_t size) {
    return tally_session_tick(session, &stacks[0].known, count, size);
  };
  EXPECT_EQ(tick(2, sizeof(Newer)), nullptr);
  EXPECT_EQ(tick(1, sizeof(tally_stack)), nullptr);
  EXPECT_NE(take(tick(2, sizeof(tally_stack) - 8)).find("structures"), std::string::npos);
  EXPECT_NE(take(tick(2, 0)), "");
}

TEST_F(CGrowthOfSessions, Locations) {
  struct Newer {
    tally_location known;
    uint64_t later;
  };
  const Newer locations[] = {{{nullptr, 0x1000}, 1}, {{"/bin/true", 0x20}, 2}};
  const auto set = [&](size_t count, size_t size) {
    return tally_session_set_passed_stops(session, &locations[0].known, count, size, 0);
  };
  EXPECT_EQ(set(2, sizeof(Newer)), nullptr);
  EXPECT_EQ(set(1, sizeof(tally_location)), nullptr);
  EXPECT_NE(take(set(2, sizeof(const char *))), "");
  EXPECT_EQ(tally_session_set_passed_stops(session, nullptr, 0, sizeof(tally_location), 0),
            nullptr);
}

// The options of a caller that knows only the first of them, of one that knows no others than we
// do, and of a newer one.
TEST(CGrowth, Options) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.folded", "main;work 3\nmain 1\n");
  tally_profile *profile = nullptr;
  ASSERT_EQ(tally_profile_read(path.c_str(), nullptr, &profile), nullptr);
  struct Newer {
    tally_report_options known;
    uint64_t later;
  };
  const auto first_row = [&](Newer &options, size_t size) {
    options.known.size = static_cast<uint32_t>(size);
    Table table;
    if (tally_error *error = tally_profile_report(profile, &options.known, table.out()))
      return take(error);
    return texts(table, 0).at(0);
  };
  Newer options{};
  options.known.by = "object";
  options.known.sort = "inclusive";
  EXPECT_EQ(first_row(options, sizeof(tally_report_options)), "");
  EXPECT_EQ(first_row(options, sizeof(Newer)), "");
  options.known.by = nullptr;
  EXPECT_EQ(first_row(options, sizeof(Newer)), "main");
  // `sort` lies beyond an older caller's structure, whatever is there.
  EXPECT_EQ(first_row(options, offsetof(tally_report_options, sort)), "work");
  EXPECT_EQ(first_row(options, sizeof options.known.size), "work");
  options.later = 1;
  EXPECT_EQ(first_row(options, sizeof(tally_report_options)), "main");
  EXPECT_EQ(first_row(options, sizeof(Newer)),
            "an option is set that Tally " TALLY_VERSION " does not know");
  options.later = 0;
  options.known.flags = 1u << 31;
  EXPECT_EQ(first_row(options, sizeof(Newer)),
            "a flag is set that Tally " TALLY_VERSION " does not know");
  EXPECT_EQ(first_row(options, 0), "the options do not state their size");
  tally_profile_free(profile);
}

} // namespace
} // namespace tally::capi_growth_test
