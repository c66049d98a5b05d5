#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "formats/baseline/baseline.h"
#include "support/line_blocks.h"
#include "support/text.h"

namespace tally::baseline {

bool is_smaller(const Share &a, const Share &b) {
  if (a.all == 0 || b.all == 0)
    return b.all == 0 && a.all != 0 && a.ran < a.all;
  __extension__ typedef unsigned __int128 Product;
  return Product{a.ran} * b.all < Product{b.ran} * a.all;
}

namespace {

constexpr std::string_view first_word = "tally-coverage-baseline ";
constexpr std::string_view version = "1";
constexpr size_t longest_line = size_t{1} << 20;

bool is_lower(const Share &a, const Share &b) {
  return is_smaller(a, b) || (!is_smaller(b, a) && a.missed() > b.missed());
}

std::string shown_part(std::string_view text) {
  constexpr size_t most = 60;
  return printable(std::string(text.substr(0, most)));
}

// The lines that Git leaves around the two sides of a conflict.
bool is_conflict_marker(std::string_view line) {
  constexpr size_t length = 7;
  for (const char c : {'<', '=', '>', '|'})
    if (line.starts_with(std::string(length, c)) && (line.size() == length || line[length] == ' '))
      return true;
  return false;
}

class BaselineReader {
public:
  explicit BaselineReader(std::string source) : source_(std::move(source)) {}

  Result<void> line(std::string_view text);
  // `is_open` says that the last line has no line break.
  Result<Baseline> finish(bool is_open);

private:
  tl::unexpected<Error> broken(size_t column, std::string message) const {
    return fail(ErrorCode::invalid_input, std::move(message), source_,
                Position::at_line(line_, column));
  }
  Result<void> head() const;
  Result<void> values(size_t at);
  Result<Share> share(size_t &at) const;
  Result<uint64_t> number(size_t &at, uint64_t least) const;
  Result<std::string> path(size_t at) const;
  Result<std::string> quoted_path(std::string_view text, size_t column) const;

  std::string source_;
  uint64_t line_ = 0;
  std::string_view text_; // of the line
  Baseline out_;
};

Result<void> BaselineReader::line(std::string_view text) {
  ++line_;
  text_ = text;
  if (line_ == 1)
    return head();
  if (text.empty() || text.front() == '#')
    return {};
  if (is_conflict_marker(text))
    return broken(1, "a merge left a conflict here: keep either side, or both without the markers");
  // After a merge of both sides, these lines may be anywhere.
  for (const std::string_view key : {"file ", "end "})
    if (text.starts_with(key)) {
      TALLY_CHECK(path(key.size()));
      return {};
    }
  if (constexpr std::string_view key = "lines "; text.starts_with(key))
    return values(key.size());
  return broken(1, fmt::format("expected file, lines or end, found '{}'", shown_part(text)));
}

Result<void> BaselineReader::head() const {
  if (!text_.starts_with(first_word))
    return broken(1, fmt::format("is not a coverage baseline: expected '{}{}', found '{}'",
                                 first_word, version, shown_part(text_)));
  if (const auto stated = text_.substr(first_word.size()); stated != version)
    return broken(first_word.size() + 1, fmt::format("expected version {} of the format, found {}",
                                                     version, shown_part(stated)));
  return {};
}

// Parses "N of M[, branches N of M]: PATH". `at` is an index into the line.
Result<void> BaselineReader::values(size_t at) {
  constexpr std::string_view next = ", branches ", last = ": ";
  Record record;
  TALLY_TRY(lines, share(at));
  record.lines = lines;
  const bool has_branches = text_.substr(at).starts_with(next);
  if (has_branches) {
    at += next.size();
    TALLY_TRY(branches, share(at));
    record.branches = branches;
  }
  if (!text_.substr(at).starts_with(last))
    return broken(at + 1, fmt::format("expected {}': ' and a path, found '{}'",
                                      has_branches ? "" : "', branches ' or ",
                                      shown_part(text_.substr(at))));
  TALLY_TRY(name, path(at + last.size()));
  const auto [place, added] = out_.try_emplace(std::move(name), record);
  if (added)
    return {};
  Record &before = place->second;
  if (is_lower(record.lines, before.lines))
    before.lines = record.lines;
  if (record.branches.all == 0 ||
      (before.branches.all != 0 && is_lower(record.branches, before.branches)))
    before.branches = record.branches;
  return {};
}

// Parses "N of M", and moves `at` behind it.
Result<Share> BaselineReader::share(size_t &at) const {
  constexpr std::string_view between = " of ";
  const size_t begin = at;
  TALLY_TRY(ran, number(at, 0));
  if (!text_.substr(at).starts_with(between))
    return broken(at + 1,
                  fmt::format("expected '{}', found '{}'", between, shown_part(text_.substr(at))));
  at += between.size();
  TALLY_TRY(all, number(at, 1));
  if (ran > all)
    return broken(begin + 1, fmt::format("{} is more than {}", ran, all));
  return Share{ran, all};
}

Result<uint64_t> BaselineReader::number(size_t &at, uint64_t least) const {
  // A file has at most 2^32 lines, and sums of such numbers fit in 64 bits.
  constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
  uint64_t out = 0;
  const std::string_view text = text_.substr(at);
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc() || out < least || out > most)
    return broken(at + 1, fmt::format("expected a number from {} to {}, found '{}'", least, most,
                                      shown_part(text)));
  at += static_cast<size_t>(stop - text.data());
  return out;
}

Result<std::string> BaselineReader::path(size_t at) const {
  const std::string_view text = text_.substr(at);
  if (text.starts_with('"'))
    return quoted_path(text, at + 1);
  if (text.empty())
    return broken(at + 1, "expected a path");
  return std::string(text);
}

// Parses the quotation that quoted() of the writer makes.
Result<std::string> BaselineReader::quoted_path(std::string_view text, size_t column) const {
  constexpr size_t digits = 3;
  std::string out;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      if (at + 1 != text.size())
        return broken(column + at + 1, fmt::format("expected the end of the line, found '{}'",
                                                   shown_part(text.substr(at + 1))));
      if (out.empty())
        return broken(column, "expected a path");
      return out;
    }
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    const std::string_view escape = text.substr(at + 1, digits);
    if (escape.starts_with('"') || escape.starts_with('\\')) {
      out += escape[0];
      ++at;
      continue;
    }
    unsigned byte = 0;
    constexpr int octal = 8;
    const auto [stop, fault] =
        std::from_chars(escape.data(), escape.data() + escape.size(), byte, octal);
    if (escape.size() != digits || fault != std::errc() || stop != escape.data() + digits ||
        byte > std::numeric_limits<unsigned char>::max())
      return broken(column + at, R"(expected \\, \" or three octal digits after \)");
    out += static_cast<char>(static_cast<unsigned char>(byte));
    at += digits;
  }
  return broken(column + text.size(), "expected '\"' at the end of the path");
}

Result<Baseline> BaselineReader::finish(bool is_open) {
  if (line_ == 0) {
    ++line_;
    return broken(1, fmt::format("is empty: expected '{}{}'", first_word, version));
  }
  if (is_open)
    return broken(1, "truncated: the last line has no line break");
  return std::move(out_);
}

} // namespace

Result<Baseline> read(ByteSource &source) {
  BaselineReader reader(source.name());
  for (LineBlocks blocks(source, longest_line);;) {
    TALLY_TRY(block, blocks.next());
    if (block.empty())
      return reader.finish(blocks.last_line_open());
    while (!block.empty())
      TALLY_CHECK(reader.line(next_line(block)));
  }
}

} // namespace tally::baseline
