#include "formats/perf_data/perf_data.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <zstd.h>

#include "formats/finished.h"
#include "formats/perf_data/events.h"
#include "formats/perf_data/record_order.h"
#include "formats/perf_data/recording.h"
#include "support/byte_cursor.h"
#include "support/sort.h"

namespace tally::perf_data {

namespace {

constexpr size_t pipe_header_bytes = 16;
constexpr size_t first_header_bytes = 72; // the header of the oldest files, without feature bits
constexpr size_t header_bytes = 104;
constexpr size_t section_bytes = 16; // an offset and a size
// Limits of the data that is in memory at once: the data before the records, and one feature.
constexpr uint64_t most_head_bytes = uint64_t{64} << 20;
constexpr uint64_t most_feature_bytes = uint64_t{64} << 20;
constexpr uint64_t most_unpacked_bytes = uint64_t{8} << 30;

struct Section {
  uint64_t offset = 0, size = 0;
  uint64_t end() const { return size > UINT64_MAX - offset ? UINT64_MAX : offset + size; }
};

Section section_of(ByteCursor &cursor) {
  const uint64_t offset = cursor.u64_whole();
  return {offset, cursor.u64_whole()};
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Provides contiguous bytes of the source. Holds only those that were requested and not yet
// consumed.
class Input {
public:
  explicit Input(ByteSource &source) : source_(source) {}

  uint64_t offset() const { return offset_; } // the offset of the next byte

  // Returns the next bytes without consuming them: at least `size`, or all that remain. The result
  // is valid until the next call.
  Result<std::string_view> look(size_t size) {
    while (ahead().size() < size) {
      TALLY_TRY(piece, source_.next());
      if (piece.empty())
        break;
      buffer_.erase(0, at_);
      at_ = 0;
      buffer_.append(piece);
    }
    return ahead();
  }
  // Consumes bytes that look() has returned.
  void take(size_t size) {
    at_ += size;
    offset_ += size;
  }
  // Consumes `size` bytes. Returns false if the source has fewer bytes.
  Result<bool> skip(uint64_t size) {
    while (size > 0) {
      TALLY_TRY(bytes, look(1));
      if (bytes.empty())
        return false;
      const size_t some = std::min<uint64_t>(size, bytes.size());
      take(some);
      size -= some;
    }
    return true;
  }

private:
  std::string_view ahead() const { return std::string_view(buffer_).substr(at_); }

  ByteSource &source_;
  std::string buffer_;
  size_t at_ = 0;
  uint64_t offset_ = 0;
};

class Reader {
public:
  Reader(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder)
      : source_(source), diagnostics_(diagnostics), input_(source),
        recording_(events_, features_, unwinder, diagnostics, source.name()) {}
  ~Reader() { ZSTD_freeDCtx(unpacker_); }
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  Result<Profile> read() {
    TALLY_CHECK(read_header());
    TALLY_CHECK(read_records());
    order_.end([this](auto bytes, uint64_t offset) { hand_on(bytes, offset); });
    if (!header_.in_pipe)
      TALLY_CHECK(read_features_after());
    if (recording_.sample_count() == 0)
      return broken_ ? fail(std::move(*broken_))
                     : fail(ErrorCode::no_data, "holds no samples", source_.name());
    if (broken_)
      diagnostics_.add(Severity::error, broken_->message + "; the records before it were read",
                       source_.name(), broken_->where);
    if (order_.late() > 0)
      diagnostics_.add(
          Severity::note,
          fmt::format("{} records came too late: newer ones had been processed", order_.late()),
          source_.name());
    return finished(recording_.finish(), source_.name());
  }

private:
  struct Header {
    bool big_endian = false, swapped = false;
    bool in_pipe = false;
    bool unfinished = false;               // perf was ended before it had finished the file
    Section data;                          // the records
    std::vector<unsigned> feature_numbers; // ascending
  };

  tl::unexpected<Error> wrong(std::string message, uint64_t offset) const {
    return fail(ErrorCode::invalid_input, std::move(message), source_.name(),
                Position::at_offset(offset));
  }

  // Ends reading with an error. The records that were read before are kept.
  void break_off(std::string message, uint64_t offset) {
    if (!broken_)
      broken_ = wrong(std::move(message), offset).value();
  }

  Result<void> read_header() {
    TALLY_TRY(bytes, input_.look(header_bytes));
    if (bytes.starts_with(magic_version_1))
      return fail(ErrorCode::unsupported,
                  "was written by perf before Linux 3.0, whose format is not supported",
                  source_.name());
    if (!probe(bytes))
      return wrong("is not a perf.data: it does not begin with PERFILE2", 0);
    header_.big_endian = bytes.starts_with(magic_big_endian);
    header_.swapped = header_.big_endian != (std::endian::native == std::endian::big);
    ByteCursor cursor(bytes, header_.big_endian);
    cursor.take(magic.size());
    const uint64_t size = cursor.u64_whole();
    if (cursor.failed())
      return wrong("the file ends within its header", bytes.size());
    header_.in_pipe = size == pipe_header_bytes;
    if (header_.in_pipe) {
      input_.take(pipe_header_bytes);
      return {};
    }
    if (size < first_header_bytes)
      return wrong(fmt::format("the header has the invalid size {}", size), magic.size());
    const uint64_t attr_bytes = cursor.u64_whole();
    const Section attrs = section_of(cursor);
    header_.data = section_of(cursor);
    section_of(cursor); // the section of event types, which perf no longer writes
    std::string_view bits;
    if (size >= header_bytes)
      bits = cursor.take(feature_count / 8);
    if (cursor.failed())
      return wrong("the file ends within its header", bytes.size());
    ByteCursor words(bits, header_.big_endian);
    for (unsigned i = 0; words.left() > 0; i += 64)
      for (uint64_t word = words.u64_whole(); word != 0; word &= word - 1)
        header_.feature_numbers.push_back(i + static_cast<unsigned>(std::countr_zero(word)));

    if (header_.data.offset > most_head_bytes)
      return wrong(fmt::format("the records begin at {:#x}, beyond the limit", header_.data.offset),
                   40);
    TALLY_CHECK(read_attrs(attrs, attr_bytes));
    // perf writes the sizes and the features only when it ends.
    header_.unfinished = header_.data.size == 0;
    if (!header_.unfinished)
      TALLY_CHECK(read_features_ahead());
    TALLY_TRY(there, input_.skip(header_.data.offset));
    if (!there)
      return wrong("the file ends before its records", input_.offset());
    return {};
  }

  Result<void> read_attrs(Section attrs, uint64_t attr_bytes) {
    if (attr_bytes < PERF_ATTR_SIZE_VER0 + section_bytes || attrs.size % attr_bytes != 0)
      return wrong(fmt::format("{} bytes are not a whole number of events of {} bytes", attrs.size,
                               attr_bytes),
                   16);
    TALLY_TRY(head, head_section(attrs, "the events"));
    const std::string all(head); // copied, because the next look() invalidates it
    uint64_t id_bytes = 0;
    for (uint64_t at = 0; at < all.size(); at += attr_bytes) {
      const std::string_view one = std::string_view(all).substr(at, attr_bytes);
      PerfAttr attr;
      uint32_t size = 0;
      if (!decode_attr(as_bytes(one.substr(0, attr_bytes - section_bytes)), header_.swapped, attr,
                       size))
        return wrong("the attributes of an event are damaged", attrs.offset + at);
      ByteCursor cursor(one.substr(attr_bytes - section_bytes), header_.big_endian);
      const Section ids = section_of(cursor);
      // The ids of different events do not overlap, so all of them together fit before the records.
      if (ids.size > header_.data.offset - id_bytes)
        return wrong("the ids of the events overlap", attrs.offset + at);
      id_bytes += ids.size;
      TALLY_TRY(bytes, head_section(ids, "the ids of an event"));
      add_event(attr, bytes);
    }
    if (events_.empty())
      return wrong("describes no event", 24);
    return {};
  }

  void add_event(const PerfAttr &attr, std::string_view id_bytes) {
    std::vector<uint64_t> ids;
    ByteCursor cursor(id_bytes, header_.big_endian);
    while (cursor.left() >= sizeof(uint64_t))
      ids.push_back(cursor.u64_whole());
    events_.add(attr, ids);
  }

  // Returns a section of the data before the records. Nothing of that data has been consumed yet.
  Result<std::string_view> head_section(Section section, std::string_view what) {
    if (section.size == 0)
      return std::string_view();
    if (section.end() > header_.data.offset)
      return wrong(fmt::format("{} are not before the records, where perf puts them", what),
                   section.offset);
    TALLY_TRY(bytes, input_.look(section.end()));
    if (bytes.size() < section.end())
      return wrong(fmt::format("the file ends before {}", what), bytes.size());
    return bytes.substr(section.offset, section.size);
  }

  // --- features

  void add_feature(unsigned number, std::string_view bytes, uint64_t offset) {
    if (!read_feature(number, bytes, header_.big_endian, features_, events_))
      diagnostics_.add(Severity::error, fmt::format("feature {} is damaged and is ignored", number),
                       source_.name(), Position::at_offset(offset));
  }

  void report_truncated_features() {
    diagnostics_.add(Severity::error,
                     "the file ends within the features after the records (build IDs, names of "
                     "events)",
                     source_.name());
  }

  // Returns the features that are used here, sorted by offset.
  std::vector<std::pair<unsigned, Section>> wanted_features(std::string_view table) const {
    std::vector<std::pair<unsigned, Section>> out;
    ByteCursor cursor(table, header_.big_endian);
    for (const unsigned number : header_.feature_numbers) {
      const Section section = section_of(cursor);
      const bool wanted = number == build_id_feature || number == arch_feature ||
                          number == cmdline_feature || number == event_desc_feature;
      if (wanted && section.size > 0 && section.size <= most_feature_bytes && !cursor.failed())
        out.emplace_back(number, section);
    }
    sort_stably(out, {}, [](const auto &each) { return each.second.offset; });
    return out;
  }

  // Reads the features before the records if the source is seekable, because stacks are unwound by
  // the files with these build IDs.
  Result<void> read_features_ahead() {
    const size_t table_bytes = header_.feature_numbers.size() * section_bytes;
    TALLY_TRY(table, source_.at(header_.data.end(), table_bytes));
    if (!table)
      return {};
    features_read_ = true;
    bool whole = table->size() == table_bytes;
    if (whole)
      for (const auto &[number, section] : wanted_features(*table)) {
        TALLY_TRY(bytes, source_.at(section.offset, section.size));
        whole &= bytes && bytes->size() == section.size;
        if (bytes && bytes->size() == section.size)
          add_feature(number, *bytes, section.offset);
      }
    if (!whole)
      report_truncated_features();
    return {};
  }

  // Reads the features after the records, unless read_features_ahead() has read them.
  Result<void> read_features_after() {
    if (features_read_ || header_.unfinished || broken_ || header_.feature_numbers.empty())
      return {};
    const size_t table_bytes = header_.feature_numbers.size() * section_bytes;
    TALLY_TRY(ahead, input_.look(table_bytes));
    if (ahead.size() < table_bytes) {
      report_truncated_features();
      return {};
    }
    const auto wanted = wanted_features(ahead.substr(0, table_bytes));
    input_.take(table_bytes);
    for (const auto &[number, section] : wanted) {
      if (section.offset < input_.offset())
        continue; // the section overlaps the previous one
      TALLY_TRY(there, input_.skip(section.offset - input_.offset()));
      TALLY_TRY(bytes, input_.look(section.size));
      if (!there || bytes.size() < section.size) {
        report_truncated_features();
        return {};
      }
      add_feature(number, bytes.substr(0, section.size), section.offset);
      input_.take(section.size);
    }
    return {};
  }

  // --- records

  Result<void> read_records() {
    if (header_.unfinished)
      diagnostics_.add(Severity::warning,
                       "perf was ended before it had finished this file: the existing part is read",
                       source_.name());
    const bool to_the_end = header_.in_pipe || header_.unfinished;
    while (!broken_ && (to_the_end || input_.offset() < header_.data.end())) {
      TALLY_TRY(ahead, input_.look(sizeof(perf_event_header)));
      if (ahead.empty() && to_the_end)
        break;
      perf_event_header header{};
      if (ahead.size() >= sizeof header) {
        std::memcpy(&header, ahead.data(), sizeof header);
        if (header_.swapped)
          header.size = __builtin_bswap16(header.size);
        if (header.size < sizeof header) {
          break_off(fmt::format("a record has the invalid size {}", header.size), input_.offset());
          break;
        }
        TALLY_TRY(whole, input_.look(header.size));
        ahead = whole;
      }
      if (ahead.size() < std::max<size_t>(sizeof header, header.size)) {
        report_truncation(ahead.size());
        break;
      }
      const uint64_t offset = input_.offset();
      const auto bytes = as_bytes(ahead.substr(0, header.size));
      PerfRecord record;
      if (!first_perf_record(bytes, record, header_.swapped))
        break; // cannot happen: the size was checked above
      const uint64_t trailing = bytes_behind(record);
      take_record(record, bytes, offset);
      input_.take(header.size);
      TALLY_TRY(there, input_.skip(trailing));
      if (!there)
        report_truncation(0);
    }
    return {};
  }

  void report_truncation(size_t left) {
    // An unfinished file may end anywhere.
    if (header_.unfinished) {
      if (left > 0)
        diagnostics_.add(Severity::note, "the last record is incomplete", source_.name(),
                         Position::at_offset(input_.offset()));
      return;
    }
    if (header_.in_pipe || left > 0)
      break_off("the file ends within a record", input_.offset());
    else if (input_.offset() > header_.data.end())
      break_off("a record extends beyond the end of the records", input_.offset());
    else
      break_off(fmt::format("the file ends {} bytes before the end of its records",
                            header_.data.end() - input_.offset()),
                input_.offset());
  }

  // Returns the number of bytes that follow a record and are not part of its size.
  uint64_t bytes_behind(const PerfRecord &record) const {
    ByteCursor cursor({reinterpret_cast<const char *>(record.body.data()), record.body.size()},
                      header_.big_endian);
    if (record.type == perf_auxtrace)
      return cursor.u64_whole();
    if (record.type == perf_header_tracing_data)
      return (uint64_t{cursor.u32()} + 7) & ~uint64_t{7};
    return 0;
  }

  void take_record(const PerfRecord &record, std::span<const std::byte> bytes, uint64_t offset) {
    switch (record.type) {
    case perf_finished_round:
      order_.end_round([this](auto each, uint64_t at) { hand_on(each, at); });
      return;
    case perf_compressed:
    case perf_compressed2:
      unpack(record, offset);
      return;
    default:
      break;
    }
    if (record.type >= perf_header_attr) {
      take_perfs_own(record, offset);
      return;
    }
    if (events_.empty()) {
      break_off("a record precedes the description of its event", offset);
      return;
    }
    // perf's records about what happened before the recording have no time, so they are handled at
    // once.
    uint64_t time = 0;
    if (perf_time(events_[events_.of(record)].attr.layout, record, time) && time != 0 &&
        time != UINT64_MAX)
      order_.add(time, bytes, offset, [this](auto each, uint64_t at) { hand_on(each, at); });
    else
      recording_.handle(record, offset);
  }

  void hand_on(std::span<const std::byte> bytes, uint64_t offset) {
    PerfRecord record;
    if (first_perf_record(bytes, record, header_.swapped))
      recording_.handle(record, offset);
  }

  void take_perfs_own(const PerfRecord &record, uint64_t offset) {
    const std::string_view body(reinterpret_cast<const char *>(record.body.data()),
                                record.body.size());
    ByteCursor cursor(body, header_.big_endian);
    switch (record.type) {
    case perf_header_attr: {
      PerfAttr attr;
      uint32_t size = 0;
      if (!decode_attr(record.body, header_.swapped, attr, size))
        break_off("the attributes of an event are damaged", offset);
      else if (header_.in_pipe)
        add_event(attr, body.substr(size));
      break;
    }
    case perf_event_update: {
      constexpr uint64_t is_name = 2;
      const uint64_t kind = cursor.u64_whole(), id = cursor.u64_whole();
      if (!cursor.failed() && kind == is_name)
        events_.set_name(
            id, body.substr(cursor.offset(), body.find('\0', cursor.offset()) - cursor.offset()));
      break;
    }
    case perf_header_build_id:
      if (!read_build_id(record.misc, body, features_))
        diagnostics_.add(Severity::error, "a build ID is damaged and is ignored", source_.name(),
                         Position::at_offset(offset));
      break;
    case perf_header_feature:
      if (const uint64_t number = cursor.u64_whole(); number < feature_count && !cursor.failed())
        add_feature(static_cast<unsigned>(number), body.substr(cursor.offset()), offset);
      break;
    default: // not needed
      break;
    }
  }

  // --- compressed records: one zstd stream, split without regard to the records that it contains

  void unpack(const PerfRecord &record, uint64_t offset) {
    std::span<const std::byte> packed = record.body;
    if (record.type == perf_compressed2) {
      ByteCursor cursor({reinterpret_cast<const char *>(packed.data()), packed.size()},
                        header_.big_endian);
      const uint64_t size = cursor.u64_whole();
      if (cursor.failed() || size > cursor.left())
        return break_off("a compressed record is shorter than its content", offset);
      packed = packed.subspan(cursor.offset(), static_cast<size_t>(size));
    }
    if (!unpacker_ && !(unpacker_ = ZSTD_createDCtx()))
      return break_off("there is not enough memory to unpack zstd data", offset);
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    for (bool full = false; in.pos < in.size || full;) {
      const size_t before = unpacked_.size();
      unpacked_.resize(before + (size_t{128} << 10));
      ZSTD_outBuffer out{unpacked_.data(), unpacked_.size(), before};
      const size_t status = ZSTD_decompressStream(unpacker_, &out, &in);
      full = out.pos == out.size;
      unpacked_.resize(out.pos);
      if (ZSTD_isError(status))
        return break_off(
            fmt::format("a compressed record has damaged zstd data: {}", ZSTD_getErrorName(status)),
            offset);
      unpacked_bytes_ += out.pos - before;
      if (unpacked_bytes_ > most_unpacked_bytes)
        return break_off(
            fmt::format("the compressed records unpack to more than {} bytes", most_unpacked_bytes),
            offset);
      take_unpacked(offset);
      if (broken_)
        return;
    }
  }

  void take_unpacked(uint64_t offset) {
    std::span<const std::byte> left = unpacked_;
    PerfRecord record;
    while (!broken_ && first_perf_record(left, record, header_.swapped)) {
      const size_t size = sizeof(perf_event_header) + record.body.size();
      if (record.type == perf_compressed || record.type == perf_compressed2)
        return break_off("a compressed record contains another one", offset);
      take_record(record, left.first(size), offset);
      left = left.subspan(size);
    }
    // The rest has a complete header, but perhaps an invalid size.
    if (left.size() >= sizeof(perf_event_header)) {
      ByteCursor cursor({reinterpret_cast<const char *>(left.data()), left.size()},
                        header_.big_endian);
      cursor.take(4);
      const uint32_t last = cursor.u32();
      if ((header_.big_endian ? last & 0xffff : last >> 16) < sizeof(perf_event_header))
        break_off("a compressed record contains a record with an invalid size", offset);
    }
    unpacked_.erase(unpacked_.begin(), unpacked_.begin() + static_cast<std::ptrdiff_t>(
                                                               unpacked_.size() - left.size()));
  }

  ByteSource &source_;
  Diagnostics &diagnostics_;
  Input input_;
  Events events_;
  Features features_;
  RecordOrder order_;
  Recording recording_;

  Header header_;
  bool features_read_ = false;
  std::optional<Error> broken_;

  ZSTD_DCtx *unpacker_ = nullptr;
  std::vector<std::byte> unpacked_; // the beginning of a record that is not complete yet
  uint64_t unpacked_bytes_ = 0;
};

} // namespace

bool probe(std::string_view head) {
  return head.starts_with(magic) || head.starts_with(magic_big_endian) ||
         head.starts_with(magic_version_1);
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder) {
  return Reader(source, diagnostics, unwinder).read();
}

} // namespace tally::perf_data
