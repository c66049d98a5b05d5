#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "formats/lcov/lcov.h"
#include "support/checked.h"
#include "support/line_blocks.h"

namespace tally::lcov {

namespace {

// One section: a file, in one test.
struct Section {
  std::string path;
  struct Branch {
    uint32_t line;
    uint64_t block, branch;
    int64_t count;
    auto key() const { return std::tie(line, block, branch); }
  };
  std::map<uint32_t, int64_t> lines;
  std::vector<Branch> branches;
  std::map<std::string, FunctionCoverage, std::less<>> functions;
};

class Reader {
public:
  Reader(std::string_view source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<void> line(std::string_view text);
  Result<Coverage> finish();

private:
  tl::unexpected<Error> broken(std::string message, size_t column = 1) const {
    return fail(ErrorCode::invalid_input, std::move(message), std::string(source_),
                Position::at_line(line_, column));
  }
  void find(Severity severity, std::string message, std::string_view key = {}) {
    diagnostics_.add(severity, std::move(message), std::string(source_),
                     Position::at_line(line_, 1), key);
  }
  Result<void> keyed(std::string_view key, std::string_view value);
  Result<void> end_section();
  // Up to the next comma. A value that is no number is an error.
  template <class T> Result<T> number(std::string_view &rest, std::string_view what);
  Result<void> add_count(int64_t &sum, int64_t more) {
    return checked_add(sum, more) ? Result<void>() : broken("the sum does not fit in 64 bits");
  }

  std::string source_;
  Diagnostics &diagnostics_;
  uint64_t line_ = 0;
  std::optional<Section> section_;
  Coverage all_;
  std::map<std::string, FileCoverage> files_;
};

template <class T> Result<T> Reader::number(std::string_view &rest, std::string_view what) {
  const std::string_view word = rest.substr(0, rest.find(','));
  T value{};
  const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || fault != std::errc() || end != word.data() + word.size())
    return broken(fmt::format("expected {}, found '{}'", what, word));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return value;
}

Result<void> Reader::line(std::string_view text) {
  ++line_;
  if (text.ends_with('\r'))
    text.remove_suffix(1);
  if (text.empty() || text.starts_with('#'))
    return {};
  if (text == "end_of_record")
    return end_section();
  const size_t colon = text.find(':');
  if (colon == text.npos) {
    find(Severity::error, fmt::format("unknown line: {}", text.substr(0, 40)));
    return {};
  }
  return keyed(text.substr(0, colon), text.substr(colon + 1));
}

Result<void> Reader::keyed(std::string_view key, std::string_view value) {
  if (key == "TN")
    return {};
  if (key == "SF") {
    if (section_)
      return broken("a file begins before end_of_record of the one before");
    section_.emplace().path = value;
    return {};
  }
  static constexpr std::string_view sums[] = {"LF", "LH", "FNF", "FNH", "BRF", "BRH", "VER"};
  if (std::ranges::find(sums, key) != std::end(sums)) // told by the lines themselves
    return {};
  if (!section_)
    return broken(fmt::format("{}: before any SF:", key));
  if (key == "DA") { // line, count, and a checksum
    TALLY_TRY(line, number<uint32_t>(value, "a line"));
    TALLY_TRY(count, number<int64_t>(value, "a count"));
    return add_count(section_->lines[line], count);
  }
  if (key == "FN") { // line, since lcov 2 the last line, name
    TALLY_TRY(start, number<uint32_t>(value, "a line"));
    uint32_t end = 0;
    if (const std::string_view word = value.substr(0, value.find(','));
        word.size() < value.size() &&
        std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; })) {
      TALLY_TRY(told, number<uint32_t>(value, "a line"));
      end = told;
    }
    FunctionCoverage &function = section_->functions[std::string(value)];
    function.name = value;
    function.start_line = start;
    function.end_line = end;
    return {};
  }
  if (key == "FNDA") {
    TALLY_TRY(count, number<int64_t>(value, "a count"));
    const auto at = section_->functions.find(value);
    if (at == section_->functions.end())
      return broken(fmt::format("FNDA: of {}, which no FN: names", value));
    return add_count(at->second.count, count);
  }
  if (key == "BRDA") { // line, block, branch, how often it was taken
    Section::Branch branch{};
    TALLY_TRY(line, number<uint32_t>(value, "a line"));
    TALLY_TRY(block, number<uint64_t>(value, "a block"));
    TALLY_TRY(place, number<uint64_t>(value, "a branch"));
    branch = {line, block, place, 0};
    if (value != "-") {
      TALLY_TRY(count, number<int64_t>(value, "a count or '-'"));
      branch.count = count;
    }
    section_->branches.push_back(branch);
    return {};
  }
  find(Severity::warning, fmt::format("{}: is left out", key), key);
  return {};
}

Result<void> Reader::end_section() {
  if (!section_)
    return broken("end_of_record without SF:");
  Section section = std::move(*section_);
  section_.reset();
  std::ranges::stable_sort(section.branches, {}, &Section::Branch::key);
  FileCoverage file;
  file.path = section.path;
  auto next = section.branches.begin();
  for (const Section::Branch &branch : section.branches)
    section.lines.try_emplace(branch.line, 0);
  for (const auto &[number, count] : section.lines) {
    LineCoverage line;
    line.line = number;
    line.count = count;
    line.first_branch = static_cast<uint32_t>(file.branches.size());
    for (; next != section.branches.end() && next->line == number; ++next) {
      const bool again = next != section.branches.begin() && (next - 1)->key() == next->key();
      if (!again) {
        file.branches.push_back({next->count, false, false});
        continue;
      }
      TALLY_CHECK(add_count(file.branches.back().count, next->count));
    }
    line.last_branch = static_cast<uint32_t>(file.branches.size());
    file.lines.push_back(line);
  }
  for (auto &[name, function] : section.functions)
    file.functions.push_back(std::move(function));
  std::ranges::sort(file.functions, {},
                    [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); });
  const auto [at, added] = files_.try_emplace(file.path, file);
  return added ? Result<void>()
               : add_coverage(at->second, file, MergePolicy::lenient, diagnostics_);
}

Result<Coverage> Reader::finish() {
  if (section_)
    return broken("truncated: there is no end_of_record");
  for (auto &[path, file] : files_)
    all_.files.push_back(std::move(file));
  return std::move(all_);
}

} // namespace

bool probe(std::string_view head) { return head.starts_with("TN:") || head.starts_with("SF:"); }

Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics) {
  Reader reader(source.name(), diagnostics);
  for (LineBlocks blocks(source);;) {
    TALLY_TRY(block, blocks.next());
    if (block.empty())
      break;
    while (!block.empty()) {
      const size_t end = block.find('\n');
      TALLY_CHECK(reader.line(block.substr(0, end)));
      block.remove_prefix(end + 1);
    }
  }
  return reader.finish();
}

} // namespace tally::lcov
