#include "live/counter_snapshot.h"

#include <algorithm>
#include <array>

#include "support/byte_cursor.h"
#include "support/sort.h"

namespace tally::live {

namespace {

constexpr uint64_t most_gap = 4096;                // between arrays that are read at once
constexpr uint64_t most_bytes = uint64_t{1} << 29; // of all counters

void append_word(std::string &out, uint32_t word, bool big_endian) {
  word = in_order(word, big_endian);
  out.append(reinterpret_cast<const char *>(&word), sizeof word);
}

class DataWriter {
public:
  DataWriter(const CounterLayout &layout, const CountedModuleObject &object,
             const CounterSnapshot &snapshot, Memory &memory, uint32_t largest_arc)
      : layout_(layout), object_(object), snapshot_(snapshot), memory_(memory),
        largest_arc_(largest_arc) {}

  GcovData run() {
    data_.header = object_.header;
    data_.end_mark = true;
    if (object_.header.version >= GcovVersion::v9 && !object_.by_clang)
      add_record(gcov_tag_object_summary, {1, largest_arc_});
    for (const CountedFunction &function : layout_.functions_of(object_)) {
      if (function.elsewhere) {
        add_record(gcov_tag_function, {});
        continue;
      }
      add_record(gcov_tag_function,
                 {function.key.ident, function.key.lineno_checksum, function.key.cfg_checksum});
      for (const CounterArray &array : layout_.arrays_of(function))
        add_counters(array);
    }
    if (object_.by_clang)
      end_as_clang();
    return std::move(data_);
  }

private:
  bool is_since(GcovVersion version) const { return object_.header.version >= version; }

  // compiler-rt/lib/profile/GCDAProfiling.c: the summary, which has only the number of runs, ends
  // the file, and is followed by two words 0.
  void end_as_clang() {
    if (object_.header.version >= GcovVersion::v9)
      add_record(gcov_tag_object_summary, {1, 0});
    else
      add_record(gcov_tag_program_summary, {0, 0, 1});
    data_.behind.assign(4, '\0');
  }

  void add_record(uint32_t tag, std::initializer_list<uint32_t> words) {
    GcovRecord record{tag, false, static_cast<uint32_t>(data_.other.size()), 0};
    for (const uint32_t word : words)
      append_word(data_.other, word, layout_.words.big_endian);
    record.last = static_cast<uint32_t>(data_.other.size());
    data_.records.push_back(record);
  }

  ByteCursor values_of(const CounterArray &array) const {
    return ByteCursor(snapshot_.bytes_of(array), layout_.words.big_endian);
  }

  void add_counters(const CounterArray &array) {
    GcovRecord record{counter_tag(static_cast<GcovCounter>(array.kind)), false,
                      static_cast<uint32_t>(data_.values.size()), 0};
    ByteCursor values = values_of(array);
    const auto kind = static_cast<GcovCounter>(array.kind);
    if (is_since(GcovVersion::v10) &&
        (kind == GcovCounter::topn || kind == GcovCounter::indirect)) {
      while (values.left() > 0) {
        const uint64_t total = values.u64_whole(), count = values.u64_whole();
        add_list(total, count, values.u64_whole());
      }
    } else {
      bool zeros = true;
      while (values.left() > 0) {
        data_.values.push_back(static_cast<int64_t>(values.u64_whole()));
        zeros &= data_.values.back() == 0;
      }
      if (zeros && is_since(GcovVersion::v11) && !object_.by_clang) {
        data_.values.resize(record.first);
        record = {record.tag, true, 0, array.count};
        data_.records.push_back(record);
        return;
      }
    }
    record.last = static_cast<uint32_t>(data_.values.size());
    data_.records.push_back(record);
  }

  // Adds a counter whose values are in a list of nodes {value, count, next}.
  void add_list(uint64_t total, uint64_t count, uint64_t node) {
    const size_t at = data_.values.size();
    data_.values.push_back(static_cast<int64_t>(total));
    data_.values.push_back(0);
    const uint32_t pointer = layout_.words.pointer_size;
    int64_t pairs = 0;
    for (; count > 0 && node != 0 && pairs < most_pairs; --count, ++pairs) {
      std::array<char, 24> bytes{};
      if (!memory_.read(node, std::as_writable_bytes(std::span(bytes)).first(16 + pointer)))
        break;
      ByteCursor cursor(std::string_view(bytes.data(), bytes.size()), layout_.words.big_endian);
      data_.values.push_back(static_cast<int64_t>(cursor.u64_whole()));
      data_.values.push_back(static_cast<int64_t>(cursor.u64_whole()));
      node = pointer == 4 ? cursor.u32() : cursor.u64_whole();
    }
    data_.values[at + 1] = pairs;
  }

  static constexpr int64_t most_pairs = 128; // of one counter; GCC keeps at most 32

  const CounterLayout &layout_;
  const CountedModuleObject &object_;
  const CounterSnapshot &snapshot_;
  Memory &memory_;
  uint32_t largest_arc_;
  GcovData data_;
};

AddressRange range_of(const CounterArray &array) {
  return {array.address, array.address + uint64_t{array.count} * 8};
}

// Returns disjoint ranges that hold all counters; nothing if they are more than can be.
std::optional<std::vector<AddressRange>> ranges_of(const CounterLayout &layout) {
  std::vector<AddressRange> ranges;
  for (const CounterArray &array : layout.arrays)
    if (array.count > 0)
      ranges.push_back(range_of(array));
  for (const SourceBasedModule &module : layout.source_based)
    for (const AddressRange &range : {module.counters, module.bitmaps})
      if (range.high > range.low)
        ranges.push_back(range);
  sort_stably(ranges, {}, &AddressRange::low);
  std::vector<AddressRange> merged;
  uint64_t total = 0;
  for (const AddressRange &range : ranges)
    if (!merged.empty() && range.low <= merged.back().high + most_gap)
      merged.back().high = std::max(merged.back().high, range.high);
    else
      merged.push_back(range);
  for (const AddressRange &range : merged)
    total += range.size();
  return total > most_bytes ? std::nullopt : std::optional(std::move(merged));
}

} // namespace

std::optional<CounterSnapshot> CounterSnapshot::take(const CounterLayout &layout, Memory &memory) {
  const auto ranges = ranges_of(layout);
  if (!ranges)
    return std::nullopt;
  CounterSnapshot out;
  for (const AddressRange &range : *ranges) {
    out.pieces_.push_back({range.low, {}});
    if (!read_as_it_grows(memory, range.low, range.size(), out.pieces_.back().bytes))
      return std::nullopt;
  }
  return out;
}

CounterSnapshot
CounterSnapshot::carried_to(const CounterLayout &layout,
                            const std::function<bool(uint32_t module)> &was_loaded) const {
  CounterSnapshot out; // at first, all counters are 0
  for (const AddressRange &range : ranges_of(layout).value_or(std::vector<AddressRange>()))
    out.pieces_.push_back({range.low, std::vector<char>(range.size())});
  for (const CountedModuleObject &object : layout.objects) {
    if (!was_loaded(object.module))
      continue;
    for (const CountedFunction &function : layout.functions_of(object))
      for (const CounterArray &array : layout.arrays_of(function))
        out.copy_from(*this, range_of(array));
  }
  for (const SourceBasedModule &module : layout.source_based)
    if (was_loaded(module.module))
      for (const AddressRange &range : {module.counters, module.bitmaps})
        out.copy_from(*this, range);
  return out;
}

void CounterSnapshot::copy_from(const CounterSnapshot &other, const AddressRange &range) {
  const std::string_view bytes = other.bytes_of(range);
  if (auto *const piece = const_cast<Piece *>(piece_with(range)); piece && !bytes.empty())
    std::ranges::copy(bytes,
                      piece->bytes.begin() + static_cast<ptrdiff_t>(range.low - piece->address));
}

const CounterSnapshot::Piece *CounterSnapshot::piece_with(const AddressRange &range) const {
  auto piece = std::ranges::upper_bound(pieces_, range.low, {}, &Piece::address);
  if (range.high <= range.low || piece == pieces_.begin())
    return nullptr;
  --piece;
  const AddressRange all{piece->address, piece->address + piece->bytes.size()};
  return all.contains(range.low, range.high - range.low) ? &*piece : nullptr;
}

std::string_view CounterSnapshot::bytes_of(const AddressRange &range) const {
  const Piece *const piece = piece_with(range);
  return piece ? std::string_view(piece->bytes.data(), piece->bytes.size())
                     .substr(range.low - piece->address, range.high - range.low)
               : std::string_view();
}

std::string_view CounterSnapshot::bytes_of(const CounterArray &array) const {
  return bytes_of(range_of(array));
}

size_t CounterSnapshot::size() const {
  size_t sum = 0;
  for (const Piece &piece : pieces_)
    sum += piece.bytes.size();
  return sum;
}

bool was_reset(const CounterLayout &layout, const CounterSnapshot &now,
               const CounterSnapshot &before, const std::vector<bool> &unsure) {
  for (size_t i = 0; i < layout.functions.size(); ++i)
    for (const CounterArray &array : layout.arrays_of(layout.functions[i])) {
      if (array.kind != static_cast<uint32_t>(GcovCounter::arcs))
        continue;
      const std::string_view bytes = now.bytes_of(array), old_bytes = before.bytes_of(array);
      if (bytes == old_bytes)
        continue;
      const bool is_unsure = !unsure.empty() && unsure[i];
      ByteCursor values(bytes, layout.words.big_endian), old(old_bytes, layout.words.big_endian);
      while (values.left() > 0) {
        const auto value = static_cast<int64_t>(values.u64_whole());
        if (value < static_cast<int64_t>(old.u64_whole()) && (value == 0 || !is_unsure))
          return true;
      }
    }
  return false;
}

std::vector<bool> changed_functions(const CounterLayout &layout, const CounterSnapshot &now,
                                    const CounterSnapshot &before) {
  std::vector<bool> out;
  for (const CountedFunction &function : layout.functions)
    out.push_back(std::ranges::any_of(layout.arrays_of(function), [&](const CounterArray &array) {
      return now.bytes_of(array) != before.bytes_of(array);
    }));
  return out;
}

CounterFiles::CounterFiles(const CounterLayout &layout, const CounterSnapshot &snapshot,
                           Memory &memory, bool has_summary)
    : layout_(layout), snapshot_(snapshot), memory_(memory), has_summary_(has_summary) {}

GcovData CounterFiles::data_of(const CountedModuleObject &object) {
  return DataWriter(layout_, object, snapshot_, memory_, largest_arc(object.module)).run();
}

// libgcov's summary holds the largest counter of an arc in all objects that share a list, which are
// those of one module.
uint32_t CounterFiles::largest_arc(uint32_t module) {
  const auto [at, added] = largest_.try_emplace(module, 0);
  if (!added || !has_summary_)
    return at->second;
  int64_t largest = 0;
  for (const CountedModuleObject &object : layout_.objects)
    if (object.module == module)
      for (const CountedFunction &function : layout_.functions_of(object))
        for (const CounterArray &array : layout_.arrays_of(function))
          if (array.kind == static_cast<uint32_t>(GcovCounter::arcs))
            for (ByteCursor values(snapshot_.bytes_of(array), layout_.words.big_endian);
                 values.left() > 0;)
              largest = std::max(largest, static_cast<int64_t>(values.u64_whole()));
  return at->second = static_cast<uint32_t>(largest);
}

} // namespace tally::live
