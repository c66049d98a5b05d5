// Tests coverage as XML: the files, as pugixml reads them, hold the numbers of the model.
#include <algorithm>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "formats/formats.h"
#include "random_coverage.h"

namespace tally::formats_xml_test {
namespace {

Written written(const Coverage &coverage, std::string_view format, const WriteOptions &options) {
  const auto known = format_by_name(format);
  EXPECT_TRUE(known);
  auto out = write_coverage(coverage, **known, options);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

WriteOptions below(std::string root, int64_t time = 0) {
  WriteOptions out;
  out.root = std::move(root);
  out.time = time;
  return out;
}

pugi::xml_document parsed(const Written &xml) {
  pugi::xml_document out;
  const pugi::xml_parse_result result =
      out.load_buffer(xml.bytes.data(), xml.bytes.size(), pugi::parse_full);
  EXPECT_TRUE(result) << result.description() << " at " << result.offset;
  return out;
}

bool says(const Written &xml, std::string_view what) {
  return std::ranges::any_of(xml.lost,
                             [&](const std::string &lost) { return lost.starts_with(what); });
}

uint64_t number(const pugi::xml_node &node, const char *attribute) {
  return node.attribute(attribute).as_ullong(UINT64_MAX);
}
std::string text(const pugi::xml_node &node, const char *attribute) {
  return node.attribute(attribute).as_string("(absent)");
}

// Expects a rate that does not exceed the exact one, and that is 1 only if nothing is missing.
void expect_rate(const pugi::xml_node &node, const char *attribute, uint64_t part, uint64_t whole) {
  const std::string rate_text = text(node, attribute);
  ASSERT_EQ(rate_text.size(), 6u) << rate_text;
  const double rate = std::strtod(rate_text.c_str(), nullptr);
  const double expected = whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
  EXPECT_LE(rate, expected + 1e-9);
  EXPECT_GT(rate, expected - 1.001e-4);
  EXPECT_EQ(rate_text == "1.0000", part == whole) << part << " of " << whole;
}
void expect_rates(const pugi::xml_node &node, const CoverageTotals &totals) {
  expect_rate(node, "line-rate", totals.lines_executed, totals.lines);
  expect_rate(node, "branch-rate", totals.branches_taken, totals.branches);
  EXPECT_EQ(text(node, "complexity"), "0");
}

size_t children(const pugi::xml_node &node) {
  return static_cast<size_t>(std::distance(node.begin(), node.end()));
}

uint64_t taken(std::span<const BranchCoverage> branches) {
  return static_cast<uint64_t>(
      std::ranges::count_if(branches, [](const BranchCoverage &b) { return b.count != 0; }));
}

void expect_line(const pugi::xml_node &node, const FileCoverage &file, const LineCoverage &line) {
  EXPECT_EQ(number(node, "number"), line.line);
  EXPECT_EQ(number(node, "hits"), line.count < 0 ? 1 : static_cast<uint64_t>(line.count));
  const auto branches = file.branches_of(line);
  EXPECT_EQ(text(node, "branch"), branches.empty() ? "false" : "true");
  EXPECT_EQ(node.attribute("condition-coverage").empty(), branches.empty());
  std::vector<std::string> expected;
  const auto add = [&](const char *type, uint64_t part, uint64_t whole) {
    expected.push_back(std::to_string(expected.size()) + " " + type + " " +
                       std::to_string(100 * part / whole) + "%");
  };
  if (!branches.empty()) {
    add("jump", taken(branches), branches.size());
    EXPECT_EQ(text(node, "condition-coverage"), expected[0].substr(7) + " (" +
                                                    std::to_string(taken(branches)) + "/" +
                                                    std::to_string(branches.size()) + ")");
  }
  for (const ConditionCoverage &each : file.conditions_of(line))
    add("mcdc", each.covered(), each.outcomes());
  for (const McdcCoverage &each : file.decisions_of(line))
    if (each.conditions() > 0)
      add("mcdc", each.conditions_covered(), each.conditions());
  std::vector<std::string> found;
  for (const pugi::xml_node condition : node.child("conditions"))
    found.push_back(text(condition, "number") + " " + text(condition, "type") + " " +
                    text(condition, "coverage"));
  EXPECT_EQ(found, expected);
}

// Adds Clang's MC/DC to some lines; some of its conditions are constant, in some decisions all.
void add_decisions(Random &random, Coverage &coverage) {
  for (FileCoverage &file : coverage.files)
    for (LineCoverage &line : file.lines) {
      line.first_decision = static_cast<uint32_t>(file.decisions.size());
      if (pick(random, 3) == 0) {
        const uint64_t folded = pick(random, 8);
        file.decisions.push_back({3, pick(random, 8) & ~folded, folded});
      }
      line.last_decision = static_cast<uint32_t>(file.decisions.size());
    }
}

TEST(Cobertura, HoldsTheNumbersOfTheModel) {
  Random random(3);
  for (int round = 0; round < rounds(200); ++round) {
    Coverage coverage = random_coverage(random, {.negative = round % 2 == 0});
    if (round % 3 == 0)
      add_decisions(random, coverage);
    const Written xml = written(coverage, "cobertura", below("/r"));
    ASSERT_EQ(written(coverage, "cobertura", below("/r")).bytes, xml.bytes);
    const pugi::xml_document document = parsed(xml);
    const pugi::xml_node root = document.document_element();
    ASSERT_EQ(std::string(root.name()), "coverage");
    const CoverageTotals totals = totals_of(coverage);
    expect_rates(root, totals);
    EXPECT_EQ(number(root, "lines-covered"), totals.lines_executed);
    EXPECT_EQ(number(root, "lines-valid"), totals.lines);
    EXPECT_EQ(number(root, "branches-covered"), totals.branches_taken);
    EXPECT_EQ(number(root, "branches-valid"), totals.branches);

    std::set<std::string> folders;
    size_t files = 0;
    for (const pugi::xml_node package : root.child("packages")) {
      EXPECT_TRUE(folders.insert(text(package, "name")).second) << "a package stands twice";
      CoverageTotals sum;
      for (const pugi::xml_node of : package.child("classes")) {
        const std::string path = text(of, "filename");
        EXPECT_TRUE(path.find('/') == path.npos
                        ? text(package, "name") == "."
                        : path == text(package, "name") + "/" + text(of, "name"))
            << path;
        const auto file =
            std::ranges::find(coverage.files, "/r/" + path, [](const auto &f) { return f.path; });
        ASSERT_NE(file, coverage.files.end()) << path;
        ++files;
        sum += totals_of(*file);
        expect_rates(of, totals_of(*file));
        ASSERT_EQ(children(of.child("lines")), file->lines.size());
        size_t i = 0;
        for (const pugi::xml_node line : of.child("lines"))
          expect_line(line, *file, file->lines[i++]);

        // Each function occurs once, and each line in at most one of them.
        ASSERT_EQ(children(of.child("methods")), file->functions.size());
        i = 0;
        std::set<uint64_t> of_methods;
        for (const pugi::xml_node method : of.child("methods")) {
          const FunctionCoverage &function = file->functions[i++];
          const bool cpp = function.name.starts_with("_Z");
          EXPECT_EQ(text(method, "name") + text(method, "signature"),
                    cpp ? "n::" + function.name.substr(6, 2) + "(int)" : function.name);
          CoverageTotals own;
          bool first = true;
          for (const pugi::xml_node line : method.child("lines")) {
            ++own.lines;
            own.lines_executed += number(line, "hits") != 0;
            if (first) {
              EXPECT_EQ(number(line, "number"), function.start_line);
              EXPECT_EQ(number(line, "hits"),
                        function.count < 0 ? 1 : static_cast<uint64_t>(function.count));
            } else {
              EXPECT_GT(number(line, "number"), function.start_line);
              EXPECT_TRUE(function.end_line == 0 || number(line, "number") <= function.end_line);
              EXPECT_TRUE(of_methods.insert(number(line, "number")).second);
              const auto at =
                  std::ranges::find(file->lines, number(line, "number"), &LineCoverage::line);
              ASSERT_NE(at, file->lines.end());
              expect_line(line, *file, *at);
            }
            first = false;
          }
          EXPECT_FALSE(first);
          expect_rate(method, "line-rate", own.lines_executed, own.lines);
        }
      }
      expect_rates(package, sum);
    }
    EXPECT_EQ(files, coverage.files.size());
    EXPECT_EQ(says(xml, "the terms of conditions"), totals.outcomes > 0);
    EXPECT_EQ(says(xml, "the terms of MC/DC"), totals.mcdc > 0);
    EXPECT_EQ(says(xml, "the counts of branches"), totals.branches > 0);
  }
}

TEST(SonarQube, HoldsTheNumbersOfTheModel) {
  Random random(4);
  for (int round = 0; round < rounds(200); ++round) {
    const Coverage coverage = random_coverage(random, {.negative = round % 2 == 0});
    const Written xml = written(coverage, "sonarqube", below("/r/"));
    const pugi::xml_document document = parsed(xml);
    const pugi::xml_node root = document.document_element();
    EXPECT_EQ(text(root, "version"), "1");
    ASSERT_EQ(children(root), coverage.files.size());
    size_t i = 0;
    for (const pugi::xml_node node : root) {
      const FileCoverage &file = coverage.files[i++];
      EXPECT_EQ("/r/" + text(node, "path"), file.path);
      ASSERT_EQ(children(node), file.lines.size());
      size_t at = 0;
      for (const pugi::xml_node line : node) {
        const LineCoverage &expected = file.lines[at++];
        const auto branches = file.branches_of(expected);
        EXPECT_EQ(number(line, "lineNumber"), expected.line);
        EXPECT_EQ(text(line, "covered"), expected.count != 0 ? "true" : "false");
        EXPECT_EQ(line.attribute("branchesToCover").empty(), branches.empty());
        if (branches.empty())
          continue;
        EXPECT_EQ(number(line, "branchesToCover"), branches.size());
        EXPECT_EQ(number(line, "coveredBranches"), taken(branches));
      }
    }
  }
}

Coverage one_file(std::string path, std::vector<FunctionCoverage> functions, uint32_t lines = 1,
                  int64_t count = 1) {
  Coverage out;
  FileCoverage file;
  file.path = std::move(path);
  for (uint32_t i = 1; i <= lines; ++i)
    file.lines.push_back({.line = i, .count = count});
  file.functions = std::move(functions);
  out.files.push_back(std::move(file));
  return out;
}

TEST(Cobertura, SplitsFunctionNamesBeforeTheirParameters) {
  const std::pair<const char *, std::pair<std::string, std::string>> names[] = {
      {"main", {"main", ""}},
      {"i", {"i", ""}}, // not a type
      {"_Z", {"_Z", ""}},
      {"_ZNK1A1fEv", {"A::f", "() const"}},
      {"_Z1fPFvibE", {"f", "(void (*)(int, bool))"}},
      {"_ZN12_GLOBAL__N_11gEv", {"(anonymous namespace)::g", "()"}},
      {"_ZZ4mainENKUliE_clEi", {"main::{lambda(int)#1}::operator()", "(int) const"}},
      {"_Z1fi.cold", {"f", "(int) [clone .cold]"}},
      {"_Z1fIiEvT_", {"void f<int>", "(int)"}},
  };
  for (const auto &[name, parts] : names) {
    const Written xml = written(one_file("/a.cpp", {{name, 1, 1, 1}}), "cobertura", WriteOptions());
    const pugi::xml_document document = parsed(xml);
    const pugi::xml_node method = document.select_node("//method").node();
    EXPECT_EQ(text(method, "name"), parts.first);
    EXPECT_EQ(text(method, "signature"), parts.second) << name;
  }
}

TEST(Cobertura, CountsInstancesSeparately) {
  const Coverage coverage =
      one_file("/a.cpp", {{"_Z1fIcEvv", 1, 2, 5}, {"_Z1fIiEvv", 1, 2, 0}}, 2, 5);
  const Written xml = written(coverage, "cobertura", WriteOptions());
  const pugi::xml_document document = parsed(xml);
  std::vector<std::string> rates;
  for (const auto &method : document.select_nodes("//method"))
    rates.push_back(text(method.node(), "line-rate"));
  EXPECT_EQ(rates, (std::vector<std::string>{"1.0000", "0.0000"}));
}

TEST(Cobertura, WritesPathsAndTime) {
  const Coverage coverage = one_file("/home/me/x/src/a.c", {});
  const auto attributes = [&](const WriteOptions &options) {
    const Written xml = written(coverage, "cobertura", options);
    const pugi::xml_document document = parsed(xml);
    const pugi::xml_node root = document.document_element();
    return std::vector{std::string(root.child("sources").child("source").text().as_string()),
                       text(document.select_node("//package").node(), "name"),
                       text(document.select_node("//class").node(), "filename"),
                       text(root, "timestamp")};
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(attributes(WriteOptions()), (Texts{".", "/home/me/x/src", "/home/me/x/src/a.c", "0"}));
  EXPECT_EQ(attributes(below("/home/me/x/", 1'700'000'000)),
            (Texts{"/home/me/x/", "src", "src/a.c", "1700000000000"}));
  EXPECT_EQ(attributes(below("/home/me/x/src", 1)), (Texts{"/home/me/x/src", ".", "a.c", "1000"}));
  EXPECT_EQ(attributes(below("/home/me/x/s"))[2], "/home/me/x/src/a.c"); // not in that directory
}

TEST(Cobertura, RoundsRatesDown) {
  Coverage coverage = one_file("/a.c", {}, 100'001);
  coverage.files[0].lines[7].count = 0;
  const Written xml = written(coverage, "cobertura", WriteOptions());
  EXPECT_NE(xml.bytes.find("line-rate=\"0.9999\""), xml.bytes.npos);
  EXPECT_EQ(xml.bytes.find("line-rate=\"1.0000\""), xml.bytes.npos);
}

TEST(Xml, ReplacesCharactersThatItCannotHold) {
  const std::string name =
      "<&\"'>\x01\x1b[31m\xff\xed\xa0\x80\xef\xbf\xbf\xc3\xa4\n" + std::string("\0]]>", 4);
  const std::string shown = "<&\"'>??[31m???????\xc3\xa4??]]>";
  for (const char *format : {"cobertura", "sonarqube"}) {
    const Written xml = written(one_file("/" + name, {{name, 1, 1, 1}}), format, below(name));
    EXPECT_TRUE(says(xml, "control characters")) << format;
    const pugi::xml_document document = parsed(xml);
    if (std::string_view(format) == "sonarqube") {
      EXPECT_EQ(text(document.select_node("//file").node(), "path"), "/" + shown);
      continue;
    }
    EXPECT_EQ(text(document.select_node("//class").node(), "filename"), "/" + shown);
    EXPECT_EQ(text(document.select_node("//method").node(), "name"), shown);
    EXPECT_EQ(document.select_node("//source").node().text().as_string(), shown);
  }
  EXPECT_FALSE(says(written(one_file("/\xc3\xa4.c", {}), "sonarqube", {}), "control characters"));
}

TEST(Xml, ReportsWhatItCannotHoldOfALine) {
  Coverage coverage = one_file("/a.c", {}, 1, -5);
  coverage.tests.push_back({"one", coverage.files});
  const Written cobertura = written(coverage, "cobertura", WriteOptions());
  EXPECT_TRUE(says(cobertura, "negative counts (written as 1, because the code ran)"));
  EXPECT_TRUE(says(cobertura, "the coverage of each test"));
  coverage.files[0].lines[0].line = 0;
  const Written sonarqube = written(coverage, "sonarqube", WriteOptions());
  EXPECT_TRUE(says(sonarqube, "lines with the number 0"));
  EXPECT_TRUE(says(sonarqube, "the coverage of each test"));
  EXPECT_EQ(sonarqube.bytes.find("lineToCover"), sonarqube.bytes.npos);
}

TEST(Xml, SelectsTheFormatsByNameOnly) {
  for (const char *name : {"cobertura", "sonarqube"}) {
    const auto format = format_by_name(name);
    ASSERT_TRUE(format);
    const std::string file = default_file_name(**format, "coverage");
    EXPECT_EQ(file, "coverage." + std::string(name) + ".xml");
    EXPECT_EQ(format_by_file_name(file), nullptr);
    const auto refused = write_profile(CostProfile(), **format);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("holds coverage"), std::string::npos);
  }
}

} // namespace
} // namespace tally::formats_xml_test
