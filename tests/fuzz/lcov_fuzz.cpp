// Reads arbitrary bytes as a tracefile. They are read or rejected with a position. What was read is
// in order and is the sum of its tests. It is written such that it reads back as the same, except
// for what the format cannot represent.
#include <algorithm>
#include <string>
#include <string_view>

#include "../support/coverage_text.h"
#include "formats/lcov/lcov.h"
#include "fuzz_target.h"
#include "require.h"
#include "transform/merge.h"

namespace tally::lcov_fuzz {

namespace {

Result<Coverage> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  return lcov::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
}

void strip(std::vector<FileCoverage> &files) {
  for (FileCoverage &file : files) {
    file.conditions.clear();
    for (LineCoverage &line : file.lines) {
      line.first_condition = line.last_condition = 0;
      // The writer leaves out branches that a line that ran did not evaluate.
      if (line.count != 0 && std::ranges::all_of(file.branches_of(line), [](const auto &branch) {
            return branch.count == 0;
          }))
        line.last_branch = line.first_branch;
    }
    for (BranchCoverage &branch : file.branches)
      branch.fall_through = branch.throws = false;
    for (FunctionCoverage &function : file.functions)
      function.end_line = 0;
  }
}

void require_sum(const Coverage &coverage) {
  if (coverage.tests.empty() || coverage.tests.size() > 100)
    return;
  Coverage sum;
  Diagnostics diagnostics;
  for (const TestCoverage &test : coverage.tests)
    require(add_coverage(sum, Coverage{test.files, {test}}, MergePolicy::lenient, diagnostics)
                .has_value(),
            "tests add up");
  require(text_of(sum) == text_of(coverage), "tests together are the files");
}

} // namespace

FUZZ_TARGET(lcov) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(lcov::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require(first.error().text().find('\n') == std::string::npos, "one line");
    require(first.error().code != ErrorCode::internal, "error's kind");
    require(first.error().code != ErrorCode::invalid_input ||
                first.error().where.kind != Position::Kind::none,
            "the position of an error");
    // The offset of damage in compressed data depends on the piece size.
    require(first.error().where.kind == Position::Kind::offset ||
                first.error().text() == in_pieces.error().text(),
            "pieces, error");
    return 0;
  }
  require(disorder_of(*first).empty(), disorder_of(*first));
  require_sum(*first);
  const auto written = lcov::write(*first, {});
  const auto same = lcov::write(*in_pieces, {});
  require(written.has_value() == same.has_value(), "pieces, written");
  if (!written) { // names that are changed for the format may become equal
    require(written.error().code == ErrorCode::overflow, "written");
    return 0;
  }
  require(written->bytes == same->bytes, "pieces, bytes");
  require(lcov::probe(std::string_view(written->bytes).substr(0, 4096)), "probe");
  auto second = read(written->bytes, 5);
  if (!second) {
    require(second.error().code == ErrorCode::overflow, "reads back");
    return 0;
  }
  bool changed = false;
  for (const std::string &lost : written->lost) {
    changed |= lost.find("(changed)") != std::string::npos;
    // Whether their sum has such branches depends on all tests.
    changed |= !first->tests.empty() && lost.starts_with("the branches of lines that ran");
  }
  if (!changed) {
    Coverage stripped = *first;
    strip(stripped.files);
    for (TestCoverage &test : stripped.tests)
      strip(test.files);
    require(text_of(*second) == text_of(stripped), "reads back as the same");
  }
  const auto again = lcov::write(*second, {});
  require(again.has_value() && again->bytes == written->bytes, "written again");
  return 0;
}

} // namespace tally::lcov_fuzz
