// Tests how .bb, .bbg and .da files are matched with each other.
#include <limits>

#include <gtest/gtest.h>

#include "formats/gcov3.h"
#include "gcov3_bytes.h"

namespace tally::formats_gcov3_match_test {
namespace {

using Texts = std::vector<std::string>;
using Bytes = Gcov3Bytes;

template <class File> File read(std::string_view bytes, std::string name) {
  Diagnostics diagnostics;
  auto file = File::read(bytes, std::move(name), diagnostics);
  EXPECT_TRUE(file) << file.error().text();
  return std::move(*file);
}

Texts texts(const Diagnostics &diagnostics) {
  Texts out;
  for (const Finding &finding : diagnostics.findings())
    out.push_back(finding.text());
  return out;
}

// Two blocks besides entry and exit, and one counter.
const std::vector<Bytes::Arcs> call_graph{{{1, 5}}, {{3, 3}, {2, 0x14}}, {{3, 5}}, {{0, 1}}};

Gcov3Graph graph_of(std::initializer_list<const char *> names) {
  Bytes bytes;
  for (const char *name : names)
    bytes.name(name).word(-7).graph(call_graph);
  return read<Gcov3Graph>(bytes, "x.bbg");
}

// Returns one text for each function: its name, then "block file:line …".
Texts functions_of(const CoverageGraph &graph) {
  Texts out;
  for (const GraphFunction &function : graph.functions) {
    std::string text(graph.strings[function.name]);
    for (const GraphLocation &location : graph.locations_of(function))
      for (const uint32_t line : graph.lines_of(location))
        text += " " + std::to_string(location.block) + " " +
                std::string(graph.strings[location.file]) + ":" + std::to_string(line);
    out.push_back(text);
  }
  return out;
}

struct Matched {
  Texts functions, findings;
};
Matched matched(const Gcov3Graph &graph, std::string_view lines) {
  Diagnostics diagnostics;
  const auto of_lines = read<Gcov3Lines>(lines, "x.bb");
  const auto out = gcov3_graph(graph, &of_lines, diagnostics);
  EXPECT_TRUE(out);
  return {functions_of(*out), texts(diagnostics)};
}

TEST(Gcov3Match, KeepsTheGraph) {
  Diagnostics diagnostics;
  const auto out = gcov3_graph(graph_of({"f", "g"}), nullptr, diagnostics);
  ASSERT_TRUE(out);
  EXPECT_EQ(functions_of(*out), (Texts{"f", "g"}));
  const GraphFunction &g = out->functions[GraphFunctionId{1}];
  EXPECT_EQ(g.block_count, 4u);
  EXPECT_EQ(g.exit_block, 3u);
  EXPECT_EQ(g.cfg_checksum, static_cast<uint32_t>(-7));
  ASSERT_EQ(out->arcs_of(g).size(), 5u);
  EXPECT_EQ(out->arcs_of(g)[1].flags, arc_on_tree | arc_fake);
  EXPECT_EQ(out->arcs_of(g)[2].flags, arc_fall_through); // the flag 16 is unknown
  EXPECT_EQ(out->arcs_of(g)[2].source, 1u);
  EXPECT_EQ(out->arcs_of(g)[2].destination, 2u);
}

TEST(Gcov3Match, KeepsTheFileAcrossFunctions) {
  const auto got = matched(graph_of({"f", "g"}), Bytes()
                                                     .marked(-2, "f")
                                                     .word(0)
                                                     .marked(-1, "a.h")
                                                     .words({4, 4, 0, 5})
                                                     .marked(-1, "a.c")
                                                     .words({6, 0})
                                                     .marked(-2, "g")
                                                     .words({0, 0, 7, 0}));
  EXPECT_EQ(got.findings, Texts());
  EXPECT_EQ(got.functions, (Texts{"f 1 a.h:4 1 a.h:4 2 a.h:5 2 a.c:6", "g 2 a.c:7"}));
}

TEST(Gcov3Match, ReportsDisagreements) {
  const auto bytes = [](const char *name, int64_t line) {
    return Bytes().marked(-2, name).word(0).marked(-1, "a.c").words({line, 0, 0}).str();
  };
  // Functions in another order are matched by name.
  Matched got = matched(graph_of({"f", "g"}), bytes("g", 2) + bytes("f", 1));
  EXPECT_EQ(got.functions, (Texts{"f 1 a.c:1", "g 1 a.c:2"}));
  EXPECT_EQ(got.findings, Texts{"x.bb: error: the functions are in another order than in x.bbg"});
  // One function too few, and one too many: x.bb truncated between two functions looks complete.
  got = matched(graph_of({"f", "g"}), bytes("f", 1));
  EXPECT_EQ(got.functions, (Texts{"f 1 a.c:1", "g"}));
  EXPECT_EQ(got.findings, Texts{"x.bbg:0x58: error: function g has no lines in x.bb"});
  got = matched(graph_of({"g"}), bytes("f", 1) + bytes("g", 2));
  EXPECT_EQ(got.functions, Texts{"g 1 a.c:2"});
  EXPECT_EQ(got.findings, Texts{"x.bb:0x0: error: function f is not in x.bbg"});
  // Another number of blocks, and lines of blocks that cannot have any.
  got = matched(graph_of({"f"}),
                Bytes().marked(-2, "f").marked(-1, "a.c").words({9, 0, 1, 0, 2, 0, 8, 0, 7, 0}));
  EXPECT_EQ(got.functions, Texts{"f 1 a.c:1 2 a.c:2"});
  EXPECT_EQ(got.findings,
            (Texts{"x.bb:0x0: error: a line of the entry, of the exit, or of a block after it (3 "
                   "times)",
                   "x.bb:0x0: error: function f has 6 blocks, but 4 in x.bbg"}));
  got = matched(graph_of({"f"}), Bytes().marked(-2, "f").words({0, 1, 0, 0}));
  EXPECT_EQ(got.functions, Texts{"f"});
  EXPECT_EQ(got.findings, Texts{"x.bb:0x0: error: a line without the name of its file"});
}

TEST(Gcov3Match, MatchesTheFormWithoutNames) {
  const auto graph = read<Gcov3Graph>(Bytes().graph(call_graph).graph(call_graph), "x.bbg");
  const auto bytes = [](const char *name, int64_t line) {
    return Bytes().marked(-2, name).word(0).marked(-1, "a.c").words({line, 0, 0}).str();
  };
  Matched got = matched(graph, bytes("f", 1) + bytes("g", 2));
  EXPECT_EQ(got.functions, (Texts{"f 1 a.c:1", "g 1 a.c:2"}));
  EXPECT_EQ(got.findings, Texts());
  got = matched(graph, bytes("f", 1));
  EXPECT_EQ(got.functions, (Texts{"f 1 a.c:1", ""}));
  EXPECT_EQ(got.findings, Texts{"x.bbg:0x44: error: 2 functions, but 1 in x.bb"});

  const auto counters = [&](std::string_view data) {
    Diagnostics diagnostics;
    const auto of_data = read<Gcov3Data>(data, "x.da");
    const auto out = gcov3_counters(graph, &of_data, diagnostics);
    return std::pair(out ? *out : std::vector<std::vector<int64_t>>(),
                     out ? texts(diagnostics) : Texts{out.error().text()});
  };
  using Counters = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(counters(Bytes().long_word(2).long_word(4).long_word(5)),
            std::pair(Counters{{4}, {5}}, Texts()));
  EXPECT_EQ(counters(Bytes().long_word(1).long_word(4)),
            std::pair(Counters{{}, {}},
                      Texts{"x.da:0x0: warning: 1 counters are ignored: x.bbg needs 2"}));
  EXPECT_EQ(
      counters(Bytes().block(0, {})),
      std::pair(Counters{}, Texts{"x.da:0x0: is data of GCC 3.3, but x.bbg is of GCC up to 3.2"}));
}

TEST(Gcov3Match, MatchesCountersByName) {
  const auto graph = graph_of({"f", "g"});
  const auto counters = [&](std::string_view data) {
    Diagnostics diagnostics;
    const auto of_data = read<Gcov3Data>(data, "x.da");
    const auto out = gcov3_counters(graph, &of_data, diagnostics);
    return std::pair(out ? *out : std::vector<std::vector<int64_t>>(),
                     out ? texts(diagnostics) : Texts{out.error().text()});
  };
  using Counters = std::vector<std::vector<int64_t>>;
  Diagnostics diagnostics;
  EXPECT_EQ(*gcov3_counters(graph, nullptr, diagnostics), (Counters{{}, {}}));
  const Bytes one = Bytes().block(2, {3, 4}).function("g", -7, {3}).function("f", -7, {4});
  EXPECT_EQ(counters(one), std::pair(Counters{{4}, {3}}, Texts()));
  EXPECT_EQ(counters(one.str() + one.str()), std::pair(Counters{{8}, {6}}, Texts()));
  // Counters that do not match are ignored; the others count.
  EXPECT_EQ(counters(one.str() + Bytes()
                                     .block(3, {1, 1, 1, 1})
                                     .function("f", 7, {1})
                                     .function("g", -7, {1, 1})
                                     .function("h", 1, {1})
                                     .str()),
            std::pair(Counters{{4}, {3}},
                      Texts{"x.da:0xa8: warning: the counters of f are ignored: their checksum is "
                            "7, but -7 in x.bbg: recompiled in between",
                            "x.da:0xc8: warning: the counters of g are ignored: they are 2, but "
                            "x.bbg needs 1",
                            "x.da:0xf0: warning: the counters of h are ignored: x.bbg has no such "
                            "function"}));
  EXPECT_EQ(counters(Bytes().block(1, {3}).function("f", -7, {3})),
            std::pair(Counters{{3}, {}},
                      Texts{"x.bbg:0x58: warning: function g has no counters in x.da"}));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const Bytes large = Bytes().block(1, {most}).function("f", -7, {most});
  EXPECT_EQ(counters(large.str() + large.str()).second,
            Texts{"x.da:0x88: a counter of f exceeds 63 bits"});
  EXPECT_EQ(counters(Bytes().long_word(0)).second,
            Texts{"x.da:0x0: is data of GCC up to 3.2, but x.bbg is of GCC 3.3"});

  const auto twice = graph_of({"f", "f"});
  const auto data = read<Gcov3Data>(Bytes().block(1, {3}).function("f", -7, {3}), "x.da");
  EXPECT_EQ(*gcov3_counters(twice, &data, diagnostics), (Counters{{3}, {}}));
  EXPECT_EQ(texts(diagnostics),
            Texts{"x.bbg:0x58: error: a second function f: it gets no counters"});
}

} // namespace
} // namespace tally::formats_gcov3_match_test
