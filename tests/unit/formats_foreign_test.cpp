// Files that are not read: an error says what they are.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <tally/formats.h>

#include "formats/foreign.h"
#include "temporary.h"

namespace tally::formats_foreign_test {
namespace {

using namespace std::string_view_literals;

TEST(Foreign, IsNamed) {
  const auto begins = [](std::string_view head, std::string_view what) {
    EXPECT_TRUE(foreign_format(head).starts_with(what)) << foreign_format(head);
  };
  begins("heap profile:    144:  8498176 [   144:  8498176] @ heapv2/524288\n",
         "is a heap profile of gperftools");
  begins("--- contentionz 1 ---\n", "is a contention profile as text");
  begins("--- threadz 1 ---\n", "is a profile of threads as text");
  begins("goroutine profile: total 7\n", "is a profile of goroutines as text");
  begins("Total: 12 samples\n       7  58.3%  58.3%       12 100.0% main\n",
         "is a table that pprof printed");
  begins("File: x\nType: cpu\nShowing nodes accounting for 10ms, 100% of 10ms total\n",
         "is a table that pprof printed");
  begins("Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "is a table that gprof printed");
  // 0, 3, 0, the period, 0: slots of 4 and of 8 bytes, in both orders.
  begins("\0\0\0\0\3\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0"sv, "is a CPU profile of gperftools");
  begins("\0\0\0\0\0\0\0\3\0\0\0\0\0\0\x27\x10\0\0\0\0"sv, "is a CPU profile of gperftools");
  begins("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv,
         "is a CPU profile of gperftools");
  EXPECT_EQ(foreign_format(std::string(100, '\0')), "");
  EXPECT_EQ(foreign_format("Total: 5\n"), "");
  EXPECT_EQ(foreign_format(""), "");
}

TEST(Foreign, IsAnErrorWhateverItsName) {
  const TemporaryFolder folder;
  for (const std::string name : {"a.folded", "a.pb.gz", "a.heap"}) {
    const std::string path =
        folder.put(name, "heap profile: 1: 2 [ 1: 2] @ heapprofile\n1: 2 [1: 2] @ 0x1\n");
    Diagnostics diagnostics;
    const auto read = read_file(path, diagnostics);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unsupported);
    EXPECT_NE(read.error().text().find("go tool pprof -proto"), std::string::npos);
  }
}

} // namespace
} // namespace tally::formats_foreign_test
