#include "coverage_tests.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <stdio.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "coverage_collect/test_counters.h"
#include "profiles.h"
#include "report/coverage_report.h"
#include "support/file_io.h"
#include "support/sort.h"
#include "support/text.h"

namespace tally::cli {

namespace fs = std::filesystem;

namespace {

// Returns what earlier harvests of the directory packed; empty if there were none. There may be
// several, because a process that the test left behind may write its counters later.
Result<std::string> harvested(const std::string &path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored))
    return fail(ErrorCode::invalid_input, "is a symbolic link: remove it", path);
  TALLY_TRY(source, ByteSource::open_if_there(path));
  if (!source)
    return std::string();
  TALLY_TRY(bytes, source->rest());
  if (!bytes.empty())
    TALLY_CHECK(PackedCounters::read(bytes, path)); // another file may have such a name
  return bytes;
}

// Removes the counters, and the directories that are empty then. Other files are not ours.
Result<void> remove_counters(const std::string &folder) {
  std::error_code fault;
  std::vector<fs::path> files, folders{folder};
  for (auto at = fs::recursive_directory_iterator(folder, fault);
       !fault && at != fs::recursive_directory_iterator(); at.increment(fault)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored))
      folders.push_back(at->path());
    else if (at->path().extension() == ".gcda" || at->path().extension() == raw_profile_suffix)
      files.push_back(at->path());
  }
  for (const fs::path &file : files)
    if (!fault)
      fs::remove(file, fault);
  if (fault)
    return fail_errno(fault.value(), "cannot remove counters", folder);
  for (auto each = folders.rbegin(); each != folders.rend(); ++each)
    fs::remove(*each, fault); // fails if it is not empty, which is intended
  return {};
}

Result<void> pack(const std::string &folder, const std::string &file) {
  Diagnostics findings;
  TALLY_TRY(before, harvested(file));
  TALLY_TRY(bytes, pack_counters(folder, findings, std::move(before)));
  TALLY_CHECK(write_file(file, bytes, OutputName::usual));
  show(findings);
  return remove_counters(folder);
}

} // namespace

Result<void> harvest(const std::string &folder) {
  std::string name = folder;
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  const std::string last = fs::path(name).filename().string();
  if (last.empty() || last == "." || last == "..")
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not the directory of a test", folder), "--harvest");
  // Rename the directory first: counters that are still being written go into a new directory, and
  // two processes that harvest the same directory do not process the same files.
  const std::string taken = fmt::format("{}.harvest-{}", name, ::getpid());
  if (!fs::is_directory(name)) {
    std::error_code ignored;
    return fs::exists(name, ignored) ? fail(ErrorCode::invalid_input, "is not a directory", name)
                                     : Result<void>();
  }
  if (::rename(name.c_str(), taken.c_str()) != 0)
    return fail_errno(errno, "cannot be renamed", name);
  // The counters behind a link belong to something else.
  std::error_code ignored;
  Result<void> done = fs::is_symlink(taken, ignored)
                          ? fail(ErrorCode::invalid_input, "is a symbolic link", name)
                          : pack(taken, name + ".counters");
  if (fs::exists(taken, ignored) && ::rename(taken.c_str(), name.c_str()) != 0)
    say(fmt::format("tally: {}: its other files are in {}", name, taken));
  return done;
}

Result<std::vector<TestRun>> runs_of_tests(const std::string &folder) {
  const std::string path = (fs::path(folder) / "tests.json").string();
  TALLY_TRY(source, ByteSource::open(path));
  TALLY_TRY(bytes, source->rest());
  const auto all = nlohmann::json::parse(bytes, nullptr, false);
  if (!all.is_array())
    return fail(ErrorCode::invalid_input, "expected an array of tests", path);
  std::vector<TestRun> out;
  std::set<uint64_t> numbers;
  for (const auto &each : all) {
    const auto number = each.is_object() ? each.find("n") : each.end();
    const auto name = each.is_object() ? each.find("name") : each.end();
    if (!each.is_object() || number == each.end() || !number->is_number_unsigned() ||
        name == each.end() || !name->is_string())
      return fail(
          ErrorCode::invalid_input,
          fmt::format("expected a test's n and name in element {} of the array", &each - &all[0]),
          path);
    const auto n = number->get<uint64_t>();
    if (!numbers.insert(n).second)
      return fail(ErrorCode::invalid_input, fmt::format("n {} occurs twice", n), path);
    const fs::path run = fs::path(folder) / std::to_string(n);
    const auto incomplete = each.find("incomplete");
    out.push_back({name->get<std::string>(), run.string() + ".counters", run.string(),
                   incomplete != each.end() && *incomplete == true});
  }
  return out;
}

Result<void> write_tests_by_function(const Coverage &coverage, const std::string &path) {
  using Json = nlohmann::ordered_json;
  Json tests = Json::array(), files = Json::object();
  for (const TestCoverage &test : coverage.tests)
    tests.push_back(test.name);
  for (const FileCoverage &file : coverage.files) {
    // The lines that each test ran, sorted.
    std::vector<std::vector<uint32_t>> ran(coverage.tests.size());
    Json of_file = Json::array(), functions = Json::array();
    for (size_t i = 0; i < coverage.tests.size(); ++i) {
      const auto &all = coverage.tests[i].files;
      const auto own = std::ranges::lower_bound(all, file.path, {}, &FileCoverage::path);
      if (own == all.end() || own->path != file.path)
        continue;
      for (const LineCoverage &line : own->lines)
        if (line.count != 0)
          ran[i].push_back(line.line);
      if (!ran[i].empty())
        of_file.push_back(i);
    }
    for (const FunctionCoverage &function : file.functions) {
      Json reached = Json::array();
      // Where the end is not known, any line of the file may belong to the function.
      const bool has_end = function.end_line >= function.start_line && function.end_line > 0;
      for (size_t i = 0; i < ran.size(); ++i) {
        const auto first =
            has_end ? std::ranges::lower_bound(ran[i], function.start_line) : ran[i].begin();
        if (first != ran[i].end() && (!has_end || *first <= function.end_line))
          reached.push_back(i);
      }
      functions.push_back({{"name", function.name},
                           {"first", function.start_line},
                           {"last", function.end_line},
                           {"tests", std::move(reached)}});
    }
    files[file.path] = {{"tests", std::move(of_file)}, {"functions", std::move(functions)}};
  }
  return write_file(path, Json{{"tests", std::move(tests)}, {"files", std::move(files)}}.dump(
                              -1, ' ', true, Json::error_handler_t::replace));
}

Result<void> print_table_of_tests(const CollectedCoverage &collected, const TextOptions &options) {
  return write_file(
      "-", '\n' + tests_to_text(collected.coverage.tests, collected.tests_without_data, options));
}

namespace {

std::set<std::string_view> incomplete_tests(const std::vector<TestRun> &runs) {
  std::set<std::string_view> out;
  for (const TestRun &run : runs)
    if (run.incomplete)
      out.insert(run.test);
  return out;
}

} // namespace

Result<void> print_redundant_tests(const CollectedCoverage &collected,
                                   const std::vector<TestRun> &runs) {
  using Line = std::pair<std::string_view, uint32_t>;
  std::map<Line, size_t> reached_by; // how many tests
  std::vector<std::pair<std::string_view, std::vector<Line>>> all;
  for (const TestCoverage &test : collected.coverage.tests) {
    if (test.name.empty() || std::ranges::count(collected.tests_without_data, test.name) > 0)
      continue;
    all.emplace_back(test.name, std::vector<Line>());
    for (const FileCoverage &file : test.files)
      for (const LineCoverage &line : file.lines)
        if (line.count != 0) {
          all.back().second.emplace_back(file.path, line.line);
          ++reached_by[{file.path, line.line}];
        }
  }
  const auto is_redundant = [&](const auto &test) {
    return std::ranges::all_of(test.second, [&](const Line &line) { return reached_by[line] > 1; });
  };
  const std::set<std::string_view> incomplete = incomplete_tests(runs);
  std::erase_if(all, [&](const auto &test) {
    return incomplete.contains(test.first) || !is_redundant(test);
  });
  std::string foot;
  for (const std::string_view name : incomplete)
    foot += (foot.empty() ? "Not judged, because counts are lost: " : ", ") +
            printable(std::string(name));
  if (!foot.empty())
    foot += '\n';
  if (all.empty())
    return write_file("-", fmt::format("\nEach {} reaches a line that no other test reaches.\n{}",
                                       foot.empty() ? "test" : "test that is judged", foot));
  // Leave out the smallest ones first, because most of them can then go.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_stably(order, {}, [&](size_t i) { return all[i].second.size(); });
  std::set<std::string_view> together;
  for (const size_t i : order)
    if (is_redundant(all[i])) {
      together.insert(all[i].first);
      for (const Line &line : all[i].second)
        --reached_by[line];
    }
  std::string out = "\nThese tests reach no line that others do not reach. Those with a * can go "
                    "together.\nReaching a line is not checking it.\n";
  for (const auto &[name, lines] : all)
    out +=
        fmt::format("{} {}\n", together.contains(name) ? '*' : ' ', printable(std::string(name)));
  return write_file("-", out + foot);
}

} // namespace tally::cli
