#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "formats/flamegraph/flamegraph.h"
#include "formats/flamegraph/layout.h"
#include "formats/folded/folded.h"
#include "formats/formats.h"
#include "random_profile.h"
#include "support/own_name.h"

namespace tally::formats_flamegraph_test {
namespace {

using flamegraph::Box;
using flamegraph::Layout;
using flamegraph::Limits;

constexpr Limits everything{.per_mille = 0, .boxes = 1'000'000, .depth = 1'000'000};

StackProfile profile_of(std::string_view folded) {
  Diagnostics diagnostics;
  auto read = folded::read(*ByteSource::of(folded, "f.folded"), diagnostics);
  EXPECT_TRUE(read) << read.error().text();
  return std::move(std::get<StackProfile>(*read));
}

Layout laid_out(const StackProfile &profile, const Limits &limits = everything) {
  auto layout = flamegraph::lay_out(profile, limits);
  EXPECT_TRUE(layout) << layout.error().text();
  return std::move(*layout);
}

std::string_view name_of(const Layout &layout, const Box &box) {
  return box.frame == none<uint32_t> ? "all" : layout.frames[box.frame].name;
}

// Returns "name depth begin+value" for each box, in order.
std::vector<std::string> rows(const Layout &layout) {
  std::vector<std::string> out;
  for (const Box &box : layout.boxes)
    out.push_back(std::string(name_of(layout, box)) + " " + std::to_string(box.depth) + " " +
                  std::to_string(box.begin) + "+" + std::to_string(box.value));
  return out;
}

using Path = std::vector<std::string>; // outermost first: name, file, object

// Returns the boxes' paths and the value of each. Also checks that boxes lie inside their callers
// and beside each other, and, if all boxes are drawn, that none is missing.
std::map<Path, int64_t> boxes_by_path(const Layout &layout, bool all_drawn) {
  std::map<Path, int64_t> out;
  std::vector<size_t> path; // the boxes from the root to the last one
  std::vector<int64_t> end(layout.boxes.size()), inside(layout.boxes.size(), 0);
  EXPECT_EQ(layout.boxes.front().begin, 0);
  EXPECT_EQ(layout.boxes.front().value, layout.total);
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const Box &box = layout.boxes[i];
    EXPECT_GT(box.value, 0);
    EXPECT_LE(box.depth, path.size());
    path.resize(box.depth);
    end[i] = box.begin;
    if (!path.empty()) {
      const Box &caller = layout.boxes[path.back()];
      EXPECT_GE(box.begin, end[path.back()]);
      EXPECT_LE(box.begin + box.value, caller.begin + caller.value);
      end[path.back()] = box.begin + box.value;
      inside[path.back()] += box.value;
    }
    path.push_back(i);
    Path names;
    for (const size_t at : path)
      if (at > 0) {
        const TreeFrame &frame = layout.frames[layout.boxes[at].frame];
        names.push_back(std::string(frame.name) + '|' + std::string(frame.file) + '|' +
                        std::string(frame.object) + '|' + std::to_string(frame.line));
      }
    EXPECT_TRUE(out.emplace(names, box.value).second) << "twice";
  }
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    if (all_drawn)
      EXPECT_EQ(inside[i] + layout.boxes[i].self, layout.boxes[i].value);
    else
      EXPECT_LE(inside[i] + layout.boxes[i].self, layout.boxes[i].value);
  }
  return out;
}

// Counts in the plain way: each sample adds its value to every beginning of its stack.
std::map<Path, int64_t> counted(const StackProfile &profile) {
  std::map<Path, int64_t> out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    Path path;
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at))
      for (const SourceLine &line : profile.location(profile.stack_location(at)).lines) {
        const SourceFunction &f = profile.functions()[line.function];
        const std::string_view name = profile.strings[f.name];
        path.push_back(std::string(name.empty() ? "[unknown]" : name) + '|' +
                       std::string(profile.strings[f.file]) + '|' +
                       std::string(profile.strings[f.object]) + '|' + std::to_string(f.line));
      }
    std::ranges::reverse(path);
    for (size_t depth = 0; depth <= path.size(); ++depth)
      out[Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth))] +=
          sample.values[0];
  }
  std::erase_if(out, [](const auto &each) { return each.second == 0; });
  return out;
}

TEST(FlameGraphLayout, AgreesWithCountingEachSample) {
  Random random(171);
  for (int round = 0; round < rounds(2000); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    const auto layout = flamegraph::lay_out(profile, everything);
    if (profile.totals()[0] == 0) {
      ASSERT_EQ(layout.error().code, ErrorCode::no_data);
      continue;
    }
    ASSERT_TRUE(layout) << layout.error().text();
    ASSERT_EQ(layout->total, profile.totals()[0]);
    ASSERT_EQ(boxes_by_path(*layout, true), counted(profile));
    ASSERT_EQ(layout->narrow + layout->deep, 0u);
    int64_t self = 0;
    for (const int64_t each : layout->self_of_frames)
      self += each;
    ASSERT_EQ(self, layout->total);
  }
}

TEST(FlameGraphLayout, ReportsWhatItsLimitsOmit) {
  Random random(172);
  for (int round = 0; round < rounds(2000); ++round) {
    RandomShape shape = random_shape(random);
    shape.samples += 1;
    const StackProfile profile = random_profile(random, shape);
    if (profile.totals()[0] == 0)
      continue;
    const Limits limits{.per_mille = static_cast<uint32_t>(pick(random, 200)),
                        .boxes = static_cast<uint32_t>(1 + pick(random, 20)),
                        .depth = static_cast<uint32_t>(1 + pick(random, 8))};
    const Layout layout = laid_out(profile, limits);
    const auto whole = counted(profile), some = boxes_by_path(layout, false);
    ASSERT_LE(some.size(), limits.boxes + 1); // the limit and the root
    int64_t narrow = 0, deep = 0;
    uint64_t left_out = 0;
    for (const auto &[path, value] : whole) {
      if (const auto found = some.find(path); found != some.end()) {
        ASSERT_EQ(found->second, value);
        ASSERT_LE(path.size(), limits.depth);
        ASSERT_TRUE(path.empty() || value * 1000 >= layout.total * limits.per_mille);
        continue;
      }
      ++left_out;
      if (some.contains(Path(path.begin(), path.end() - 1)))
        (path.size() > limits.depth ? deep : narrow) += value;
    }
    ASSERT_EQ(layout.narrow + layout.deep, left_out);
    ASSERT_EQ(layout.narrow_value, narrow);
    ASSERT_EQ(layout.deep_value, deep);
    ASSERT_EQ(std::ranges::any_of(layout.boxes, &Box::cut), deep > 0);
  }
}

TEST(FlameGraphLayout, OrdersBoxesByName) {
  const std::vector<std::string> expected{"all 0 0+10", "a 1 0+6",    "b 2 0+3",
                                          "c 2 3+2",    "main 1 6+4", "a 2 6+3"};
  for (const char *text :
       {"main 1\nmain;a 3\na;c 2\na;b 3\na 1\n", "a;b 3\na 1\na;c 2\nmain;a 3\nmain 1\n"})
    EXPECT_EQ(rows(laid_out(profile_of(text))), expected);
}

TEST(FlameGraphLayout, KeepsTheWidestBoxes) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "f" + std::to_string(i) + ";g " + std::to_string(100 + i) + "\n";
  const Layout layout = laid_out(profile_of(text), {.boxes = 10});
  EXPECT_EQ(layout.boxes.size(), 11u);
  EXPECT_EQ(layout.narrow, 90u);
  for (const Box &box : layout.boxes)
    EXPECT_GE(box.value, 145);
}

TEST(FlameGraphLayout, AllowsStacksOfAnyDepth) {
  std::string text;
  constexpr size_t depth = rounds(200'000);
  for (size_t i = 0; i < depth; ++i)
    text += i % 2 ? "f;" : "g;";
  const Layout layout = laid_out(profile_of(text + "leaf 3\nother 1\n"), {});
  EXPECT_EQ(layout.depth, 250u);
  EXPECT_EQ(layout.boxes.size(), 252u);
  EXPECT_EQ(layout.deep, depth + 1 - 250);
  EXPECT_EQ(layout.deep_value, 3);
  EXPECT_TRUE(layout.boxes[250].cut);
}

std::string written(const StackProfile &profile) {
  const auto out = flamegraph::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out->bytes;
}

size_t count(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(FlameGraph, ShortensNames) {
  for (const auto &[name, own] : std::map<std::string, std::string>{
           {"main", "main"},
           {"ns::f", "f"},
           {"ns::S::f(int, ns::T) const", "f"},
           {"unsigned long ns::f<std::vector<int> >(int (*)(char))", "f"},
           {"void ns::(anonymous namespace)::sort<int>(int*) const &", "sort"},
           {"(anonymous namespace)::f", "f"},
           {"f(int)::{lambda(int)#1}::operator()(int) const", "operator()(int) const"},
           {"f(int)::{lambda(int)#1}", "{lambda(int)#1}"},
           {"std::operator<< <char>(std::ostream&)", "operator<< <char>(std::ostream&)"},
           {"ns::S::~S()", "~S"},
           {"f(int) [clone .cold]", "f"},
           {"decltype (a(b)) ns::g(T&)", "g"},
           {"<alloc::Vec<T> as core::Drop>::drop", "drop"},
           {"core::ops::FnOnce::call_once", "call_once"},
           {"main.(*T).f", "main.(*T).f"},
           {"[unknown]", "[unknown]"},
           {"f (file.py:3)", "f (file.py:3)"},
           {"a > b", "a > b"},
           {"f<(", "f<("},
           {"ns::", "ns::"},
           {"liblzma.so.5+0x15ae0", "liblzma.so.5+0x15ae0"},
           {"", ""}})
    EXPECT_EQ(own_name(name), own) << name;
}

TEST(FlameGraph, DescribesEachFrame) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000);
  builder.set_command("./prog -x <y>");
  const StringId object = builder.intern("/lib/libz.so.1");
  const auto line = [&](std::string_view name) {
    return SourceLine{
        builder.add_function({builder.intern(name), {}, builder.intern("z/a.c"), object, 7}),
        {},
        0};
  };
  const std::vector<SourceLine> lines{line("inner<int>"), line("outer")};
  const StackId stack =
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 1, lines));
  builder.add_sample(stack, none<ThreadId>, none<PartId>, 3);
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const std::string text = written(*builder.finish());
  EXPECT_EQ(count(text, "<title>inner&lt;int&gt;\n3 ticks, 75.00%\nz/a.c:7\n/lib/libz.so.1\ninlined"
                        "</title>"),
            1u);
  EXPECT_EQ(count(text, "<title>outer\n3 ticks, 75.00%\nz/a.c:7\n/lib/libz.so.1</title>"), 1u);
  EXPECT_EQ(count(text, "<title>[unknown]\n1 ticks, 25.00%</title>"), 1u);
  EXPECT_EQ(count(text, ">./prog -x &lt;y&gt;</text>"), 1u);
  EXPECT_EQ(count(text, ">4 ticks, 1 ms each</text>"), 1u);
  EXPECT_EQ(count(text, ">libz.so.1 75.00%</text>"), 1u);
  EXPECT_EQ(count(text, "http"), count(text, "http://www.w3.org/")); // namespaces, not resources
}

TEST(FlameGraph, ReportsWhatIsLost) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_value_type("bytes", "bytes");
  builder.add_thread(1, 1, "a");
  builder.add_thread(1, 2, "b");
  builder.add_part({1, {}, 0, 0});
  builder.add_part({2, {}, 0, 0});
  const auto sample = [&](std::string_view name, uint64_t address, size_t depth, int64_t value) {
    const SourceLine line{builder.add_function({builder.intern(name), {}, {}, {}, 0}), {}, 0};
    const LocationId at = builder.add_location(none<MappingId>, address, std::span(&line, 1));
    StackId stack = none<StackId>;
    for (; depth > 0; --depth)
      stack = builder.push(stack, at);
    builder.add_sample(stack, none<ThreadId>, none<PartId>, std::vector<int64_t>{value, 1});
  };
  sample("a\tb", 1, 300, 9999);
  sample("narrow", 2, 1, 1);
  sample(std::string(1500, 'x'), 3, 1, 1000);
  const auto out = flamegraph::write(*builder.finish(), {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->lost.size(), 8u);
  EXPECT_EQ(out->lost[0], "1 frame too narrow (0.01% of all)");
  EXPECT_EQ(out->lost[1], "50 frames beyond the 250th of a stack (90.90% of all)");
  EXPECT_EQ(count(out->bytes, "Not drawn: 1 frame too narrow"), 1u);
  EXPECT_EQ(count(out->bytes, "<path class=\"cut\""), 1u);
}

TEST(FlameGraph, WritesTheSameBytesForTheSameProfile) {
  const std::string text = written(profile_of("main;f 3\nmain;g;h 2\nother 1\n"));
  EXPECT_EQ(written(profile_of("other 1\nmain;g;h 2\nmain;f 1\nmain;f 2\n")), text);
}

// Image viewers that are not browsers paint everything black whose colour is a custom property.
TEST(FlameGraph, PaintsWithoutCustomProperties) {
  const std::string text = written(profile_of("main;f 3\nother 1\n"));
  EXPECT_NE(text.find(".c1 rect { fill: #"), text.npos);
  EXPECT_EQ(text.find("var(--"), text.npos);
}

// Every frame may be too narrow.
TEST(FlameGraph, OmitsManyNarrowOutermostFrames) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "f" + std::to_string(i) + " 1\n";
  const std::string picture = written(profile_of(text));
  EXPECT_EQ(count(picture, "Not drawn: 3000 frames too narrow (100.00% of all)"), 1u);
  EXPECT_EQ(count(picture, "<g class="), 1u); // the root
}

TEST(FlameGraph, LimitsTheSizeOfThePicture) {
  std::string text;
  for (int i = 0; i < (TALLY_SANITIZED ? 8'000 : 30'000); ++i) {
    text += "start;main";
    for (int depth = 0, x = i; depth < 25; ++depth, x /= 3)
      text += ";namespace_of_some_length::function_of_some_length_" + std::to_string(x % 7) +
              "<int, char>(std::string const&)";
    text += " " + std::to_string(1 + i % 5) + "\n";
  }
  const std::string picture = written(profile_of(text));
  EXPECT_LT(picture.size(), 4'000'000u);
  EXPECT_LE(count(picture, "<g class=\"c"), 10'000u + 10);
}

} // namespace
} // namespace tally::formats_flamegraph_test
