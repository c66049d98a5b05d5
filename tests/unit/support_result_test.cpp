#include <cerrno>
#include <limits>

#include <gtest/gtest.h>

#include "support/checked.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally::support_result_test {
namespace {

TEST(Error, StatesLocationMessageAndContext) {
  EXPECT_EQ(describe_position("f", Position::at_line(3, 7)), "f:3:7");
  EXPECT_EQ(describe_position("f", Position::at_offset(255)), "f:0xff");
  EXPECT_EQ(describe_position("f", {}), "f");
  EXPECT_EQ(describe_position("", {}), "");
  Error error = fail(ErrorCode::io, "broke", "f", Position::at_line(1)).value();
  EXPECT_EQ(error.text(), "f:1:1: broke");
  error.context = {"reading", "merging"};
  EXPECT_EQ(error.text(), "f:1:1: broke (while reading) (while merging)");
  EXPECT_EQ(fail(ErrorCode::io, "broke").value().text(), "broke");
}

// Names come from files: they must neither control the terminal nor look like another message.
TEST(Error, HasNoControlCharacters) {
  EXPECT_EQ(fail(ErrorCode::io, "no \x1b[2J", "a\nb").value().text(), "a?b: no ?[2J");
  EXPECT_EQ((Finding{Severity::note, "a\x7f\xc3\xa4", "f\r", {}, 1}).text(),
            "f?: note: a?\xc3\xa4");
}

TEST(Error, HasTheCodeOfErrno) {
  const auto code_of = [](int number) { return fail_errno(number, "m").value().code; };
  EXPECT_EQ(code_of(EACCES), ErrorCode::permission);
  EXPECT_EQ(code_of(EPERM), ErrorCode::permission);
  EXPECT_EQ(code_of(ENOENT), ErrorCode::not_found);
  EXPECT_EQ(code_of(ESRCH), ErrorCode::not_found);
  EXPECT_EQ(code_of(EMFILE), ErrorCode::limit);
  EXPECT_EQ(code_of(EIO), ErrorCode::io);
  EXPECT_EQ(fail_errno(ENOSPC, "cannot write", "f").value().text(),
            "f: cannot write: No space left on device (ENOSPC)");
  EXPECT_EQ(fail_errno(123456, "m").value().text(), "m: Unknown error 123456 (?)");
}

Result<int> halved(int value) {
  if (value % 2 != 0)
    return fail(ErrorCode::invalid_argument, "odd");
  return value / 2;
}

Result<int> quartered(int value) {
  TALLY_CHECK(halved(value));
  TALLY_TRY(half, halved(value));
  TALLY_TRY(quarter, halved(half));
  return quarter;
}

TEST(Result, IsPassedOn) {
  EXPECT_EQ(*quartered(8), 2);
  EXPECT_EQ(quartered(6).error().message, "odd");
}

TEST(CheckedAdd, KeepsTheSumThatDoesNotFit) {
  uint64_t unsigned_sum = ~uint64_t{0} - 1;
  EXPECT_TRUE(checked_add<uint64_t>(unsigned_sum, 1));
  EXPECT_FALSE(checked_add<uint64_t>(unsigned_sum, 1));
  EXPECT_EQ(unsigned_sum, ~uint64_t{0});
  int64_t signed_sum = std::numeric_limits<int64_t>::min();
  EXPECT_FALSE(checked_add<int64_t>(signed_sum, -1));
  EXPECT_TRUE(checked_add<int64_t>(signed_sum, std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(signed_sum, -1);
}

TEST(Diagnostics, CountsRepeatedDiagnostics) {
  Diagnostics found;
  EXPECT_FALSE(found.has_errors());
  found.add(Severity::warning, "odd line", "f", Position::at_line(2));
  found.add(Severity::warning, "odd line", "f", Position::at_line(9));
  found.add(Severity::warning, "odd line", "g");
  found.add(Severity::note, "id 1 unknown", "f", {}, "unknown id");
  found.add(Severity::note, "id 2 unknown", "f", {}, "unknown id");
  ASSERT_EQ(found.findings().size(), 3u);
  EXPECT_EQ(found.findings()[0].text(), "f:2:1: warning: odd line (2 times)");
  EXPECT_EQ(found.findings()[1].text(), "g: warning: odd line");
  EXPECT_EQ(found.findings()[2].text(), "f: note: id 1 unknown (2 times)");
  EXPECT_FALSE(found.has_errors());
  found.add(Severity::error, "gone");
  EXPECT_TRUE(found.has_errors());
  EXPECT_EQ(found.findings()[3].text(), "error: gone");
  found.clear();
  EXPECT_TRUE(found.findings().empty());
  found.add(Severity::error, "gone");
  EXPECT_EQ(found.findings()[0].count, 1u);
}

} // namespace
} // namespace tally::support_result_test
