#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/duration.h"

namespace tally::support_duration_test {
namespace {

TEST(Duration, HasANumberAndAUnit) {
  const struct {
    std::string_view text;
    uint64_t ns;
  } cases[] = {{"1.2s", 1'200'000'000},
               {"300ms", 300'000'000},
               {"15us", 15'000},
               {"15µs", 15'000},
               {"15\u03bcs", 15'000},
               {"7ns", 7},
               {"2min", 120'000'000'000},
               {"2 min", 120'000'000'000},
               {"1.5h", 5'400'000'000'000},
               {".5s", 500'000'000},
               {"3.s", 3'000'000'000},
               {"0.1min", 6'000'000'000},
               {"1.23456789s", 1'234'567'890},
               {"1.2345678901s", 1'234'567'890}, // the rest is less than a nanosecond
               {"0.3h", 1'080'000'000'000},
               {"0", 0},
               {"0.0", 0},
               {"0s", 0},
               {"18446744073709551615ns", UINT64_MAX}};
  for (const auto &[text, ns] : cases) {
    const auto parsed = duration_of(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, ns) << text;
    EXPECT_TRUE(is_like_duration(text));
  }
}

TEST(Duration, IsNothingElse) {
  for (const std::string_view text : {"",
                                      " ",
                                      "s",
                                      ".",
                                      ".s",
                                      "1",
                                      "1.2",
                                      "-1s",
                                      "+1s",
                                      "1.2.3s",
                                      "1,2s",
                                      "1 m s",
                                      "1S",
                                      "1sec",
                                      "1s ",
                                      " 1s",
                                      "1e3s",
                                      "0x1s",
                                      "1m",
                                      "18446744073709551616ns",
                                      "18446744074s",
                                      "99999999999999999999s",
                                      "5124095576h",
                                      "callgrind"}) {
    const auto parsed = duration_of(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(parsed.error().message.starts_with(
        "expected a time such as 1.2s, 300ms or 15us, found '" + std::string(text) + "'"))
        << parsed.error().message;
  }
  EXPECT_TRUE(is_like_duration("1.2"));
  EXPECT_FALSE(is_like_duration("callgrind"));
  EXPECT_FALSE(is_like_duration(""));
}

TEST(Duration, SaysWhatIsMissing) {
  EXPECT_TRUE(duration_of("1.2").error().message.ends_with("'1.2', which has no unit"));
  EXPECT_TRUE(
      duration_of("1m").error().message.ends_with("(the units are ns, us, ms, s, min and h)"));
}

} // namespace
} // namespace tally::support_duration_test
