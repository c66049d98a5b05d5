#include "coverage_reports.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/coverage_html.h>
#include <tally/coverage_report.h>
#include <tally/formats.h>

#include "commands.h"
#include "gcovr_version.h"
#include "profiles.h"
#include "support/path.h"

namespace tally::cli {

namespace {

// A report for people, as opposed to a file format that programs read.
struct Page {
  std::string_view name;
  std::string (*draw)(const CollectedCoverage &, const TextOptions &, FileOrder);
};
constexpr std::array<Page, 3> pages{{
    {"text",
     [](const CollectedCoverage &collected, const TextOptions &text, FileOrder order) {
       return to_text(collected.coverage, collected.root, text, order);
     }},
    {"markdown", [](const CollectedCoverage &collected, const TextOptions &,
                    FileOrder) { return to_markdown(collected.coverage, collected.root); }},
    {"github", [](const CollectedCoverage &collected, const TextOptions &,
                  FileOrder) { return to_github(collected.coverage, collected.root); }},
}};
constexpr std::string_view html = "html"; // writes a directory

const Page *page_by_name(std::string_view name) {
  for (const Page &page : pages)
    if (page.name == name)
      return &page;
  return nullptr;
}

bool holds_coverage(const Format &format) { return format.write_coverage || format.write_costs; }

// Returns when the newest object was compiled. A source that was changed later is not the one that
// was counted.
int64_t when_compiled(const CollectedCoverage &collected) {
  int64_t newest = 0;
  for (const ObjectFiles &files : collected.objects) {
    struct stat info {};
    if (::stat(files.notes.c_str(), &info) == 0)
      newest = std::max<int64_t>(newest, info.st_mtim.tv_sec);
  }
  return newest;
}

// Removes the pages that an earlier report left for sources that no longer exist. All files of this
// directory with the names of pages were made by write_html().
void remove_old_pages(const std::filesystem::path &folder, const std::set<std::string> &kept) {
  std::error_code fault;
  for (auto at = std::filesystem::directory_iterator(folder, fault);
       !fault && at != std::filesystem::directory_iterator(); at.increment(fault)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".html") && !kept.contains(name))
      std::filesystem::remove(at->path(), fault);
  }
}

Result<void> write_folder(const CollectedCoverage &collected, const std::string &folder,
                          Diagnostics &diagnostics) {
  namespace fs = std::filesystem;
  const auto make = [](const fs::path &path) -> Result<void> {
    std::error_code fault;
    fs::create_directories(path, fault);
    return fault ? fail_errno(fault.value(), "cannot create the directory", path.string())
                 : Result<void>();
  };
  TALLY_CHECK(make(folder));
  HtmlOptions options;
  options.root = collected.root;
  options.title = fmt::format("Coverage of {}", fs::path(collected.root).filename().string());
  options.counted = when_compiled(collected);
  std::string made; // the newest directory that was created
  std::set<std::string> written_pages;
  const auto put = [&](const std::string &path, std::string_view bytes) -> Result<void> {
    const fs::path target = fs::path(folder) / path;
    if (target.parent_path() != made) {
      TALLY_CHECK(make(target.parent_path()));
      made = target.parent_path().string();
    }
    written_pages.insert(target.filename().string());
    return write_file(target.string(), bytes);
  };
  if (auto written = write_html(collected.coverage, options, diagnostics, put); !written)
    return written;
  remove_old_pages(fs::path(folder) / "source", written_pages);
  say(fmt::format("tally: open {} in a browser", (fs::path(folder) / "index.html").string()));
  return {};
}

} // namespace

std::string report_names() {
  std::vector<std::string_view> names;
  for (const Page &page : pages)
    names.push_back(page.name);
  names.push_back(html);
  for (const Format &format : formats())
    if (holds_coverage(format))
      names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<ReportRequest> report_request(const std::string &word) {
  const size_t colon = word.find(':');
  const std::string name = word.substr(0, colon);
  const std::string path = colon == word.npos ? "" : word.substr(colon + 1);
  if (colon != word.npos && path.empty())
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' does not name a file", word),
                "--report");
  if (page_by_name(name))
    return ReportRequest{name, path.empty() ? "-" : path};
  if (name == html && path == "-")
    return fail(ErrorCode::invalid_argument,
                "writes a directory, which cannot go to standard output", word);
  if (unpacked_name(path).size() < path.size())
    return fail(ErrorCode::invalid_argument, "output is not compressed", word);
  if (name == html)
    return ReportRequest{name, path.empty() ? "coverage-html" : path};
  const auto format = format_by_name(name);
  if (!format || !holds_coverage(**format))
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no report '{}' (there are: {})", name, report_names()),
                "--report");
  return ReportRequest{name, path.empty() ? default_file_name(**format, "coverage") : path};
}

Result<void> write_report(const CollectedCoverage &collected, const ReportRequest &request,
                          const ReportSettings &settings, Diagnostics &diagnostics) {
  if (request.format == html)
    return write_folder(collected, request.path, diagnostics);
  if (const Page *page = page_by_name(request.format))
    return write_file(
        request.path,
        page->draw(collected,
                   request.path == "-" ? settings.text : TextOptions{.limit = 0, .width = 0},
                   settings.order));
  TALLY_TRY(format, format_by_name(request.format));
  WriteOptions options;
  options.root = collected.root;
  options.time = time_told();
  TALLY_TRY(written,
            write_for_gcovr(*format, options, settings.gcovr_version, [&](const WriteOptions &how) {
              return write_coverage(collected.coverage, *format, how);
            }));
  TALLY_CHECK(write_file(request.path, written.bytes));
  // These are only notes, because they are the same each time a report of this format is written.
  for (const std::string &what : written.lost)
    diagnostics.add(Severity::note, fmt::format("not in {}: {}", format->name, what), request.path);
  return {};
}

} // namespace tally::cli
