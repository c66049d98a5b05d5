// Tests that the errors for files that are not supported name the format.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "formats/foreign.h"
#include "formats/formats.h"
#include "temporary.h"

namespace tally::formats_foreign_test {
namespace {

TEST(Foreign, IsNamedInTheMessage) {
  const auto begins = [](std::string_view head, std::string_view what) {
    EXPECT_TRUE(foreign_format(head).starts_with(what)) << foreign_format(head);
    EXPECT_EQ(foreign_table(head), "");
  };
  const auto is_table = [](std::string_view head, std::string_view what) {
    EXPECT_TRUE(foreign_table(head).starts_with(what)) << foreign_table(head);
    EXPECT_EQ(foreign_format(head), "");
  };
  begins("--- contentionz 1 ---\n", "is a text contention profile");
  begins("--- threadz 1 ---\n", "is a text thread profile");
  begins("goroutine profile: total 7\n", "is a text goroutine profile");
  is_table("Total: 12 samples\n       7  58.3%  58.3%       12 100.0% main\n",
           "is a table that pprof printed");
  is_table("File: x\nType: cpu\nShowing nodes accounting for 10ms, 100% of 10ms total\n",
           "is a table that pprof printed");
  is_table("Flat profile:\n\nEach sample counts as 0.01 seconds.\n",
           "is a table that gprof printed");
  EXPECT_EQ(foreign_format(std::string(100, '\0')), "");
  EXPECT_EQ(foreign_table("Total: 5\n"), "");
  EXPECT_EQ(foreign_format(""), "");
}

// Windows' tools put a mark before text in UTF-8, or write UTF-16.
TEST(Foreign, MarksOfTheByteOrderAreAccepted) {
  const std::string json =
      R"({"meta":{"preprocessedProfileVersion":48},"threads":[{"pid":1,"tid":2,)"
      R"("samples":{"stack":[0],"time":[1]},"stackTable":{"frame":[0],"prefix":[null]},)"
      R"("frameTable":{"func":[0]},"funcTable":{"name":[0]},"stringArray":["f"]}]})";
  const std::string lcov = "SF:/s/a.c\nDA:1,2\nend_of_record\n";
  const auto utf16 = [](std::string_view text, bool big_endian) {
    std::string out = big_endian ? "\xFE\xFF" : "\xFF\xFE";
    for (const char c : text)
      out.append(big_endian ? std::string{'\0', c} : std::string{c, '\0'});
    return out;
  };
  const TemporaryFolder folder;
  const auto format_of = [&](const std::string &bytes) {
    Diagnostics diagnostics;
    const auto read = read_file(folder.put("x", bytes), diagnostics);
    return read ? std::string(read->format->name) : read.error().text();
  };
  EXPECT_EQ(format_of("\xEF\xBB\xBF" + json), "firefox");
  for (const bool big_endian : {false, true}) {
    EXPECT_EQ(format_of(utf16(json, big_endian)), "firefox");
    EXPECT_EQ(format_of(utf16(lcov, big_endian)), "lcov");
    Diagnostics diagnostics;
    const auto cut =
        read_file(folder.put("x", utf16(json.substr(0, json.size() - 1), big_endian)), diagnostics);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().where.offset, json.size() - 1);
    EXPECT_NE(cut.error().message.find("in UTF-16"), std::string::npos);
  }
  EXPECT_NE(format_of("\xFF\xFE").find("is not in a known format"), std::string::npos);
}

TEST(Foreign, IsAnErrorUnderAnyFileName) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.folded", "a.pb.gz", "a.heap"}) {
    const std::string path = folder.put(name, "--- heapz 1 ---\nformat = java\n");
    Diagnostics diagnostics;
    const auto read = read_file(path, diagnostics);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unsupported);
    EXPECT_NE(read.error().text().find("go tool pprof -proto"), std::string::npos);
  }
}

// A file that a reader recognizes is read, even if one of its names is the beginning of a table.
TEST(Foreign, IsATableOnlyIfNoReaderKnowsTheFile) {
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto known =
      read_file(folder.put("fl.folded", "main;f 3\nFlat profile:;g 4\n"), diagnostics);
  ASSERT_TRUE(known) << known.error().text();
  EXPECT_EQ(known->format->name, "folded");
  for (const std::string text :
       {"Flat profile:\n\nEach sample counts as 0.01 seconds.\n",
        "File: x\nType: cpu\nShowing nodes accounting for 10ms, 100% of 10ms total\n",
        "# To display the perf.data header info, please use --header/--header-only options.\n#\n"
        "# Overhead  Command  Symbol\n    99.00%  a        [.] leaf\n",
        "Total: 12 samples\n       7  58.3%  58.3%       12 100.0% main\n"})
    for (const std::string name : {"a.folded", "a.pb.gz", "a.txt"}) {
      const auto table = read_file(folder.put(name, text), diagnostics);
      ASSERT_FALSE(table);
      EXPECT_EQ(table.error().code, ErrorCode::unsupported);
      EXPECT_NE(table.error().text().find("is a table that"), std::string::npos);
    }
  const auto threads = read_file(folder.put("t", "--- threadz 1 ---\n\nversion: 1\n"), diagnostics);
  ASSERT_FALSE(threads);
  EXPECT_EQ(threads.error().code, ErrorCode::unsupported);
}

} // namespace
} // namespace tally::formats_foreign_test
