#include <map>
#include <string>

#include <gtest/gtest.h>

#include "symbolize/fetch_limits.h"
#include "symbolize/module_fetch.h"

namespace tally::symbolize {
namespace {

using namespace std::chrono_literals;
constexpr uint64_t mib = 1 << 20;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char *name) {
    const auto at = values.find(name);
    return at == values.end() ? nullptr : at->second.c_str();
  };
}

TEST(FetchLimits, AreThoseOfTheEnvironment) {
  const FetchLimits own = FetchLimits::of(environment({}));
  EXPECT_EQ(own.most_bytes, 2048 * mib);
  EXPECT_EQ(own.patience, 30s);
  const FetchLimits given =
      FetchLimits::of(environment({{"DEBUGINFOD_MAXSIZE", "5"}, {"DEBUGINFOD_TIMEOUT", "7"}}));
  EXPECT_EQ(given.most_bytes, 5);
  EXPECT_EQ(given.patience, 7s);
  const FetchLimits none =
      FetchLimits::of(environment({{"DEBUGINFOD_MAXSIZE", "0"}, {"DEBUGINFOD_TIMEOUT", "0"}}));
  EXPECT_EQ(none.most_bytes, UINT64_MAX);
  EXPECT_GT(none.patience, 24h);
  const FetchLimits odd = FetchLimits::of(
      environment({{"DEBUGINFOD_MAXSIZE", "-1"}, {"DEBUGINFOD_TIMEOUT", "9223372036854775807"}}));
  EXPECT_EQ(odd.most_bytes, own.most_bytes);
  EXPECT_GT(odd.patience, 24h);
  EXPECT_EQ(FetchLimits::of(environment({{"DEBUGINFOD_TIMEOUT", "soon"}})).patience, own.patience);
}

TEST(FetchLimits, TheCacheIsThatOfTheClientLibrary) {
  EXPECT_EQ(debuginfod_cache(environment({{"DEBUGINFOD_CACHE_PATH", "/c"}, {"HOME", "/h"}})), "/c");
  EXPECT_EQ(debuginfod_cache(environment({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/nowhere"}})),
            "/x/debuginfod_client");
  EXPECT_EQ(debuginfod_cache(environment({{"HOME", "/nowhere"}})),
            "/nowhere/.cache/debuginfod_client");
  EXPECT_EQ(debuginfod_cache(environment({})), "");
}

class FetchWatchTest : public testing::Test {
protected:
  FetchVerdict check(std::chrono::milliseconds at, uint64_t received, uint64_t size = 0,
                     uint64_t free = uint64_t{1} << 40) {
    return watch.check(FetchWatch::Time(at), received, size, free);
  }
  FetchWatch watch{{}, FetchWatch::Time(0s)};
};

TEST_F(FetchWatchTest, LimitsTheSizeThatIsStatedAndTheSizeThatComes) {
  EXPECT_EQ(check(1s, 0, 2048 * mib), FetchVerdict::go_on);
  EXPECT_EQ(check(1s, 0, 2048 * mib + 1), FetchVerdict::too_large);
  EXPECT_EQ(check(1s, 2048 * mib + 1), FetchVerdict::too_large);
}

TEST_F(FetchWatchTest, KeepsSpaceFree) {
  EXPECT_EQ(check(1s, 10, 110, 256 * mib + 100), FetchVerdict::go_on);
  EXPECT_EQ(check(1s, 10, 111, 256 * mib + 100), FetchVerdict::no_space);
  EXPECT_EQ(check(1s, 10, 0, 256 * mib), FetchVerdict::go_on);
  EXPECT_EQ(check(1s, 10, 0, 256 * mib - 1), FetchVerdict::no_space);
  EXPECT_EQ(check(1s, 200, 100, 0), FetchVerdict::no_space);
}

TEST_F(FetchWatchTest, AServerHangsThatSendsTooLittleForTooLong) {
  EXPECT_EQ(check(29'999ms, 0), FetchVerdict::go_on);
  EXPECT_EQ(check(30s, 0), FetchVerdict::hangs);
}

TEST_F(FetchWatchTest, ASlowServerDoesNotHang) {
  const uint64_t step = 100 << 10;
  for (int i = 1; i < 10; ++i)
    EXPECT_EQ(check(i * 29s, static_cast<uint64_t>(i) * step), FetchVerdict::go_on) << i;
  EXPECT_EQ(check(9 * 29s + 30s, 10 * step - 1), FetchVerdict::hangs);
}

TEST(FetchReport, SaysWhatFailedAndNothingElse) {
  const auto texts = [](FetchOutcome outcome, bool whole = true) {
    FetchResult result;
    result.outcome = outcome;
    result.whole = whole;
    result.detail = "DETAIL";
    Diagnostics diagnostics;
    report_fetch(result, "/lib/x.so", diagnostics);
    std::string out;
    for (const Finding &finding : diagnostics.findings())
      out += finding.text() + '\n';
    return out;
  };
  for (const FetchOutcome quiet :
       {FetchOutcome::found, FetchOutcome::missing, FetchOutcome::stopped})
    EXPECT_EQ(texts(quiet), "");
  EXPECT_EQ(texts(FetchOutcome::wrong), "/lib/x.so: warning: debuginfod sent the debug information "
                                        "of another file, which is not used\n");
  EXPECT_NE(texts(FetchOutcome::found, false).find("some names are missing"), std::string::npos);
  EXPECT_NE(texts(FetchOutcome::unreachable).find("(DETAIL)"), std::string::npos);
  EXPECT_NE(texts(FetchOutcome::no_space).find("256 MiB would stay free in DETAIL"),
            std::string::npos);
}

} // namespace
} // namespace tally::symbolize
