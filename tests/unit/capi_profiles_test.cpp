// The C interface reads, reports, writes and converts files as the program `tally` does.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

#include "capi_results.h"
#include "gcov_bytes.h"
#include "temporary.h"

namespace tally::capi_profiles_test {
namespace {

using Texts = std::vector<std::string>;
using Counts = std::vector<uint64_t>;

constexpr const char *stacks = "main;parse;read 30\nmain;parse 12\nmain;idle 8\n";
constexpr const char *callgrind = "event: Sum = Ir + 10 Miss : Together\n"
                                  "events: Ir Miss\n"
                                  "part: 1\nfl=a.c\nfn=main\n3 10\ncfn=work\ncalls=1 5\n4 80 3\n"
                                  "fn=work\n5 80 3\n"
                                  "part: 2\nfl=a.c\nfn=main\n3 7\n";
constexpr const char *tracefile = "SF:/src/a.c\nDA:1,4\nDA:2,0\nend_of_record\n";

// Returns GCC's counters of one function whose two arcs ran 5 and 7 times.
std::string gcda_bytes() {
  const Layout layout{gcc_12};
  Bytes out = header(layout, "gcda", 77);
  out.record(0x01000000, [](Bytes &to) { to.word(1).word(11).word(22); });
  out.record(0x01a10000, [](Bytes &to) { to.count(5).count(7); });
  return out.word(0).bytes();
}

// Returns whether a row of `lost` begins so.
bool is_lost(const Table &lost, std::string_view beginning) {
  const Texts rows = lost.column_texts("what");
  return std::ranges::any_of(rows,
                             [&](const std::string &row) { return row.starts_with(beginning); });
}

template <class Options> Options with_size() {
  Options out{};
  out.size = sizeof out;
  return out;
}

class CProfile : public testing::Test {
protected:
  ~CProfile() override { tally_profile_free(profile); }

  void read(const std::string &path, const tally_read_options *options = nullptr) {
    tally_profile_free(profile);
    profile = nullptr;
    tally_error *error = tally_profile_read(path.c_str(), options, &profile);
    ASSERT_EQ(error, nullptr) << take(error);
  }
  // Returns the error of reading a file, and checks that the output is left as it was.
  std::string refusal(const std::string &path, const tally_read_options *options = nullptr) {
    int marker = 0;
    auto *const before = reinterpret_cast<tally_profile *>(&marker);
    tally_profile *out = before;
    tally_error *error = tally_profile_read(path.c_str(), options, &out);
    EXPECT_EQ(out, before);
    return take(error);
  }
  std::string report_refusal(const tally_report_options &options) {
    tally_table *out = nullptr;
    tally_error *error = tally_profile_report(profile, &options, &out);
    EXPECT_EQ(out, nullptr);
    return take(error);
  }
  // Writes the profile, and returns the bytes of the file.
  std::string written(const std::string &name, const tally_write_options *options = nullptr) {
    const std::string path = folder / name;
    EXPECT_EQ(tally_profile_write(profile, path.c_str(), options, lost.out()), nullptr);
    return folder.get(name);
  }
  tally_error *convert(const Texts &paths, const std::string &to,
                       const tally_read_options *reading = nullptr,
                       const tally_write_options *writing = nullptr) {
    std::vector<const char *> names;
    for (const std::string &path : paths)
      names.push_back(path.c_str());
    return tally_convert(names.data(), names.size(), reading, to.c_str(), writing,
                         diagnostics.out(), lost.out());
  }

  TemporaryFolder folder;
  tally_profile *profile = nullptr;
  Table table, diagnostics, lost;
};

TEST_F(CProfile, ReportsAFile) {
  read(folder.put("a.folded", stacks));
  EXPECT_STREQ(tally_profile_format(profile), "folded");
  ASSERT_EQ(tally_profile_report(profile, nullptr, table.out()), nullptr);
  EXPECT_EQ(column_names(table),
            (Texts{"name", "file", "object", "line", "id", "self", "inclusive"}));
  EXPECT_EQ(table.column_texts("name"), (Texts{"read", "parse", "idle", "main"}));
  EXPECT_EQ(table.column_counts("self"), (Counts{30, 12, 8, 0}));
  EXPECT_EQ(table.column_counts("inclusive"), (Counts{30, 42, 8, 50}));
  auto options = with_size<tally_report_options>();
  options.by = "";
  options.sort = "inclusive";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"main", "parse", "read", "idle"}));
  ASSERT_EQ(tally_profile_diagnostics(profile, diagnostics.out()), nullptr);
  EXPECT_EQ(tally_table_rows(diagnostics), 0u);
}

TEST_F(CProfile, ReportsEventsPartsAndThreads) {
  read(folder.put("a.callgrind", callgrind));
  ASSERT_EQ(tally_profile_events(profile, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"Ir", "Miss", "Sum"}));
  EXPECT_EQ(table.column_texts("formula"), (Texts{"", "", "Ir + 10 Miss"}));
  EXPECT_EQ(table.column_counts("total"), (Counts{97, 3, 127}));
  auto options = with_size<tally_report_options>();
  options.event = "Sum";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"work", "main"}));
  EXPECT_EQ(table.column_counts("self"), (Counts{110, 17}));
  options.part = "2";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("self"), (Counts{7}));
  options.part = "3";
  EXPECT_EQ(report_refusal(options), "part: there is no part '3' (there are: 1, 2)");
  options.part = "x";
  EXPECT_EQ(report_refusal(options),
            "part: expected a whole number from 0 to 4294967295, found 'x'");
  options.part = nullptr;
  options.event = "Cycles";
  EXPECT_NE(report_refusal(options).find("there is no event 'Cycles'"), std::string::npos);
  options.event = nullptr;
  options.by = "shape";
  EXPECT_EQ(report_refusal(options),
            "by: expected one of function, line, object, thread, part, namespace, "
            "directory, process, found 'shape'");
  // The handle is unchanged by what was selected.
  ASSERT_EQ(tally_profile_report(profile, nullptr, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("self"), (Counts{80, 17}));
}

TEST_F(CProfile, ListsDiagnostics) {
  const std::string path = folder.put("a.callgrind", "events: Ir\nnonsense: 1\nfl=a.c\nfn=f\n1 2\n"
                                                     "totals: 3\n");
  read(path);
  ASSERT_EQ(tally_profile_diagnostics(profile, diagnostics.out()), nullptr);
  EXPECT_EQ(column_names(diagnostics),
            (Texts{"severity", "message", "source", "line", "column", "offset", "count", "text"}));
  ASSERT_GT(tally_table_rows(diagnostics), 0u);
  const Texts severities = diagnostics.column_texts("severity");
  EXPECT_NE(std::ranges::find(severities, "error"), severities.end()); // the wrong total
  for (size_t i = 0; i < severities.size(); ++i) {
    EXPECT_EQ(diagnostics.column_texts("source")[i], path);
    EXPECT_NE(diagnostics.column_texts("text")[i].find(diagnostics.column_texts("message")[i]),
              std::string::npos);
    EXPECT_EQ(diagnostics.column_counts("offset")[i], UINT64_MAX); // the file is text
    EXPECT_EQ(diagnostics.column_counts("count")[i], 1u);
  }
}

TEST_F(CProfile, RefusesWhatHoldsNoProfile) {
  EXPECT_EQ(refusal("-"), "-: standard input and output are the program's own: name a file");
  EXPECT_EQ(refusal(""), "expected the name of a file");
  EXPECT_NE(refusal(folder / "absent").find("ENOENT"), std::string::npos);
  EXPECT_NE(refusal(folder.put("x", "what is this?\n")).find("not in a known format"),
            std::string::npos);
  EXPECT_NE(refusal(folder.put("empty.folded", "")).find("is empty"), std::string::npos);
  EXPECT_NE(refusal(folder.put("none.callgrind", "events: Ir\n")).find("holds no costs"),
            std::string::npos);
  tally_profile *out = nullptr;
  EXPECT_NE(take(tally_profile_read(nullptr, nullptr, &out)), "");
  const std::string path = folder.put("a.folded", stacks);
  auto options = with_size<tally_read_options>();
  options.from = "nonsense";
  EXPECT_EQ(refusal(path, &options).rfind("from: unknown format 'nonsense' (there are: ", 0), 0u);
  options.from = "callgrind";
  EXPECT_NE(refusal(path, &options), "");
  options.from = "";
  options.program = "/nonexistent/program"; // concerns no other format than gmon
  read(path, &options);
}

TEST_F(CProfile, RefusesCounters) {
  const std::string path = folder.put("a.gcda", gcda_bytes());
  tally_profile *out = nullptr;
  tally_error *error = tally_profile_read(path.c_str(), nullptr, &out);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_INVALID_INPUT);
  EXPECT_NE(take(error).find("holds coverage and not a profile"), std::string::npos);
}

TEST_F(CProfile, LimitsWhatAFileMayExpandTo) {
  read(folder.put("a.folded", stacks));
  auto pprof = with_size<tally_write_options>();
  pprof.format = "pprof";
  tally_error *error = tally_profile_write(profile, (folder / "a.pb.gz").c_str(), &pprof, nullptr);
  if (error)
    GTEST_SKIP() << take(error); // built without pprof
  auto options = with_size<tally_read_options>();
  options.max_unpacked_bytes = 10;
  EXPECT_NE(refusal(folder / "a.pb.gz", &options).find("10 bytes"), std::string::npos);
  options.max_unpacked_bytes = 0;
  read(folder / "a.pb.gz", &options);
  EXPECT_STREQ(tally_profile_format(profile), "pprof");
}

TEST_F(CProfile, WritesOtherFormats) {
  read(folder.put("a.folded", stacks));
  const std::string costs = written("out.callgrind");
  EXPECT_NE(costs.find("fn=(1) "), std::string::npos);
  EXPECT_TRUE(is_lost(lost, "whole stacks"));
  auto options = with_size<tally_write_options>();
  options.flags = TALLY_WRITE_FULL_NAMES | TALLY_WRITE_FULL_POSITIONS;
  options.format = "callgrind";
  const std::string full = written("out", &options);
  EXPECT_EQ(full.find("fn=("), std::string::npos);
  EXPECT_NE(full.find("fn=main"), std::string::npos);
  EXPECT_EQ(written("same.folded"), "main;idle 8\nmain;parse 12\nmain;parse;read 30\n");
  EXPECT_EQ(lost.column_texts("what"), Texts{}); // it had neither addresses nor lines

  const auto refused = [&](const std::string &path, const tally_write_options *how = nullptr) {
    tally_table *out = nullptr;
    tally_error *error = tally_profile_write(profile, path.c_str(), how, &out);
    EXPECT_EQ(out, nullptr);
    return take(error);
  };
  EXPECT_NE(refused(folder / "out.unknown").find("does not imply a format"), std::string::npos);
  options.format = "folded";
  EXPECT_NE(refused(folder / "out.folded.gz", &options).find("not compressed"), std::string::npos);
  EXPECT_NE(refused("-").find("name a file"), std::string::npos);
  EXPECT_NE(refused(folder / "out.info").find("holds coverage"), std::string::npos);
  options.format = "nonsense";
  EXPECT_EQ(refused(folder / "out", &options).rfind("format: unknown format", 0), 0u);
  folder.put("kept.callgrind", "old");
  EXPECT_NE(refused(folder / "absent/x.callgrind"), "");
  read(folder / "out.callgrind");
  EXPECT_NE(refused(folder / "kept.folded").find("not a stack"), std::string::npos);
  EXPECT_EQ(folder.get("kept.callgrind"), "old");
}

TEST_F(CProfile, SelectsSamplesByPatterns) {
  read(folder.put("a.folded", stacks));
  auto options = with_size<tally_report_options>();
  options.focus = "^parse$";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"read", "parse", "main"}));
  options.hide = "^read$";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"parse", "main"}));
  EXPECT_EQ(table.column_counts("self"), (Counts{42, 0}));
  options = with_size<tally_report_options>();
  options.ignore = "read|idle";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("self"), (Counts{12, 0}));
  options = with_size<tally_report_options>();
  options.fold = "parse|read";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), (Texts{"parse", "idle", "main"}));
  options.fold = "(";
  EXPECT_TRUE(report_refusal(options).starts_with("fold: ")) << report_refusal(options);
}

TEST_F(CProfile, SelectsSamplesByProcessAndTime) {
  read(folder.put("a.folded", stacks));
  auto options = with_size<tally_report_options>();
  options.process = "cc1";
  EXPECT_TRUE(report_refusal(options).starts_with("process: ")) << report_refusal(options);
  options.process = nullptr;
  options.from = "1s";
  EXPECT_TRUE(report_refusal(options).starts_with("from: ")) << report_refusal(options);
  options.from = nullptr;
  options.to = "soon";
  EXPECT_TRUE(report_refusal(options).starts_with("to: ")) << report_refusal(options);
}

TEST_F(CProfile, KeepsCoverage) {
  read(folder.put("a.info", tracefile));
  ASSERT_EQ(tally_profile_events(profile, table.out()), nullptr);
  EXPECT_EQ(table.column_texts("name"), Texts{"Executions"});
  EXPECT_EQ(table.column_counts("total"), Counts{4});
  auto options = with_size<tally_report_options>();
  options.by = "line";
  ASSERT_EQ(tally_profile_report(profile, &options, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("line"), (Counts{1, 2}));
  const std::string again = written("again.info");
  EXPECT_NE(again.find("DA:1,4\nDA:2,0\n"), std::string::npos);
  EXPECT_NE(written("out.callgrind").find("events: Executions"), std::string::npos);
}

TEST_F(CProfile, ConvertsTheSumOfFiles) {
  const Texts paths{folder.put("a.folded", stacks), folder.put("b.folded", "main;idle 2\n")};
  ASSERT_EQ(convert(paths, folder / "sum.folded"), nullptr);
  EXPECT_EQ(folder.get("sum.folded"), "main;idle 10\nmain;parse 12\nmain;parse;read 30\n");
  EXPECT_EQ(tally_table_rows(diagnostics), 0u);
  EXPECT_EQ(tally_table_rows(lost), 0u); // the format is the same
  ASSERT_EQ(convert(paths, folder / "sum.callgrind"), nullptr);
  EXPECT_TRUE(is_lost(lost, "whole stacks"));
  read(folder / "sum.callgrind");
  ASSERT_EQ(tally_profile_events(profile, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("total"), Counts{52});
  // One file keeps its parts.
  ASSERT_EQ(convert({folder.put("a.callgrind", callgrind)}, folder / "parts.callgrind"), nullptr);
  EXPECT_NE(folder.get("parts.callgrind").find("part: 2"), std::string::npos);
  // Either table may be left out.
  const char *path = paths[0].c_str();
  EXPECT_EQ(
      tally_convert(&path, 1, nullptr, (folder / "one.folded").c_str(), nullptr, nullptr, nullptr),
      nullptr);
  EXPECT_EQ(folder.get("one.folded"), "main;idle 8\nmain;parse 12\nmain;parse;read 30\n");
}

TEST_F(CProfile, ConvertsCoverageAndCounters) {
  const std::string path = folder.put("a.info", tracefile);
  ASSERT_EQ(convert({path, path}, folder / "sum.info"), nullptr);
  EXPECT_NE(folder.get("sum.info").find("DA:1,8\nDA:2,0\n"), std::string::npos);
  auto writing = with_size<tally_write_options>();
  writing.format = "gcovr";
  writing.gcovr_version = "0.5";
  ASSERT_EQ(convert({path}, folder / "a.json", nullptr, &writing), nullptr);
  EXPECT_NE(folder.get("a.json").find("\"gcovr/format_version\": \"0.5\""), std::string::npos);
  writing.gcovr_version = "77";
  EXPECT_NE(take(convert({path}, folder / "a.json", nullptr, &writing)), "");

  const std::string counters = folder.put("a.gcda", gcda_bytes());
  ASSERT_EQ(convert({counters}, folder / "b.gcda"), nullptr);
  EXPECT_EQ(folder.get("b.gcda"), gcda_bytes());
  EXPECT_NE(take(convert({counters}, folder / "b.info")).find("holds coverage and not a profile"),
            std::string::npos);
}

TEST_F(CProfile, ConvertReportsWhatItSkips) {
  // As Valgrind's --separate-threads=yes leaves them.
  const Texts paths{folder.put("t", ""), folder.put("t-01", callgrind)};
  ASSERT_EQ(convert(paths, folder / "out.callgrind"), nullptr);
  EXPECT_EQ(diagnostics.column_texts("severity"), Texts{"warning"});
  EXPECT_EQ(diagnostics.column_texts("source"), Texts{paths[0]});
  EXPECT_NE(take(convert({}, folder / "out.callgrind")), "");
  EXPECT_NE(take(convert({"-"}, folder / "out.callgrind")).find("name a file"), std::string::npos);
  EXPECT_NE(take(convert(paths, "-")).find("name a file"), std::string::npos);
  const Texts mixed{paths[1], folder.put("a.folded", stacks)};
  EXPECT_NE(take(convert(mixed, folder / "out.callgrind")).find("cannot be added up"),
            std::string::npos);
}

TEST_F(CProfile, NamesTheProgramOfAddresses) {
  read(folder.put("a.callgrind", "positions: instr line\nevents: ticks\nob=/bin/x\nfl=a.c\n"
                                 "fn=main\n0x1000 3 10\n0x1010 4 5\n"));
  const std::string gmon = written("x.gmon");
  read(folder / "x.gmon");
  EXPECT_STREQ(tally_profile_format(profile), "gmon");
  ASSERT_EQ(tally_profile_diagnostics(profile, diagnostics.out()), nullptr);
  EXPECT_NE(diagnostics.column_texts("message").at(0).find("set tally_read_options.program"),
            std::string::npos);
  EXPECT_EQ(written("again.gmon"), gmon); // what was read is written
  ASSERT_EQ(tally_profile_events(profile, table.out()), nullptr);
  EXPECT_EQ(table.column_counts("total"), Counts{15});
  ASSERT_EQ(convert({folder / "x.gmon"}, folder / "x.callgrind"), nullptr);
  EXPECT_EQ(tally_table_rows(diagnostics), 1u);
  auto options = with_size<tally_read_options>();
  options.program = "/nonexistent/program";
  EXPECT_NE(refusal(folder / "x.gmon", &options).find("cannot read"), std::string::npos);
  EXPECT_NE(
      take(convert({folder / "x.gmon"}, folder / "x.callgrind", &options)).find("cannot read"),
      std::string::npos);
}

TEST_F(CProfile, ListsFormats) {
  ASSERT_EQ(tally_formats(table.out()), nullptr);
  EXPECT_EQ(column_names(table),
            (Texts{"name", "summary", "reads", "writes", "holds", "file_names"}));
  const Texts names = table.column_texts("name");
  const auto row = [&](const char *name) {
    return static_cast<size_t>(std::ranges::find(names, name) - names.begin());
  };
  const auto shown = [&](const char *name) {
    const size_t at = row(name);
    EXPECT_LT(at, names.size()) << name;
    return std::to_string(table.column_counts("reads")[at]) +
           std::to_string(table.column_counts("writes")[at]) + " " +
           table.column_texts("holds")[at] + " " + table.column_texts("file_names")[at];
  };
  EXPECT_EQ(shown("callgrind"), "11 costs callgrind.out* *.callgrind *.cg");
  EXPECT_EQ(shown("folded"), "11 stacks *.folded *.collapsed");
  EXPECT_EQ(shown("flamegraph"), "01 stacks *.svg");
  EXPECT_EQ(shown("perf-data"), "10 stacks perf.data* *.perf.data *.perf");
  EXPECT_EQ(shown("perf-script"), "10 stacks ");
  EXPECT_EQ(shown("gmon"), "11 addresses gmon.out* *.gmon mon.out*");
  EXPECT_EQ(shown("lcov"), "11 coverage *.info");
  EXPECT_EQ(shown("gcov-data"), "11 counters *.gcda");
}

TEST(CProfiles, FreeAcceptsNull) { tally_profile_free(nullptr); }

} // namespace
} // namespace tally::capi_profiles_test
