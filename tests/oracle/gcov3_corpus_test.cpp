// Tests files that GCC 3.2 and 3.3 and their programs wrote, against what their gcov printed for
// them.
//
// TALLY_CORPUS names the corpus; without it, the directory shared/corpus beside the sources is
// used.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coverage/gcov3_counts.h"
#include "formats/formats.h"
#include "formats/gcov3.h"

namespace tally {
namespace {

// Returns a percentage as gcov 3.3 rounds it: to the nearest integer, but 0 only if `count` is 0,
// and 100 only if it equals `total`.
int gcov3_percent(int64_t count, int64_t total) {
  if (count == 0 || count == total)
    return count == 0 ? 0 : 100;
  const __int128 nearest = (static_cast<__int128>(count) * 200 / total + 1) / 2;
  return static_cast<int>(std::clamp<__int128>(nearest, 1, 99));
}

namespace fs = std::filesystem;

fs::path corpus() {
  const char *named = std::getenv("TALLY_CORPUS");
  const char *sources = std::getenv("TALLY_SOURCE_ROOT");
  return (named && *named ? fs::path(named)
                          : fs::path(sources ? sources : ".") / ".." / "shared" / "corpus") /
         "gcov3";
}

std::string bytes_of(const fs::path &path) {
  auto source = ByteSource::open(path.string());
  EXPECT_TRUE(source) << path;
  auto bytes = (*source)->rest();
  EXPECT_TRUE(bytes) << path;
  return *bytes;
}

std::vector<fs::path> files(std::initializer_list<std::string_view> endings) {
  std::vector<fs::path> out;
  for (const auto &entry : fs::recursive_directory_iterator(corpus()))
    if (std::ranges::find(endings, entry.path().extension().string()) != endings.end())
      out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> findings_of(const Diagnostics &diagnostics) {
  std::vector<std::string> out;
  for (const Finding &finding : diagnostics.findings())
    out.push_back(finding.text());
  return out;
}

using Texts = std::vector<std::string>;

template <class File> File read(const std::string &bytes) {
  Diagnostics diagnostics;
  auto file = File::read(bytes, "file", diagnostics);
  EXPECT_TRUE(file) << file.error().text();
  EXPECT_EQ(findings_of(diagnostics), Texts());
  return std::move(*file);
}

struct Counted {
  CoverageGraph graph;
  Gcov3Counts counts;
};

Counted counted(const std::string &bb, const std::string &bbg, const std::string *da,
                Texts expected_findings = {}) {
  const auto lines = read<Gcov3Lines>(bb);
  const auto graph = read<Gcov3Graph>(bbg);
  Diagnostics diagnostics;
  std::optional<Gcov3Data> data;
  if (da) {
    auto read_data = Gcov3Data::read(*da, "x.da", diagnostics);
    EXPECT_TRUE(read_data) << read_data.error().text();
    data.emplace(std::move(*read_data));
  }
  Counted out;
  out.graph = *gcov3_graph(graph, &lines, diagnostics);
  const auto counters = gcov3_counters(graph, data ? &*data : nullptr, diagnostics);
  EXPECT_TRUE(counters) << counters.error().text();
  out.counts = *gcov3_counts(out.graph, *counters, diagnostics, "x.da");
  EXPECT_EQ(findings_of(diagnostics), expected_findings);
  return out;
}

Counted counted(const fs::path &stem, Texts expected_findings = {}) {
  const std::string da = bytes_of(fs::path(stem) += ".da");
  return counted(bytes_of(fs::path(stem) += ".bb"), bytes_of(fs::path(stem) += ".bbg"), &da,
                 std::move(expected_findings));
}

enum class Branches { none, percent, count };

// Returns for each source, by the last part of its name, the lines with code as "count:number",
// each followed by its branches, as gcov 3.3 printed them.
std::map<std::string, Texts> printed(const Counted &in, Branches branches) {
  std::map<std::string, Texts> out;
  for (const Gcov3Source &source : in.counts.sources) {
    Texts &texts = out[fs::path(in.graph.strings[source.name]).filename().string()];
    for (const Gcov3Line &line : source.lines) {
      texts.push_back(
          fmt::format("{}:{}", line.count ? std::to_string(line.count) : "#####", line.number));
      if (branches == Branches::none)
        continue;
      for (uint32_t i = line.first_branch; i < line.last_branch; ++i) {
        const Gcov3Branch &branch = source.branches[i];
        const std::string kind =
            fmt::format("{} {:2} ", branch.is_call ? "call  " : "branch", i - line.first_branch);
        if (branch.total == 0)
          texts.push_back(kind + "never executed");
        else
          texts.push_back(kind + (branch.is_call ? "returns " : "taken ") +
                          (branches == Branches::count
                               ? std::to_string(branch.count)
                               : fmt::format("{}%", gcov3_percent(branch.count, branch.total))));
      }
    }
  }
  return out;
}

// Returns the same from gcov's text.
std::map<std::string, Texts> printed_by_gcov(const std::string &text) {
  std::map<std::string, Texts> out;
  Texts *texts = nullptr;
  std::istringstream in(text);
  constexpr std::string_view source = "        -:    0:Source:";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(source))
      texts = &out[fs::path(line.substr(source.size())).filename().string()];
    else if (line.starts_with("branch ") || line.starts_with("call "))
      texts->push_back(line);
    else if (const std::string count = line.substr(0, 9); count != "        -")
      texts->push_back(fmt::format("{}:{}", count.substr(count.find_first_not_of(' ')),
                                   std::atoi(line.substr(10, 5).c_str())));
  return out;
}

std::string share(uint32_t some, uint32_t all, std::string_view what, std::string_view where) {
  return all ? fmt::format("{:.2f}% of {} {} in {}", 100.0 * some / all, all, what, where)
             : std::string();
}

// Returns what gcov printed for a function or a file.
Texts summary(const Gcov3Totals &t, const std::string &where, bool with_branches) {
  Texts out{share(t.lines_executed, t.lines, "lines executed", where)};
  if (!with_branches)
    return out;
  if (t.branches) {
    out.push_back(share(t.branches_executed, t.branches, "branches executed", where));
    out.push_back(share(t.branches_taken, t.branches, "branches taken at least once", where));
  } else {
    out.push_back("No branches in " + where);
  }
  out.push_back(t.calls ? share(t.calls_executed, t.calls, "calls executed", where)
                        : "No calls in " + where);
  return out;
}

Texts lines_of(const std::string &text) {
  Texts out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

// Returns what gcov printed to its standard output: the files in reverse order of the compiler's
// names, each with its functions.
Texts summaries(const Counted &in, bool with_branches, bool with_functions) {
  Texts out;
  const auto put = [&](const Gcov3Totals &totals, const std::string &where) {
    std::ranges::copy(summary(totals, where, with_branches), std::back_inserter(out));
  };
  for (size_t source = in.counts.sources.size(); source-- > 0;) {
    for (uint32_t i = 0; with_functions && i < in.counts.functions.size(); ++i)
      if (in.counts.functions[i].source == source)
        put(in.counts.functions[i].totals,
            fmt::format(
                "function {}",
                in.graph.strings[in.graph.functions[static_cast<GraphFunctionId>(i)].name]));
    const fs::path name = in.graph.strings[in.counts.sources[source].name];
    put(in.counts.sources[source].totals, "file " + name.string());
    out.push_back(fmt::format("Creating {}.gcov.", name.filename().string()));
  }
  return out;
}

TEST(Gcov3Corpus, EveryFileIsWrittenAsItIs) {
  size_t count = 0;
  for (const fs::path &path : files({".bb", ".bbg", ".da"})) {
    SCOPED_TRACE(path.string());
    Diagnostics diagnostics;
    const auto file = read_file(path.string(), diagnostics);
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->format->name, "gcov3");
    EXPECT_EQ(findings_of(diagnostics), Texts());
    const std::string bytes = bytes_of(path);
    const auto &counters = std::get<std::unique_ptr<CounterFile>>(file->content);
    ASSERT_TRUE(*counters->bytes() == bytes);
    // Only the contents identify the format, and the reader's class identifies the kind of file.
    const std::string ending = path.extension();
    for (const Format &format : formats())
      if (format.probe) {
        EXPECT_EQ(format.probe(std::string_view(bytes).substr(0, 4096)), format.name == "gcov3");
      }
    EXPECT_EQ(dynamic_cast<const Gcov3Lines *>(counters.get()) != nullptr, ending == ".bb");
    EXPECT_EQ(dynamic_cast<const Gcov3Graph *>(counters.get()) != nullptr, ending == ".bbg");
    EXPECT_EQ(dynamic_cast<const Gcov3Data *>(counters.get()) != nullptr, ending == ".da");
    ++count;
  }
  std::printf("%zu files\n", count);
  EXPECT_GT(count, 50u);
}

TEST(Gcov3Corpus, CountsAreWhatGcovPrinted) {
  size_t texts = 0, lines = 0, totals = 0;
  for (const char *folder : {"demo", "zlib"})
    for (const auto &entry : fs::directory_iterator(corpus() / folder)) {
      if (entry.path().extension() != ".da")
        continue;
      const std::string stem = entry.path().stem();
      const Counted got = counted(corpus() / folder / stem);
      for (const auto &[mode, branches] : {std::pair{"plain", Branches::none},
                                           {"b", Branches::percent},
                                           {"bcf", Branches::count}}) {
        SCOPED_TRACE(stem + "." + mode);
        const fs::path oracle = corpus() / folder / "oracle" / (stem + "." + mode);
        const auto expected = printed_by_gcov(bytes_of(fs::path(oracle) += ".gcov.gz"));
        EXPECT_EQ(printed(got, branches), expected);
        for (const auto &[name, text] : expected)
          lines += text.size();
        const Texts out = lines_of(bytes_of(fs::path(oracle) += ".stdout"));
        EXPECT_EQ(summaries(got, branches != Branches::none, branches == Branches::count), out);
        totals += out.size();
        ++texts;
      }
    }
  std::printf("%zu texts, %zu lines of counts, branches and calls, %zu summaries\n", texts, lines,
              totals);
  EXPECT_EQ(texts, files({".gz"}).size());
}

// gcov 3.2 prints blanks at different positions.
TEST(Gcov3Corpus, TheFormWithoutNames) {
  const fs::path folder = corpus() / "nameless";
  const auto got = printed(counted(folder / "demo"), Branches::percent);
  for (const char *name : {"demo.c", "demo.h"}) {
    Texts expected;
    std::istringstream in(bytes_of(folder / (std::string(name) + ".gcov")));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string kind, index, verb, sign, rest;
      if (line.starts_with("branch ") || line.starts_with("call ")) {
        words >> kind >> index >> verb >> sign >> rest;
        expected.push_back(
            fmt::format("{:6} {:>2} {} {}", kind, index, verb, verb == "never" ? sign : rest));
        continue;
      }
      ++number;
      if (line.starts_with("\t\t"))
        continue;
      words >> kind;
      expected.push_back(fmt::format("{}:{}", kind == "######" ? "#####" : kind, number));
    }
    EXPECT_EQ(got.at(name), expected);
  }
  Texts expected;
  for (std::string line : lines_of(bytes_of(folder / "o.stdout"))) {
    if (const size_t word = line.find("source "); word != line.npos)
      line.erase(word, 7);
    expected.push_back(line.substr(line.find_first_not_of(' ')));
  }
  EXPECT_EQ(summaries(counted(folder / "demo"), true, false), expected);
  counted(folder / "second");
}

TEST(Gcov3Corpus, Variants) {
  const fs::path folder = corpus() / "variants";
  const std::string bb = bytes_of(corpus() / "demo" / "demo.bb"),
                    bbg = bytes_of(corpus() / "demo" / "demo.bbg");
  const auto check = [&](const std::string *da, const std::string &text) {
    SCOPED_TRACE(text);
    const Counted got = counted(bb, bbg, da);
    EXPECT_EQ(printed(got, Branches::count), printed_by_gcov(bytes_of(folder / (text + ".gcov"))));
    EXPECT_EQ(summaries(got, true, false), lines_of(bytes_of(folder / (text + ".stdout"))));
  };
  const std::string merged = bytes_of(folder / "demo.run1+run2.merged-by-libgcc.da"),
                    twice = bytes_of(folder / "demo.appended-2-blocks.da");
  check(&merged, "demo.merged");
  check(&twice, "demo.appended-2-blocks");
  check(nullptr, "demo.noda");

  const std::string bad_checksum = bytes_of(folder / "badchecksum.da");
  const Counted got =
      counted(bb, bbg, &bad_checksum,
              {"x.da:0x34: warning: the counters of clampv are ignored: their checksum is "
               "123, but 276208096 in file: recompiled in between"});
  EXPECT_EQ(summaries(got, true, false), lines_of(bytes_of(folder / "badchecksum.stdout")));

  Diagnostics diagnostics;
  std::string bytes = bytes_of(folder / "demo.run1.da");
  const auto cut = Gcov3Data::read(bytes.substr(0, 200), "cut.da", diagnostics);
  ASSERT_FALSE(cut);
  std::printf("%s\n", cut.error().text().c_str());
  bytes[0] = 'x';
  const auto other = Gcov3Data::read(bytes, "other.da", diagnostics);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().where, Position::at_offset(0));
}

TEST(Gcov3Corpus, MergedAsByTheRuntime) {
  const fs::path folder = corpus() / "variants";
  const auto first = read<Gcov3Data>(bytes_of(folder / "demo.run1.da"));
  const std::string merged_bytes = bytes_of(folder / "demo.run1+run2.merged-by-libgcc.da");
  const auto merged = read<Gcov3Data>(merged_bytes);

  // Make the second run's file as the difference, word by word. All are non-negative 64-bit
  // numbers.
  std::string second_bytes = merged_bytes;
  const auto put = [&](uint64_t offset, int64_t value) {
    for (int i = 0; i < 8; ++i)
      second_bytes[offset + static_cast<size_t>(i)] = static_cast<char>(value >> (8 * i));
  };
  int64_t sum = 0, maximum = 0;
  for (size_t f = 0; f < merged.functions().size(); ++f) {
    const auto &function = merged.functions()[f];
    uint64_t at = function.offset + 20 + ((merged.strings()[function.name].size() + 4) & ~3ul);
    for (size_t i = 0; i < merged.counters_of(function).size(); ++i, at += 8) {
      const int64_t count =
          merged.counters_of(function)[i] - first.counters_of(first.functions()[f])[i];
      put(at, count);
      sum += count;
      maximum = std::max(maximum, count);
    }
  }
  for (const uint64_t at : {uint64_t{16}, uint64_t{36}}) {
    put(at, sum);
    put(at + 8, maximum);
  }
  for (const bool reversed : {false, true}) {
    auto one = read<Gcov3Data>(bytes_of(folder / "demo.run1.da"));
    auto two = read<Gcov3Data>(second_bytes);
    ASSERT_TRUE(reversed ? two.add(one) : one.add(two));
    EXPECT_TRUE(*(reversed ? two : one).bytes() == merged_bytes);
  }
  // The file of two blocks holds the same run twice.
  auto twice = read<Gcov3Data>(bytes_of(folder / "demo.appended-2-blocks.da"));
  EXPECT_EQ(twice.blocks().size(), 2u);
  auto none = read<Gcov3Data>(bytes_of(folder / "demo.run1.da"));
  ASSERT_TRUE(none.zero());
  ASSERT_TRUE(twice.add(none));
  auto doubled = read<Gcov3Data>(bytes_of(folder / "demo.run1.da"));
  ASSERT_TRUE(doubled.add(first));
  EXPECT_TRUE(*twice.bytes() == *doubled.bytes());
  EXPECT_FALSE(doubled.add(read<Gcov3Data>(bytes_of(corpus() / "demo" / "second.da"))));
}

TEST(Gcov3Corpus, CutFiles) {
  size_t cuts = 0;
  for (const fs::path &path : files({".bb", ".bbg", ".da"})) {
    SCOPED_TRACE(path.string());
    const std::string bytes = bytes_of(path);
    const std::string ending = path.extension();
    // A step that is odd meets each offset in a word. Short files are cut at each byte.
    const size_t step = bytes.size() / 400 * 2 + 1;
    for (size_t size = 0; size < bytes.size(); size += step, ++cuts) {
      const std::string_view cut = std::string_view(bytes).substr(0, size);
      Diagnostics diagnostics;
      if (ending == ".da") {
        const auto file = Gcov3Data::read(cut, "cut", diagnostics);
        // One file has two blocks, and is valid if it is truncated between them.
        ASSERT_EQ(file.has_value(),
                  path.filename() == "demo.appended-2-blocks.da" && size == bytes.size() / 2);
      } else if (ending == ".bb") {
        if (const auto file = Gcov3Lines::read(cut, "cut", diagnostics))
          ASSERT_TRUE(*file->bytes() == cut);
        else
          ASSERT_EQ(file.error().code, ErrorCode::invalid_input);
      } else if (const auto file = Gcov3Graph::read(cut, "cut", diagnostics)) {
        ASSERT_TRUE(*file->bytes() == cut);
      }
    }
  }
  std::printf("%zu cuts\n", cuts);
}

} // namespace
} // namespace tally

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!std::filesystem::is_directory(tally::corpus())) {
    std::printf("SKIP: there is no corpus in %s (TALLY_CORPUS can name another)\n",
                tally::corpus().c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
