#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/file_rows.h"
#include "formats/gcov_output/gcov_output.h"
#include "model/coverage_findings.h"
#include "support/json_tree.h"
#include "support/path.h"
#include "transform/coverage_sum.h"

namespace tally::gcov_output {

namespace {

class JsonReader {
public:
  JsonReader(const std::string &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<Coverage> run(const JsonTree &tree) {
    const JsonValue root = tree.root();
    if (!root["files"].is_list())
      return root.error("is not gcov's JSON: the list of files is missing");
    // Names of files are relative to the directory in which the compiler ran.
    const JsonValue folder = root["current_working_directory"];
    folder_ = folder.text().value_or("");
    if (!may_be_a_path(folder_))
      return folder.error("is longer than a path can be");
    if (!folder_.empty() && !folder_.ends_with('/'))
      folder_ += '/';
    for (JsonValue file = root["files"].first(); !file.is_absent(); file = file.next())
      TALLY_CHECK(read_file(file));
    return coverage_of_files(files_, diagnostics_);
  }

private:
  void find(const CoverageFinding &finding, const JsonValue &where) {
    diagnostics_.add(Severity::warning, finding.text, source_, Position::at_offset(where.offset()),
                     finding.key);
  }

  static tl::unexpected<Error> expected(std::string_view what, const JsonValue &at,
                                        const JsonValue &around) {
    return (at.is_absent() ? around : at).error(fmt::format("expected {}", what));
  }

  Result<int64_t> count_of(const JsonValue &of, std::string_view key) {
    const auto count = of[key].integer();
    if (!count)
      return expected(fmt::format("a count of 63 bits as {}", key), of[key], of);
    if (*count < 0)
      find(negative_count(), of[key]);
    return times_run(*count);
  }

  static Result<uint32_t> line_of(const JsonValue &of, std::string_view key) {
    const auto line = of[key].integer();
    if (!line || *line < 0 || *line > UINT32_MAX)
      return expected(fmt::format("the number of a line as {}", key), of[key], of);
    return static_cast<uint32_t>(*line);
  }

  Result<void> read_file(const JsonValue &file) {
    const auto name = file["file"].text();
    if (!name || name->empty())
      return expected("the name of a file", file["file"], file);
    for (JsonValue line = file["lines"].first(); !line.is_absent(); line = line.next())
      TALLY_CHECK(read_line(line));
    for (JsonValue function = file["functions"].first(); !function.is_absent();
         function = function.next())
      TALLY_CHECK(read_function(function));
    TALLY_TRY(read, rows_.take(is_absolute(*name) ? std::string(*name)
                                                  : fmt::format("{}{}", folder_, *name)));
    files_.push_back(std::move(read));
    return {};
  }

  Result<void> read_line(const JsonValue &line) {
    TALLY_TRY(number, line_of(line, "line_number"));
    TALLY_TRY(count, count_of(line, "count"));
    for (JsonValue branch = line["branches"].first(); !branch.is_absent(); branch = branch.next()) {
      TALLY_TRY(taken, count_of(branch, "count"));
      rows_.add_branch({taken, branch["fallthrough"].is_true(), branch["throw"].is_true()});
    }
    for (JsonValue condition = line["conditions"].first(); !condition.is_absent();
         condition = condition.next())
      TALLY_CHECK(read_condition(condition));
    if (number == 0) {
      find(no_line_0(), line);
      rows_.drop_line();
    } else {
      rows_.end_line(number, count);
    }
    return {};
  }

  // GCC 14 and later count two outcomes for each term, and list those that were not covered.
  Result<void> read_condition(const JsonValue &condition) {
    const auto outcomes = condition["count"].integer();
    if (!outcomes || *outcomes < 0 || *outcomes % 2 != 0)
      return expected("an even number of outcomes as count", condition["count"], condition);
    const int64_t terms = *outcomes / 2;
    if (terms > most_terms) {
      find(too_many_terms(), condition);
      return {};
    }
    const uint64_t all = terms == most_terms ? ~uint64_t{0} : (uint64_t{1} << terms) - 1;
    ConditionCoverage read{static_cast<uint32_t>(terms), all, all};
    for (const auto &[key, bits] : {std::pair("not_covered_true", &read.when_true),
                                    std::pair("not_covered_false", &read.when_false)})
      for (JsonValue term = condition[key].first(); !term.is_absent(); term = term.next()) {
        const auto index = term.integer();
        if (!index || *index < 0 || *index >= terms)
          return term.error("expected the index of a term");
        *bits &= ~(uint64_t{1} << *index);
      }
    rows_.add_condition(read);
    return {};
  }

  Result<void> read_function(const JsonValue &function) {
    FunctionCoverage read;
    const auto name = function["name"].text();
    if (!name || name->empty())
      return expected("the name of a function", function["name"], function);
    read.name = *name;
    TALLY_TRY(start, line_of(function, "start_line"));
    TALLY_TRY(end, line_of(function, "end_line"));
    TALLY_TRY(count, count_of(function, "execution_count"));
    read.start_line = start;
    read.end_line = end < start ? 0 : end;
    if (end < start)
      find(end_before_begin(), function);
    read.count = count;
    rows_.add_function(std::move(read));
    return {};
  }

  const std::string &source_;
  Diagnostics &diagnostics_;
  std::string folder_; // with a slash at its end; empty if it is unknown
  FileRows rows_;
  std::vector<FileCoverage> files_;
};

} // namespace

bool probe_json(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  return head.starts_with('{') && head.find("\"gcc_version\"") != head.npos;
}

Result<Coverage> read_json(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  TALLY_TRY(tree, JsonTree::parse(text, source.name()));
  return JsonReader(source.name(), diagnostics).run(tree);
}

} // namespace tally::gcov_output
