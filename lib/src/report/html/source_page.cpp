#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/coverage_findings.h"
#include "report/coverage_report.h"
#include "report/html/pages.h"
#include "report/html/text.h"
#include "support/demangle.h"

namespace tally::html {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

class SourcePage {
public:
  SourcePage(const PageFile &page, const HtmlOptions &options, Diagnostics &diagnostics,
             std::string &out)
      : page_(page), file_(*page.file), options_(options), diagnostics_(diagnostics), to_(out),
        gaps_(ranges_not_run(file_)) {}

  void write() {
    read_text();
    put_head(to_, page_.shown + " - " + options_.title, "../", "source");
    header();
    to_.put("<main>\n");
    for (const std::string &note : notes_) {
      to_.put("<p class=note role=note>");
      put_text(to_, note);
      to_.put("</p>\n");
    }
    put_totals(to_, page_.totals, options_);
    functions();
    to_.put("<p class=legend><span class=x>ran</span> <span class=p>ran, but not every branch, "
            "condition or part</span> <span class=m>did not run</span>");
    if (page_.totals.outcomes > 0)
      to_.put(" <span>3/4c: outcomes of conditions</span>");
    if (page_.totals.mcdc > 0)
      to_.put(" <span>3/4m: conditions shown to decide alone (MC/DC)</span>");
    to_.put("</p>\n");
    source();
    to_.put("</main>\n");
    put_foot(to_);
  }

private:
  void read_text();
  void note(std::string text) {
    diagnostics_.add(Severity::warning, text, file_.path);
    notes_.push_back(std::move(text));
  }

  void header() {
    to_.put("<header class=bar-top>\n<a href=\"../index.html\" id=up>All files</a>\n<h1><span "
            "class=dir>");
    put_text(to_, page_.folder);
    to_.put("</span>");
    put_text(to_, std::string_view(page_.shown).substr(page_.folder.size()));
    to_.put("</h1>\n<nav>");
    if (!gaps_.empty()) {
      to_.put(fmt::format("<a href=\"#L{}\">First line that did not run</a> ", gaps_[0].first));
      to_.put("<span class=controls hidden><button type=button id=previous>Previous "
              "<kbd>p</kbd></button> <button type=button id=next>Next <kbd>n</kbd></button> "
              "<output id=at></output></span> ");
    }
    to_.put("<span class=controls hidden><button type=button id=help>Keys "
            "<kbd>?</kbd></button></span></nav>\n</header>\n");
  }

  void link_to_line(uint32_t line) {
    to_.put("<a href=\"#L");
    to_.put(uint64_t{line});
    to_.put("\">");
    to_.put(uint64_t{line});
    to_.put("</a>");
  }
  // Returns whether the table has a row for the line, which a link needs as its target.
  bool has_row(uint32_t line) const {
    return line > 0 && (line <= text_.size() ||
                        std::ranges::binary_search(file_.lines, line, {}, &LineCoverage::line));
  }
  void functions() {
    if (file_.functions.empty())
      return;
    const uint64_t missing = page_.totals.functions - page_.totals.functions_executed;
    to_.put(fmt::format("<details class=functions><summary>{} function{}{}</summary>\n",
                        page_.totals.functions, page_.totals.functions == 1 ? "" : "s",
                        missing == 0 ? "" : fmt::format(", {} never entered", missing)));
    to_.put("<table id=functions>\n<thead><tr><th scope=col data-cell=0 data-sort=number>Line"
            "<th scope=col data-cell=1 data-sort=number>Entered"
            "<th scope=col data-cell=2 data-sort=text>Function</thead>\n<tbody>\n");
    for (const FunctionCoverage &function : file_.functions) {
      to_.put(function.count == 0 ? "<tr class=m><td>" : "<tr class=x><td>");
      if (has_row(function.start_line))
        link_to_line(function.start_line);
      else if (function.start_line > 0)
        to_.put(uint64_t{function.start_line});
      to_.put("<td>");
      to_.put(count_html(function.count));
      to_.put("<th scope=row>");
      put_text(to_, demangled(function.name));
      to_.put('\n');
    }
    to_.put("</table></details>\n");
  }

  void source();
  void row(uint32_t number, const LineCoverage *line, std::optional<std::string_view> text);
  bool is_partial(const LineCoverage &line) const;
  void parts(uint32_t number, std::string_view text);
  void details(const LineCoverage &line);
  void branch(const LineCoverage &line, const BranchCoverage &branch, int64_t all);
  void gap_links();

  const PageFile &page_;
  const FileCoverage &file_;
  const HtmlOptions &options_;
  Diagnostics &diagnostics_;
  TextSink to_;
  std::string bytes_;
  std::vector<std::string_view> text_; // lines of bytes_
  std::vector<std::string> notes_;
  std::vector<MissingRange> gaps_;
  size_t next_gap_ = 0; // the first gap whose rows are not written yet
  size_t segment_ = 0;  // the first segment that does not begin before the row
};

void SourcePage::read_text() {
  auto read = options_.source(file_.path);
  if (!read) {
    note(fmt::format("the source cannot be read: {}", read.error().message));
    return;
  }
  bytes_ = std::move(read->bytes);
  text_ = lines_of(bytes_);
  if (!file_.lines.empty() && file_.lines.back().line > text_.size())
    notes_.push_back(beyond_the_end(file_.lines.back().line, text_.size()));
  else if (options_.counted != 0 && read->modified > options_.counted)
    note("the source was changed after it was counted: counts may be shown at the wrong lines");
}

void SourcePage::source() {
  to_.put("<table id=source>\n<caption>Source</caption>\n<colgroup><col class=c-line><col "
          "class=c-count>"
          "<col class=c-branches><col></colgroup>\n<thead><tr><th scope=col>Line"
          "<th scope=col>Count<th scope=col>Branches<th scope=col>Source</thead>\n<tbody>\n");
  auto counted = file_.lines.begin();
  const auto take = [&](uint32_t number) -> const LineCoverage * {
    return counted != file_.lines.end() && counted->line == number ? &*counted++ : nullptr;
  };
  if (const LineCoverage *none = take(0)) // counts whose line is unknown
    row(0, none, {});
  for (uint32_t i = 0; i < text_.size(); ++i)
    row(i + 1, take(i + 1), text_[i]);
  for (; counted != file_.lines.end(); ++counted)
    row(counted->line, &*counted, {});
  to_.put("</table>\n");
}

// Returns whether a part of a segment's line did not run.
bool did_not_run(const SegmentCoverage &segment) {
  return segment.has_count && !segment.is_gap && segment.count == 0;
}

// Returns whether the line ran, but something in it did not.
bool SourcePage::is_partial(const LineCoverage &line) const {
  // Compilers give nearly every call a branch for exceptions. If only such branches were not
  // taken, the numbers show this, but the line is not coloured, because otherwise nearly all lines
  // would be coloured.
  if (std::ranges::any_of(file_.branches_of(line),
                          [](const BranchCoverage &b) { return b.count == 0 && !b.throws; }) ||
      std::ranges::any_of(file_.conditions_of(line),
                          [](const ConditionCoverage &c) { return c.covered() < c.outcomes(); }) ||
      std::ranges::any_of(file_.decisions_of(line), [](const McdcCoverage &d) {
        return d.conditions_covered() < d.conditions();
      }))
    return true;
  if (line.uncertain > 0)
    return false;
  auto at = std::ranges::lower_bound(file_.segments, line.line, {}, &SegmentCoverage::line);
  for (; at != file_.segments.end() && at->line == line.line; ++at)
    if (at->is_entry && did_not_run(*at))
      return true;
  return false;
}

// Writes the text of a line that ran, and marks the parts of it that did not.
void SourcePage::parts(uint32_t number, std::string_view text) {
  const auto &segments = file_.segments;
  while (segment_ < segments.size() && segments[segment_].line < number)
    ++segment_;
  size_t at = segment_;
  const SegmentCoverage *now = at == 0 ? nullptr : &segments[at - 1];
  const char *const first = text.data();
  while (!text.empty()) {
    size_t size = text.size();
    const auto begin = static_cast<size_t>(text.data() - first);
    for (; at < segments.size() && segments[at].line == number; ++at) {
      const size_t column = std::max(segments[at].column, 1U) - 1;
      if (column > begin) {
        size = std::min(size, column - begin);
        break;
      }
      now = &segments[at];
    }
    const std::string_view part = text.substr(0, size);
    const bool is_marked = now && did_not_run(*now) && part.find_first_not_of(" \t") != part.npos;
    if (is_marked)
      to_.put("<mark>");
    put_text(to_, part);
    if (is_marked)
      to_.put("</mark>");
    text.remove_prefix(size);
  }
}

// Writes a row of the table, as short as HTML allows: the end tags of rows and cells are optional.
void SourcePage::row(uint32_t number, const LineCoverage *line,
                     std::optional<std::string_view> text) {
  to_.put("<tr id=L");
  to_.put(uint64_t{number});
  const bool begins_gap =
      line && next_gap_ < gaps_.size() && gaps_[next_gap_].first == line->line && line->count == 0;
  if (line && line->count == 0) {
    to_.put(begins_gap ? " class=\"m b\"" : " class=m");
  } else if (line) {
    to_.put(is_partial(*line) ? " class=p" : " class=x");
  }
  to_.put("><th><a href=#L");
  to_.put(uint64_t{number});
  to_.put('>');
  to_.put(uint64_t{number});
  to_.put("</a><td>");
  if (line)
    to_.put(count_html(line->count));
  to_.put("<td>");
  if (line)
    details(*line);
  if (begins_gap)
    gap_links();
  to_.put("<td>");
  // A browser takes very long to wrap a line of megabytes. Such a line is data rather than code.
  constexpr size_t most = 4000;
  if (text && text->size() > most) {
    size_t end = most;
    while (end > most - 3 && (static_cast<unsigned char>((*text)[end]) & 0xC0) == 0x80)
      --end;
    put_text(to_, text->substr(0, end));
    to_.put(fmt::format("<i>… {} bytes more</i>", text->size() - end));
  } else if (text && line && line->count != 0 && line->uncertain == 0) {
    parts(number, *text);
  } else if (text) {
    put_text(to_, *text);
  }
  to_.put('\n');
}

void SourcePage::gap_links() {
  const auto link = [&](const MissingRange &gap, std::string_view arrow, std::string_view which) {
    to_.put(fmt::format("<a href=#L{} title=\"{} line that did not run: {}\">{}</a>", gap.first,
                        which, gap.first, arrow));
  };
  to_.put("<span class=gaps>");
  if (next_gap_ > 0)
    link(gaps_[next_gap_ - 1], "↑", "previous");
  if (next_gap_ + 1 < gaps_.size())
    link(gaps_[next_gap_ + 1], "↓", "next");
  to_.put("</span>");
  ++next_gap_;
}

void SourcePage::branch(const LineCoverage &line, const BranchCoverage &branch, int64_t all) {
  to_.put(branch.count == 0 ? "<li class=m>" : "<li>");
  if (line.count == 0)
    to_.put("never reached");
  else if (branch.count == 0)
    to_.put("not taken");
  else
    to_.put(fmt::format("taken {}", branch.count));
  if (branch.count > 0 && all > 0)
    to_.put(fmt::format(
        " ({})", share_text(static_cast<uint64_t>(branch.count), static_cast<uint64_t>(all))));
  if (branch.throws)
    to_.put(", by an exception");
  if (branch.fall_through)
    to_.put(", by falling through");
}

void SourcePage::details(const LineCoverage &line) {
  const auto branches = file_.branches_of(line);
  const auto conditions = file_.conditions_of(line);
  const auto decisions = file_.decisions_of(line);
  if (branches.empty() && conditions.empty() && decisions.empty())
    return;
  uint64_t taken = 0, outcomes = 0, covered = 0, terms = 0, alone = 0;
  for (const BranchCoverage &branch : branches)
    taken += branch.count != 0;
  // Two branches are the outcomes of one decision, and their sum is the base of the percentages.
  // More than two may belong to several decisions, so that no percentages are shown.
  int64_t all = 0;
  if (branches.size() != 2 || __builtin_add_overflow(branches[0].count, branches[1].count, &all))
    all = 0;
  for (const ConditionCoverage &condition : conditions) {
    outcomes += condition.outcomes();
    covered += condition.covered();
  }
  for (const McdcCoverage &decision : decisions) {
    terms += decision.conditions();
    alone += decision.conditions_covered();
  }
  const bool full = taken == branches.size() && covered == outcomes && alone == terms;
  to_.put(full ? "<details class=full><summary>" : "<details><summary>");
  if (!branches.empty())
    to_.put(fmt::format("{}/{}", taken, branches.size()));
  if (!conditions.empty())
    to_.put(fmt::format("{}<span title=\"outcomes of conditions\">{}/{}c</span>",
                        branches.empty() ? "" : " ", covered, outcomes));
  if (!decisions.empty())
    to_.put(fmt::format("{}<span title=\"conditions shown to decide alone (MC/DC)\">{}/{}m</span>",
                        branches.empty() && conditions.empty() ? "" : " ", alone, terms));
  to_.put("</summary><div>");
  if (!branches.empty()) {
    to_.put("Branches:<ol start=0>");
    constexpr size_t most = 100; // a longer list is of no use; the numbers summarize it
    for (const BranchCoverage &each : branches.first(std::min(most, branches.size())))
      branch(line, each, all);
    to_.put("</ol>");
    if (branches.size() > most)
      to_.put(fmt::format("and {} more", branches.size() - most));
  }
  for (const ConditionCoverage &condition : conditions) {
    to_.put(
        fmt::format("Condition: {} of {} outcomes<ul>", condition.covered(), condition.outcomes()));
    for (uint32_t term = 0; term < std::min(condition.terms, 64u); ++term)
      for (const bool outcome : {true, false})
        if ((((outcome ? condition.when_true : condition.when_false) >> term) & 1) == 0)
          to_.put(fmt::format("<li class=m>term {} never decided the result while it was {}", term,
                              outcome));
    to_.put("</ul>");
  }
  for (const McdcCoverage &decision : decisions) {
    to_.put(fmt::format("MC/DC: {} of {} conditions<ul>", decision.conditions_covered(),
                        decision.conditions()));
    for (uint32_t term = 0; term < decision.terms; ++term)
      if (((decision.covered | decision.folded) >> term & 1) == 0)
        to_.put(fmt::format("<li class=m>no two runs differ in condition {} alone", term));
    to_.put("</ul>");
  }
  to_.put("</div></details>");
}

} // namespace

std::string source_page(const PageFile &page, const HtmlOptions &options,
                        Diagnostics &diagnostics) {
  std::string out;
  SourcePage(page, options, diagnostics, out).write();
  return out;
}

} // namespace tally::html
