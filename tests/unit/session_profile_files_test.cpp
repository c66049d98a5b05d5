// Tests what `tally convert`, `tally report` and the C interface do with whole files.
#include <string>

#include <gtest/gtest.h>

#include <tally/formats.h>

#include "session/profile_files.h"

namespace tally::session_profile_files_test {
namespace {

TEST(Names, AreNeededForAddressesInAFormatOfFunctions) {
  const Format &gmon = **format_by_name("gmon"), &callgrind = **format_by_name("callgrind");
  EXPECT_TRUE(needs_names(PcProfile(), callgrind));
  EXPECT_FALSE(needs_names(PcProfile(), gmon));
  EXPECT_FALSE(needs_names(Profile(), callgrind));
  EXPECT_FALSE(needs_names(Profile(), gmon)); // its functions have names already
  EXPECT_FALSE(needs_names(Coverage(), callgrind));
}

TEST(Names, AreMissedIfNoProgramIsKnown) {
  Diagnostics diagnostics;
  const auto none = names_of_pcs("gmon.out", "", "name it", diagnostics);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->get(), nullptr);
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  EXPECT_EQ(diagnostics.findings()[0].source, "gmon.out");
  EXPECT_EQ(diagnostics.findings()[0].severity, Severity::warning);
  EXPECT_TRUE(diagnostics.findings()[0].message.ends_with("name it"));
  Diagnostics none_yet;
  EXPECT_FALSE(names_of_pcs("gmon.out", "/nonexistent/program", "name it", none_yet));
  const auto own = names_of_pcs("gmon.out", "/proc/self/exe", "name it", none_yet);
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_NE(own->get(), nullptr);
  EXPECT_TRUE(none_yet.findings().empty());
}

} // namespace
} // namespace tally::session_profile_files_test
