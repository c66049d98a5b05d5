#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "formats/callgrind/read.h"
#include "report/annotate.h"
#include "temporary.h"

namespace tally::report_annotate_test {
namespace {

// work(int) has lines in a header; two functions have the name same.
const std::string text =
    "events: A B\nob=prog\nfl=src/main.c\nfn=main\n3 10\ncfi=src/work.c\n"
    "cfn=work(int)\ncalls=2 5\n4 80 3\ncfi=src/work.c\ncfn=work(int)\ncalls=1 5\n4 8\n"
    "cfi=src/main.c\ncfn=main\ncalls=1 1\n4 50\n"
    "fl=src/work.c\nfn=work(int)\n5 50 1\nfi=inc/work.h\n2 20\nfe=src/work.c\n"
    "6 18 2\n0 1\nfn=same\n20 1\nfl=lib/work.c\nfn=same\n3 1\n";

class Annotate : public testing::Test {
protected:
  Annotate() {
    Diagnostics diagnostics;
    auto read = callgrind::read(*ByteSource::of(text, "f"), diagnostics);
    EXPECT_TRUE(read) << read.error().text();
    profile = std::get<CostProfile>(std::move(*read));
    std::filesystem::create_directories(folder / "src");
    std::filesystem::create_directories(folder / "inc");
    folder.put("src/main.c", "#include <x>\n\nint main(void) {\r\n\twork(1);\n}\nend");
    folder.put("src/work.c", "one\ntwo\n");
    folder.put("inc/work.h", "first\nsecond\nthird\n");
  }

  Annotation of(const std::string &what, const AnnotateOptions &options = {}) {
    auto annotation = annotate(profile, what, options);
    EXPECT_TRUE(annotation) << annotation.error().text();
    return annotation ? std::move(*annotation) : Annotation{};
  }
  AnnotateOptions here(uint32_t context = 3) {
    AnnotateOptions options;
    options.sources.folders = {folder / ""};
    options.context = context;
    return options;
  }

  // Returns "LINE self/inclusive|text" for each line, without the numbers if the line has no cost,
  // followed by " -> CALLEE xN COST" for each call.
  static std::vector<std::string> lines(const AnnotatedFile &file) {
    std::vector<std::string> out;
    for (const AnnotatedLine &line : file.lines) {
      std::string row = fmt::format("{}", line.line);
      if (!line.inclusive.empty())
        row += fmt::format(" {}/{}", line.self[0], line.inclusive[0]);
      out.push_back(row + "|" + line.text);
      for (const AnnotatedCall &call : line.calls)
        out.push_back(fmt::format(" -> {} x{} {}", call.name, call.calls, call.inclusive[0]));
    }
    return out;
  }

  TemporaryFolder folder;
  CostProfile profile;
};

using Rows = std::vector<std::string>;

Annotation annotation_of(const std::string &callgrind, const std::string &what) {
  Diagnostics diagnostics;
  auto read = callgrind::read(*ByteSource::of(callgrind, "f"), diagnostics);
  EXPECT_TRUE(read) << read.error().text();
  auto annotation = annotate(std::get<CostProfile>(*read), what);
  EXPECT_TRUE(annotation) << annotation.error().text();
  return annotation ? std::move(*annotation) : Annotation{};
}

TEST_F(Annotate, ShowsAFunction) {
  const Annotation main = of("main", here());
  ASSERT_EQ(main.files.size(), 1u);
  EXPECT_EQ(main.events, (Rows{"A", "B"}));
  EXPECT_EQ(main.totals, (std::vector<uint64_t>{101, 3}));
  EXPECT_EQ(main.files[0].file, "src/main.c");
  EXPECT_EQ(main.files[0].source, folder / "src/main.c");
  EXPECT_EQ(main.files[0].source_lines, 6u);
  // The function's call of itself is listed, but not counted again.
  EXPECT_EQ(lines(main.files[0]),
            (Rows{"1|#include <x>", "2|", "3 10/10|int main(void) {", "4 0/88|\twork(1);",
                  " -> work(int) x3 88", " -> main x1 50", "5|}", "6|end"}));
}

TEST_F(Annotate, ShowsAFunctionWithLinesOfOtherFiles) {
  const Annotation work = of("work", here()); // without its parameters
  ASSERT_EQ(work.files.size(), 2u);
  EXPECT_EQ(work.files[0].file, "src/work.c"); // the costliest file comes first
  EXPECT_EQ(work.files[0].self, (std::vector<uint64_t>{69, 3}));
  EXPECT_EQ(lines(work.files[0]), (Rows{"0 1/1|", "2|two", "5 50/50|", "6 18/18|"}));
  EXPECT_EQ(lines(work.files[1]), (Rows{"1|first", "2 20/20|second", "3|third"}));
  // A name selects all functions that have it.
  EXPECT_EQ(of("same").files.size(), 2u);
}

TEST_F(Annotate, LimitsTheContext) {
  EXPECT_EQ(lines(of("inc/work.h", here(0)).files[0]), (Rows{"2 20/20|second"}));
  EXPECT_EQ(lines(of("main", here(1)).files[0]).front(), "2|");
}

TEST_F(Annotate, ShowsAFileAndALine) {
  const Annotation file = of("src/work.c");
  ASSERT_EQ(file.files.size(), 1u);
  EXPECT_EQ(lines(file.files[0]), (Rows{"0 1/1|", "5 50/50|", "6 18/18|", "20 1/1|"}));
  EXPECT_EQ(lines(of("work.h").files[0]), (Rows{"2 20/20|"})); // the end of its path selects it
  // Shows ten lines before and after the line.
  EXPECT_EQ(lines(of("src/work.c:10").files[0]),
            (Rows{"0 1/1|", "5 50/50|", "6 18/18|", "20 1/1|"}));
  EXPECT_EQ(lines(of("src/work.c:16").files[0]), (Rows{"6 18/18|", "20 1/1|"}));
}

TEST_F(Annotate, ReportsErrors) {
  const auto refused = [&](const std::string &what, std::string_view message) {
    const auto annotation = annotate(profile, what);
    ASSERT_FALSE(annotation) << what;
    EXPECT_EQ(annotation.error().code, ErrorCode::not_found);
    EXPECT_EQ(annotation.error().text(), message);
  };
  refused("nothing", "nothing: the profile has no such function or file");
  refused("mai", "mai: the profile has no such function or file; names that contain it: main");
  refused("work.c", "work.c: is the name of 2 files: src/work.c, lib/work.c");
  refused("ork.h", "ork.h: the profile has no such function or file");
  refused("",
          "the profile has no such function or file; names that contain it: main, same, work(int)");
}

TEST_F(Annotate, ReportsAMissingSource) {
  const Annotation main = of("main");
  EXPECT_EQ(main.files[0].source, "");
  EXPECT_EQ(lines(main.files[0]),
            (Rows{"3 10/10|", "4 0/88|", " -> work(int) x3 88", " -> main x1 50"}));
  EXPECT_NE(to_text(main).find("\nthe source file was not found\n"), std::string::npos);
  EXPECT_NE(to_text(main, {}, "; look there").find("\nthe source file was not found; look there\n"),
            std::string::npos);
}

TEST_F(Annotate, SaysThatNoLineIsKnown) {
  AnnotatedFile file;
  file.self = {3};
  file.lines.push_back({0, "", {3}, {3}, {}});
  Annotation annotation{{"ticks"}, {3}, {file}, {}, {}};
  EXPECT_NE(to_text(annotation).find("no line is known"), std::string::npos);
  annotation.files[0].lines.push_back({7, "", {1}, {1}, {}});
  EXPECT_EQ(to_text(annotation).find("no line is known"), std::string::npos);
}

TEST_F(Annotate, ReportsASourceThatIsTooShort) {
  const std::string said = to_text(of("src/work.c", here()), {.width = 0});
  EXPECT_NE(said.find("src/work.c ends with line 2: it is not the text that was compiled\n"),
            std::string::npos)
      << said;
  EXPECT_EQ(to_text(of("inc/work.h", here())).find("has only"), std::string::npos);
}

TEST_F(Annotate, WritesTextAndJson) {
  const std::string said = to_text(of("main", here()), {.width = 0});
  EXPECT_NE(said.find("3  int main(void) {\n"), std::string::npos) << said;
  EXPECT_NE(said.find("4          work(1);\n"), std::string::npos) << said;
  EXPECT_NE(said.find("  -> work(int) (3x)\n"), std::string::npos) << said;
  const auto json = nlohmann::json::parse(to_json(of("main", here())));
  EXPECT_EQ(json["totals"][0], 101);
  EXPECT_EQ(json["files"][0]["lines"][3]["text"], "\twork(1);");
  EXPECT_EQ(json["files"][0]["lines"][3]["calls"][0]["name"], "work(int)");
}

TEST(SourcePaths, SearchesReplacementsThenThePathThenDirectories) {
  const TemporaryFolder folder;
  for (const char *name : {"build/src", "moved/src", "sources/src"})
    std::filesystem::create_directories(folder / name);
  const std::string path = folder / "build/src/a.c", moved = folder / "moved/src/a.c";
  SourcePaths sources;
  sources.replaced = {{folder / "build", folder / "absent"}, {folder / "build", folder / "moved"}};
  sources.folders = {folder / "none", folder / "sources"};
  EXPECT_EQ(sources.find(path), std::nullopt);
  const std::string plain = folder.put("sources/a.c", "");
  EXPECT_EQ(sources.find(path), plain);
  const std::string nested = folder.put("sources/src/a.c", "");
  EXPECT_EQ(sources.find(path), nested); // it shares more of the path
  EXPECT_EQ(sources.find("src/a.c"), nested);
  EXPECT_EQ(sources.find("/elsewhere/a.c"), plain);
  folder.put("build/src/a.c", "");
  EXPECT_EQ(sources.find(path), path);
  folder.put("moved/src/a.c", "");
  EXPECT_EQ(sources.find(path), moved);
  EXPECT_EQ(sources.find(""), std::nullopt);
  EXPECT_EQ(sources.find(folder / "sources"), std::nullopt); // a directory
  EXPECT_EQ(sources.find(std::string("a\0b", 3)), std::nullopt);
}

// Levels of recursion that the profile keeps apart share a line, which costs no more than the
// total.
TEST(AnnotateLevels, AreMergedIntoOneRecursion) {
  const Annotation fib = annotation_of("events: A\nfl=a.c\nfn=fib\n3 10\ncfn=fib'2\ncalls=1 1\n"
                                       "3 90\nfn=fib'2\n3 70\ncfn=leaf\ncalls=1 9\n3 20\n"
                                       "fn=leaf\n9 20\n",
                                       "fib");
  ASSERT_EQ(fib.files.size(), 1u);
  ASSERT_EQ(fib.files[0].lines.size(), 1u);
  EXPECT_EQ(fib.files[0].lines[0].self[0], 80u);
  EXPECT_EQ(fib.files[0].lines[0].inclusive[0], 100u);
}

// Callees of one name in two objects stay separate; several calls of one callee are merged. The
// costliest callee comes first, however seldom it is called.
TEST(AnnotateCalls, AreDistinguishedByFileAndObject) {
  const Annotation main = annotation_of("events: A\nob=p\nfl=a.c\nfn=main\ncob=x.so\ncfi=x.c\n"
                                        "cfn=init\ncalls=1 1\n3 5\ncob=y.so\ncfi=y.c\ncfn=init\n"
                                        "calls=1 1\n3 12\ncob=x.so\ncfi=x.c\ncfn=init\ncalls=2 1\n"
                                        "3 6\n",
                                        "main");
  const auto &calls = main.files[0].lines[0].calls;
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].file, "y.c");
  EXPECT_EQ(calls[1].object, "x.so");
  EXPECT_EQ(calls[1].calls, 3u);
  EXPECT_EQ(calls[1].inclusive[0], 11u);
}

TEST_F(Annotate, ReportsASourceThatCannotBeRead) {
  std::filesystem::create_directories(folder / "bad/src");
  folder.put("bad/src/main.c", "\x1f\x8b\x08 no gzip");
  AnnotateOptions options;
  options.sources.folders = {folder / "bad"};
  const Annotation main = of("main", options);
  ASSERT_EQ(main.files.size(), 1u);
  EXPECT_EQ(main.files[0].source, "");
  EXPECT_EQ(lines(main.files[0])[0], "3 10/10|");
  EXPECT_NE(main.files[0].problem.find("bad/src/main.c"), std::string::npos);
  EXPECT_NE(to_text(main).find("the source cannot be read: "), std::string::npos);
}

TEST_F(Annotate, RefusesALineAfterTheEnd) {
  const auto behind = annotate(profile, "main.c:4000000000", here());
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().text(),
            fmt::format("main.c:4000000000: {} ends with line 6", folder / "src/main.c"));
  const auto nowhere = annotate(profile, "main.c:4294967295", {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().text(), "main.c:4294967295: there is no cost near that line, and its "
                                    "source file was not found");
}

TEST_F(Annotate, LimitsTheLinesOfJson) {
  const auto all = nlohmann::json::parse(to_json(of("main", here())));
  const auto some = nlohmann::json::parse(to_json(of("main", here()), 2));
  EXPECT_EQ(all["files"][0]["lines"].size(), 6u);
  EXPECT_EQ(some["files"][0]["lines"].size(), 2u);
}

// An edit after the build moves lines, and costs stay where the lines were.
TEST_F(Annotate, NamesAnObjectThatIsOlderThanTheSource) {
  const auto said = [&](int64_t seconds) {
    folder.put("prog", "");
    const auto changed = std::filesystem::last_write_time(folder / "src/main.c");
    std::filesystem::last_write_time(folder / "prog", changed + std::chrono::seconds(seconds));
    std::string from = text;
    from.replace(from.find("ob=prog"), 7, "ob=" + (folder / "prog"));
    Diagnostics diagnostics;
    auto read = callgrind::read(*ByteSource::of(from, "f"), diagnostics);
    EXPECT_TRUE(read) << read.error().text();
    return to_text(*annotate(std::get<CostProfile>(*read), "main.c:4", here()));
  };
  EXPECT_NE(said(-1).find(fmt::format("{} was changed after {} was built: costs may be beside "
                                      "wrong lines\n",
                                      folder / "src/main.c", folder / "prog")),
            std::string::npos);
  EXPECT_EQ(said(1).find("was changed"), std::string::npos);
}

} // namespace
} // namespace tally::report_annotate_test
