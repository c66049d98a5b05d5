#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/file_rows.h"
#include "formats/gcov_output/gcov_output.h"
#include "model/coverage_findings.h"
#include "support/line_blocks.h"
#include "transform/coverage_sum.h"

namespace tally::gcov_output {

namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

template <class Number> bool read_number(std::string_view text, Number &value) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && fault == std::errc() && end == text.data() + text.size();
}

// "       12:    3:  return x;": what is before the first colon, the number, and the rest.
struct SourceRow {
  std::string_view count;
  uint32_t line = 0;
  std::string_view text;
};
std::optional<SourceRow> source_row(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == line.npos ? first : line.find(':', first + 1);
  SourceRow row;
  row.count = trimmed(line.substr(0, std::min(first, line.size())));
  if (second == line.npos || row.count.empty() || row.count.find(' ') != row.count.npos ||
      !read_number(trimmed(line.substr(first + 1, second - first - 1)), row.line))
    return std::nullopt;
  row.text = line.substr(second + 1);
  return row;
}

// Collects the lines in the order of the text. A line's branches follow it.
class TextReader {
public:
  TextReader(const std::string &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<Coverage> run(std::string_view text) {
    for (; !text.empty(); ++at_)
      TALLY_CHECK(add(next_line(text)));
    TALLY_CHECK(end_file());
    return coverage_of_files(files_, diagnostics_);
  }

private:
  tl::unexpected<Error> wrong(std::string message, ErrorCode code = ErrorCode::invalid_input) {
    return fail(code, std::move(message), source_, Position::at_line(at_, 1));
  }
  void find(Severity severity, std::string message, std::string_view key) {
    diagnostics_.add(severity, std::move(message), source_, Position::at_line(at_, 1), key);
  }

  // Parses a count. An asterisk marks a line with a block that did not run.
  Result<int64_t> count_of(std::string_view word) {
    if (word.ends_with('*'))
      word.remove_suffix(1);
    int64_t count = 0;
    if (read_number(word, count)) {
      if (count < 0)
        find(Severity::warning, negative_count().text, negative_count().key);
      return times_run(count);
    }
    const bool is_rounded =
        !word.empty() && std::string_view("kMGTPEZY").find(word.back()) != word.npos;
    return wrong(is_rounded ? fmt::format("the count {:.40} is rounded: run gcov without -H", word)
                            : fmt::format("expected a count, found '{:.40}'", word));
  }

  Result<void> add(std::string_view line) {
    const bool after_separator = std::exchange(is_separator_above_, false);
    if (line.starts_with("------------------")) {
      is_separator_above_ = true;
      in_instance_ = false;
      return {};
    }
    // Lines of several instances of a template come first with their sums, but without branches,
    // then once more for each instance, below a separator and its name.
    const auto row = source_row(line);
    if (after_separator && !row && trimmed(line).ends_with(':')) {
      in_instance_ = true;
      return {};
    }
    if (line.starts_with("function "))
      return add_function(line.substr(9));
    if (line.starts_with("branch "))
      return add_branch(trimmed(line.substr(7)));
    if (line.starts_with("call ") || line.starts_with("unconditional ") ||
        line.starts_with("condition ") || trimmed(line).empty())
      return {};
    if (line.find("-block ") != line.npos) // the blocks of a line (-a): "        1:    5-block  0"
      return {};
    if (!row)
      return wrong("expected COUNT:LINE:TEXT, or a line about a function, a branch or a call");
    return row->line == 0 ? add_header(*row) : add_line(*row);
  }

  Result<void> add_header(const SourceRow &row) {
    constexpr std::string_view key = "Source:";
    if (!row.text.starts_with(key))
      return {};
    TALLY_CHECK(end_file());
    path_ = trimmed(row.text.substr(key.size()));
    return path_.empty() ? wrong("a source without a name") : Result<void>();
  }

  Result<void> add_line(const SourceRow &row) {
    if (path_.empty())
      return wrong("a line before the header with the name of the Source");
    for (FunctionCoverage &function : begun_) {
      function.start_line = row.line;
      rows_.add_function(std::move(function));
    }
    begun_.clear();
    end_line();
    if (row.count == "-")
      return {};
    int64_t count = 0;
    if (row.count.find_first_not_of('#') != row.count.npos &&
        row.count.find_first_not_of('=') != row.count.npos) {
      TALLY_TRY(read, count_of(row.count));
      count = read;
    }
    line_ = row.line;
    count_ = in_instance_ ? 0 : count; // it is in the sum already
    return {};
  }

  void end_line() {
    if (line_ != 0)
      rows_.end_line(std::exchange(line_, 0), count_);
  }

  // "_Z3fooi called 4 returned 100% blocks executed 57%"
  Result<void> add_function(std::string_view text) {
    constexpr std::string_view called = " called ";
    const size_t end = text.rfind(called);
    FunctionCoverage function;
    function.name = text.substr(0, std::min(end, text.size()));
    if (end == text.npos || function.name.empty())
      return wrong("expected the name of a function and how often it was called");
    text.remove_prefix(end + called.size());
    TALLY_TRY(count, count_of(text.substr(0, text.find(' '))));
    function.count = count;
    begun_.push_back(std::move(function));
    return {};
  }

  // "0 taken 5 (fallthrough)", "1 taken 50%", "2 never executed"
  Result<void> add_branch(std::string_view text) {
    if (line_ == 0)
      return wrong("a branch without a line that has a count");
    constexpr std::string_view taken = " taken ";
    const bool throws = text.find("(throw)") != text.npos,
               falls = text.find("(fallthrough)") != text.npos;
    const size_t at = text.find(taken);
    int64_t count = 0;
    if (at != text.npos) {
      std::string_view word = text.substr(at + taken.size());
      word = word.substr(0, word.find(' '));
      if (const bool is_share = word.ends_with('%'); is_share) {
        word.remove_suffix(1);
        find(Severity::note,
             "branches have percentages, so that it is only known whether they were taken",
             "percentages");
      }
      TALLY_TRY(read, count_of(word));
      count = text.find('%') == text.npos ? read : std::min<int64_t>(read, 1);
    } else if (text.find("never executed") == text.npos) {
      return wrong("expected whether the branch was taken");
    }
    rows_.add_branch({count, falls, throws});
    return {};
  }

  Result<void> end_file() {
    if (path_.empty())
      return {};
    end_line();
    for (FunctionCoverage &function : begun_) // at the file's end, without a line
      rows_.add_function(std::move(function));
    begun_.clear();
    in_instance_ = false;
    TALLY_TRY(file, rows_.take(std::exchange(path_, {})));
    files_.push_back(std::move(file));
    return {};
  }

  const std::string &source_;
  Diagnostics &diagnostics_;
  uint64_t at_ = 1; // the line of the text
  std::string path_;
  uint32_t line_ = 0; // the line to which branches belong; 0 if there is none
  int64_t count_ = 0;
  std::vector<FunctionCoverage> begun_; // they begin in the next line
  bool is_separator_above_ = false, in_instance_ = false;
  FileRows rows_;
  std::vector<FileCoverage> files_;
};

} // namespace

bool probe_text(std::string_view head) {
  const auto row = source_row(next_line(head));
  return row && row->count == "-" && row->line == 0 && row->text.starts_with("Source:");
}

Result<Coverage> read_text(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  return TextReader(source.name(), diagnostics).run(text);
}

} // namespace tally::gcov_output
