// Reading Cobertura's XML; formats_xml_test.cpp is about writing it.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/cobertura/cobertura.h"
#include "formats/formats.h"
#include "random_coverage.h"
#include "support/demangle.h"

namespace tally::formats_cobertura_test {
namespace {

Result<Coverage> parsed(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  return cobertura::read(*ByteSource::of(text, "x"), found ? *found : diagnostics);
}

using Line = std::tuple<uint32_t, int64_t, int64_t, size_t>; // number, count, branches: taken, all
using Function = std::tuple<uint32_t, std::string, int64_t>;

std::vector<Line> lines_of(const FileCoverage &file) {
  std::vector<Line> out;
  for (const LineCoverage &line : file.lines) {
    const auto branches = file.branches_of(line);
    out.emplace_back(line.line, times_run(line.count),
                     std::ranges::count_if(branches, [](auto &b) { return b.count != 0; }),
                     branches.size());
  }
  return out;
}
std::vector<Function> functions_of(const FileCoverage &file) {
  std::vector<Function> out;
  for (const FunctionCoverage &each : file.functions)
    out.emplace_back(each.start_line, demangled(each.name), times_run(each.count));
  std::ranges::sort(out);
  return out;
}

TEST(CoberturaRead, ReadsWhatIsWritten) {
  Random random(771);
  for (int round = 0; round < rounds(300); ++round) {
    const Coverage coverage = random_coverage(random, {.negative = round % 2 == 0});
    WriteOptions options;
    options.root = round % 3 == 0 ? "" : "/r";
    const auto out = cobertura::write(coverage, options);
    ASSERT_TRUE(out);
    EXPECT_TRUE(cobertura::probe(std::string_view(out->bytes).substr(0, 4096)));
    const auto again = parsed(out->bytes);
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(again->files.size(), coverage.files.size());
    for (size_t i = 0; i < coverage.files.size(); ++i) {
      ASSERT_EQ(again->files[i].path, coverage.files[i].path);
      ASSERT_EQ(lines_of(again->files[i]), lines_of(coverage.files[i]));
      ASSERT_EQ(functions_of(again->files[i]), functions_of(coverage.files[i]));
    }
  }
}

std::string file_of(const std::string &classes, const std::string &sources = "/s") {
  return "<?xml version=\"1.0\" ?>\n<!-- generated --><coverage version=\"7\" line-rate=\"1\">"
         "<sources><source>" +
         sources + "</source></sources><packages><package name=\"\"><classes>" + classes +
         "</classes></package></packages></coverage>";
}

TEST(CoberturaRead, ReadsFilesOfOthers) {
  // Of coverage.py, whose methods are empty.
  const auto python = parsed(file_of(R"xml(<class name="a.py" filename="p/a.py"><methods/><lines>
    <line number="2" hits="1"/>
    <line number="1" hits="0" branch="true" condition-coverage="50% (1/2)" missing-branches="4"/>
    </lines></class>)xml"));
  ASSERT_TRUE(python) << python.error().text();
  ASSERT_EQ(python->files.size(), 1u);
  EXPECT_EQ(python->files[0].path, "/s/p/a.py");
  EXPECT_EQ(lines_of(python->files[0]), (std::vector<Line>{{1, 0, 1, 2}, {2, 1, 0, 0}}));
  // Of Java: two classes of one file, one of which has lines only in its methods.
  const auto java = parsed(file_of(
      R"xml(<class name="A" filename="A.java"><methods><method name="f" signature="(I)V"><lines>
         <line number="3" hits="7"/></lines></method></methods></class>
         <class name="A$B" filename="A.java"><lines><line number="9" hits="2"/></lines></class>)xml",
      "."));
  ASSERT_TRUE(java) << java.error().text();
  ASSERT_EQ(java->files.size(), 1u);
  EXPECT_EQ(java->files[0].path, "A.java");
  EXPECT_EQ(lines_of(java->files[0]), (std::vector<Line>{{3, 7, 0, 0}, {9, 2, 0, 0}}));
  EXPECT_EQ(functions_of(java->files[0]), (std::vector<Function>{{3, "A.f(I)V", 7}}));
  // Jest writes methods with lines that the class does not have.
  const auto jest = parsed(file_of(
      R"xml(<class name="c" filename="c.js"><methods><method name="f" hits="2"><lines>
         <line number="1" hits="4"/><line number="8" hits="2"/></lines></method></methods>
         <lines><line number="1" hits="4"/><line number="9" hits="0"/></lines></class>)xml"));
  ASSERT_TRUE(jest) << jest.error().text();
  EXPECT_EQ(lines_of(jest->files[0]),
            (std::vector<Line>{{1, 4, 0, 0}, {8, 2, 0, 0}, {9, 0, 0, 0}}));
  // AltCover writes paths of Windows. Two classes have a method of one name.
  const std::string method =
      R"xml(<methods><method name="f"><lines><line number="3" hits="1"/></lines></method></methods>)xml";
  const auto windows =
      parsed(file_of("<class name=\"A\" filename=\"C:\\t\\A.cs\">" + method +
                         "</class><class name=\"B\" filename=\"C:\\t\\A.cs\">" + method +
                         "</class><class name=\"C\" filename=\"s\\C.cs\">" + method + "</class>",
                     "C:\\u"));
  ASSERT_TRUE(windows) << windows.error().text();
  ASSERT_EQ(windows->files.size(), 2u);
  EXPECT_EQ(windows->files[0].path, "C:/t/A.cs");
  EXPECT_EQ(functions_of(windows->files[0]), (std::vector<Function>{{3, "A.f", 1}, {3, "B.f", 1}}));
  EXPECT_EQ(windows->files[1].path, "C:/u/s/C.cs");
  EXPECT_EQ(functions_of(windows->files[1]), (std::vector<Function>{{3, "f", 1}}));
  // It is unknown which of several sources a file is in.
  Diagnostics diagnostics;
  const auto several =
      parsed(file_of(R"(<class filename="a"/><class filename="/b"/>)", "/s</source><source>/t"),
             &diagnostics);
  ASSERT_TRUE(several);
  EXPECT_EQ(several->files[0].path, "/b");
  EXPECT_EQ(several->files[1].path, "a");
  EXPECT_EQ(diagnostics.findings().size(), 1u);
}

TEST(CoberturaRead, RefusesWhatMakesNoSense) {
  const auto line = [](const std::string &attributes) {
    return file_of("<class filename=\"a\"><lines><line " + attributes + "/></lines></class>");
  };
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "is not XML"},
           {"<coverage", "is not XML"},
           {"<coverage/>", "with packages is missing"},
           {"<!DOCTYPE a [<!ENTITY b \"cc\">]><coverage/>", "declares an entity"},
           {file_of("<class/>"), "without a filename"},
           {line("hits=\"1\""), "number of a line"},
           {line("number=\"-1\" hits=\"1\""), "number of a line, found '-1'"},
           {line("number=\"1\""), "number of hits"},
           {line("number=\"1\" hits=\"1.5\""), "number of hits, found '1.5'"},
           {line("number=\"1\" hits=\"18446744073709551616\""), "number of hits"},
           {line("number=\"1\" hits=\"1\" condition-coverage=\"half\""), "share such as"},
           {line("number=\"1\" hits=\"1\" condition-coverage=\"50% (3/2)\""), "share such as"},
           {line("number=\"1\" hits=\"1\" condition-coverage=\"0% (0/4000000000)\""),
            "more branches than bytes"},
           {file_of("<class filename=\"a\"><lines><line number=\"1\" hits=\"9223372036854775807\"/>"
                    "<line number=\"1\" hits=\"1\"/></lines></class>"),
            "63 bits"},
       }) {
    const auto read = parsed(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
  }
  Diagnostics diagnostics;
  const auto odd = parsed(line("number=\"0\" hits=\"-4\""), &diagnostics);
  ASSERT_TRUE(odd);
  EXPECT_TRUE(odd->files[0].lines.empty());
  EXPECT_EQ(diagnostics.findings().size(), 2u);
}

// cargo-tarpaulin writes such counts, and other writers copy the DTD's default.
TEST(CoberturaRead, KeepsTheFileWhereOneNumberIsUnknown) {
  Diagnostics diagnostics;
  const auto read = parsed(file_of(R"xml(<class filename="a"><lines>
        <line number="1" hits="9439544818968559616"/>
        <line number="2" hits="0" branch="false" condition-coverage="100%"/>
        <line number="3" hits="0" branch="true" condition-coverage="33.3%"/></lines></class>)xml"),
                           &diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(lines_of(read->files[0]),
            (std::vector<Line>{{1, 1, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0}}));
  ASSERT_EQ(diagnostics.findings().size(), 2u);
  EXPECT_NE(diagnostics.findings()[0].message.find("63 bits"), std::string::npos);
  EXPECT_NE(diagnostics.findings()[1].message.find("share of branches"), std::string::npos);
}

// Istanbul's methods have the line in which the function begins, which is none of the class.
TEST(CoberturaRead, CountsLinesOfMethodsUnlessTheTotalSaysOtherwise) {
  const auto lines = [](const std::string &total) {
    std::string text =
        file_of(R"xml(<class name="c" filename="c.js"><methods><method name="f"><lines>
         <line number="8" hits="2"/></lines></method></methods>
         <lines><line number="9" hits="0"/></lines></class>)xml");
    text.replace(text.find("line-rate"), 0, total);
    const auto read = parsed(text);
    return read ? read->files[0].lines.size() : 0;
  };
  EXPECT_EQ(lines(""), 2u);
  EXPECT_EQ(lines("lines-valid=\"2\" "), 2u);
  EXPECT_EQ(lines("lines-valid=\"1\" "), 1u);
}

// A line of a method is one of its class only if that class has it, whatever others have.
TEST(CoberturaRead, ReadsLinesOfMethodsInEachClass) {
  const auto read = parsed(file_of(
      R"xml(<class name="A" filename="A.java"><lines><line number="3" hits="1"/></lines></class>
         <class name="B" filename="B.java"><methods><method name="f"><lines>
         <line number="3" hits="7"/></lines></method></methods></class>)xml"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->files.size(), 2u);
  EXPECT_EQ(lines_of(read->files[1]), (std::vector<Line>{{3, 7, 0, 0}}));
}

TEST(CoberturaRead, FindsFilesAndNamesOfOddWriters) {
  const std::string line = R"(<lines><line number="1" hits="1"/></lines>)";
  const auto path = [&](const std::string &sources, const std::string &name) {
    const auto read =
        parsed(file_of("<class filename=\"" + name + "\">" + line + "</class>", sources));
    return read ? read->files[0].path : read.error().text();
  };
  EXPECT_EQ(path("\n  /src\n", "a"), "/src/a");
  EXPECT_EQ(path("\n . ", "a"), "a");
  EXPECT_EQ(path("src/", "a\\b"), "src/a/b");
  EXPECT_EQ(path("s\\t", "a"), "s/t/a");
  EXPECT_EQ(path("/s</source><source>--source", "a"), "/s/a");
  const auto no_package = parsed("<coverage><packages><class filename=\"a\">" + line +
                                 "</class></packages></coverage>");
  ASSERT_TRUE(no_package) << no_package.error().text();
  EXPECT_EQ(no_package->files.size(), 1u);
  const auto no_classes = parsed("<coverage><packages><package><class filename=\"a\">" + line +
                                 "</class></package></packages></coverage>");
  ASSERT_TRUE(no_classes) << no_classes.error().text();
  EXPECT_EQ(no_classes->files.size(), 1u);
  const auto name = [&](const std::string &of, const std::string &signature) {
    const auto read =
        parsed(file_of("<class filename=\"a\"><methods><method name=\"" + of + "\" signature=\"" +
                       signature + "\">" + line + "</method></methods></class>"));
    return read ? std::get<1>(functions_of(read->files[0])[0]) : read.error().text();
  };
  EXPECT_EQ(name("f", "(I)V"), "f(I)V");
  EXPECT_EQ(name("Main", "System.Void (System.String[])"), "Main(System.String[])");
  EXPECT_EQ(name("true", "true(): bool"), "true(): bool");
  EXPECT_EQ(name("set", "$balance"), "set($balance)");
  EXPECT_EQ(name("f", "f/1"), "f/1");
  EXPECT_EQ(name("f", "x = f(y)"), "x = f(y)");
}

TEST(CoberturaRead, IsRecognized) {
  EXPECT_TRUE(cobertura::probe("<coverage><packages>"));
  EXPECT_TRUE(
      cobertura::probe("<!DOCTYPE coverage SYSTEM "
                       "\"http://cobertura.sourceforge.net/xml/coverage-03.dtd\"><coverage>"));
  EXPECT_TRUE(cobertura::probe(file_of("")));
  EXPECT_FALSE(
      cobertura::probe("<coverage version=\"1\"><file path=\"a\"/></coverage>")); // SonarQube
  EXPECT_FALSE(cobertura::probe("<coverage generated=\"1\" clover=\"3\">"));
  EXPECT_FALSE(cobertura::probe("a <coverage line-rate=\"1\">"));
}

} // namespace
} // namespace tally::formats_cobertura_test
