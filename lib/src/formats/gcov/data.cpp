#include <fmt/format.h>

#include "formats/gcov/header.h"

namespace tally {

using gcov::cut_at;
using gcov::fail_at;

Result<GcovData> gcov::take_data(ByteCursor &cursor, std::string_view bytes,
                                 std::string_view source) {
  if (!is_data(bytes))
    return fail_at(0, "is not a counters file: expected the letters gcda", source);
  GcovData data;
  cursor = cursor_of(bytes);
  TALLY_TRY(header, take_header(cursor, bytes, source));
  data.header = header;
  while (cursor.left() > 0) {
    const size_t at = cursor.offset();
    const uint32_t tag = cursor.u32();
    if (cursor.failed())
      return cut_at(at, source);
    if (tag == 0) {
      data.end_mark = true;
      return data;
    }
    const uint32_t length = cursor.u32();
    if (cursor.failed())
      return cut_at(at, source);
    GcovRecord record{tag, false, 0, 0};
    const bool counters = is_counter_tag(tag);
    const auto stored = static_cast<int32_t>(length);
    if (counters && stored < 0 && header.version >= GcovVersion::v11) {
      const uint64_t missing = uint64_t{0} - static_cast<uint64_t>(int64_t{stored});
      const uint64_t size = header.bytes_in(missing);
      if (size % 8 != 0)
        return fail_at(at, "the length of the counters is not a multiple of 8 bytes", source);
      record.zeros = true;
      // Store only the number of zeros, so that a large negative length costs no memory.
      record.last = static_cast<uint32_t>(size / 8);
      data.records.push_back(record);
      continue;
    }
    const std::string_view payload = cursor.take(header.bytes_in(length));
    if (cursor.failed())
      return cut_at(at, source);
    if (counters) {
      if (payload.size() % 8 != 0)
        return fail_at(at, "the length of the counters is not a multiple of 8 bytes", source);
      record.first = static_cast<uint32_t>(data.values.size());
      for (ByteCursor words(payload, header.big_endian); words.left() > 0;) {
        data.values.push_back(static_cast<int64_t>(words.u64()));
      }
      record.last = static_cast<uint32_t>(data.values.size());
    } else {
      record.first = static_cast<uint32_t>(data.other.size());
      data.other += payload;
      record.last = static_cast<uint32_t>(data.other.size());
    }
    data.records.push_back(record);
  }
  return data;
}

Result<GcovData> read_gcov_data(std::string_view bytes, std::string_view source, Diagnostics &) {
  ByteCursor cursor(bytes);
  TALLY_TRY(data, gcov::take_data(cursor, bytes, source));
  if (!data.end_mark)
    return fail_at(bytes.size(), "truncated: the file ends without an end mark", source);
  data.behind = cursor.take(cursor.left());
  return data;
}

std::optional<GcovFunctionKey> GcovData::function_of(const GcovRecord &record) const {
  ByteCursor words(std::string_view(other).substr(record.first, record.last - record.first),
                   header.big_endian);
  GcovFunctionKey key;
  if (words.left() < 8)
    return {};
  key.ident = words.u32();
  key.lineno_checksum = words.u32();
  // Before 4.7 there is no checksum of the graph. Older versions of Clang write a name in its
  // place.
  if (header.version >= GcovVersion::v4_7 && words.left() >= 4)
    key.cfg_checksum = words.u32();
  return key;
}

Result<std::string> GcovData::bytes() const {
  std::string out;
  const auto put = [&](uint32_t word) {
    word = in_order(word, header.big_endian);
    out.append(reinterpret_cast<const char *>(&word), sizeof word);
  };
  const auto put_length = [&](size_t size) {
    put(static_cast<uint32_t>(header.byte_lengths() ? size : size / 4));
  };
  put(gcov::data_magic);
  put(header.version_word);
  put(header.stamp);
  if (header.checksum)
    put(*header.checksum);
  for (const GcovRecord &record : records) {
    put(record.tag);
    const size_t count = record.last - record.first;
    if (record.zeros) {
      put_length(0 - count * 8);
    } else if (is_counter_tag(record.tag)) {
      put_length(count * 8);
      for (const int64_t value : values_of(record)) {
        put(static_cast<uint32_t>(value));
        put(static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
      }
    } else {
      put_length(count);
      out.append(other, record.first, count);
    }
  }
  if (end_mark) {
    put(0);
    out += behind;
  }
  return out;
}

} // namespace tally
