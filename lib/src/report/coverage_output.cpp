
#include "report/coverage_output.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "report/coverage_badge.h"
#include "report/coverage_html.h"
#include "report/live_coverage.h"
#include "support/file_io.h"
#include "support/found_file.h"
#include "support/path.h"
#include "support/read_at.h"
#include "support/text.h"

namespace tally {

namespace {

// A report that shows coverage, as opposed to a file format that holds it.
struct Page {
  std::string_view name;
  std::string_view path; // the default
  std::string (*draw)(const Coverage &, const CoverageReportOptions &);
};
constexpr std::array<Page, 6> pages{{
    {"text", "-",
     [](const Coverage &coverage, const CoverageReportOptions &options) {
       return to_text(coverage, options.root, options.text, options.order);
     }},
    {"markdown", "-",
     [](const Coverage &coverage, const CoverageReportOptions &options) {
       return to_markdown(coverage, options.root);
     }},
    {"github", "-",
     [](const Coverage &coverage, const CoverageReportOptions &options) {
       return to_github(coverage, options.root);
     }},
    {"json", "-",
     [](const Coverage &coverage, const CoverageReportOptions &options) {
       return to_json(coverage, options.root, options.order, options.text.limit);
     }},
    {"badge", "coverage-badge.svg",
     [](const Coverage &coverage, const CoverageReportOptions &) { return to_badge(coverage); }},
    {"shields", "coverage-badge.json",
     [](const Coverage &coverage, const CoverageReportOptions &) { return to_shields(coverage); }},
}};
constexpr std::string_view html_format = "html"; // writes a directory

const Page *page_by_name(std::string_view name) {
  for (const Page &page : pages)
    if (page.name == name)
      return &page;
  return nullptr;
}

bool holds_coverage(const Format &format) {
  return format.write_coverage || (format.write_costs && format.holds_lines);
}

constexpr const char *index_name = "index.html";
constexpr const char *pages_name = "source";
constexpr const char *style_name = "style.css";

// The mark of a report is in the first bytes of a page. No index is larger than an index of a
// million sources.
constexpr size_t head_size = 512, most_of_index = 512U << 20;

// Returns at most `most` bytes of a file, or nothing if it is not a regular file with the mark of a
// report.
std::optional<std::string> text_of_page(const std::filesystem::path &path, size_t most) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, fault)))
    return std::nullopt;
  const auto file = open_found(path.string());
  std::string text(head_size, '\0');
  text.resize(file ? read_at(file->fd.get(), text.data(), text.size(), 0).size : 0);
  if (text.find(html_report_mark) == text.npos)
    return std::nullopt;
  const size_t size = std::min(static_cast<size_t>(file->status.st_size), most);
  if (size > text.size()) {
    text.resize(size);
    text.resize(read_at(file->fd.get(), text.data(), size, 0).size);
  }
  return text;
}

// Returns the names of the pages that an index lists.
std::set<std::string_view> pages_of(std::string_view index) {
  std::set<std::string_view> out;
  const std::string begin = fmt::format("{}/", pages_name), end = ".html";
  for (size_t at = 0; (at = index.find(begin, at)) != index.npos;) {
    at += begin.size();
    const size_t last = index.find_first_of("\"/<> ", at);
    if (const std::string_view name = index.substr(at, last - at); name.ends_with(end))
      out.insert(name);
  }
  return out;
}

// Returns the index of the report that is in a directory, or nothing if there is none. Refuses a
// directory in which files of the user would be replaced.
Result<std::string> earlier_index(const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  std::error_code fault;
  TALLY_CHECK(check_no_link(folder, pages_name));
  if (auto text = text_of_page(folder / index_name, most_of_index))
    return std::move(*text);
  // A report that was not completed has a style sheet, but no index.
  if (text_of_page(folder / style_name, head_size) && !fs::exists(folder / index_name, fault))
    return std::string();
  for (const char *const name : {index_name, pages_name, style_name, "report.js"})
    if (fs::exists(fs::symlink_status(folder / name, fault)))
      return fail(ErrorCode::invalid_argument,
                  "is not part of a report of Tally, and would be replaced: name another directory",
                  (folder / name).string());
  return std::string();
}

// Removes the pages that the earlier report left for sources that no longer exist: those that its
// index lists, and that have its mark.
void remove_old_pages(const std::filesystem::path &folder, const std::string &index,
                      const std::set<std::string> &kept) {
  std::error_code fault;
  const std::set<std::string_view> listed = pages_of(index);
  for (auto at = std::filesystem::directory_iterator(folder, fault);
       !fault && at != std::filesystem::directory_iterator(); at.increment(fault)) {
    const std::string name = at->path().filename().string();
    if (listed.contains(name) && !kept.contains(name) && text_of_page(at->path(), head_size))
      std::filesystem::remove(at->path(), fault);
  }
}

Result<void> write_folder(const Coverage &coverage, const std::string &folder,
                          const CoverageReportOptions &how, Diagnostics &diagnostics) {
  namespace fs = std::filesystem;
  const auto make = [](const fs::path &path) -> Result<void> {
    std::error_code fault;
    fs::create_directories(path, fault);
    return fault ? fail_errno(fault.value(), "cannot create the directory", path.string())
                 : Result<void>();
  };
  TALLY_TRY(index, earlier_index(folder));
  TALLY_CHECK(make(folder));
  HtmlOptions options;
  options.root = how.root;
  options.title = fmt::format("Coverage of {}", fs::path(how.root).filename().string());
  options.counted = how.compiled;
  std::string made; // the newest directory that was created
  std::set<std::string> written_pages;
  const auto put = [&](const std::string &path, std::string_view bytes) -> Result<void> {
    const fs::path target = fs::path(folder) / path;
    TALLY_CHECK(check_no_link(folder, path));
    if (target.parent_path() != made) {
      TALLY_CHECK(make(target.parent_path()));
      made = target.parent_path().string();
    }
    written_pages.insert(target.filename().string());
    return write_file(target.string(), bytes);
  };
  if (auto written = write_html(coverage, options, diagnostics, put); !written)
    return written;
  remove_old_pages(fs::path(folder) / pages_name, index, written_pages);
  return {};
}

} // namespace

std::string coverage_report_names() {
  std::vector<std::string_view> names;
  names.reserve(pages.size() + 1);
  for (const Page &page : pages)
    names.push_back(page.name);
  names.push_back(html_format);
  for (const Format &format : formats())
    if (holds_coverage(format))
      names.push_back(format.name);
  return joined_text(names, ", ");
}

Result<CoverageReport> coverage_report_of(const std::string &word) {
  const size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const std::string path = colon == word.npos ? "" : word.substr(colon + 1);
  if (colon != word.npos && path.empty())
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' does not name a file", word),
                "--report");
  const auto report = [&](const std::string &usual) {
    const bool is_chosen = !path.empty() || usual == "-";
    return CoverageReport{name, path.empty() ? usual : path,
                          is_chosen ? OutputName::chosen : OutputName::usual};
  };
  if (const Page *page = page_by_name(name))
    return report(std::string(page->path));
  if (name == html_format && path == "-")
    return fail(ErrorCode::invalid_argument,
                "writes a directory, which cannot go to standard output", word);
  if (unpacked_name(path).size() < path.size())
    return fail(ErrorCode::invalid_argument, "output is not compressed", word);
  if (name == html_format)
    return report("coverage-html");
  const auto format = format_by_name(name);
  if (!format || !holds_coverage(**format))
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no report '{}' (there are: {})", name, coverage_report_names()),
        "--report");
  return report(default_file_name(**format, "coverage"));
}

Result<void> write_coverage_report(const Coverage &coverage, const CoverageReport &report,
                                   const CoverageReportOptions &options, Diagnostics &diagnostics) {
  if (report.format == html_format && report.name == OutputName::usual)
    TALLY_CHECK(check_no_link("", report.path));
  if (report.format == html_format)
    return write_folder(coverage, report.path, options, diagnostics);
  if (const Page *page = page_by_name(report.format)) {
    CoverageReportOptions how = options;
    if (report.path != "-")
      how.text = TextOptions{.limit = 0, .width = 0};
    return write_file(report.path, page->draw(coverage, how), report.name);
  }
  TALLY_TRY(format, format_by_name(report.format));
  WriteOptions how = options.write;
  how.root = options.root;
  TALLY_TRY(written, write_coverage(coverage, *format, how));
  TALLY_CHECK(write_file(report.path, written.bytes, report.name));
  // Report losses as notes, because they are the same in each report of a project.
  for (const std::string &what : written.lost)
    diagnostics.add(Severity::note, fmt::format("not in {}: {}", format->name, what), report.path);
  return {};
}

} // namespace tally
