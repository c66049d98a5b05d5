#include "formats/gcov/stream.h"

#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "formats/gcov/header.h"
#include "support/found_file.h"
#include "support/line_blocks.h"
#include "support/read_at.h"

namespace tally {

namespace fs = std::filesystem;

Result<void> GcovStream::add(const std::string &path, GcovData data) {
  const auto [at, added] = files_.try_emplace(fs::path(path).lexically_normal().string());
  if (added) {
    at->second = std::move(data);
    return {};
  }
  auto sum = at->second.add(data);
  if (!sum)
    sum.error().source = path;
  return sum;
}

Result<void> GcovStream::add(const CounterFile &other) {
  const auto *stream = dynamic_cast<const GcovStream *>(&other);
  if (!stream)
    return fail(ErrorCode::invalid_input, "is not a stream of counters");
  GcovStream sum = *this;
  for (const auto &[path, data] : stream->files_)
    TALLY_CHECK(sum.add(path, data));
  *this = std::move(sum);
  return {};
}

namespace {

// Fails unless counters may be written into a file that only a stream or a program names: it has
// the ending of counters, and it is new or holds counters.
Result<void> check_place_of_counters(const std::string &path) {
  if (!path.ends_with(".gcda") && !path.ends_with(".da"))
    return fail(ErrorCode::invalid_input,
                "does not end in .gcda, as a file of counters does: nothing is written there",
                path);
  const auto file = open_found(path);
  if (!file && file.error().code == ErrorCode::not_found)
    return {};
  char head[4];
  if (!file || read_at(file->fd.get(), head, sizeof head, 0).size != sizeof head ||
      !gcov::has_magic({head, sizeof head}, gcov::data_magic))
    return fail(ErrorCode::invalid_input, "exists, and has no counters: it is not replaced", path);
  return {};
}

} // namespace

Result<void> GcovStream::write_below(const std::string &folder) const {
  std::set<fs::path> written;
  for (const auto &[name, data] : files_) {
    // The name may be anything: ".." must not lead out of the directory.
    const fs::path inner = (fs::path("/") / name).lexically_normal().relative_path();
    const fs::path path = fs::path(folder) / inner;
    TALLY_CHECK(check_no_link(folder, inner));
    if (!written.insert(path).second)
      return fail(ErrorCode::invalid_input, "two names lead to this file", path.string());
    TALLY_CHECK(check_place_of_counters(path.string()));
    std::error_code fault;
    fs::create_directories(path.parent_path(), fault);
    if (fault)
      return fail_errno(fault.value(), "cannot create the directory", path.parent_path().string());
    TALLY_TRY(bytes, data.bytes());
    TALLY_CHECK(write_file(path.string(), bytes));
  }
  return {};
}

Result<std::string> GcovStream::bytes() const {
  if (files_.size() == 1)
    return files_.begin()->second.bytes();
  return fail(ErrorCode::unsupported,
              fmt::format("holds the counters of {} objects: name a directory, with / at its end, "
                          "for their files",
                          files_.size()));
}

Result<void> GcovStream::zero() {
  return fail(ErrorCode::unsupported, "a stream is only read: remove the file");
}

namespace gcov {

namespace {

constexpr std::string_view begin_of_dump = "GCOV_COVERAGE_DUMP_START",
                           end_of_dump = "GCOV_COVERAGE_DUMP_END";

std::optional<uint32_t> digit_of(char c) {
  if (c >= '0' && c <= '9')
    return static_cast<uint32_t>(c - '0');
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? std::optional(static_cast<uint32_t>(c - 'a' + 10)) : std::nullopt;
}

// Reads a name and counters by turns.
Result<GcovStream> read_binary(std::string_view bytes, const std::string &source) {
  GcovStream out;
  for (size_t at = 0; at < bytes.size();) {
    ByteCursor cursor = cursor_of(bytes.substr(at));
    if (!has_magic(bytes.substr(at), name_magic))
      return fail_at(at, "expected the letters gcfn, with which the next name begins", source);
    GcovHeader header;
    header.version_word = cursor.u32();
    header.checksum = 0; // lengths are in bytes
    const std::string_view name = take_string(cursor, header);
    if (cursor.failed())
      return cut_at(at, source);
    if (name.empty())
      return fail_at(at, "counters of a file without a name", source);
    at += cursor.offset();
    auto data = take_data(cursor, bytes.substr(at), source);
    if (!data) {
      data.error().where.offset += at;
      return fail(std::move(data.error()));
    }
    if (!data->end_mark)
      return fail_at(bytes.size(), "truncated: the stream ends without an end mark", source);
    at += cursor.offset();
    TALLY_CHECK(out.add(std::string(name), std::move(*data)));
  }
  return out;
}

// Reads what Zephyr prints: between two marks a line "*NAME<HEX" for each file.
class DumpReader {
public:
  DumpReader(const std::string &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<GcovStream> run(std::string_view text) {
    bool is_inside = false, is_any = false;
    for (; !text.empty(); ++line_) {
      std::string_view line = next_line(text);
      while (line.ends_with('\r'))
        line.remove_suffix(1);
      if (line.ends_with(begin_of_dump)) {
        is_inside = is_any = true;
      } else if (line.ends_with(end_of_dump)) {
        is_inside = false;
      } else if (is_inside && line.starts_with('*') && line.find('<') != line.npos) {
        TALLY_CHECK(read_file(line));
      } else if (is_inside && !line.empty()) {
        diagnostics_.add(Severity::warning, "expected *NAME<HEX, and found another line: left out",
                         source_, Position::at_line(line_), "other lines");
      }
    }
    if (!is_any)
      return wrong(1, fmt::format("expected a line {}", begin_of_dump));
    if (is_inside)
      return wrong(1, fmt::format("truncated: the line {} is missing", end_of_dump));
    return std::move(out_);
  }

private:
  tl::unexpected<Error> wrong(size_t column, std::string message) {
    return fail(ErrorCode::invalid_input, std::move(message), source_,
                Position::at_line(line_, static_cast<uint32_t>(column)));
  }

  Result<void> read_file(std::string_view line) {
    const size_t first = line.find('<') + 1; // of the digits
    const std::string_view digits = line.substr(first);
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      const auto high = digit_of(digits[i]), low = digit_of(digits[i + 1]);
      if (!high || !low)
        return wrong(first + i + 1 + (high ? 1 : 0), "expected a hexadecimal digit");
      bytes += static_cast<char>(*high << 4 | *low);
    }
    if (digits.size() % 2 != 0)
      return wrong(line.size(), "truncated: a byte has two hexadecimal digits");
    ByteCursor cursor(bytes);
    auto data = take_data(cursor, bytes, source_);
    if (!data)
      return wrong(first + 1 + 2 * data.error().where.offset, data.error().message);
    if (!data->end_mark) // a line has an end, too
      data->end_mark = true;
    else
      data->behind = cursor.take(cursor.left());
    return out_.add(std::string(line.substr(1, first - 2)), std::move(*data));
  }

  const std::string &source_;
  Diagnostics &diagnostics_;
  uint32_t line_ = 1;
  GcovStream out_;
};

} // namespace

bool has_dump(std::string_view text) {
  for (size_t at = 0; (at = text.find(begin_of_dump, at)) != text.npos;) {
    at += begin_of_dump.size();
    if (at == text.size() || text[at] == '\r' || text[at] == '\n')
      return true;
  }
  return false;
}

bool is_stream(std::string_view head) { return has_magic(head, name_magic) || has_dump(head); }

Result<std::unique_ptr<CounterFile>> read_stream(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  if (bytes.empty())
    return fail(ErrorCode::no_data, "is empty", source.name());
  TALLY_TRY(stream, has_magic(bytes, name_magic)
                        ? read_binary(bytes, source.name())
                        : DumpReader(source.name(), diagnostics).run(bytes));
  return std::make_unique<GcovStream>(std::move(stream));
}

} // namespace gcov
} // namespace tally
