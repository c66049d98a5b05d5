#include "coverage_tests.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tally/coverage_report.h>
#include <tally/file_io.h>
#include <tally/test_counters.h>

#include "profiles.h"

namespace tally::cli {

namespace fs = std::filesystem;

Result<void> harvest(const std::string &folder) {
  std::string name = folder;
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  std::error_code fault;
  Diagnostics findings;
  // Nothing can be below what is not there.
  const bool is_there = fs::is_directory(name, fault);
  if (!is_there && fs::exists(name, fault))
    return fail(ErrorCode::invalid_input, "is no folder", name);
  TALLY_TRY(bytes, pack_counters(is_there ? name : "", findings));
  TALLY_CHECK(write_file(name + ".counters", bytes));
  show(findings);
  fs::remove_all(name, fault);
  if (fault)
    return fail_errno(fault.value(), "cannot remove", name);
  return {};
}

Result<std::vector<TestRun>> runs_of_tests(const std::string &folder) {
  const std::string path = (fs::path(folder) / "tests.json").string();
  TALLY_TRY(source, ByteSource::open(path));
  TALLY_TRY(bytes, source->rest());
  const auto all = nlohmann::json::parse(bytes, nullptr, false);
  if (!all.is_array())
    return fail(ErrorCode::invalid_input, "expected an array of tests", path);
  std::vector<TestRun> out;
  for (const auto &each : all) {
    const auto number = each.is_object() ? each.find("n") : each.end();
    const auto name = each.is_object() ? each.find("name") : each.end();
    if (!each.is_object() || number == each.end() || !number->is_number_unsigned() ||
        name == each.end() || !name->is_string())
      return fail(ErrorCode::invalid_input,
                  fmt::format("expected a test's n and name, found {}",
                              each.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)),
                  path);
    out.push_back(
        {name->get<std::string>(),
         (fs::path(folder) / fmt::format("{}.counters", number->get<uint64_t>())).string()});
  }
  return out;
}

Result<void> print_table_of_tests(const CollectedCoverage &collected, const TextOptions &options) {
  return write_file(
      "-", '\n' + tests_to_text(collected.coverage.tests, collected.tests_without_data, options));
}

} // namespace tally::cli
