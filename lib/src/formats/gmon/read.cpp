#include "formats/gmon/gmon.h"

#include <array>
#include <optional>

#include <fmt/format.h>

namespace tally::gmon {

namespace {

// Returns the number in the first `size` bytes.
uint64_t number(std::string_view bytes, size_t size, bool big_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[big_endian ? i : size - 1 - i]);
  return value;
}

// Reads numbers one after another. After a read beyond the end, failed() is true, all reads return
// 0, and at() stays at the offset of that read.
class Cursor {
public:
  Cursor(std::string_view bytes, size_t at, PcLayout layout)
      : bytes_(bytes), at_(at), layout_(layout) {}

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  const PcLayout &layout() const { return layout_; }
  bool failed() const { return failed_; }

  std::string_view take(size_t size) {
    if (failed_ || size > left()) {
      failed_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  uint64_t read(size_t size) {
    const std::string_view bytes = take(size);
    return failed_ ? 0 : number(bytes, size, layout_.big_endian);
  }
  uint64_t pointer() { return read(layout_.pointer_bytes); }
  uint32_t word() { return static_cast<uint32_t>(read(4)); }

private:
  std::string_view bytes_;
  size_t at_;
  PcLayout layout_;
  bool failed_ = false;
};

tl::unexpected<Error> wrong(std::string message, size_t offset) {
  return fail(ErrorCode::invalid_input, std::move(message), {}, Position::at_offset(offset));
}

tl::unexpected<Error> cut_off(std::string_view what, const Cursor &cursor) {
  return wrong(fmt::format("the file ends within {}: {} bytes are left of it", what, cursor.left()),
               cursor.at());
}

// Adds the offset of the record to an error.
Result<void> at(size_t offset, Result<void> result) {
  if (!result)
    result.error().where = Position::at_offset(offset);
  return result;
}

constexpr std::string_view no_rate = "the rate is 0: the length of a tick is unknown";

Result<void> check_rate(uint32_t rate, size_t offset) {
  if (rate > INT32_MAX)
    return wrong(fmt::format("a histogram has a rate of {}", static_cast<int32_t>(rate)), offset);
  return {};
}

Result<PcRange> counters_of(Cursor &cursor, uint64_t low_pc, uint64_t high_pc, size_t bins,
                            size_t record) {
  if (low_pc >= high_pc)
    return wrong(fmt::format("the histogram of [{:#x}, {:#x}) is empty", low_pc, high_pc), record);
  if (bins > cursor.left() / 2)
    return wrong(fmt::format("a histogram of {} bins needs {} bytes, but {} are left", bins,
                             uint64_t{bins} * 2, cursor.left()),
                 cursor.at());
  if (bins == 0 || bins > high_pc - low_pc)
    return wrong(fmt::format("a histogram of [{:#x}, {:#x}) has {} bins", low_pc, high_pc, bins),
                 record);
  PcRange range{low_pc, high_pc, even_bins(low_pc, high_pc, bins), {}};
  range.counters.reserve(bins);
  for (size_t i = 0; i < bins; ++i)
    range.counters.push_back(cursor.read(2));
  return range;
}

// --- GNU

// Properties of the file that are reported after it was read.
struct Seen {
  bool blocks = false;
  bool rate_missing = false;
};

Result<void> read_histogram(Cursor &cursor, PcProfileBuilder &out, Seen &seen) {
  const size_t record = cursor.at() - 1;
  const uint64_t low_pc = cursor.pointer(), high_pc = cursor.pointer();
  const uint32_t bins = cursor.word(), rate = cursor.word();
  const std::string_view padded = cursor.take(dimension_bytes);
  const std::string_view abbreviation = cursor.take(1);
  if (cursor.failed())
    return cut_off("the header of a histogram", cursor);
  const std::string_view dimension = padded.substr(0, padded.find('\0'));
  for (const char c : dimension)
    if (static_cast<unsigned char>(c) < ' ')
      return wrong("the dimension of a histogram is not text", record);
  TALLY_CHECK(check_rate(rate, record));
  seen.rate_missing |= rate == 0;
  TALLY_TRY(range, counters_of(cursor, low_pc, high_pc, bins, record));
  return at(record, out.add_range(std::move(range), rate, dimension, abbreviation[0]));
}

Result<void> read_arc(Cursor &cursor, PcProfileBuilder &out) {
  const size_t record = cursor.at() - 1;
  const uint64_t from = cursor.pointer(), self = cursor.pointer();
  const uint32_t count = cursor.word();
  if (cursor.failed())
    return cut_off("a call", cursor);
  return at(record, out.add_arc({from, self, count}));
}

Result<void> read_blocks(Cursor &cursor, PcProfileBuilder &out, size_t count_bytes) {
  const uint64_t count = cursor.read(count_bytes);
  if (cursor.failed())
    return cut_off("the number of basic blocks", cursor);
  const size_t size = size_t{2} * cursor.layout().pointer_bytes;
  if (count > cursor.left() / size)
    return wrong(fmt::format("counts of {} basic blocks need {} bytes each, but {} are left", count,
                             size, cursor.left()),
                 cursor.at());
  for (uint64_t i = 0; i < count; ++i) {
    const size_t record = cursor.at();
    const uint64_t pc = cursor.pointer();
    TALLY_CHECK(at(record, out.add_block({pc, cursor.pointer()})));
  }
  return {};
}

struct Attempt {
  Result<PcProfile> profile;
  size_t reached = 0; // offset of the last record that this attempt tried to read
  Seen seen{};
};

Attempt read_records(std::string_view bytes, PcLayout layout, size_t count_bytes) {
  Cursor cursor(bytes, header_bytes, layout);
  PcProfileBuilder out;
  out.set_layout(layout);
  Attempt attempt{fail({}), 0};
  while (cursor.left() > 0) {
    attempt.reached = cursor.at();
    const auto tag = static_cast<uint8_t>(cursor.read(1));
    Result<void> read;
    switch (tag) {
    case Tag::histogram:
      read = read_histogram(cursor, out, attempt.seen);
      break;
    case Tag::arc:
      read = read_arc(cursor, out);
      break;
    case Tag::block_counts:
      attempt.seen.blocks = true;
      read = read_blocks(cursor, out, count_bytes);
      break;
    default:
      read = wrong(fmt::format("a record has the unknown tag {}; the tags are 0, 1 and 2", tag),
                   attempt.reached);
    }
    if (!read) {
      attempt.profile = fail(std::move(read.error()));
      return attempt;
    }
  }
  attempt.reached = cursor.at();
  attempt.profile = out.finish();
  return attempt;
}

bool differs_in_scale(const PcHistogram &histogram) {
  for (const PcRange &range : histogram.ranges())
    if (range.bins.bytes != histogram.ranges()[0].bins.bytes)
      return true;
  return false;
}

// Reads the GNU form. The header determines the byte order, but neither the size of a pointer nor
// the size of the number of basic blocks, which depends on the writer. Tries all combinations until
// one fits the file to its last byte. If none does, returns the error of the attempt that got
// furthest.
Result<PcProfile> read_gnu(std::string_view bytes, Diagnostics &diagnostics,
                           const std::string &name) {
  if (bytes.size() < header_bytes)
    return wrong(fmt::format("the file ends within its header: {} of {} bytes are there",
                             bytes.size(), header_bytes),
                 bytes.size());
  PcLayout layout;
  const std::string_view word = bytes.substr(magic.size(), 4);
  layout.big_endian = number(word, 4, true) == version;
  if (!layout.big_endian && number(word, 4, false) != version)
    return wrong(fmt::format("version {} is not supported; {} is", number(word, 4, false), version),
                 magic.size());
  if (bytes.size() == header_bytes)
    return fail(ErrorCode::no_data, "holds no records");
  std::optional<Attempt> best;
  for (const uint8_t pointer_bytes : {uint8_t{8}, uint8_t{4}})
    for (const size_t count_bytes : {size_t{4}, size_t{pointer_bytes}}) {
      layout.pointer_bytes = pointer_bytes;
      Attempt attempt = read_records(bytes, layout, count_bytes);
      if (attempt.profile) {
        if (count_bytes > 4)
          diagnostics.add(
              Severity::note,
              "the number of basic blocks has 8 bytes, as glibc writes it; gprof cannot "
              "read this file, but can read the output of `tally rewrite`",
              name);
        if (differs_in_scale(attempt.profile->histogram()))
          diagnostics.add(Severity::warning,
                          "the histograms have bins of different sizes: gprof refuses such a file",
                          name);
        if (attempt.seen.rate_missing)
          diagnostics.add(Severity::warning, std::string(no_rate), name);
        return std::move(attempt.profile);
      }
      const bool blocks = attempt.seen.blocks;
      if (!best || attempt.reached > best->reached)
        best = std::move(attempt);
      if (!blocks || pointer_bytes == 4) // another size of the count makes no difference
        break;
    }
  return std::move(best->profile);
}

// --- the older forms

constexpr std::array<std::pair<uint8_t, bool>, 4> old_layouts{
    {{8, false}, {4, false}, {8, true}, {4, true}}};

std::optional<PcLayout> bsd_layout(std::string_view bytes) {
  for (const auto &[pointer_bytes, big_endian] : old_layouts)
    if (const size_t at = size_t{2} * pointer_bytes + 4;
        bytes.size() >= at + 4 && number(bytes.substr(at, 4), 4, big_endian) == bsd_version)
      return PcLayout{PcFlavour::bsd, pointer_bytes, big_endian};
  return {};
}

Result<PcProfile> read_bsd(std::string_view bytes, PcLayout layout, Diagnostics &diagnostics,
                           const std::string &name) {
  Cursor cursor(bytes, 0, layout);
  PcProfileBuilder out;
  out.set_layout(layout);
  const uint64_t low_pc = cursor.pointer(), high_pc = cursor.pointer();
  const uint32_t size = cursor.word();
  static_cast<void>(cursor.word()); // the version, by which the file was recognized
  const uint32_t rate = cursor.word();
  static_cast<void>(cursor.take((bsd_words - 3) * 4));
  if (cursor.failed())
    return cut_off("the header", cursor);
  const size_t header = cursor.at(), size_at = size_t{2} * layout.pointer_bytes;
  if (size < header || (size - header) % 2 != 0)
    return wrong(fmt::format("{} is not a valid size of a histogram with its header of {} bytes",
                             size, header),
                 size_at);
  TALLY_CHECK(check_rate(rate, size_at + 8));
  if (rate == 0)
    diagnostics.add(Severity::warning, std::string(no_rate), name);
  if (size > header) {
    TALLY_TRY(range, counters_of(cursor, low_pc, high_pc, (size - header) / 2, 0));
    TALLY_CHECK(at(0, out.add_range(std::move(range), rate, "seconds", 's')));
  }
  while (cursor.left() > 0) {
    const size_t record = cursor.at();
    const uint64_t from = cursor.pointer(), self = cursor.pointer(), count = cursor.pointer();
    if (cursor.failed())
      return cut_off("a call", cursor);
    TALLY_CHECK(at(record, out.add_arc({from, self, count})));
  }
  return out.finish();
}

Result<PcProfile> read_mon(std::string_view bytes, PcLayout layout) {
  Cursor cursor(bytes, 0, layout);
  PcProfileBuilder out;
  out.set_layout(layout);
  const uint64_t low_pc = cursor.pointer(), high_pc = cursor.pointer();
  const uint32_t calls = cursor.word();
  static_cast<void>(cursor.take(layout.pointer_bytes - size_t{4}));
  if (cursor.failed())
    return cut_off("the header", cursor);
  if (calls > cursor.left() / (size_t{2} * layout.pointer_bytes))
    return wrong("the file is too short for its number of calls", size_t{2} * layout.pointer_bytes);
  for (uint32_t i = 0; i < calls; ++i) {
    const size_t record = cursor.at();
    const uint64_t pc = cursor.pointer(), count = cursor.pointer();
    if (pc != 0 || count != 0) // both are 0 in an entry that no function used
      TALLY_CHECK(at(record, out.add_arc({0, pc, count})));
  }
  if (cursor.left() % 2 != 0)
    return wrong("the file ends within a counter", bytes.size() - 1);
  TALLY_TRY(range, counters_of(cursor, low_pc, high_pc, cursor.left() / 2, 0));
  // profil() needs a scale of at least 2. Larger bins mean that this byte order is wrong.
  if ((high_pc - low_pc) / range.counters.size() > 65536)
    return wrong("the bins are larger than profil() supports", 0);
  TALLY_CHECK(out.add_range(std::move(range), 0, "seconds", 's'));
  return out.finish();
}

Result<PcProfile> read_bytes(std::string_view bytes, Diagnostics &diagnostics,
                             const std::string &name) {
  if (bytes.starts_with(magic) || (!bytes.empty() && magic.starts_with(bytes)))
    return read_gnu(bytes, diagnostics, name);
  if (const auto layout = bsd_layout(bytes))
    return read_bsd(bytes, *layout, diagnostics, name);
  // If several layouts fit, use the one with the smallest bins, because a wrong byte order gives
  // addresses that are far apart.
  std::optional<PcProfile> best;
  uint64_t smallest = 0;
  for (const auto &[pointer_bytes, big_endian] : old_layouts)
    if (auto profile = read_mon(bytes, {PcFlavour::mon, pointer_bytes, big_endian})) {
      const PcRange &range = profile->histogram().ranges()[0];
      const uint64_t size = (range.high_pc - range.low_pc) / range.counters.size();
      if (best && size >= smallest)
        continue;
      best = std::move(*profile);
      smallest = size;
    }
  if (best) {
    diagnostics.add(Severity::warning,
                    "is treated as a mon.out because of its name: the length of a tick is unknown",
                    name);
    return std::move(*best);
  }
  return wrong(
      "is not a gmon.out: it begins neither with \"gmon\" nor like those of 4.4BSD, and is "
      "not a complete mon.out",
      0);
}

} // namespace

bool probe(std::string_view head) {
  return head.starts_with(magic) || bsd_layout(head).has_value();
}

Result<PcProfile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  auto profile = read_bytes(bytes, diagnostics, source.name());
  if (!profile && profile.error().source.empty())
    profile.error().source = source.name();
  return profile;
}

} // namespace tally::gmon
