// Tests notes and counters that are built here byte by byte.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "formats/gcov.h"
#include "gcov_bytes.h"

namespace tally::formats_gcov_test {
namespace {

std::string findings_of(const Diagnostics &diagnostics) {
  std::string out;
  for (const Finding &finding : diagnostics.findings())
    out += finding.text() + "\n";
  return out;
}

Error notes_error(const std::string &bytes) {
  Diagnostics diagnostics;
  const auto notes = read_gcov_notes(bytes, "x.gcno", diagnostics);
  EXPECT_FALSE(notes.has_value());
  return notes ? Error{} : notes.error();
}
Error data_error(const std::string &bytes) {
  Diagnostics diagnostics;
  const auto data = read_gcov_data(bytes, "x.gcda", diagnostics);
  EXPECT_FALSE(data.has_value());
  return data ? Error{} : data.error();
}
void expect_at(const Error &error, size_t offset, std::string_view message) {
  EXPECT_EQ(error.code, ErrorCode::invalid_input);
  EXPECT_EQ(error.where, Position::at_offset(offset)) << error.text();
  EXPECT_NE(error.message.find(message), std::string::npos) << error.text();
}

TEST(Gcov, RecognizesTheLayout) {
  Diagnostics diagnostics;
  for (const bool big_endian : {false, true})
    for (const bool clang : {false, true}) {
      const Layout layout{gcc_12, big_endian, clang};
      const auto notes = read_gcov_notes(notes_of_loops(layout), "x.gcno", diagnostics);
      const auto data = read_gcov_data(counters_of_loops(layout), "x.gcda", diagnostics);
      ASSERT_TRUE(notes && data);
      for (const GcovHeader &header : {notes->header, data->header}) {
        EXPECT_EQ(header.big_endian, big_endian);
        EXPECT_EQ(header.byte_lengths(), !clang);
        EXPECT_EQ(header.checksum.value_or(1), clang ? 1u : 0xabcdu);
        EXPECT_EQ(static_cast<uint32_t>(header.version), 1202u);
        EXPECT_EQ(version_text(header.version_word), "B22*");
        EXPECT_EQ(header.stamp, 77u);
      }
      EXPECT_EQ(notes->graph.by_clang, clang);
    }
}

TEST(Gcov, WritesWhatItRead) {
  Diagnostics diagnostics;
  for (const Layout &layout : {Layout{gcc_12}, Layout{gcc_12, true}, Layout{gcc_11},
                               Layout{gcc_12, false, true}, Layout{clang_14, true, true}}) {
    Bytes zeros(layout); // a length of -16 bytes: 2 counters that are not stored
    if (!layout.clang)
      zeros.record(gcov_tag_function, [](Bytes &) {})
          .word(gcov_tag_counters)
          .word(static_cast<uint32_t>(layout.gcc_12() ? -16 : -4))
          .word(0);
    std::string bytes = counters_of_loops(layout);
    if (!layout.clang)
      bytes.replace(bytes.size() - 4, 4, zeros.bytes());
    const auto data = read_gcov_data(bytes, "x.gcda", diagnostics);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(data->bytes().value_or(""), bytes);
    if (!layout.clang) {
      EXPECT_TRUE(data->records.back().zeros);
      EXPECT_EQ(data->records.back().last, 2u);
      EXPECT_FALSE(data->function_of(data->records[data->records.size() - 2]));
    }
    const auto notes = read_gcov_notes(notes_of_loops(layout), "x.gcno", diagnostics);
    ASSERT_TRUE(notes);
    EXPECT_EQ(notes->bytes().value_or(""), notes_of_loops(layout));
  }
}

// GCC 11 and later do not store the counters of a function that has not run.
TEST(Gcov, AddsCountersToZerosInEitherOrder) {
  Diagnostics diagnostics;
  for (const Layout &layout : {Layout{gcc_12}, Layout{gcc_11}}) {
    const auto data = read_gcov_data(counters_of_loops(layout), "x.gcda", diagnostics);
    ASSERT_TRUE(data) << data.error().text();
    GcovData zeros = *data, sum = *data;
    ASSERT_TRUE(zeros.zero());
    ASSERT_TRUE(zeros.records.back().zeros);
    ASSERT_TRUE(sum.add(zeros));
    ASSERT_TRUE(zeros.add(*data));
    for (const GcovData *each : {&sum, &zeros})
      for (const GcovRecord &record : each->records)
        if (record.tag == gcov_tag_counters) {
          ASSERT_FALSE(record.zeros);
          EXPECT_EQ(each->values_of(record)[1], 2);
        }
  }
}

TEST(Gcov, RefusesAnotherMagic) {
  const std::string notes = notes_of_loops({gcc_12}), data = counters_of_loops({gcc_12});
  expect_at(notes_error(data), 0, "is not a notes file");
  expect_at(data_error(notes), 0, "is not a counters file");
  expect_at(notes_error(""), 0, "is not a notes file");
  expect_at(data_error("gcd"), 0, "is not a counters file");
}

TEST(Gcov, RefusesAnUnknownVersion) {
  for (const char *version : {"x22*", "B2x*", "4.8*", "    "}) {
    expect_at(notes_error(header({version}, "gcno", 1).bytes()), 4, "is not a compiler version");
    expect_at(data_error(header({version}, "gcda", 1).bytes()), 4, "is not a compiler version");
  }
}

TEST(Gcov, RefusesBlocksThatDoNotExist) {
  const Layout layout{gcc_12};
  const auto with = [&](auto put) {
    Bytes out = notes_header(layout);
    put_function(out, layout, 1, "f", 1);
    put_blocks(out, layout, 4);
    const size_t at = out.size();
    put(out);
    return std::pair(notes_error(out.bytes()), at);
  };
  auto [source, source_at] = with([](Bytes &out) { put_arcs(out, {4, 1, 0}); });
  expect_at(source, source_at + 8, "there is no block 4: the function has 4");
  auto [to, to_at] = with([](Bytes &out) { put_arcs(out, {0, 1, 0, 3, 0, 7, 0}); });
  expect_at(to, to_at + 8 + 20, "there is no block 7: the function has 4");
  auto [line, line_at] = with([](Bytes &out) { put_line(out, 9, 1); });
  expect_at(line, line_at + 8, "there is no block 9");
  auto [condition, condition_at] =
      with([](Bytes &out) { out.record(tag_conditions, [](Bytes &r) { r.word(6).word(2); }); });
  expect_at(condition, condition_at + 8, "there is no block 6");
  auto [twice, twice_at] = with([&](Bytes &out) { put_blocks(out, layout, 4); });
  expect_at(twice, twice_at, "a second record of blocks");
}

TEST(Gcov, RefusesConditionsOfMoreTermsThanACounterHasBits) {
  Diagnostics findings;
  constexpr Layout gcc_14{"B41*"};
  Bytes out = notes_header(gcc_14);
  put_function(out, gcc_14, 1, "f", 1);
  put_blocks(out, gcc_14, 4);
  const size_t at = out.size() + 8;
  Bytes most = out;
  most.record(tag_conditions, [](Bytes &to) { to.word(2).word(64); });
  EXPECT_TRUE(read_gcov_notes(most.bytes(), "x.gcno", findings));
  out.record(tag_conditions, [](Bytes &to) { to.word(2).word(65); });
  const auto notes = read_gcov_notes(out.bytes(), "x.gcno", findings);
  ASSERT_FALSE(notes);
  EXPECT_EQ(notes.error().where, Position::at_offset(at));
}

TEST(Gcov, RefusesMoreBlocksThanTheFileHasRoomFor) {
  const Layout layout{gcc_12};
  Bytes out = notes_header(layout);
  put_function(out, layout, 1, "f", 1);
  const size_t at = out.size();
  put_blocks(out, layout, 0x7fffffff);
  expect_at(notes_error(out.bytes()), at + 8, "blocks are more than the file has room for");
}

TEST(Gcov, RefusesLengthsBeyondTheFile) {
  for (const Layout &layout : {Layout{gcc_12}, Layout{gcc_11}, Layout{clang_14, false, true}}) {
    Bytes notes = notes_header(layout);
    const size_t at = notes.size();
    notes.word(0x01000000).word(0x7ffffff0).word(1);
    expect_at(notes_error(notes.bytes()), at, "truncated");
    Bytes data = header(layout, "gcda", 77);
    const size_t data_at = data.size();
    data.word(gcov_tag_function).word(40).word(1);
    expect_at(data_error(data.bytes()), data_at, "truncated");
  }
}

TEST(Gcov, RefusesRecordsBeforeAnyFunction) {
  const Layout layout{gcc_12};
  const std::array<std::function<void(Bytes &)>, 3> records{
      [&](Bytes &out) { put_blocks(out, layout, 4); },
      [](Bytes &out) {
        put_arcs(out, {0, 1, 0});
      },
      [](Bytes &out) { put_line(out, 0, 1); }};
  for (const auto &put : records) {
    Bytes out = notes_header(layout);
    const size_t at = out.size();
    put(out);
    expect_at(notes_error(out.bytes()), at, "before any function");
  }
}

TEST(Gcov, RefusesLinesThatEndTooSoonOrHaveNoFile) {
  const Layout layout{gcc_12};
  Bytes out = notes_header(layout);
  put_function(out, layout, 1, "f", 1);
  put_blocks(out, layout, 4);
  const size_t at = out.size();
  Bytes no_file = out, no_end = out;
  no_file.record(tag_lines, [](Bytes &to) { to.word(2).word(8).word(0).text(""); });
  expect_at(notes_error(no_file.bytes()), at + 8, "a line before the name of its file");
  no_end.record(tag_lines, [](Bytes &to) { to.word(2).word(0).text("f.c").word(8); });
  expect_at(notes_error(no_end.bytes()), at + 8, "too short");
}

TEST(Gcov, RefusesCountersOfOddLength) {
  for (const Layout &layout : {Layout{gcc_12}, Layout{gcc_11}}) {
    Bytes out = header(layout, "gcda", 77);
    const size_t at = out.size();
    out.record(gcov_tag_counters, [](Bytes &to) { to.count(1).word(2); }).word(0);
    expect_at(data_error(out.bytes()), at, "not a multiple of 8 bytes");
    Bytes zeros = header(layout, "gcda", 77);
    zeros.word(gcov_tag_counters).word(static_cast<uint32_t>(layout.gcc_12() ? -12 : -3)).word(0);
    expect_at(data_error(zeros.bytes()), at, "not a multiple of 8 bytes");
  }
}

TEST(Gcov, ReportsEveryTruncationOfCounters) {
  Diagnostics diagnostics;
  for (const Layout &layout : {Layout{gcc_12}, Layout{gcc_12, true}, Layout{gcc_11},
                               Layout{clang_14, false, true}, Layout{gcc_12, false, true}}) {
    const std::string whole = counters_of_loops(layout);
    ASSERT_TRUE(read_gcov_data(whole, "x.gcda", diagnostics));
    const size_t behind = layout.clang ? 4 : 0; // Clang's files end with two zeros; one suffices
    for (size_t size = 0; size < whole.size() - behind; ++size) {
      const Error error = data_error(whole.substr(0, size));
      EXPECT_EQ(error.code, ErrorCode::invalid_input) << size;
      EXPECT_EQ(error.where.kind, Position::Kind::offset) << size;
      EXPECT_LE(error.where.offset, size);
    }
  }
}

// Between two records, nothing indicates that more records should follow.
TEST(Gcov, ReportsATruncationWithinARecordOfNotes) {
  const Layout layout{gcc_12};
  const std::string whole = notes_of_loops(layout);
  std::vector<size_t> ends{notes_header(layout).size()};
  while (ends.back() < whole.size()) {
    const auto *length = reinterpret_cast<const uint8_t *>(whole.data()) + ends.back() + 4;
    ends.push_back(ends.back() + 8 + (length[0] | static_cast<size_t>(length[1]) << 8));
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    Diagnostics diagnostics;
    const auto notes = read_gcov_notes(whole.substr(0, size), "x.gcno", diagnostics);
    EXPECT_EQ(notes.has_value(), std::ranges::find(ends, size) != ends.end()) << size;
  }
}

// The layout or the functions identify Clang's notes.
TEST(Gcov, ReportsClangsNotesWithoutTheirEndMark) {
  for (const Layout &layout : {Layout{gcc_12, false, true}, Layout{clang_14, false, true}}) {
    Bytes out = notes_header(layout);
    for (const uint32_t ident : {0u, 1u}) {
      out.record(0x01000000, [&](Bytes &to) { // the graph's checksum equals the stamp
        to.word(ident).word(11).word(77).text("f");
        if (layout.at_least("A80*"))
          to.word(0);
        to.text("f.c").word(3);
        if (layout.at_least("A80*"))
          to.word(1).word(4);
        if (layout.at_least("A90*"))
          to.word(2);
      });
      put_blocks(out, layout, 3);
      put_arcs(out, {0, 2, 0});
      put_arcs(out, {2, 1, 1});
      put_line(out, 2, 3);
    }
    const size_t end = out.size();
    const std::string whole = out.word(0).word(0).bytes();
    Diagnostics diagnostics;
    const auto notes = read_gcov_notes(whole, "x.gcno", diagnostics);
    ASSERT_TRUE(notes) << notes.error().text();
    EXPECT_TRUE(notes->graph.by_clang);
    // In the older layout, nothing but a function identifies a file as Clang's.
    const size_t begin = notes_header(layout).size() + (layout.at_least("A80*") ? 0 : 1);
    for (size_t size = begin; size <= end; ++size) {
      const Error error = notes_error(whole.substr(0, size));
      EXPECT_NE(error.message.find("truncated"), error.message.npos) << size << error.text();
    }
  }
}

// With a short directory name and a checksum of 0, the truncated header looks like Clang's.
TEST(Gcov, ReportsATruncationWithinTheHeadersDirectory) {
  const Layout layout{gcc_12};
  Bytes out(layout);
  out.word(word_of("gcno")).word(word_of(layout.version)).word(77).word(0).text("/src/x").word(1);
  const std::string whole = out.bytes();
  Diagnostics diagnostics;
  ASSERT_TRUE(read_gcov_notes(whole, "x.gcno", diagnostics));
  for (size_t size = 4; size < whole.size(); ++size)
    EXPECT_NE(notes_error(whole.substr(0, size)).message.find("truncated"), std::string::npos)
        << size;
}

TEST(Gcov, ReportsCountersOfUnknownFunctions) {
  const Layout layout{gcc_12};
  Diagnostics diagnostics;
  const auto notes = read_gcov_notes(notes_of_loops(layout), "x.gcno", diagnostics);
  ASSERT_TRUE(notes);
  const auto unknown = [&](std::vector<uint32_t> idents, uint32_t checksum) {
    Bytes out = header(layout, "gcda", 77);
    for (const uint32_t ident : idents) {
      out.record(gcov_tag_function, [&](Bytes &to) { to.word(ident).word(11).word(checksum); });
      out.record(gcov_tag_counters, [](Bytes &to) { to.count(1).count(2); });
    }
    out.record(gcov_tag_function, [](Bytes &) {}).word(0);
    const auto data = read_gcov_data(out.bytes(), "x.gcda", diagnostics);
    EXPECT_TRUE(data);
    diagnostics.clear();
    return match_counters(*notes, &*data, "x.gcda", diagnostics).unknown;
  };
  EXPECT_TRUE(unknown({6, 7, 8}, 22));
  EXPECT_EQ(findings_of(diagnostics),
            "x.gcda: warning: counters of function 6, which is not in the notes (3 times)\n"
            "x.gcda: warning: the notes have none of the functions of the counters: counted as not "
            "run\n");
  EXPECT_TRUE(unknown({5, 9}, 23));
  EXPECT_FALSE(unknown({5, 7}, 22));
  EXPECT_FALSE(unknown({}, 22)); // only placeholders
}

TEST(Gcov, NotesHoldNoCounters) {
  Diagnostics diagnostics;
  auto notes = read_gcov_notes(notes_of_loops({gcc_12}), "x.gcno", diagnostics);
  ASSERT_TRUE(notes);
  EXPECT_FALSE(notes->add(*notes));
  EXPECT_FALSE(notes->zero());
}

// Each value is sought in one look: looks through lists of this length would take a minute.
TEST(GcovMerge, AddsUpLongListsOfValues) {
  constexpr int64_t count = 300'000;
  const auto data = [](int64_t first, int64_t step) { // a list of values, each seen twice
    GcovData out;
    out.header.version = GcovVersion::v12;
    out.other = std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12);
    out.values = {2 * count, count};
    for (int64_t i = 0; i < count; ++i)
      out.values.insert(out.values.end(), {first + step * i, 2});
    constexpr uint32_t tag = gcov_tag_counters + (static_cast<uint32_t>(GcovCounter::topn) << 17);
    out.records = {{gcov_tag_function, false, 0, 12},
                   {tag, false, 0, static_cast<uint32_t>(out.values.size())}};
    return out;
  };
  GcovData sum = data(0, 1);
  const auto added = sum.add(data(3 * count / 2 - 1, -1)); // half of them are new
  ASSERT_TRUE(added) << added.error().text();
  ASSERT_EQ(sum.values.size(), 2 + 2 * 3 * size_t{count} / 2);
  EXPECT_EQ(sum.values[0], 4 * count);
  EXPECT_EQ(sum.values[1], 3 * count / 2);
  for (int64_t i = 0; i < 3 * count / 2; ++i) {
    const auto at = static_cast<size_t>(2 + 2 * i);
    const bool is_new = i >= count;
    ASSERT_EQ(sum.values[at], is_new ? 5 * count / 2 - 1 - i : i);
    ASSERT_EQ(sum.values[at + 1], is_new || i < count / 2 ? 2 : 4);
  }
}

// The counter of a function that never ran is 0, which is no time.
TEST(GcovMerge, TakesTheFirstTimeOfAFunctionThatRan) {
  const auto data = [](std::vector<int64_t> times) {
    GcovData out;
    out.header.version = GcovVersion::v12;
    out.other = std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12);
    constexpr uint32_t tag =
        gcov_tag_counters + (static_cast<uint32_t>(GcovCounter::time_profiler) << 17);
    out.records = {{gcov_tag_function, false, 0, 12},
                   {tag, false, 0, static_cast<uint32_t>(times.size())}};
    out.values = std::move(times);
    return out;
  };
  GcovData sum = data({5, 0, 5, 7, 0});
  const auto added = sum.add(data({0, 5, 7, 5, 0}));
  ASSERT_TRUE(added) << added.error().text();
  EXPECT_EQ(sum.values, (std::vector<int64_t>{5, 5, 5, 5, 0}));
}

} // namespace
} // namespace tally::formats_gcov_test
