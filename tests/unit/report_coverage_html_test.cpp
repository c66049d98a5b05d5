#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/coverage_html.h"
#include "report/html/text.h"
#include "support/text.h"
#include "support/utf8.h"
#include "temporary.h"

namespace tally::report_coverage_html_test {
namespace {

using Report = std::map<std::string, std::string>; // by path

class CoverageHtml : public testing::Test {
protected:
  Report report(const Coverage &coverage) {
    Report out;
    const auto written = write_html(coverage, options, diagnostics,
                                    [&](const std::string &path, std::string_view bytes) {
                                      EXPECT_TRUE(out.emplace(path, bytes).second) << path;
                                      return Result<void>();
                                    });
    EXPECT_TRUE(written) << written.error().text();
    return out;
  }
  // Returns the page of one file, whose source is `text`.
  std::string page(const FileCoverage &file, const std::string &text) {
    options.source = [text](const std::string &) { return SourceText{text}; };
    Coverage coverage;
    coverage.files = {file};
    for (const auto &[path, bytes] : report(coverage))
      if (path.starts_with("source/"))
        return bytes;
    return {};
  }
  static FileCoverage file_of(std::string path,
                              std::vector<std::pair<uint32_t, int64_t>> lines = {{1, 1}}) {
    FileCoverage file;
    file.path = std::move(path);
    for (const auto &[line, count] : lines)
      file.lines.push_back({line, count});
    return file;
  }
  std::vector<std::string> findings() const {
    std::vector<std::string> out;
    for (const Finding &finding : diagnostics.findings())
      out.push_back(finding.text());
    return out;
  }

  HtmlOptions options;
  Diagnostics diagnostics;
};

// Checks that elements nest, that their names and attributes are among those that the report uses,
// that ids are unique, and that links to ids have a target. A name, or a source's text, that could
// be taken for markup would violate one of these rules.
class PageCheck {
public:
  explicit PageCheck(std::string_view text) : text_(text) {}

  void run() {
    for (size_t at = 0; (at = text_.find_first_of("<>", at)) != text_.npos;) {
      ASSERT_EQ(text_[at], '<') << "a '>' in " << text_.substr(at > 40 ? at - 40 : 0, 80);
      const size_t end = text_.find('>', at);
      ASSERT_NE(end, text_.npos);
      tag(text_.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    EXPECT_TRUE(open_.empty()) << open_.back() << " is not closed";
    for (const std::string &id : links_)
      EXPECT_TRUE(ids_.contains(id)) << "#" << id;
    for (char c : text_)
      ASSERT_TRUE(static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') << int{c};
    for (std::string_view rest = text_; !rest.empty();) {
      const size_t length = utf8_size(rest);
      ASSERT_GT(length, 0U) << "not UTF-8";
      rest.remove_prefix(length);
    }
  }

private:
  static bool may_stay_open(const std::string &name) {
    static const std::set<std::string> names{"td", "th", "tr", "li", "tbody"};
    return names.contains(name);
  }

  void tag(std::string_view tag) {
    if (tag == "!DOCTYPE html")
      return;
    if (tag.starts_with('/')) {
      while (!open_.empty() && open_.back() != tag.substr(1) && may_stay_open(open_.back()))
        open_.pop_back();
      ASSERT_FALSE(open_.empty()) << "/" << tag;
      ASSERT_EQ(open_.back(), tag.substr(1));
      open_.pop_back();
      return;
    }
    const std::string name(tag.substr(0, tag.find(' ')));
    static const std::set<std::string> known{
        "html",   "head",    "meta",  "title",   "link", "script",  "body",   "header", "h1",
        "p",      "main",    "table", "caption", "tr",   "th",      "td",     "tbody",  "thead",
        "span",   "form",    "label", "input",   "kbd",  "details", "button", "a",      "nav",
        "output", "summary", "div",   "ol",      "ul",   "li",      "i",      "col",    "colgroup"};
    ASSERT_TRUE(known.contains(name)) << name;
    attributes(tag.substr(name.size()));
    static const std::set<std::string> empty{"meta", "link", "input", "col"};
    if (!empty.contains(name))
      open_.push_back(name);
  }

  void attributes(std::string_view rest) {
    static const std::set<std::string> known{
        "lang",  "class", "charset", "name",         "content",    "rel",         "href",   "src",
        "defer", "title", "scope",   "colspan",      "data-cell",  "data-sort",   "hidden", "role",
        "type",  "id",    "checked", "autocomplete", "spellcheck", "placeholder", "start"};
    while (!rest.empty()) {
      ASSERT_EQ(rest[0], ' ') << rest;
      rest.remove_prefix(1);
      const size_t name_end = std::min(rest.find_first_of("= "), rest.size());
      const std::string name(rest.substr(0, name_end));
      ASSERT_TRUE(known.contains(name)) << name;
      rest.remove_prefix(name_end);
      std::string_view value;
      if (rest.starts_with("=\"")) {
        const size_t end = rest.find('"', 2);
        ASSERT_NE(end, rest.npos);
        value = rest.substr(2, end - 2);
        rest.remove_prefix(end + 1);
      } else if (rest.starts_with('=')) {
        const size_t end = std::min(rest.find(' '), rest.size());
        value = rest.substr(1, end - 1);
        ASSERT_EQ(value.find_first_of("\"'`="), value.npos) << value;
        rest.remove_prefix(end);
      }
      if (name == "id") {
        EXPECT_TRUE(ids_.emplace(value).second) << "id " << value << " twice";
      }
      if (name == "href" && value.starts_with('#'))
        links_.emplace(value.substr(1));
    }
  }

  std::string_view text_;
  std::vector<std::string> open_;
  std::set<std::string> ids_, links_;
};

void check(const Report &report) {
  for (const auto &[path, bytes] : report)
    if (path.ends_with(".html")) {
      SCOPED_TRACE(path);
      PageCheck(bytes).run();
    }
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST(HtmlText, IsEscaped) {
  EXPECT_EQ(html::escaped("<a href=\"x\" & 'y'>"),
            "&lt;a href=&quot;x&quot; &amp; &#39;y&#39;&gt;");
  EXPECT_EQ(html::escaped("größe\t→ 𝄞"), "größe\t→ 𝄞");
  EXPECT_EQ(html::escaped(std::string_view("\0\x1b\n\x7f", 4)), "␀␛␊␡");
  EXPECT_EQ(html::escaped("\xC2\x9B"), "\uFFFD"); // a C1 control
  // Not UTF-8: a lone byte, an overlong slash, a surrogate, a code beyond U+10FFFF, a truncated
  // one.
  EXPECT_EQ(html::escaped("a\xFF"), "a\uFFFD");
  EXPECT_EQ(html::escaped("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(html::escaped("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(html::escaped("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(html::escaped("\xE2\x82<"), "\uFFFD\uFFFD&lt;");
}

TEST(HtmlText, ShortensCounts) {
  const std::map<int64_t, std::string> expected{
      {0, "0"},         {-3, "-3"},       {999, "999"},      {1000, "1.0k"},     {1299, "1.2k"},
      {99999, "99.9k"}, {999999, "999k"}, {1000000, "1.0M"}, {INT64_MAX, "9.2E"}};
  for (const auto &[count, text] : expected)
    EXPECT_EQ(html::short_count(count), text);
  EXPECT_EQ(html::count_html(12), "12");
  EXPECT_EQ(html::count_html(1234), "<span title=1234>1.2k</span>");
}

TEST_F(CoverageHtml, IsCompleteAndReproducible) {
  FileCoverage file = file_of("/src/lib/a.cpp", {{1, 1200}, {2, 0}, {3, 0}, {5, 4}, {7, 0}});
  file.functions = {{"_ZN1a1fEi", 1, 3, 1200}, {"g", 7, 7, 0}, {"elsewhere", 99, 0, 1}};
  file.branches = {{3, true, false}, {1, false, false}, {4, false, false}, {0, false, true}};
  file.lines[0].last_branch = 2;
  file.lines[3].first_branch = 2;
  file.lines[3].last_branch = 4;
  file.conditions = {{2, 3, 1}};
  file.lines[3].last_condition = 1;
  Coverage coverage;
  coverage.files = {file, file_of("/src/main.c")};
  coverage.tests = {{"one", coverage.files}, {"<two>", {}}};
  options.root = "/src";
  options.source = [](const std::string &) { return SourceText{"a\nb\nc\nd\ne\nf\ng"}; };
  const Report first = report(coverage);
  EXPECT_EQ(first, report(coverage));
  EXPECT_TRUE(diagnostics.findings().empty());
  check(first);
  ASSERT_EQ(first.size(), 5U);
  const std::string &index = first.at("index.html");
  EXPECT_TRUE(holds(index, "<span class=dir>lib/</span>a.cpp</a>"));
  EXPECT_TRUE(holds(index, ">40.0%<td class=of>2/5<td>3"));
  EXPECT_TRUE(holds(index, "&lt;two&gt;"));

  const auto at = std::ranges::find_if(
      first, [](const auto &each) { return each.first.starts_with("source/lib-a_cpp-"); });
  ASSERT_NE(at, first.end());
  EXPECT_TRUE(holds(index, "href=\"" + at->first + '"'));
  const std::string &page = at->second;
  EXPECT_TRUE(holds(page, "<tr id=L1 class=x><th><a href=#L1>1</a><td>"
                          "<span title=1200>1.2k</span><td>"));
  EXPECT_TRUE(holds(page, "taken 3 (75.0%), by falling through<li>taken 1 (25.0%)"));
  EXPECT_TRUE(holds(page, "<tr id=L2 class=\"m b\">"));
  EXPECT_TRUE(holds(page, "href=#L7 title=\"next line that did not run: 7\""));
  EXPECT_TRUE(holds(page, "<tr id=L3 class=m>"));
  EXPECT_TRUE(holds(page, "<tr id=L4><th>"));
  EXPECT_TRUE(holds(page, "<tr id=L5 class=p>"));
  EXPECT_TRUE(holds(page, "not taken, by an exception"));
  EXPECT_TRUE(holds(page, "term 1 never decided the result while it was false"));
  EXPECT_TRUE(holds(page, "a::f(int)"));
  EXPECT_TRUE(holds(page, "<td>99<td>1<th scope=row>elsewhere")); // line 99 has no row
}

// On a narrow screen, columns of a fixed width would leave no room for the names.
TEST_F(CoverageHtml, GivesNamesALineOnANarrowScreen) {
  const std::string style = report(Coverage()).at("style.css");
  const size_t begin = style.rfind("@media (max-width: 45rem)");
  ASSERT_NE(begin, style.npos);
  const std::string narrow = style.substr(begin, style.find("\n}", begin) - begin);
  EXPECT_TRUE(holds(narrow, ".shares tr { display: flex; flex-wrap: wrap;"));
  EXPECT_TRUE(holds(narrow, ".shares th:first-child { flex-basis: 100%; }"));
  EXPECT_TRUE(holds(narrow, ".shares colgroup, .shares .of { display: none; }"));
  EXPECT_TRUE(holds(narrow, ".totals .poor { --full: 4rem; padding-left: 4.75rem; }"));
  EXPECT_FALSE(holds(narrow, ".c-share"));
}

TEST_F(CoverageHtml, ShowsALineAsRunIfOnlyExceptionsAreMissing) {
  FileCoverage file = file_of("a.cpp", {{1, 1}});
  file.branches = {{1, true, false}, {0, false, true}};
  file.lines[0].last_branch = 2;
  const std::string text = page(file, "f();\n");
  EXPECT_TRUE(holds(text, "<tr id=L1 class=x>"));
  EXPECT_TRUE(holds(text, "<summary>1/2</summary>"));
}

TEST_F(CoverageHtml, MarksThePartsOfALineThatDidNotRun) {
  FileCoverage file = file_of("/a.c", {{1, 3}, {2, 0}, {3, 2}});
  file.segments = {{1, 1, 3, true, true, false},  {1, 7, 0, true, true, false},
                   {1, 9, 3, true, false, false}, {1, 11, 0, true, true, true},
                   {2, 3, 0, true, true, false},  {2, 5, 3, true, false, false},
                   {3, 2, 0, true, true, false},  {3, 900, 2, true, false, false}};
  file.regions = {5, 2, 1, 1};
  const std::string shown = page(file, "if (a) b; <\n  c;\nd<>");
  EXPECT_TRUE(
      holds(shown, "class=p><th><a href=#L1>1</a><td>3<td><td>if (a)<mark> b</mark>; &lt;"));
  EXPECT_TRUE(holds(shown, "<td>  c;\n")); // the whole line is coloured
  EXPECT_TRUE(holds(shown, "<td>d<mark>&lt;&gt;</mark>\n"));
  EXPECT_TRUE(holds(shown, "<tr><th>Regions<td class=\"poor w40\">40.0%<td class=of>2/5"));
  EXPECT_TRUE(holds(shown, "<tr><th>Instantiations"));
}

TEST_F(CoverageHtml, ShowsTheTimeOnlyIfItIsGiven) {
  EXPECT_FALSE(holds(report(Coverage()).at("index.html"), "class=time"));
  options.time = "today & tomorrow";
  EXPECT_TRUE(holds(report(Coverage()).at("index.html"), "<p class=time>today &amp; tomorrow</p>"));
}

TEST_F(CoverageHtml, EscapesAnyNameAndText) {
  const std::vector<std::string> names{"</title><script>alert(1)</script>.c",
                                       "a\"onmouseover='x' .c",
                                       "&amp;.c",
                                       std::string("nul\0.c", 6),
                                       "line\nbreak\r.c",
                                       "not utf8 \xFF\xC0.c",
                                       "",
                                       "/",
                                       "folder/",
                                       std::string(5000, 'x') + ".c",
                                       "javascript:alert(1)"};
  Coverage coverage;
  for (const std::string &name : names) {
    coverage.files.push_back(file_of(name, {{1, 1}, {2, 0}}));
    coverage.files.back().functions = {{name, 1, 2, 1}};
  }
  options.title = "<b>\"T\"";
  options.time = "<i>";
  options.source = [&](const std::string &path) { return SourceText{path + "\n\x1b</td>\r\n"}; };
  const Report all = report(coverage);
  check(all);
  EXPECT_EQ(all.size(), names.size() + 3);
  for (const auto &[path, bytes] : all) {
    EXPECT_EQ(
        path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./"),
        path.npos)
        << path;
    EXPECT_EQ(path.find(".."), path.npos) << path;
    EXPECT_LE(path.size(), 150U);
    if (path.ends_with(".html")) {
      EXPECT_FALSE(holds(bytes, "<script>")) << path;
    }
  }
}

TEST_F(CoverageHtml, GivesEachFileItsOwnPage) {
  const std::vector<std::string> names{"/r/a.c",   "/r/A.c",   "/r/a_c",        "/r/b/c.h",
                                       "/r/b-c.h", "/r/b_c.h", "/r/index.html", "/r/INDEX.html",
                                       "a.c"}; // displayed as "/r/a.c" is
  Coverage coverage;
  for (const std::string &name : names)
    coverage.files.push_back(file_of(name));
  options.root = "/r";
  options.source = [](const std::string &) { return SourceText{"x\n"}; };
  const Report all = report(coverage);
  std::set<std::string> lower;
  for (const auto &[path, bytes] : all) {
    std::string name = path;
    for (char &c : name)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    lower.insert(name);
  }
  EXPECT_EQ(lower.size(), names.size() + 3);
  // A page's name depends neither on the other files nor on the location of the root.
  EXPECT_TRUE(all.contains("source/b-c_h-6cc1df9ad687.html"));
  coverage.files = {file_of("/elsewhere/b/c.h")};
  options.root = "/elsewhere/";
  EXPECT_TRUE(report(coverage).contains("source/b-c_h-6cc1df9ad687.html"));
}

TEST_F(CoverageHtml, KeepsTheCountsOfAMissingSource) {
  const TemporaryFolder folder;
  Coverage coverage;
  coverage.files = {file_of(folder / "gone.c", {{3, 7}, {4000000000, 0}})};
  coverage.files[0].functions = {{"f", 3, 0, 1}, {"g", 5, 0, 1}};
  const Report all = report(coverage);
  check(all);
  EXPECT_EQ(findings(), (std::vector<std::string>{
                            folder / "gone.c: warning: the source cannot be read: there is no "
                                     "such file"}));
  const auto at =
      std::ranges::find_if(all, [](const auto &each) { return each.first.starts_with("source/"); });
  EXPECT_TRUE(holds(at->second, "<p class=note role=note>the source cannot be read: "));
  EXPECT_TRUE(holds(at->second, "<tr id=L3 class=x><th><a href=#L3>3</a><td>7<td><td>\n"));
  EXPECT_TRUE(holds(at->second, "<tr id=L4000000000 class=\"m b\">"));
}

TEST_F(CoverageHtml, ReadsOnlyRegularFilesAsSources) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_source(folder / ""));
  EXPECT_FALSE(read_source("/dev/zero"));
  EXPECT_FALSE(read_source(std::string("a\0b", 3)));
  const auto text = read_source(folder.put("a.c", "int a;\n"));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->bytes, "int a;\n");
  EXPECT_GT(text->modified, 0);
}

TEST_F(CoverageHtml, ReportsASourceThatWasChanged) {
  const std::string shorter = page(file_of("s.c", {{1, 1}, {9, 0}}), "one\ntwo\n");
  EXPECT_TRUE(findings().empty()); // `tally coverage` reports it
  EXPECT_TRUE(holds(shorter, "role=note>line 9 is counted"));
  PageCheck(shorter).run();

  diagnostics.clear();
  options.counted = 100;
  options.source = [](const std::string &path) {
    return SourceText{"one\n", path == "old.c" ? 100 : 101};
  };
  Coverage coverage;
  coverage.files = {file_of("new.c"), file_of("old.c")};
  check(report(coverage));
  ASSERT_EQ(diagnostics.findings().size(), 1U);
  EXPECT_TRUE(findings()[0].starts_with("new.c: warning: the source was changed after"));
}

TEST_F(CoverageHtml, LimitsTheLengthOfLines) {
  const std::string text =
      page(file_of("a.c"), std::string(3999, 'x') + "→" + std::string(1 << 20, 'y'));
  PageCheck(text).run();
  EXPECT_LT(text.size(), 10000U);
  EXPECT_TRUE(holds(text, fmt::format("xx<i>… {} bytes more</i>", (1 << 20) + 3)));
  FileCoverage many = file_of("b.c");
  many.branches.assign(100000, {1, false, false});
  many.lines[0].last_branch = 100000;
  const std::string branches = page(many, "x");
  EXPECT_LT(branches.size(), 20000U);
  EXPECT_TRUE(holds(branches, "and 99900 more"));
}

TEST_F(CoverageHtml, PassesOnAFailureToWrite) {
  Coverage coverage;
  coverage.files = {file_of("a.c")};
  for (size_t fits = 0; fits < 4; ++fits) {
    std::vector<std::string> paths;
    const auto written = write_html(coverage, options, diagnostics,
                                    [&](const std::string &path, std::string_view) -> Result<void> {
                                      if (paths.size() == fits)
                                        return fail(ErrorCode::io, "the disk is full");
                                      paths.push_back(path);
                                      return {};
                                    });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "the disk is full");
    EXPECT_EQ(std::count(paths.begin(), paths.end(), "index.html"), 0);
  }
}

} // namespace
} // namespace tally::report_coverage_html_test
