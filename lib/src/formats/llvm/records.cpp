#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"
#include "formats/llvm/source_profile.h"
#include "support/byte_cursor.h"

namespace tally::llvm {

size_t RecordLayout::size() const {
  constexpr size_t whole = 8;                             // bytes to which records are padded
  size_t bytes = 2 * sizeof(uint64_t) + 3 * pointer_size; // hashes; counters, function, values
  if (version >= 9)
    bytes += pointer_size; // bitmap
  if (version >= 11)
    bytes += pointer_size; // uniform counters
  bytes += sizeof(uint32_t) + value_kinds * sizeof(uint16_t);
  if (version >= 11)
    bytes += sizeof(uint16_t); // the size of a wave
  if (version >= 9)
    bytes = (bytes + 3) / 4 * 4 + sizeof(uint32_t); // bytes of the bitmap
  return (bytes + whole - 1) / whole * whole;
}

std::optional<RecordLayout> record_layout(uint64_t version_word, size_t pointer_size,
                                          bool big_endian) {
  RecordLayout out;
  out.version = version_word & version_bits;
  out.pointer_size = pointer_size;
  out.big_endian = big_endian;
  out.has_byte_counters = (version_word & byte_counters) != 0;
  out.value_kinds = out.version >= first_raw_with_tables ? 3 : 2;
  const bool is_known = out.version >= oldest_raw && out.version <= newest_raw;
  return is_known && (version_word & of_optimizer) == 0 ? std::optional(out) : std::nullopt;
}

namespace {

class RecordReader {
public:
  RecordReader(const RecordLayout &layout, const CounterSections &sections, const std::string &name)
      : layout_(layout), sections_(sections), name_(name) {}

  // Reads the record that has `before` bytes of records before it.
  Result<CounterRecord> read(std::string_view record, uint64_t before, uint64_t offset) const {
    ByteCursor from(record, layout_.big_endian);
    CounterRecord out;
    out.name_hash = from.u64_whole();
    out.function_hash = from.u64_whole();
    const uint64_t counters = pointer(from);
    if (layout_.version >= 11)
      pointer(from);
    const uint64_t bitmap = layout_.version >= 9 ? pointer(from) : 0;
    pointer(from);
    pointer(from);
    const uint64_t count = from.u32();
    from.take(layout_.value_kinds * sizeof(uint16_t));
    if (layout_.version >= 11)
      from.u16();
    uint64_t bitmap_bytes = 0;
    if (layout_.version >= 9) {
      from.align(sizeof(uint32_t));
      bitmap_bytes = from.u32();
    }
    if (from.failed())
      return fail(ErrorCode::invalid_input, "a record of a function is truncated", name_,
                  Position::at_offset(offset));
    const size_t width = layout_.has_byte_counters ? 1 : sizeof(uint64_t);
    const auto counts =
        part(sections_.counters, counters - base(sections_.counters_delta, before), count * width);
    const auto bits =
        part(sections_.bitmaps, bitmap - base(sections_.bitmaps_delta, before), bitmap_bytes);
    if (!counts || !bits)
      return fail(ErrorCode::invalid_input,
                  fmt::format("the {} of a function are not in their section",
                              counts ? "bitmaps" : "counters"),
                  name_, Position::at_offset(offset));
    out.bitmap = *bits;
    out.counts.reserve(count);
    ByteCursor values(*counts, layout_.big_endian);
    for (uint64_t i = 0; i < count; ++i)
      // A counter of one byte is 0 if it was passed.
      out.counts.push_back(layout_.has_byte_counters ? uint64_t{values.take(1)[0] == 0}
                                                     : values.u64_whole());
    return out;
  }

  // Returns where the counters of a record begin in their section.
  uint64_t counters_at(std::string_view record, uint64_t before) const {
    ByteCursor from(record, layout_.big_endian);
    from.take(2 * sizeof(uint64_t)); // the hashes
    const uint64_t offset = pointer(from) - base(sections_.counters_delta, before);
    return layout_.pointer_size == 4 ? offset & UINT32_MAX : offset;
  }

private:
  uint64_t pointer(ByteCursor &from) const {
    return layout_.pointer_size == 4 ? from.u32() : from.u64_whole();
  }
  uint64_t base(uint64_t delta, uint64_t before) const {
    return sections_.is_relative ? delta - before : delta;
  }
  // Offsets wrap as the program's pointers do.
  std::optional<std::string_view> part(std::string_view section, uint64_t offset,
                                       uint64_t size) const {
    if (size == 0)
      return std::string_view();
    if (layout_.pointer_size == 4)
      offset &= UINT32_MAX;
    if (offset > section.size() || size > section.size() - offset)
      return std::nullopt;
    return section.substr(offset, size);
  }

  const RecordLayout &layout_;
  const CounterSections &sections_;
  const std::string &name_;
};

} // namespace

Result<std::vector<CounterRecord>> read_records(std::string_view records,
                                                const RecordLayout &layout,
                                                const CounterSections &sections,
                                                const std::string &name, uint64_t offset) {
  std::vector<CounterRecord> out;
  const RecordReader reader(layout, sections, name);
  size_t counters = 0, bitmaps = 0; // of all records
  for (uint64_t before = 0; before < records.size(); before += layout.size()) {
    TALLY_TRY(record, reader.read(records.substr(before, layout.size()), before, offset + before));
    counters += record.counts.size() * (layout.has_byte_counters ? 1 : sizeof(uint64_t));
    bitmaps += record.bitmap.size();
    if (counters > sections.counters.size() || bitmaps > sections.bitmaps.size())
      return fail(ErrorCode::invalid_input, "functions share their counters", name,
                  Position::at_offset(offset + before));
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<uint64_t> counter_offsets(std::string_view records, const RecordLayout &layout,
                                      const CounterSections &sections) {
  std::vector<uint64_t> out;
  const std::string no_name;
  const RecordReader reader(layout, sections, no_name);
  for (uint64_t before = 0; before < records.size(); before += layout.size())
    out.push_back(reader.counters_at(records.substr(before, layout.size()), before));
  return out;
}

} // namespace tally::llvm
