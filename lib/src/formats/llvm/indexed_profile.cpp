// Reads indexed profiles (.profdata), which llvm-profdata writes.
#include <fmt/format.h>

#include "formats/llvm/binary_ids.h"
#include "formats/llvm/profile_version.h"
#include "formats/llvm/source_profile.h"
#include "support/byte_cursor.h"
#include "support/md5.h"

namespace tally::llvm {

namespace {

constexpr uint64_t oldest_indexed = 5, newest_indexed = 13;

class IndexedReader {
public:
  IndexedReader(std::string_view bytes, const std::string &name, ProfileDetail detail)
      : bytes_(bytes), name_(name), detail_(detail), from_(bytes) {}

  Result<SourceProfile> run() {
    from_.take(indexed_magic.size());
    const uint64_t version = from_.u64_whole();
    const uint64_t v = version & version_bits;
    if (from_.failed())
      return wrong("the header is truncated");
    if (version & of_optimizer)
      return fail(ErrorCode::unsupported,
                  "is a profile for the optimizer (-fprofile-generate), not of coverage", name_);
    if (v < oldest_indexed || v > newest_indexed)
      return fail(ErrorCode::unsupported,
                  fmt::format("is an indexed profile of version {}: versions {} to {} are read", v,
                              oldest_indexed, newest_indexed),
                  name_);
    from_.u64_whole(); // unused
    from_.u64_whole(); // the kind of hash
    const uint64_t table = from_.u64_whole();
    if (v >= 8)
      from_.u64_whole(); // memory profiles
    const uint64_t ids = v >= 9 ? from_.u64_whole() : 0;
    if (v >= 10)
      from_.u64_whole();                                             // traces
    const uint64_t virtual_tables = v >= 12 ? from_.u64_whole() : 0; // their names
    skip_summary();
    if ((version & has_second_summary) != 0)
      skip_summary();
    if (from_.failed())
      return wrong("the header is truncated");

    SourceProfile out;
    out.version = v;
    out.is_indexed = true;
    ProfileImage &image = out.images.emplace_back();
    image.has_byte_counters = (version & byte_counters) != 0;
    if (table > bytes_.size() || ids > bytes_.size() || virtual_tables > bytes_.size() ||
        (virtual_tables != 0 && bytes_.size() - virtual_tables < sizeof(uint64_t)))
      return wrong("a table lies beyond the end");
    ByteCursor counts(bytes_.substr(table));
    const uint64_t buckets = counts.u64_whole(), keys = counts.u64_whole();
    if (counts.failed() || buckets > counts.left() / sizeof(uint64_t))
      return fail(ErrorCode::invalid_input, "the table of functions is truncated", name_,
                  Position::at_offset(table));
    TALLY_CHECK(read_functions(v, keys, image));
    if (ids != 0) {
      ByteCursor list(bytes_.substr(ids));
      const uint64_t size = list.u64_whole();
      if (!read_binary_ids(list.take(size), false, true, image.build_ids) || list.failed())
        return fail(ErrorCode::invalid_input, "a binary id is damaged", name_,
                    Position::at_offset(ids));
    }
    left_out_.memory_profile = (version & has_memory_profile) != 0;
    left_out_.traces = (version & has_traces) != 0;
    left_out_.virtual_tables =
        virtual_tables != 0 && ByteCursor(bytes_.substr(virtual_tables)).u64_whole() != 0;
    out.left_out = left_out_;
    return out;
  }

private:
  tl::unexpected<Error> wrong(std::string message) const {
    return fail(ErrorCode::invalid_input, std::move(message), name_,
                Position::at_offset(from_.before()));
  }

  void skip_summary() {
    const uint64_t fields = from_.u64_whole(), entries = from_.u64_whole();
    constexpr uint64_t most = 1 << 20;
    from_.take(fields > most || entries > most ? from_.left() + 1 : fields * 8 + entries * 24);
  }

  // The buckets of the table stand one after another, so that no hash is needed.
  Result<void> read_functions(uint64_t v, uint64_t keys, ProfileImage &image) {
    for (uint64_t seen = 0; seen < keys;) {
      const uint16_t items = from_.u16();
      for (uint16_t item = 0; item < items; ++item, ++seen) {
        from_.u64_whole(); // the key's hash
        const uint64_t key_size = from_.u64_whole(), size = from_.u64_whole();
        const std::string_view key = from_.take(key_size);
        const size_t at = from_.offset();
        const std::string_view data = from_.take(size);
        if (from_.failed())
          return wrong("the table of functions is truncated");
        const uint64_t hash = md5_low(key);
        if (detail_ == ProfileDetail::everything)
          image.names.try_emplace(hash, key);
        if (!read_counts(v, hash, data, image))
          return fail(ErrorCode::invalid_input, "the counts of a function are damaged", name_,
                      Position::at_offset(at));
      }
      if (from_.failed() || (items == 0 && from_.left() == 0))
        return wrong("the table of functions is truncated");
    }
    return {};
  }

  // A name has a block of counts for each hash.
  bool read_counts(uint64_t v, uint64_t name_hash, std::string_view data, ProfileImage &image) {
    ByteCursor from(data);
    while (from.left() > 0) {
      CounterRecord record;
      record.name_hash = name_hash;
      record.function_hash = from.u64_whole();
      const uint64_t counts = from.u64_whole();
      if (from.failed() || counts > from.left() / sizeof(uint64_t))
        return false;
      for (uint64_t i = 0; i < counts; ++i)
        record.counts.push_back(from.u64_whole());
      if (v >= 11) {
        const uint64_t bits = from.u64_whole();
        if (from.failed() || bits > from.left() / sizeof(uint64_t))
          return false;
        for (uint64_t i = 0; i < bits; ++i)
          record.bitmap += static_cast<char>(from.u64_whole());
      }
      const uint32_t values = from.u32();
      if (from.failed() || values < empty_values)
        return false;
      from.take(values - sizeof values);
      if (from.failed())
        return false;
      left_out_.values |= values > empty_values;
      image.records.push_back(std::move(record));
    }
    return true;
  }

  std::string_view bytes_;
  const std::string &name_;
  ProfileDetail detail_;
  ByteCursor from_;
  LeftOut left_out_;
};

} // namespace

bool is_indexed_profile(std::string_view head) { return head.starts_with(indexed_magic); }

Result<SourceProfile> read_indexed_profile(std::string_view bytes, const std::string &name,
                                           ProfileDetail detail) {
  return IndexedReader(bytes, name, detail).run();
}

} // namespace tally::llvm
