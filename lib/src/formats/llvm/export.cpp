#include "formats/llvm/export.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/file_rows.h"
#include "formats/llvm/source_files.h"
#include "model/coverage_findings.h"
#include "support/json_tree.h"
#include "support/sort.h"
#include "transform/coverage_sum.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

constexpr std::string_view export_type = "llvm.coverage.json.export";
// Each expansion repeats its function.
constexpr std::string_view repeated[] = {"target_regions", "totals"};

// A region, branch or decision: a list of numbers, in which further lists may be.
class Record {
public:
  explicit Record(const JsonValue &list) : list_(list) {
    for (JsonValue at = list.first(); !at.is_absent() && size_ < elements_.size(); at = at.next())
      elements_[size_++] = at;
  }

  size_t size() const { return size_; }
  const JsonValue &operator[](size_t index) const { return elements_[index]; }

  tl::unexpected<Error> expected(std::string_view what, size_t index) const {
    return (index < size_ ? elements_[index] : list_).error(fmt::format("expected {}", what));
  }
  Result<uint32_t> number(size_t index, std::string_view what, uint32_t most) const {
    const auto value = elements_[index].integer();
    if (!value || *value < 0 || *value > most)
      return expected(what, index);
    return static_cast<uint32_t>(*value);
  }
  Result<SourcePlace> place(size_t index) const {
    TALLY_TRY(line, number(index, "the number of a line, up to 2^24", most_lines));
    TALLY_TRY(column, number(index + 1, "the number of a column", UINT32_MAX));
    return SourcePlace{line, column};
  }

private:
  JsonValue list_;
  std::array<JsonValue, 12> elements_; // no known record has more
  size_t size_ = 0;
};

// A region that may be a condition of a decision. A branch comes before a macro that is one.
struct Condition {
  bool is_macro;
  SourcePlace start, end;
  uint32_t file;
};
std::vector<Condition> conditions_of(const CountedFunction &function) {
  std::vector<Condition> out;
  for (const CountedRegion &each : function.regions)
    if (each.region.kind == Kind::branch || each.region.kind == Kind::expansion)
      out.push_back({each.region.kind == Kind::expansion, each.region.start, each.region.end,
                     each.region.file});
  sort_stably(out, {}, [](const Condition &each) {
    return std::tuple(each.is_macro, each.start, each.end);
  });
  return out;
}

// Returns the file of the first condition of the decision.
uint32_t file_around(const Decision &decision, const std::vector<Condition> &conditions) {
  for (const bool is_macro : {false, true}) {
    const auto at =
        std::lower_bound(conditions.begin(), conditions.end(), std::pair(is_macro, decision.start),
                         [](const Condition &each, const auto &key) {
                           return std::pair(each.is_macro, each.start) < key;
                         });
    if (at != conditions.end() && at->is_macro == is_macro && at->end <= decision.end)
      return at->file;
  }
  return 0;
}

class ExportReader {
public:
  ExportReader(const std::string &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<Coverage> run(const JsonTree &tree) {
    const JsonValue root = tree.root();
    if (root["type"].text() != export_type || !root["data"].is_list())
      return root.error(
          fmt::format("is not JSON of llvm-cov: expected the type {} and data", export_type));
    const auto version = root["version"].text().value_or("");
    if (!version.starts_with("2.") && !version.starts_with("3."))
      find({fmt::format("version {} is not known", version), "version"}, root["version"]);
    for (JsonValue data = root["data"].first(); !data.is_absent(); data = data.next())
      TALLY_CHECK(read_data(data));
    return coverage_of_files(files_, diagnostics_);
  }

private:
  using Names = std::set<std::string, std::less<>>;

  void find(const CoverageFinding &finding, const JsonValue &where) {
    diagnostics_.add(Severity::warning, finding.text, source_, Position::at_offset(where.offset()),
                     finding.key);
  }

  // Without functions (-skip-functions), the sources themselves have segments and branches.
  Result<void> read_data(const JsonValue &data) {
    const bool has_functions = !data["functions"].first().is_absent();
    Names names;
    for (JsonValue file = data["files"].first(); !file.is_absent(); file = file.next()) {
      const auto name = file["filename"].text();
      if (!name || name->empty())
        return file.error("expected the name of a file as filename");
      if (!file["segments"].is_list())
        return file.error("has only totals: run llvm-cov export without -summary-only");
      names.emplace(*name);
      if (!has_functions)
        TALLY_CHECK(read_file(file, with_slashes(std::string(*name))));
    }
    if (!has_functions && !names.empty())
      diagnostics_.add(Severity::note, "has no functions", source_,
                       Position::at_offset(data.offset()));
    return has_functions ? read_functions(data["functions"], names) : Result<void>();
  }

  // Functions also name sources that the export was told to leave out.
  Result<void> read_functions(const JsonValue &list, const Names &names) {
    const PathOf path_of = [&](const std::string &name) {
      return names.contains(name) ? std::optional(with_slashes(name)) : std::nullopt;
    };
    Result<void> status;
    const auto each = [&](const TakeFunction &take) {
      for (JsonValue at = list.first(); !at.is_absent() && status; at = at.next())
        status = read_function(at, take);
    };
    Coverage coverage = coverage_of_functions(each, path_of, diagnostics_);
    TALLY_CHECK(status);
    std::ranges::move(coverage.files, std::back_inserter(files_));
    return {};
  }

  Result<void> read_function(const JsonValue &from, const TakeFunction &take) {
    CountedFunction function;
    Decisions decisions;
    const auto name = from["name"].text();
    if (!name)
      return from.error("expected the name of a function");
    function.name = *name;
    for (JsonValue at = from["filenames"].first(); !at.is_absent(); at = at.next())
      function.files.push_back(at.text().value_or(""));
    TALLY_TRY(count, count_of(from["count"], from));
    function.count = count;
    for (JsonValue at = from["regions"].first(); !at.is_absent(); at = at.next())
      TALLY_CHECK(read_region(Record(at), function));
    if (function.regions.empty())
      return from.error("expected the regions of a function");
    for (JsonValue at = from["branches"].first(); !at.is_absent(); at = at.next())
      TALLY_CHECK(read_branch(Record(at), function));
    const std::vector<Condition> conditions = conditions_of(function);
    for (JsonValue at = from["mcdc_records"].first(); !at.is_absent(); at = at.next()) {
      TALLY_TRY(decision, read_decision(Record(at), &function, conditions));
      if (decision)
        decisions.decisions.push_back(*decision);
    }
    take(function, decisions);
    return {};
  }

  // llvm-cov writes a negative count as the largest number.
  Result<uint64_t> count_of(const JsonValue &value, const JsonValue &around) {
    const auto count = value.integer();
    if ((count && *count == INT64_MAX) || (!count && value.number().value_or(0) > 0x1p62)) {
      find({"a count is the largest number and is read as 0: counts of threads without "
            "-fprofile-update=atomic contradict each other",
            "large counts"},
           value);
      return 0;
    }
    if (!count || *count < 0)
      return (value.is_absent() ? around : value).error("expected a count");
    return static_cast<uint64_t>(*count);
  }

  // Lines and columns of both ends, the count, the file, the expanded file, the kind.
  Result<void> read_region(const Record &record, CountedFunction &function) {
    if (record.size() < 8)
      return record.expected("8 numbers of a region", 8);
    CountedRegion counted;
    MappingRegion &region = counted.region;
    TALLY_TRY(count, count_of(record[4], record[4]));
    TALLY_TRY(kind, record.number(7, "the kind of a region", static_cast<uint32_t>(Kind::gap)));
    counted.count = count;
    region.kind = static_cast<Kind>(kind);
    TALLY_CHECK(put_place(record, 5, function, region));
    if (region.kind == Kind::expansion) {
      TALLY_TRY(expanded, file_of(record, 6, function));
      region.expanded = expanded;
    }
    function.regions.push_back(counted);
    return {};
  }

  // Lines and columns of both ends, the counts of both outcomes, the file, the expanded file, the
  // kind. Whether an outcome cannot happen is not said.
  Result<void> read_branch(const Record &record, CountedFunction &function) {
    CountedRegion counted;
    TALLY_TRY(outcomes, outcomes_in(record));
    counted.count = outcomes.if_true;
    counted.false_count = outcomes.if_false;
    counted.region.count.kind = counted.region.false_count.kind = Counter::Kind::counter;
    counted.region.kind = Kind::branch;
    TALLY_CHECK(put_place(record, 6, function, counted.region));
    function.regions.push_back(counted);
    return {};
  }

  Result<Outcomes> outcomes_in(const Record &record) {
    if (record.size() < 9)
      return record.expected("9 numbers of a branch", 9);
    TALLY_TRY(if_true, count_of(record[4], record[4]));
    TALLY_TRY(if_false, count_of(record[5], record[5]));
    return Outcomes{if_true, if_false, true, true};
  }

  static Result<uint32_t> file_of(const Record &record, size_t index,
                                  const CountedFunction &function) {
    if (function.files.empty())
      return record.expected("filenames of the function", index);
    return record.number(index, "the index of a file of the function",
                         static_cast<uint32_t>(function.files.size() - 1));
  }

  static Result<void> put_place(const Record &record, size_t file_index,
                                const CountedFunction &function, MappingRegion &region) {
    TALLY_TRY(start, record.place(0));
    TALLY_TRY(end, record.place(2));
    if (end < start)
      return record.expected("an end that is not before the start", 2);
    TALLY_TRY(file, file_of(record, file_index, function));
    region.start = start;
    region.end = end;
    region.file = file;
    return {};
  }

  // Lines and columns of both ends, [from version 3 on: two counts, the file], the expanded file,
  // the kind, a list that tells for each condition whether it is covered, and test vectors. Returns
  // nothing if there are too many conditions.
  Result<std::optional<Decision>> read_decision(const Record &record,
                                                const CountedFunction *function,
                                                const std::vector<Condition> &conditions) {
    size_t list = 0;
    while (list < record.size() && !record[list].is_list())
      ++list;
    if (list < 6 || list == record.size())
      return record.expected("a decision with a list of its conditions", list);
    Decision out;
    TALLY_TRY(start, record.place(0));
    TALLY_TRY(end, record.place(2));
    out.start = start;
    out.end = end;
    for (JsonValue at = record[list].first(); !at.is_absent(); at = at.next()) {
      if (out.coverage.terms == most_terms) {
        find(too_many_terms(), record[list]);
        return std::nullopt;
      }
      out.coverage.covered |= uint64_t{at.is_true()} << out.coverage.terms++;
    }
    if (function && list > 6) {
      TALLY_TRY(file, file_of(record, list - 3, *function));
      out.file = file;
    } else if (function) {
      out.file = file_around(out, conditions);
    }
    return out;
  }

  // Reads a source whose functions are left out.
  Result<void> read_file(const JsonValue &from, const std::string &path) {
    std::vector<SegmentCoverage> segments;
    for (JsonValue at = from["segments"].first(); !at.is_absent(); at = at.next())
      TALLY_CHECK(read_segment(Record(at), segments));
    PlacedOutcomes outcomes;
    for (JsonValue at = from["branches"].first(); !at.is_absent(); at = at.next()) {
      const Record record(at);
      TALLY_TRY(place, record.place(0));
      TALLY_TRY(both, outcomes_in(record));
      outcomes.branches.push_back({place, {}, both});
    }
    for (JsonValue at = from["expansions"].first(); !at.is_absent(); at = at.next())
      TALLY_CHECK(read_expansion(at, outcomes.branches));
    for (JsonValue at = from["mcdc_records"].first(); !at.is_absent(); at = at.next()) {
      TALLY_TRY(decision, read_decision(Record(at), nullptr, {}));
      if (decision)
        outcomes.add(decision->start, decision->end, decision->coverage);
    }
    const size_t regions = segments.size();
    auto file =
        file_of_segments(path, std::move(segments), regions, std::move(outcomes), diagnostics_);
    if (!file)
      return {};
    const JsonValue summary = from["summary"];
    TALLY_TRY(all, count_of(summary["regions"]["count"], from));
    TALLY_TRY(executed, count_of(summary["regions"]["covered"], from));
    TALLY_TRY(instantiations, count_of(summary["instantiations"]["count"], from));
    TALLY_TRY(instantiations_executed, count_of(summary["instantiations"]["covered"], from));
    file->regions = {all, executed, instantiations, instantiations_executed};
    files_.push_back(std::move(*file));
    return {};
  }

  // The place, the count, whether it has one, whether a region begins, and whether it is a gap
  // (from version 2.0.1 on).
  Result<void> read_segment(const Record &record, std::vector<SegmentCoverage> &to) {
    TALLY_TRY(place, record.place(0));
    TALLY_TRY(count, count_of(record[2], record[2]));
    if (!to.empty() && place < SourcePlace{to.back().line, to.back().column})
      return record.expected("a segment that does not begin before the one above it", 0);
    to.push_back({place.line, place.column, static_cast<int64_t>(count), record[3].is_true(),
                  record[4].is_true(), record[5].is_true()});
    return {};
  }

  // The branches of an expansion add up, except those of further expansions within it.
  Result<void> read_expansion(const JsonValue &from, std::vector<BranchesAt> &to) {
    const Record source(from["source_region"]);
    TALLY_TRY(place, source.place(0));
    TALLY_TRY(expanded, source.number(6, "the index of a file", UINT32_MAX));
    for (JsonValue at = from["branches"].first(); !at.is_absent(); at = at.next()) {
      const Record record(at);
      TALLY_TRY(both, outcomes_in(record));
      TALLY_TRY(file, record.number(6, "the index of a file", UINT32_MAX));
      std::vector<SourcePlace> within;
      if (file != expanded)
        within.push_back({file, 0});
      to.push_back({place, std::move(within), both});
    }
    return {};
  }

  const std::string &source_;
  Diagnostics &diagnostics_;
  std::vector<FileCoverage> files_;
};

} // namespace

bool probe_export(std::string_view head) {
  if (head.find(export_type) != head.npos)
    return true;
  constexpr std::string_view usual = R"({"data":[{"files":[)"; // the type is the last key then
  std::string begin;
  for (const char c : head.substr(0, 200))
    if (std::string_view(" \t\r\n").find(c) == std::string_view::npos)
      begin += c;
  return begin.starts_with(usual);
}

Result<Coverage> read_export(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  TALLY_TRY(tree, JsonTree::parse(text, source.name(), repeated));
  return ExportReader(source.name(), diagnostics).run(tree);
}

} // namespace tally::llvm
