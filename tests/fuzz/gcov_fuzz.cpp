// Reads arbitrary bytes as notes and counters. They are read or rejected with an offset. What was
// read is matched, counted and printed as valid JSON; counters are written unchanged.
//
// The first byte divides the rest: the counters begin with the first "adcg" or "gcda" (the magic of
// a data file in either byte order) at an offset of at least 8 times that byte; if there is none,
// they begin at that offset. The bytes before them are the notes.
#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "coverage/gcov_counts.h"
#include "formats/gcov.h"
#include "fuzz_target.h"
#include "report/gcov_json.h"
#include "require.h"

namespace tally::gcov_fuzz {

namespace {

void require_position(const Error &error, size_t size) {
  require(error.code == ErrorCode::invalid_input, "the kind of an error");
  require(error.where.kind == Position::Kind::offset && error.where.offset <= size,
          "the offset of an error");
}

void check_graph(const CoverageGraph &graph) {
  uint32_t arc = 0, location = 0, condition = 0, line = 0;
  for (const GraphFunction &f : graph.functions) {
    require(f.first_arc == arc && f.first_location == location && f.first_condition == condition,
            "functions one after another");
    arc = f.last_arc, location = f.last_location, condition = f.last_condition;
    for (const GraphArc &a : graph.arcs_of(f))
      require(a.source < f.block_count && a.destination < f.block_count, "arc's blocks");
    for (const GraphLocation &l : graph.locations_of(f)) {
      require(l.block < f.block_count, "location's block");
      require(l.first_line == line && l.last_line >= line, "locations one after another");
      line = l.last_line;
    }
    for (const GraphCondition &c : graph.conditions_of(f))
      require(c.block < f.block_count, "condition's block");
  }
}

void check_counts(const GcovNotes &notes, const GcovData *data, bool branches) {
  Diagnostics diagnostics;
  const CoverageCounters counters = match_counters(notes, data, "input.gcda", diagnostics);
  require(counters.of.size() == notes.graph.functions.size(), "one range per function");
  GcovOptions options;
  options.branches = branches;
  options.blocks = notes.header.version >= GcovVersion::v14;
  options.most_steps = 500;
  options.is_plain_directory = [](const std::string &name, std::string_view) {
    return name.size() % 2 == 0;
  };
  const GcovCounts counts =
      count_as_gcov(notes.graph, counters, "input.gcno", diagnostics, options);
  size_t functions = 0, lines = 0;
  for (const GcovFile &file : counts.files) {
    functions += file.functions.size();
    lines += file.lines.size();
    require(std::ranges::is_sorted(
                file.functions, {},
                [&](const GcovFunction &f) { return notes.graph.functions[f.id].start_line; }),
            "functions by line");
    for (const GcovLine &line : file.lines) {
      require(line.first_branch <= line.last_branch && line.last_branch <= counts.branches.size(),
              "a line's branches");
      require(line.details < counts.details.size(), "a line's details");
      const GcovDetails &details = counts.details[line.details];
      require(details.last_block <= counts.blocks.size() &&
                  details.last_call <= counts.calls.size() &&
                  details.last_condition <= counts.conditions.size(),
              "a line's blocks, calls and conditions");
    }
  }
  for (const ConditionCoverage &condition : counts.conditions)
    require(condition.terms <= 64 && condition.covered() <= condition.outcomes(), "a condition");
  if (lines + counts.branches.size() + counts.blocks.size() + 64 * counts.conditions.size() >
      100'000)
    return;
  GcovDocument document;
  document.compiler = "12.2";
  document.data_file = "input";
  document.branches = branches;
  document.format_2 = options.blocks;
  document.conditions = true;
  document.graph = &notes.graph;
  document.counts = &counts;
  const auto json = nlohmann::json::parse(to_gcov_json(document));
  require(json["files"].size() == counts.files.size(), "files in JSON");
  size_t functions_in_json = 0, lines_in_json = 0;
  for (const auto &file : json["files"]) {
    functions_in_json += file["functions"].size();
    lines_in_json += file["lines"].size();
  }
  require(functions_in_json == functions && lines_in_json == lines, "rows in JSON");
}

} // namespace

FUZZ_TARGET(gcov) {
  if (size == 0)
    return 0;
  const std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  const size_t least = std::min<size_t>(8 * data[0], rest.size());
  const size_t magic = std::min(rest.find("adcg", least), rest.find("gcda", least));
  const size_t split = magic == rest.npos ? least : magic;
  const std::string_view notes_bytes = rest.substr(0, split), data_bytes = rest.substr(split);

  Diagnostics diagnostics;
  const auto counters = read_gcov_data(data_bytes, "input.gcda", diagnostics);
  if (counters) {
    const auto bytes = counters->bytes();
    require(bytes.has_value() && *bytes == data_bytes, "counters written as they were read");
  } else {
    require_position(counters.error(), data_bytes.size());
  }
  auto notes = read_gcov_notes(std::string(notes_bytes), "input.gcno", diagnostics);
  if (!notes) {
    require_position(notes.error(), notes_bytes.size());
    return 0;
  }
  require(notes->file_bytes == notes_bytes, "notes are kept as they were read");
  check_graph(notes->graph);
  check_counts(*notes, nullptr, true);
  if (counters) {
    check_counts(*notes, &*counters, true);
    check_counts(*notes, &*counters, false);
    // Also test equal stamps, which few mutations produce.
    notes->header.stamp = counters->header.stamp;
    check_counts(*notes, &*counters, true);
  }
  return 0;
}

} // namespace tally::gcov_fuzz
