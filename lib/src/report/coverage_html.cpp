#include "report/coverage_html.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/coverage_report.h"
#include "report/coverage_text.h"
#include "report/html/assets.h"
#include "report/html/pages.h"
#include "report/html/text.h"
#include "report/render.h"
#include "support/hash.h"
#include "support/path.h"

namespace tally {

namespace html {

namespace {

// Returns the FNV-1a hash. Page names contain the hash, which must be the same in every report,
// because other documents link to the pages.
uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// Replaces each '/' by '-', and other characters that are not letters or digits by '_'. Dots are
// replaced, too, because "con.c" is a device on Windows. The hash distinguishes paths that become
// equal by this, or that differ only in case.
std::string page_name(std::string_view shown) {
  constexpr size_t most = 100; // keep the end of the path, which is more specific
  std::string name;
  for (char c : shown.substr(shown.size() - std::min(most, shown.size()))) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain ? c : c == '/' ? '-' : '_';
  }
  return fmt::format("source/{}-{:012x}", name, stable_hash(shown) >> 16);
}

std::string lower_case(std::string text) {
  for (char &c : text)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}

} // namespace

std::vector<PageFile> page_files(const Coverage &coverage, std::string_view root) {
  std::vector<PageFile> out;
  SeededSet<std::string> taken; // page names in use, in lower case
  for (const FileCoverage &file : coverage.files) {
    PageFile page;
    page.file = &file;
    page.totals = totals_of(file);
    page.shown = relative_path(file.path, root);
    if (page.shown.empty())
      page.shown = "(no name)";
    // A slash at the end of the path does not count, so that the name after the directory is never
    // empty.
    const size_t slash =
        page.shown.size() < 2 ? page.shown.npos : page.shown.rfind('/', page.shown.size() - 2);
    page.folder = page.shown.substr(0, slash + 1);
    // Hashes may collide, by chance or on purpose.
    const std::string name = page_name(page.shown);
    page.page = name;
    for (size_t again = 2; !taken.insert(lower_case(page.page)).second; ++again)
      page.page = fmt::format("{}-{}", name, again);
    page.page += ".html";
    out.push_back(std::move(page));
  }
  return out;
}

void put_head(TextSink &to, std::string_view title, std::string_view up, std::string_view kind) {
  to.put("<!DOCTYPE html>\n<html lang=en class=");
  to.put(kind);
  to.put(">\n<head>\n<meta charset=utf-8>\n");
  to.put("<meta name=");
  to.put(html_report_mark);
  to.put(">\n"
         "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=color-scheme content=\"light dark\">\n<title>");
  put_text(to, title);
  to.put("</title>\n<link rel=icon href=\"data:,\">\n<link rel=stylesheet href=\"");
  to.put(up);
  to.put("style.css\">\n<script src=\"");
  to.put(up);
  to.put("report.js\" defer></script>\n</head>\n<body>\n");
}

void put_foot(TextSink &to) { to.put("</body>\n</html>\n"); }

void put_share(TextSink &to, uint64_t part, uint64_t whole, const HtmlOptions &options) {
  if (whole == 0) {
    to.put("<td class=none>-<td class=of>");
    return;
  }
  const double share = percent(part, whole);
  // Like share_text(), show a full or empty bar only if the share is exactly 100% or 0%.
  const auto bar = part == whole ? 100 : part == 0 ? 0 : std::clamp(static_cast<int>(share), 1, 99);
  to.put(share >= options.high  ? "<td class=\"good w"
         : share >= options.low ? "<td class=\"fair w"
                                : "<td class=\"poor w");
  to.put(static_cast<uint64_t>(bar));
  to.put("\">");
  to.put(share_text(part, whole));
  to.put("<td class=of>");
  to.put(part);
  to.put('/');
  to.put(whole);
}

void put_totals(TextSink &to, const CoverageTotals &totals, const HtmlOptions &options) {
  to.put("<table class=totals>\n<caption>Totals</caption>\n<tbody>\n");
  for (const CoverageMetric &metric : shown_metrics(totals, totals)) {
    to.put("<tr><th>");
    to.put(title_of(metric));
    put_share(to, metric.part, metric.whole, options);
    to.put('\n');
  }
  to.put("</table>\n");
}

} // namespace html

Result<void> write_html(
    const Coverage &coverage, const HtmlOptions &options, Diagnostics &diagnostics,
    const std::function<Result<void>(const std::string &path, std::string_view bytes)> &put) {
  // The lengths of bars are classes of the style sheet, because Jenkins shows pages with a content
  // security policy that forbids inline styles.
  std::string style = fmt::format("/* {} */\n{}", html_report_mark, html::style_css);
  for (int percent = 0; percent <= 100; ++percent)
    style += fmt::format(".w{}{{--w:{}}}\n", percent, percent);
  TALLY_CHECK(put("style.css", style));
  TALLY_CHECK(put("report.js", html::report_js));
  const std::vector<html::PageFile> files = html::page_files(coverage, options.root);
  for (const html::PageFile &file : files)
    TALLY_CHECK(put(file.page, html::source_page(file, options, diagnostics)));
  return put("index.html", html::index_page(coverage, files, options));
}

} // namespace tally
