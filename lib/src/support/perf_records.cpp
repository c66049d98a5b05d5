#include "support/perf_records.h"

#include <bit>

#include <sys/sysmacros.h>

namespace tally {

namespace {

template <class T> T swap_bytes(T value) {
  if constexpr (sizeof value == 8)
    return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)));
  else if constexpr (sizeof value == 4)
    return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  else if constexpr (sizeof value == 2)
    return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(value)));
  else
    return value;
}

// Reads forward. After a failed read all others fail too, so that many reads need one check.
class Cursor {
public:
  explicit Cursor(std::span<const std::byte> bytes, bool swapped = false)
      : left_(bytes), swapped_(swapped) {}

  template <class T> T read() {
    T value{};
    if (const auto bytes = take(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return swapped_ ? swap_bytes(value) : value;
  }

  std::span<const std::byte> take(uint64_t count) {
    if (!ok_ || count > left_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = left_.first(static_cast<size_t>(count));
    left_ = left_.subspan(static_cast<size_t>(count));
    return taken;
  }

  // Takes `count` groups of `words_each` words. It checks the count before it multiplies, so that
  // the product cannot overflow.
  std::span<const std::byte> take_words(uint64_t count, uint64_t words_each = 1) {
    if (count > left_.size() / sizeof(uint64_t) / words_each) {
      ok_ = false;
      return {};
    }
    return take(count * words_each * sizeof(uint64_t));
  }

  // Reads text up to its NUL, which must be present.
  std::string_view text() {
    const auto *begin = reinterpret_cast<const char *>(left_.data());
    const void *end = left_.empty() ? nullptr : std::memchr(begin, 0, left_.size());
    if (!ok_ || !end) {
      ok_ = false;
      return {};
    }
    const auto length = static_cast<size_t>(static_cast<const char *>(end) - begin);
    left_ = left_.subspan(length + 1);
    return {begin, length};
  }

  bool ok() const { return ok_; }

private:
  std::span<const std::byte> left_;
  bool swapped_;
  bool ok_ = true;
};

void skip_read_values(const PerfLayout &layout, Cursor &cursor) {
  const uint64_t format = layout.read_format;
  const auto bit = [&](uint64_t flag) { return (format & flag) != 0 ? 1U : 0U; };
  const uint64_t times = bit(PERF_FORMAT_TOTAL_TIME_ENABLED) + bit(PERF_FORMAT_TOTAL_TIME_RUNNING);
  const uint64_t each = 1 + bit(PERF_FORMAT_ID) + bit(PERF_FORMAT_LOST);
  if ((format & PERF_FORMAT_GROUP) != 0) {
    const auto events = cursor.read<uint64_t>();
    cursor.take_words(times);
    cursor.take_words(events, each);
  } else {
    cursor.take_words(times + each);
  }
}

constexpr uint64_t branch_counters = 1 << 19; // PERF_SAMPLE_BRANCH_COUNTERS, since Linux 6.8

uint64_t words_of(uint64_t mask) { return static_cast<uint64_t>(std::popcount(mask)); }

// The fields of the trailer, each of which has eight bytes.
constexpr uint64_t id_fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                               PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

// Returns the record's own fields, without the trailer that sample_id_all appends.
std::span<const std::byte> own_fields(const PerfLayout &layout, const PerfRecord &record) {
  const size_t trailer = perf_sample_id_size(layout);
  return record.body.first(record.body.size() < trailer ? 0 : record.body.size() - trailer);
}

// Returns the word at `offset`, which the caller must have checked.
uint64_t word_at(const PerfLayout &layout, const PerfRecord &record, size_t offset) {
  return PerfWords(record.body.subspan(offset), layout.swapped)[0];
}

} // namespace

bool first_perf_record(std::span<const std::byte> bytes, PerfRecord &record, bool swapped) {
  perf_event_header header;
  if (bytes.size() < sizeof header)
    return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (swapped)
    header = {swap_bytes(header.type), swap_bytes(header.misc), swap_bytes(header.size)};
  if (header.size < sizeof header || header.size > bytes.size())
    return false;
  record.type = header.type;
  record.misc = header.misc;
  record.body = bytes.subspan(sizeof header, header.size - sizeof header);
  return true;
}

size_t perf_sample_id_size(const PerfLayout &layout) {
  return layout.sample_id_all
             ? static_cast<size_t>(words_of(layout.sample_type & id_fields)) * sizeof(uint64_t)
             : 0;
}

bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSample &out) {
  Cursor cursor(record.body, layout.swapped);
  const uint64_t type = layout.sample_type;
  out = {};
  out.in_kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0)
    out.identifier = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_IP) != 0)
    out.ip = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_TID) != 0) {
    out.pid = cursor.read<int32_t>();
    out.tid = cursor.read<int32_t>();
  }
  if ((type & PERF_SAMPLE_TIME) != 0)
    out.time = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_ADDR) != 0)
    out.address = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_ID) != 0)
    out.id = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_STREAM_ID) != 0)
    out.stream_id = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_CPU) != 0) {
    out.cpu = cursor.read<uint32_t>();
    cursor.read<uint32_t>(); // reserved
  }
  if ((type & PERF_SAMPLE_PERIOD) != 0)
    out.period = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_READ) != 0)
    skip_read_values(layout, cursor);
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0)
    out.chain = PerfWords(cursor.take_words(cursor.read<uint64_t>()), layout.swapped);
  if ((type & PERF_SAMPLE_RAW) != 0)
    cursor.take(cursor.read<uint32_t>()); // padded, so that the next field is aligned
  if ((type & PERF_SAMPLE_BRANCH_STACK) != 0) {
    const auto branches = cursor.read<uint64_t>();
    if ((layout.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0)
      cursor.read<uint64_t>();
    cursor.take_words(branches, 3); // from, to, flags
    if ((layout.branch_sample_type & branch_counters) != 0)
      cursor.take_words(branches);
  }
  if ((type & PERF_SAMPLE_REGS_USER) != 0) {
    out.regs_abi = cursor.read<uint64_t>();
    if (out.regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
      out.regs = PerfWords(cursor.take_words(words_of(layout.regs_user)), layout.swapped);
  }
  if ((type & PERF_SAMPLE_STACK_USER) != 0) {
    const auto size = cursor.read<uint64_t>();
    const auto bytes = cursor.take(size);
    if (size != 0) { // the second size is present only if there are bytes
      const auto valid = cursor.read<uint64_t>();
      if (valid > bytes.size())
        return false;
      out.stack = bytes.first(static_cast<size_t>(valid));
      out.stack_asked = bytes.size();
    }
  }
  // Fields that may follow (weight, data source, interrupt registers, …) are not needed.
  return cursor.ok();
}

bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSampleId &out) {
  const size_t size = perf_sample_id_size(layout);
  out = {};
  if (record.body.size() < size)
    return false;
  Cursor cursor(record.body.last(size), layout.swapped);
  const uint64_t type = layout.sample_id_all ? layout.sample_type : 0;
  if ((type & PERF_SAMPLE_TID) != 0) {
    out.pid = cursor.read<int32_t>();
    out.tid = cursor.read<int32_t>();
  }
  if ((type & PERF_SAMPLE_TIME) != 0)
    out.time = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_ID) != 0)
    out.id = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_STREAM_ID) != 0)
    out.stream_id = cursor.read<uint64_t>();
  if ((type & PERF_SAMPLE_CPU) != 0)
    out.cpu = cursor.read<uint32_t>();
  return cursor.ok();
}

bool decode(const PerfLayout &layout, const PerfRecord &record, PerfMmap &out) {
  Cursor cursor(own_fields(layout, record), layout.swapped);
  out = {};
  out.pid = cursor.read<int32_t>();
  out.tid = cursor.read<int32_t>();
  out.address = cursor.read<uint64_t>();
  out.length = cursor.read<uint64_t>();
  out.file_offset = cursor.read<uint64_t>();
  out.executable = (record.misc & PERF_RECORD_MISC_MMAP_DATA) == 0;
  if (record.type == PERF_RECORD_MMAP2) {
    if ((record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
      const auto size = cursor.read<uint8_t>();
      cursor.take(3); // reserved
      const auto bytes = cursor.take(20);
      if (size > 20 || bytes.empty())
        return false;
      out.build_id = bytes.first(size);
    } else {
      const auto major_number = cursor.read<uint32_t>();
      const auto minor_number = cursor.read<uint32_t>();
      out.device = makedev(major_number, minor_number);
      out.inode = cursor.read<uint64_t>();
      cursor.read<uint64_t>(); // inode generation
    }
    constexpr uint32_t prot_exec = 4;
    out.executable = (cursor.read<uint32_t>() & prot_exec) != 0;
    cursor.read<uint32_t>(); // flags
  }
  out.path = cursor.text();
  return cursor.ok() && out.length <= ~out.address;
}

bool decode(const PerfLayout &layout, const PerfRecord &record, PerfComm &out) {
  Cursor cursor(own_fields(layout, record), layout.swapped);
  out = {};
  out.pid = cursor.read<int32_t>();
  out.tid = cursor.read<int32_t>();
  out.is_exec = (record.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  out.name = cursor.text();
  return cursor.ok();
}

bool decode(const PerfLayout &layout, const PerfRecord &record, PerfTask &out) {
  Cursor cursor(own_fields(layout, record), layout.swapped);
  out = {};
  out.pid = cursor.read<int32_t>();
  out.parent_pid = cursor.read<int32_t>();
  out.tid = cursor.read<int32_t>();
  out.parent_tid = cursor.read<int32_t>();
  out.time = cursor.read<uint64_t>();
  return cursor.ok();
}

bool decode(const PerfRecord &record, PerfCount &out) {
  Cursor cursor(record.body, false);
  out = {};
  out.pid = cursor.read<int32_t>();
  out.tid = cursor.read<int32_t>();
  out.value = cursor.read<uint64_t>();
  return cursor.ok();
}

bool decode(const PerfRecord &record, PerfLost &out, bool swapped) {
  Cursor cursor(record.body, swapped);
  out.event_id = record.type == PERF_RECORD_LOST ? cursor.read<uint64_t>() : 0;
  out.count = cursor.read<uint64_t>();
  return cursor.ok();
}

bool perf_time(const PerfLayout &layout, const PerfRecord &record, uint64_t &time_ns) {
  const uint64_t type = layout.sample_type;
  if ((type & PERF_SAMPLE_TIME) == 0)
    return false;
  const auto read_at = [&](size_t offset) {
    if (record.body.size() < offset + sizeof time_ns)
      return false;
    time_ns = word_at(layout, record, offset);
    return true;
  };
  if (record.type == PERF_RECORD_SAMPLE) {
    const uint64_t before = type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
    return read_at(static_cast<size_t>(words_of(before)) * sizeof(uint64_t));
  }
  const size_t trailer = perf_sample_id_size(layout);
  if (trailer == 0 || record.body.size() < trailer)
    return false;
  const uint64_t before = type & PERF_SAMPLE_TID;
  return read_at(record.body.size() - trailer +
                 static_cast<size_t>(words_of(before)) * sizeof(uint64_t));
}

uint64_t perf_event_id(const PerfLayout &layout, const PerfRecord &record) {
  const uint64_t type = layout.sample_type;
  const size_t words = record.body.size() / sizeof(uint64_t);
  const bool is_sample = record.type == PERF_RECORD_SAMPLE;
  if (!is_sample && !layout.sample_id_all)
    return 0;
  uint64_t before = 0; // words before the id in a sample
  uint64_t behind = 0; // words behind the id in the trailer
  if ((type & PERF_SAMPLE_IDENTIFIER) == 0) {
    if ((type & PERF_SAMPLE_ID) == 0)
      return 0;
    before =
        words_of(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
    behind = words_of(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
  }
  if ((is_sample ? before : behind) >= words)
    return 0;
  return word_at(layout, record,
                 is_sample ? before * sizeof(uint64_t)
                           : record.body.size() - (behind + 1) * sizeof(uint64_t));
}

bool decode_attr(std::span<const std::byte> bytes, bool swapped, PerfAttr &out, uint32_t &size) {
  Cursor sizes(bytes, swapped);
  out = {};
  out.type = sizes.read<uint32_t>();
  size = sizes.read<uint32_t>();
  if (size == 0) // the oldest files of perf have no size
    size = PERF_ATTR_SIZE_VER0;
  if (!sizes.ok() || size < PERF_ATTR_SIZE_VER0 || size > bytes.size())
    return false;
  Cursor cursor(bytes.first(size).subspan(2 * sizeof(uint32_t)), swapped);
  out.config = cursor.read<uint64_t>();
  out.period_or_hz = cursor.read<uint64_t>();
  out.layout.swapped = swapped;
  out.layout.sample_type = cursor.read<uint64_t>();
  out.layout.read_format = cursor.read<uint64_t>();
  // These are bit fields. A little-endian machine fills each byte from its lowest bit on, a
  // big-endian machine from its highest.
  const auto flags = cursor.take(sizeof(uint64_t));
  const bool from_highest = (std::endian::native == std::endian::big) != swapped;
  const auto flag = [&](unsigned number) {
    const auto byte = std::to_integer<unsigned>(flags[number / 8]);
    return (byte >> (from_highest ? 7 - number % 8 : number % 8) & 1) != 0;
  };
  out.is_frequency = flag(10);
  out.layout.sample_id_all = flag(18);
  cursor.read<uint32_t>(); // wakeup_events
  cursor.read<uint32_t>(); // bp_type
  cursor.read<uint64_t>(); // config1
  // Fields that later versions have added are 0 in an older attr.
  cursor.read<uint64_t>(); // config2
  out.layout.branch_sample_type = cursor.read<uint64_t>();
  out.layout.regs_user = cursor.read<uint64_t>();
  out.stack_user = cursor.read<uint32_t>();
  const auto clock = static_cast<int32_t>(cursor.read<uint32_t>());
  out.clock = flag(25) ? clock : -1;
  out.layout.regs_intr = cursor.read<uint64_t>();
  return true;
}

} // namespace tally
