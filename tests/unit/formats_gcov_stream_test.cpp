// Streams of counters: the binary form of GCC, and Zephyr's text.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/gcov/stream.h"
#include "gcov_bytes.h"

namespace tally::formats_gcov_stream_test {
namespace {

Result<std::unique_ptr<CounterFile>> read(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  return gcov::read_stream(*ByteSource::of(text, "x"), found ? *found : diagnostics);
}
const GcovStream &stream_of(const Result<std::unique_ptr<CounterFile>> &read) {
  return static_cast<const GcovStream &>(**read);
}

std::string named(const Layout &layout, std::string_view name) {
  return Bytes(layout).word(word_of("gcfn")).word(word_of("B33*")).text(name).bytes();
}
std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

TEST(GcovStream, ReadsBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    const Layout layout{gcc_12, big_endian};
    const std::string counters = counters_of_loops(layout);
    const std::string bytes =
        named(layout, "/b/a.gcda") + counters + named(layout, "c.gcda") + counters;
    EXPECT_TRUE(gcov::is_stream(bytes));
    const auto stream = read(bytes);
    ASSERT_TRUE(stream) << stream.error().text();
    ASSERT_EQ(stream_of(stream).files().size(), 2u);
    EXPECT_EQ(stream_of(stream).files().at("/b/a.gcda").bytes(), counters);
    EXPECT_EQ((*stream)->bytes().error().code, ErrorCode::unsupported);
    EXPECT_EQ(read(named(layout, "a") + counters).value()->bytes(), counters);
  }
}

TEST(GcovStream, ReadsTheLayoutsOfOlderCompilersAsText) {
  for (const char *const version : {gcc_11, gcc_12}) {
    std::string counters = counters_of_loops({version});
    const std::string whole = counters;
    counters.resize(counters.size() - 4); // Zephyr's own writer leaves out the end mark
    Diagnostics findings;
    const auto stream = read("boot\nuart: GCOV_COVERAGE_DUMP_START\r\r\n*a.gcda<" + hex(counters) +
                                 "\r\r\nlog\nGCOV_COVERAGE_DUMP_END",
                             &findings);
    ASSERT_TRUE(stream) << stream.error().text();
    EXPECT_EQ((*stream)->bytes(), whole);
    ASSERT_EQ(findings.findings().size(), 1u);
    EXPECT_EQ(findings.findings()[0].where, Position::at_line(4));
  }
}

TEST(GcovStream, AddsUp) {
  const Layout layout{gcc_12};
  const std::string one = named(layout, "a") + counters_of_loops(layout);
  const auto sum = read(one + one), more = read(one);
  ASSERT_TRUE(sum && more);
  ASSERT_TRUE((*sum)->add(**more));
  const int64_t once = stream_of(more).files().at("a").values.at(0);
  EXPECT_EQ(stream_of(sum).files().at("a").values.at(0), 3 * once);
}

TEST(GcovStream, RefusesWhatIsDamaged) {
  const Layout layout{gcc_12};
  const std::string name = named(layout, "a"), counters = counters_of_loops(layout);
  const auto expect = [](std::string_view text, const Position &where, std::string_view message) {
    const auto refused = read(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, where) << refused.error().text();
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().text();
  };
  const auto at = [](size_t offset) { return Position::at_offset(offset); };
  expect(name + counters + counters, at(name.size() + counters.size()), "letters gcfn");
  expect(name + name, at(name.size()), "letters gcda");
  expect(name, at(name.size()), "letters gcda");
  expect(name.substr(0, 13), at(0), "truncated");
  expect(named(layout, ""), at(0), "without a name");
  const std::string cut = name + counters.substr(0, counters.size() - 4);
  expect(cut, at(cut.size()), "end mark");
  for (size_t size = 1; size < counters.size(); ++size)
    EXPECT_FALSE(read(name + counters.substr(0, size)));

  const std::string begin = "GCOV_COVERAGE_DUMP_START\n*a<";
  const auto in_line_2 = [](size_t column) { return Position::at_line(2, column); };
  expect(begin + "6\nGCOV_COVERAGE_DUMP_END\n", in_line_2(4), "two hexadecimal digits");
  expect(begin + "616\x01\nGCOV_COVERAGE_DUMP_END\n", in_line_2(7), "hexadecimal digit");
  expect(begin + "61646364\nGCOV_COVERAGE_DUMP_END\n", in_line_2(4), "letters gcda");
  expect(begin + hex(counters.substr(0, 18)) + "\nGCOV_COVERAGE_DUMP_END\n", in_line_2(36),
         "truncated");
  expect(begin + hex(counters) + "\n", Position::at_line(3), "truncated");
  EXPECT_FALSE(gcov::has_dump("puts(\"GCOV_COVERAGE_DUMP_START\");\n"));
}

} // namespace
} // namespace tally::formats_gcov_stream_test
