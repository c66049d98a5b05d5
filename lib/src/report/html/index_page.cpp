#include <map>

#include <fmt/format.h>

#include "report/coverage_text.h"
#include "report/html/pages.h"
#include "report/html/text.h"

namespace tally::html {

namespace {

class IndexPage {
public:
  IndexPage(const Coverage &coverage, const std::vector<PageFile> &files,
            const HtmlOptions &options, std::string &out)
      : coverage_(coverage), files_(files), options_(options), to_(out) {
    for (const PageFile &file : files)
      all_ += file.totals;
  }

  void write() {
    put_head(to_, options_.title, "", "index");
    to_.put("<header>\n<h1>");
    put_text(to_, options_.title);
    to_.put("</h1>\n");
    if (!options_.time.empty()) {
      to_.put("<p class=time>");
      put_text(to_, options_.time);
      to_.put("</p>\n");
    }
    to_.put("</header>\n<main>\n");
    put_totals(to_, all_, options_);
    to_.put(fmt::format("<p class=legend><span class=\"good w100\">from {:g}%</span> <span "
                        "class=\"fair w100\">from {:g}%</span> <span class=\"poor w100\">below "
                        "that</span></p>\n",
                        options_.high, options_.low));
    tests();
    files();
    to_.put("</main>\n");
    put_foot(to_);
  }

private:
  // Writes the head of a table. Each sortable column names the cell and the kind of the values by
  // which to sort. A share has two cells, and the second has its numbers.
  void head(std::string_view id, std::string_view name) {
    to_.put("<table id=");
    to_.put(id);
    to_.put(" class=shares>\n<caption>");
    to_.put(name);
    to_.put("s</caption>\n<colgroup><col class=c-name><col class=c-share><col class=c-of>"
            "<col class=c-missing>");
    const std::vector<CoverageMetric> metrics = metrics_in_table(all_, all_);
    for (size_t i = 1; i < metrics.size(); ++i)
      to_.put("<col class=c-share><col class=c-of>");
    to_.put("</colgroup>\n<thead><tr><th scope=col data-cell=0 data-sort=text>");
    to_.put(name);
    to_.put("<th scope=colgroup colspan=2 data-cell=2 data-sort=share>Lines"
            "<th scope=col data-cell=3 data-sort=number>Not run");
    for (size_t i = 1; i < metrics.size(); ++i)
      to_.put(fmt::format("<th scope=colgroup colspan=2 data-cell={} data-sort=share>{}", 2 * i + 3,
                          title_of(metrics[i])));
    to_.put("</thead>\n");
  }

  void numbers(const CoverageTotals &totals) {
    for (const CoverageMetric &metric : metrics_in_table(totals, all_)) {
      put_share(to_, metric.part, metric.whole, options_);
      if (metric.name == "lines") {
        to_.put("<td>");
        to_.put(metric.whole - metric.part);
      }
    }
    to_.put('\n');
  }

  void tests() {
    if (coverage_.tests.size() < 2)
      return;
    to_.put(fmt::format("<details><summary>{} tests and their coverage</summary>\n",
                        coverage_.tests.size()));
    head("tests", "Test");
    to_.put("<tbody>\n");
    for (const TestCoverage &test : coverage_.tests) {
      CoverageTotals totals;
      for (const FileCoverage &file : test.files)
        totals += totals_of(file);
      to_.put("<tr><th scope=row>");
      put_text(to_, test.name.empty() ? "(no name)" : std::string_view(test.name));
      numbers(totals);
    }
    to_.put("</table></details>\n");
  }

  void files() {
    if (files_.empty()) {
      to_.put("<p>No source has counted code.</p>\n");
      return;
    }
    to_.put("<form class=controls hidden role=search><label>Search <input type=search id=search "
            "autocomplete=off spellcheck=false placeholder=\"words of the path\"></label> "
            "<label><input type=checkbox id=group checked> by folder</label> "
            "<output id=shown></output> <button type=button id=help>Keys "
            "<kbd>?</kbd></button></form>\n");
    head("files", "File");
    std::map<std::string_view, std::vector<const PageFile *>> folders;
    for (const PageFile &file : files_)
      folders[file.folder].push_back(&file);
    for (const auto &[folder, files] : folders) {
      CoverageTotals totals;
      for (const PageFile *file : files)
        totals += file->totals;
      to_.put("<tbody>\n<tr class=folder><th scope=rowgroup>");
      put_text(to_, folder.empty() ? "(top)" : folder);
      numbers(totals);
      for (const PageFile *file : files) {
        to_.put("<tr><th scope=row><a href=\"");
        to_.put(file->page);
        to_.put("\"><span class=dir>");
        put_text(to_, folder);
        to_.put("</span>");
        put_text(to_, std::string_view(file->shown).substr(folder.size()));
        to_.put("</a>");
        numbers(file->totals);
      }
    }
    to_.put("</table>\n<p id=nothing hidden>No path contains these words.</p>\n");
  }

  const Coverage &coverage_;
  const std::vector<PageFile> &files_;
  const HtmlOptions &options_;
  TextSink to_;
  CoverageTotals all_;
};

} // namespace

std::string index_page(const Coverage &coverage, const std::vector<PageFile> &files,
                       const HtmlOptions &options) {
  std::string out;
  IndexPage(coverage, files, options, out).write();
  return out;
}

} // namespace tally::html
