#include "formats/gcov3/words.h"

#include <algorithm>

#include <fmt/format.h>

namespace tally::gcov3 {

namespace {

uint32_t u32_at(std::string_view bytes, size_t at) { return ByteCursor(bytes.substr(at)).u32(); }

void put(char *to, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    to[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

} // namespace

int32_t WordReader::word() {
  const uint32_t value = cursor_.u32();
  if (value == minus_zero)
    oddities_.push_back({before(), value});
  return word_of(value);
}

int64_t WordReader::long_word() {
  const std::string_view bytes = take(8);
  if (bytes.empty())
    return 0;
  const uint32_t low = u32_at(bytes, 0), high = u32_at(bytes, 4);
  if (low == 0 && high == minus_zero)
    oddities_.push_back({before() + 4, high});
  const auto magnitude = static_cast<int64_t>(uint64_t{high & ~sign_bit} << 32 | low);
  return high & sign_bit ? -magnitude : magnitude;
}

Result<uint32_t> WordReader::count(std::string_view of_what, size_t size) {
  const int32_t value = word();
  if (failed())
    return ends_within(fmt::format("the number of {}", of_what));
  if (value < 0)
    return error(before(), fmt::format("the number of {} is {}", of_what, value));
  if (static_cast<size_t>(value) > left() / size)
    return error(before(), fmt::format("the number of {} is {}: the {} bytes that follow cannot "
                                       "hold them",
                                       of_what, value, left()));
  return static_cast<uint32_t>(value);
}

Result<std::string_view> WordReader::name() {
  if (const uint32_t mark = raw(); failed() || mark != minus_one)
    return failed() ? ends_within("the mark before a name")
                    : error(before(),
                            fmt::format("expected a name, marked by -1, found {}", word_of(mark)));
  TALLY_TRY(size, count("bytes of a name", 1));
  const std::string_view bytes = take(padded(size));
  if (failed())
    return ends_within("a name");
  if (const uint32_t mark = raw(); failed() || mark != minus_one)
    return failed()
               ? ends_within("the mark after a name")
               : error(before(), fmt::format("expected the -1 after a name of {} bytes, found {}",
                                             size, word_of(mark)));
  return unpad(bytes, size);
}

Result<std::string_view> WordReader::name_until(uint32_t mark) {
  const size_t begin = offset();
  for (uint32_t found = ~mark; found != mark;) {
    found = raw();
    if (failed())
      return error(begin - 4,
                   fmt::format("the name that begins here has no {} after it", word_of(mark)));
  }
  const std::string_view bytes = bytes_.substr(begin, before() - begin);
  const size_t size = bytes.find('\0');
  if (size == bytes.npos)
    return error(before(), "the name before this mark has no NUL at its end");
  if (padded(size) != bytes.size())
    return error(begin, fmt::format("a name of {} bytes takes {}, not {}", size, padded(size),
                                    bytes.size()));
  return unpad(bytes, size);
}

std::string_view WordReader::unpad(std::string_view bytes, size_t name_size) {
  const auto at = static_cast<size_t>(bytes.data() - bytes_.data()) + name_size;
  if (bytes.find_first_not_of('\0', name_size) != bytes.npos) {
    const size_t last = bytes.size() - 4;
    oddities_.push_back({at - name_size + last, u32_at(bytes, last)});
    add_finding(Severity::warning, at, "the padding after a name is not zero", "padding");
  }
  return bytes.substr(0, name_size);
}

tl::unexpected<Error> WordReader::error(size_t offset, std::string message) const {
  return fail(ErrorCode::invalid_input, std::move(message), source_, Position::at_offset(offset));
}

tl::unexpected<Error> WordReader::ends_within(std::string_view what) const {
  return error(offset(), fmt::format("the file ends in {}", what));
}

void WordReader::add_finding(Severity severity, size_t offset, std::string message,
                             std::string_view key) {
  diagnostics_.add(severity, std::move(message), source_, Position::at_offset(offset), key);
}

void WordWriter::raw(uint32_t value) {
  char bytes[4];
  put(bytes, value);
  out_.append(bytes, sizeof bytes);
}

void WordWriter::word(int64_t value) {
  raw(value < 0 ? sign_bit | static_cast<uint32_t>(-value) : static_cast<uint32_t>(value));
}

void WordWriter::long_word(int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? -value : value);
  raw(static_cast<uint32_t>(magnitude));
  raw(static_cast<uint32_t>(magnitude >> 32) | (value < 0 ? sign_bit : 0));
}

void WordWriter::padded_name(std::string_view name) {
  out_ += name;
  out_.append(padded(name.size()) - name.size(), '\0');
}

void WordWriter::name(std::string_view name) {
  raw(minus_one);
  word(static_cast<int64_t>(name.size()));
  padded_name(name);
  raw(minus_one);
}

std::string WordWriter::finish(const std::vector<Gcov3Oddity> &oddities) {
  for (const Gcov3Oddity &oddity : oddities)
    put(out_.data() + oddity.offset, oddity.word);
  return std::move(out_);
}

Result<std::string> whole(ByteSource &source) {
  TALLY_TRY(bytes, source.rest());
  constexpr size_t most = size_t{1} << 31;
  if (bytes.size() >= most)
    return fail(ErrorCode::limit,
                fmt::format("has {} bytes: 2 GiB and more are not supported", bytes.size()),
                source.name());
  return bytes;
}

tl::unexpected<Error> refuse_other_graph(const std::string &source) {
  return fail(ErrorCode::unsupported,
              "is a flow graph of GCC's branch 3.3-hammer (gbbg), which is not supported", source,
              Position::at_offset(0));
}

tl::unexpected<Error> no_counters(const Gcov3File &file) {
  return fail(ErrorCode::invalid_input,
              "holds no counters: they are in the .da file, which the program writes",
              file.source());
}

} // namespace tally::gcov3
