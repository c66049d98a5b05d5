#include <algorithm>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/gcov3.h"
#include "formats/gcov3/gcov3.h"
#include "gcov3_bytes.h"
#include "temporary.h"

namespace tally::formats_gcov3_test {
namespace {

using Texts = std::vector<std::string>;
using Bytes = Gcov3Bytes;

Texts texts(const Diagnostics &diagnostics) {
  Texts out;
  for (const Finding &finding : diagnostics.findings())
    out.push_back(finding.text());
  return out;
}

template <class File> File read(std::string_view bytes, const Texts &findings = {}) {
  Diagnostics diagnostics;
  auto file = File::read(bytes, "f", diagnostics);
  if (!file) {
    ADD_FAILURE() << file.error().text();
    return std::move(*File::read(Bytes().long_word(0), "f", diagnostics));
  }
  EXPECT_EQ(texts(diagnostics), findings);
  EXPECT_TRUE(*file->bytes() == bytes);
  return std::move(*file);
}

template <class File> std::string error(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto file = File::read(bytes, "f", diagnostics);
  EXPECT_FALSE(file);
  return file ? std::string() : file.error().text();
}

// Two blocks besides entry and exit. The first ends with a call that may not return; the arc for
// its return has the only counter.
const std::vector<Bytes::Arcs> call_graph{{{1, 5}}, {{3, 3}, {2, 4}}, {{3, 5}}, {{0, 1}}};
// A loop: the arcs to its body and to its end have counters.
const std::vector<Bytes::Arcs> loop_graph{{{1, 5}}, {{2, 4}, {3, 0}}, {{1, 1}}, {{0, 1}}};

Bytes two_graphs() {
  return Bytes().name("f").word(7).graph(call_graph).name("main").word(-9).graph(loop_graph);
}
Bytes two_lines() {
  return Bytes()
      .marked(-2, "f")
      .word(0)
      .marked(-1, "a.h")
      .words({4, 5, 0, 6, 0})
      .marked(-2, "main")
      .words({0, 8, 0})
      .marked(-1, "a.c")
      .words({9, 8, 0});
}
Bytes two_counters(int64_t f = 3, int64_t body = 5, int64_t end = 2) {
  return Bytes().block(2, {f, body, end}).function("f", 7, {f}).function("main", -9, {body, end});
}

// Writes files with everything that a writer may do: zeros with a sign, padding that is not zero,
// flags and headers of later versions, and several blocks.
class RandomFiles {
public:
  explicit RandomFiles(uint32_t seed) : random_(seed) {}

  std::string lines() {
    Bytes out;
    for (uint32_t f = below(4); f-- > 0;) {
      out.marked(-2, text(1), padding());
      for (uint32_t i = below(20); i-- > 0;)
        if (below(8))
          number(out, below(2) ? 1 : 0x80000000u);
        else
          out.marked(-1, text(1), padding());
    }
    return out.str();
  }
  std::string graph(bool named) {
    Bytes out;
    for (uint32_t f = 1 + below(3); f-- > 0;) {
      if (named)
        any_word(out.name(text(0), padding()));
      std::vector<uint32_t> counts(2 + below(5));
      uint32_t sum = 0;
      for (uint32_t &count : counts)
        sum += count = below(4);
      out.word(static_cast<int64_t>(counts.size())).word(sum);
      for (const uint32_t count : counts) {
        out.raw(count == 0 && below(2) ? 0x80000000u : count);
        for (uint32_t i = 0; i < count; ++i) {
          number(out, static_cast<uint32_t>(counts.size()));
          any_word(out);
        }
      }
      out.word(-1);
    }
    return out.str();
  }
  std::string data(bool named) {
    Bytes out;
    if (!named) {
      const uint32_t count = below(6);
      out.long_word(count);
      counters(out, count);
      return out.str();
    }
    for (uint32_t b = 1 + below(3); b-- > 0;) {
      const uint32_t functions = below(4), more = below(3) * 3;
      out.words({-123, functions, 40 + more});
      for (int i = 0; i < 10; ++i)
        any_word(out);
      out.bytes(std::string(more, 'm'));
      for (uint32_t f = 0; f < functions; ++f) {
        any_word(out.name(text(0), padding()));
        const uint32_t count = below(4);
        out.word(count);
        counters(out, count);
      }
    }
    return out.str();
  }

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

private:
  std::string text(uint32_t least) {
    std::string out(below(12), 'x');
    for (char &c : out)
      c = static_cast<char>(least + below(256 - least));
    return out;
  }
  char padding() { return static_cast<char>(below(3) == 0); }
  void number(Bytes &out, uint32_t limit) {
    const uint32_t value = below(limit);
    out.raw(value == 0 && below(2) ? 0x80000000u : value);
  }
  void any_word(Bytes &out) { out.raw(below(4) ? static_cast<uint32_t>(random_()) : 0x80000000u); }
  void counters(Bytes &out, uint32_t count) {
    for (; count > 0; --count)
      if (below(4))
        any_word(out.raw(static_cast<uint32_t>(random_())));
      else
        out.raw(0).raw(0x80000000u);
  }

  std::mt19937 random_;
};

template <class File> void expect_whole(const std::string &bytes) {
  Diagnostics diagnostics;
  const auto file = File::read(bytes, "f", diagnostics);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE(*file->bytes() == bytes);
}

TEST(Gcov3, WritesRandomFilesAsTheyWereRead) {
  RandomFiles random(31);
  for (int round = 0; round < 3000; ++round) {
    expect_whole<Gcov3Lines>(random.lines());
    const bool named = random.below(4) != 0;
    expect_whole<Gcov3Graph>(random.graph(named));
    expect_whole<Gcov3Data>(random.data(named));
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Gcov3, ReadsNumbers) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const auto data = read<Gcov3Data>(Bytes()
                                        .long_word(5)
                                        .long_word(-1)
                                        .long_word(most)
                                        .long_word(-most)
                                        .raw(0)
                                        .raw(0x80000000)
                                        .long_word(int64_t{1} << 32));
  const std::vector<int64_t> expected{-1, most, -most, 0, int64_t{1} << 32};
  EXPECT_TRUE(std::ranges::equal(data.counters(), expected));
  EXPECT_FALSE(data.has_names());

  const auto named = read<Gcov3Data>(Bytes().block(1, {1}).function("f", -0x7fffffff, {1}));
  EXPECT_EQ(named.functions()[0].checksum, -0x7fffffff);
}

TEST(Gcov3, ReadsNamesOfEveryLength) {
  for (size_t size = 0; size < 10; ++size) {
    const std::string name(size, 'n');
    const auto lines = read<Gcov3Lines>(Bytes().marked(-2, name).marked(-1, name).word(3), {});
    EXPECT_EQ(lines.strings()[lines.functions()[0].name], name);
    EXPECT_EQ(lines.strings()[Gcov3Lines::file_of(lines.items()[0])], name);
    const auto graph = read<Gcov3Graph>(Bytes().name(name).word(0).graph(call_graph));
    EXPECT_EQ(graph.strings()[graph.functions()[0].name], name);
    const auto data = read<Gcov3Data>(Bytes().block(1, {}).function(name, 0, {}));
    EXPECT_EQ(data.strings()[data.functions()[0].name], name);
  }
}

TEST(Gcov3, ReportsOddities) {
  read<Gcov3Lines>(Bytes().marked(-2, "f", 'x').word(0),
                   {"f:0x5: warning: the padding after a name is not zero"});
  auto graph = call_graph;
  graph[1][1].second = 0x18;
  read<Gcov3Graph>(Bytes().name("f").word(7).graph(graph),
                   {"f:0x38: warning: an arc with unknown flags: 0x18"});
  graph[1][1].second = 2;
  read<Gcov3Graph>(Bytes().name("f").word(7).graph(graph),
                   {"f:0x38: error: a fake arc that is not on the spanning tree"});
  for (const Bytes::Arcs &exit :
       {Bytes::Arcs{}, Bytes::Arcs{{1, 1}}, Bytes::Arcs{{0, 0}}, Bytes::Arcs{{0, 1}, {0, 1}}}) {
    graph = call_graph;
    graph[3] = exit;
    read<Gcov3Graph>(
        Bytes().name("f").word(7).graph(graph),
        {"f:0x48: error: the exit needs exactly one arc, to the entry and on the tree"});
  }
  read<Gcov3Data>(
      Bytes().block(1, {1, 2}).function("f", 7, {1, 3}),
      {"f:0x20: error: the header states 2 counters, sum 3, maximum 2; they are 2, 4, 3"});
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  read<Gcov3Data>(
      Bytes().block(1, {1, 2}).function("f", 7, {most, most}),
      {"f:0x20: error: the header states 2 counters, sum 3, maximum 2; their sum exceeds 63 bits"});
  read<Gcov3Lines>(Bytes().marked(-1, "a.c").words({3, 4}).marked(-2, "f").word(0),
                   {"f:0xc: error: lines before the name of the first function (2 times)"});
}

TEST(Gcov3, ReportsWhatCannotBeRead) {
  EXPECT_EQ(error<Gcov3Lines>(Bytes().marked(-2, "f").words({0, -3})),
            "f:0x10: -3 is not a line, an end of a block or a mark");
  EXPECT_EQ(error<Gcov3Lines>(Bytes().word(0).word(-2).padded("f").word(-1)),
            "f:0x4: the name that begins here has no -2 after it");
  EXPECT_EQ(error<Gcov3Lines>(Bytes().word(-2).bytes("abcd").word(-2)),
            "f:0x8: the name before this mark has no NUL at its end");
  EXPECT_EQ(error<Gcov3Lines>(Bytes().word(-2).padded("ab").word(0).word(-2)),
            "f:0x4: a name of 2 bytes takes 4, not 8");
  EXPECT_EQ(error<Gcov3Lines>(Bytes().marked(-2, "f").bytes("xyz")),
            "f:0xc: the file ends in a word");

  const auto named = [] { return Bytes().name("f").word(7); };
  EXPECT_EQ(error<Gcov3Graph>(Bytes().word(-1).word(9).padded("f").word(-1)),
            "f:0x4: the number of bytes of a name is 9: the 8 bytes that follow cannot hold them");
  EXPECT_EQ(error<Gcov3Graph>(Bytes().word(-1).word(-1).padded("f").word(-1)),
            "f:0x4: the number of bytes of a name is -1");
  EXPECT_EQ(error<Gcov3Graph>(Bytes().word(-1).word(1).padded("f").word(5)),
            "f:0xc: expected the -1 after a name of 1 bytes, found 5");
  EXPECT_EQ(error<Gcov3Graph>(named()), "f:0x14: the file ends in the number of blocks");
  EXPECT_EQ(error<Gcov3Graph>(named().words({1, 0, 0})),
            "f:0x14: 1 blocks: a function has an entry and an exit");
  EXPECT_EQ(error<Gcov3Graph>(named().words({1000, 0, 0})),
            "f:0x14: the number of blocks is 1000: the 8 bytes that follow cannot hold them");
  EXPECT_EQ(error<Gcov3Graph>(named().words({2, 1, 1, 2, 5, 0})),
            "f:0x20: an arc from block 0 to block 2: there are 2");
  EXPECT_EQ(error<Gcov3Graph>(named().words({2, 1, 1, -1, 5, 0})),
            "f:0x20: an arc from block 0 to block -1: there are 2");
  EXPECT_EQ(error<Gcov3Graph>(named().words({2, 1, 1, 1, 5, 1, 0, 1, -1})),
            "f:0x18: the number of arcs is 1, but the blocks have 2");
  EXPECT_EQ(error<Gcov3Graph>(named().words({2, 2, 1, 1, 5, 1, 0, 1, -2})),
            "f:0x34: expected the -1 after a function, found -2");
  EXPECT_EQ(error<Gcov3Graph>(Bytes().graph(call_graph).name("f")),
            "f:0x44: the number of blocks is -1");
  EXPECT_EQ(error<Gcov3Graph>("gbbg0303"),
            "f:0x0: is a flow graph of GCC's branch 3.3-hammer (gbbg), which is not supported");

  EXPECT_EQ(error<Gcov3Data>(""), "f: is empty");
  EXPECT_EQ(error<Gcov3Data>("some text"), "f:0x0: begins neither with -123 nor with the number of "
                                           "counters that its 9 bytes hold");
  EXPECT_EQ(error<Gcov3Data>(Bytes().block(2, {1})),
            "f:0x4: the number of functions is 2: the 44 bytes that follow cannot hold them");
  EXPECT_EQ(error<Gcov3Data>(Bytes().words({-123, 0, 36}).bytes(std::string(36, '\0'))),
            "f:0x8: the header has 36 bytes, and needs 40");
  EXPECT_EQ(error<Gcov3Data>(Bytes().block(0, {}).word(-124)),
            "f:0x34: expected the -123 of a block, found -124");
  EXPECT_EQ(error<Gcov3Data>(Bytes().block(0, {}).bytes("xyz")),
            "f:0x34: the file ends in the -123 of a block");
}

TEST(Gcov3, ReportsEveryDetectableTruncation) {
  const std::string lines = two_lines().str(), graph = two_graphs().str(),
                    data = two_counters().str(),
                    nameless = Bytes().long_word(2).long_word(1).long_word(2).str();
  Diagnostics diagnostics;
  for (size_t size = 0; size < data.size(); ++size)
    EXPECT_FALSE(Gcov3Data::read(data.substr(0, size), "f", diagnostics)) << size;
  for (size_t size = 0; size < nameless.size(); ++size)
    EXPECT_FALSE(Gcov3Data::read(nameless.substr(0, size), "f", diagnostics)) << size;
  std::vector<size_t> readable;
  for (size_t size = 0; size < graph.size(); ++size)
    if (Gcov3Graph::read(graph.substr(0, size), "f", diagnostics))
      readable.push_back(size);
  EXPECT_EQ(readable,
            (std::vector<size_t>{0, Bytes().name("f").word(7).graph(call_graph).str().size()}));
  for (size_t size = 0; size < lines.size(); ++size) {
    const auto file = Gcov3Lines::read(lines.substr(0, size), "f", diagnostics);
    EXPECT_TRUE(!file || *file->bytes() == lines.substr(0, size));
  }
}

TEST(Gcov3, RecognizesKindsByContent) {
  using gcov3::Kind;
  const auto kinds = [](std::string_view bytes) {
    return std::pair(gcov3::kind_of(bytes, true), gcov3::probe(bytes.substr(0, 4096)));
  };
  EXPECT_EQ(kinds(two_lines()), std::pair(Kind::lines, true));
  EXPECT_EQ(kinds(two_graphs()), std::pair(Kind::graph, true));
  EXPECT_EQ(kinds(two_counters()), std::pair(Kind::data, true));
  EXPECT_EQ(kinds(Bytes().graph(loop_graph)), std::pair(Kind::graph, true));
  EXPECT_EQ(kinds(Bytes().long_word(1).long_word(1)), std::pair(Kind::data, true));
  EXPECT_EQ(kinds(Bytes().long_word(0)), std::pair(Kind::data, true));
  EXPECT_EQ(kinds("gbbg"), std::pair(Kind::other_graph, true));
  // The file's name comes first; its text is a number, too.
  EXPECT_EQ(kinds(Bytes().marked(-1, "a.c").marked(-2, "f").word(0)), std::pair(Kind::lines, true));
  EXPECT_EQ(kinds(Bytes().marked(-1, "\4").words({0, 5})), std::pair(Kind::lines, true));
  for (const std::string_view other :
       {"", "gbb", "main;f 1\n", "version: 1\nevents: Ir\n", "gmon\1\0\0\0"})
    EXPECT_EQ(kinds(other), std::pair(Kind::none, false)) << other;
  EXPECT_EQ(kinds(Bytes().long_word(3).long_word(1)), std::pair(Kind::none, false));

  // Files that are longer than the part that the probe sees.
  Bytes lines, graph, nameless, counters;
  lines.marked(-2, "f");
  for (int i = 0; i < 2000; ++i)
    lines.word(i);
  std::vector<Bytes::Arcs> chain;
  for (int i = 1; i < 2000; ++i)
    chain.push_back({{i, 5}});
  chain.push_back({{0, 1}});
  counters.long_word(2000);
  for (int i = 0; i < 2000; ++i)
    counters.long_word(i);
  EXPECT_EQ(kinds(lines), std::pair(Kind::lines, true));
  EXPECT_EQ(kinds(graph.name("f").word(1).graph(chain)), std::pair(Kind::graph, true));
  EXPECT_EQ(kinds(nameless.graph(chain)), std::pair(Kind::graph, true));
  EXPECT_EQ(kinds(counters), std::pair(Kind::data, true));
}

TEST(Gcov3, ReadsFilesByTheirContent) {
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto kind = [&](const std::string &name, std::string_view bytes) -> std::string {
    const auto file = read_file(folder.put(name, std::string(bytes)), diagnostics);
    if (!file)
      return file.error().message;
    const auto *counters = std::get<std::unique_ptr<CounterFile>>(file->content).get();
    return dynamic_cast<const Gcov3Lines *>(counters)   ? "lines"
           : dynamic_cast<const Gcov3Graph *>(counters) ? "graph"
                                                        : "data";
  };
  EXPECT_EQ(kind("unknown1", two_lines()), "lines");
  EXPECT_EQ(kind("unknown2", two_graphs()), "graph");
  EXPECT_EQ(kind("unknown3", two_counters()), "data");
  // Files of an object without functions.
  EXPECT_EQ(kind("a.bb", ""), "lines");
  EXPECT_EQ(kind("a.bbg", ""), "graph");
  EXPECT_EQ(kind("a.da", ""), "is empty");
  EXPECT_EQ(kind("a", ""), "is empty");
  // The name states the kind of a damaged file.
  EXPECT_EQ(kind("b.bbg", "\1\0"), "the file ends in the number of blocks");
  EXPECT_EQ(kind("b.bb", "\1\0"), "the file ends in a word");
  EXPECT_EQ(kind("b.da", "x"),
            "begins neither with -123 nor with the number of counters that its 1 bytes hold");
  EXPECT_EQ(kind("hammer.bbg", "gbbg1234"),
            "is a flow graph of GCC's branch 3.3-hammer (gbbg), which is not supported");
}

TEST(Gcov3, AddsCounters) {
  auto sum = read<Gcov3Data>(two_counters(3, 5, 2));
  ASSERT_TRUE(sum.add(read<Gcov3Data>(two_counters(1, 9, 0))));
  // The program's maximum is not lowered, because another object's may be larger.
  EXPECT_TRUE(*sum.bytes() == two_counters(4, 14, 2).str());
  ASSERT_TRUE(sum.add(sum));
  EXPECT_TRUE(*sum.bytes() == two_counters(8, 28, 4).str());

  // A program of several objects, with a longer header, whose additional bytes are the first
  // file's.
  const auto object = [](int64_t arcs, int64_t all, int64_t maximum, int64_t count, char more) {
    Bytes out;
    out.words({-123, 1, 44, arcs}).long_word(all).long_word(maximum);
    out.word(1).long_word(count).long_word(count).bytes(std::string(4, more));
    return out.function("f", 7, {count});
  };
  auto first = read<Gcov3Data>(object(10, 100, 60, 7, 'a'));
  ASSERT_TRUE(first.add(read<Gcov3Data>(object(11, 50, 40, 6, 'b'))));
  EXPECT_TRUE(*first.bytes() == object(10, 150, 60, 13, 'a').str());
  ASSERT_TRUE(first.add(read<Gcov3Data>(object(11, 100, 55, 55, 'b'))));
  EXPECT_TRUE(*first.bytes() == object(10, 250, 68, 68, 'a').str());
  EXPECT_EQ(first.functions()[0].offset, 56u);

  // Several blocks become one.
  auto blocks = read<Gcov3Data>(two_counters(1, 2, 3).str() + two_counters(4, 5, 6).str());
  EXPECT_EQ(blocks.blocks().size(), 2u);
  ASSERT_TRUE(
      blocks.add(read<Gcov3Data>(two_counters(0, 0, 0).str() + two_counters(1, 1, 1).str())));
  EXPECT_EQ(blocks.blocks().size(), 1u);
  EXPECT_EQ(blocks.blocks()[0].object.sum, 24);
  EXPECT_EQ(blocks.blocks()[0].object.maximum, 10);
  EXPECT_TRUE(std::ranges::equal(blocks.counters(), std::vector<int64_t>{6, 8, 10}));

  // The blocks of a single file become one, too.
  auto alone = read<Gcov3Data>(two_counters(1, 2, 3).str() + two_counters(4, 5, 6).str());
  ASSERT_TRUE(alone.unite());
  EXPECT_EQ(alone.blocks().size(), 1u);
  EXPECT_TRUE(std::ranges::equal(alone.counters(), std::vector<int64_t>{5, 7, 9}));
  auto unlike = read<Gcov3Data>(two_counters(1, 2, 3).str() + object(1, 2, 2, 2, 'a').str());
  EXPECT_FALSE(unlike.unite());

  auto nameless = read<Gcov3Data>(Bytes().long_word(2).long_word(-4).raw(0).raw(0x80000000));
  ASSERT_TRUE(nameless.add(nameless));
  EXPECT_TRUE(*nameless.bytes() == Bytes().long_word(2).long_word(-8).long_word(0).str());
}

TEST(Gcov3, RefusesCountersOfAnotherObject) {
  auto data = read<Gcov3Data>(two_counters());
  const auto refused = [&](const CounterFile &other) {
    const auto added = data.add(other);
    EXPECT_FALSE(added);
    EXPECT_TRUE(*data.bytes() == two_counters().str());
    return added ? std::string() : added.error().text();
  };
  EXPECT_EQ(refused(read<Gcov3Lines>(two_lines())),
            "f: only counters of the same kind (.da) can be added");
  EXPECT_EQ(refused(read<Gcov3Data>(Bytes().long_word(0))),
            "f:0x0: has no names of functions, unlike f");
  EXPECT_EQ(refused(read<Gcov3Data>(Bytes().block(1, {1}).function("f", 7, {1}))),
            "f:0x34: a block of 1 functions, and f begins with one of 2: not the same object");
  EXPECT_EQ(refused(read<Gcov3Data>(
                Bytes().block(2, {1, 1, 1}).function("f", 7, {1}).function("g", -9, {1, 1}))),
            "f:0x54: function g where f has main: not the same object");
  EXPECT_EQ(refused(read<Gcov3Data>(
                Bytes().block(2, {1, 1, 1}).function("f", 8, {1}).function("main", -9, {1, 1}))),
            "f:0x34: function f differs from that in f (checksum 8 and 7, 1 and 1 counters): "
            "recompiled in between");
  EXPECT_EQ(refused(read<Gcov3Data>(
                Bytes().block(2, {1, 1, 1}).function("f", 7, {1, 1}).function("main", -9, {1}))),
            "f:0x34: function f differs from that in f (checksum 7 and 7, 2 and 1 counters): "
            "recompiled in between");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(refused(read<Gcov3Data>(two_counters(most - 2, 1, 1))),
            "f: the header's sum of the program exceeds 63 bits");
  auto large = read<Gcov3Data>(Bytes().long_word(1).long_word(-most));
  EXPECT_EQ(large.add(read<Gcov3Data>(Bytes().long_word(1).long_word(-1))).error().code,
            ErrorCode::overflow);
  // Two objects in one file.
  auto two =
      read<Gcov3Data>(two_counters().str() + Bytes().block(1, {1}).function("f", 7, {1}).str());
  EXPECT_EQ(two.add(data).error().code, ErrorCode::invalid_input);

  auto lines = read<Gcov3Lines>(two_lines());
  auto graph = read<Gcov3Graph>(two_graphs());
  EXPECT_EQ(lines.zero().error().code, ErrorCode::invalid_input);
  EXPECT_EQ(graph.zero().error().code, ErrorCode::invalid_input);
  EXPECT_EQ(lines.add(lines).error().code, ErrorCode::invalid_input);
  EXPECT_EQ(graph.add(graph).error().text(),
            "f: holds no counters: they are in the .da file, which the program writes");
}

TEST(Gcov3, ZeroKeepsTheShape) {
  auto data = read<Gcov3Data>(two_counters(1, 2, 3).str() + two_counters(4, 5, 6).str());
  ASSERT_TRUE(data.zero());
  EXPECT_TRUE(*data.bytes() == two_counters(0, 0, 0).str() + two_counters(0, 0, 0).str());
  auto nameless = read<Gcov3Data>(Bytes().long_word(2).long_word(-4).raw(0).raw(0x80000000));
  ASSERT_TRUE(nameless.zero());
  EXPECT_TRUE(*nameless.bytes() == Bytes().long_word(2).long_word(0).long_word(0).str());
}

} // namespace
} // namespace tally::formats_gcov3_test
