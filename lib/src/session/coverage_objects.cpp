// `coverage report --by object`.
#include <algorithm>
#include <tuple>

#include "session/coverage_commands.h"
#include "support/sort.h"

namespace tally {

namespace {

Result<Coverage> coverage_of_object(const ObjectFiles &object, const std::string &root) {
  CollectOptions options;
  options.root = root;
  options.given = {object};
  Diagnostics ignored; // whoever counts all objects together reports what is wrong
  TALLY_TRY(collected, collect_coverage(options, ignored));
  return std::move(collected.coverage);
}

// Adds a row for each module that counts source-based, which is one object here.
Result<void> add_modules(const LiveCoverage &shown, std::vector<ObjectCoverage> &out) {
  for (const llvm::ReadProfile &profile : shown.source_based.profiles) {
    CollectOptions options;
    options.root = shown.root;
    options.given_source_based = shown.source_based;
    options.given_source_based.profiles = {profile};
    options.given_source_based.of_profiles = true;
    Diagnostics ignored;
    TALLY_TRY(collected, collect_coverage(options, ignored));
    if (const CoverageTotals totals = totals_of(collected.coverage); totals.lines > 0)
      out.push_back({profile.path, profile.path, totals});
  }
  return {};
}

Result<std::vector<ObjectCoverage>> coverage_by_object(const LiveCoverage &shown) {
  std::vector<ObjectCoverage> out;
  TALLY_CHECK(add_modules(shown, out));
  for (size_t i = 0; i < shown.objects.size(); ++i) {
    const ObjectFiles &object = shown.objects[i];
    if (!object.live->notes)
      continue;
    TALLY_TRY(coverage, coverage_of_object(object, shown.root));
    if (i < shown.before.size()) {
      TALLY_TRY(before, coverage_of_object(shown.before[i], shown.root));
      coverage = coverage_since(std::move(coverage), before);
    }
    const CoverageTotals totals = totals_of(coverage);
    const bool nothing_since = !shown.before.empty() && totals.lines_executed == 0;
    if (totals.lines > 0 && !nothing_since)
      out.push_back({object.notes, object.live->module, totals});
  }
  sort_stably(out, {},
              [](const ObjectCoverage &each) { return std::tie(each.module, each.notes); });
  return out;
}

// Returns the deepest directory that contains all notes, which are rarely beside the sources.
std::string directory_of(const std::vector<ObjectCoverage> &objects) {
  std::string_view common = objects.empty() ? std::string_view() : objects[0].notes;
  for (const ObjectCoverage &each : objects) {
    const auto differ = std::ranges::mismatch(common, each.notes);
    common = common.substr(0, static_cast<size_t>(differ.in1 - common.begin()));
  }
  return std::string(common.substr(0, common.rfind('/') + 1));
}

} // namespace

Result<std::string> report_objects(CoverageReader &reader, const Front &front,
                                   const ParsedCommand &command) {
  const uint32_t limit = command.limit();
  TALLY_TRY(shown, reader.read("coverage report", command.value("since")));
  TALLY_TRY(objects, coverage_by_object(shown));
  if (command.has("json"))
    return objects_to_json(objects, limit);
  if (command.has("since") && objects.empty())
    return "Nothing that has counters ran since then.\n" + shown.remarks;
  return objects_to_text(objects, directory_of(objects), front.text_options(limit)) + shown.remarks;
}

} // namespace tally
