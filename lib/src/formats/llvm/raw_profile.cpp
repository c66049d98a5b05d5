// Reads raw profiles (.profraw), which programs write.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "formats/llvm/binary_ids.h"
#include "formats/llvm/names.h"
#include "formats/llvm/profile_version.h"
#include "formats/llvm/source_profile.h"
#include "support/byte_cursor.h"
#include "support/md5.h"

namespace tally::llvm {

namespace {

// "\xff", "lprofr" for 64-bit or "lprofR" for 32-bit programs, "\x81", as a number.
constexpr uint64_t magic_64 = 0xff6c70726f667281, magic_32 = 0xff6c70726f665281;
constexpr size_t unit = 8; // what parts are padded to

std::optional<RecordLayout> layout_of(std::string_view bytes) {
  for (const bool big_endian : {false, true}) {
    const uint64_t magic = ByteCursor(bytes, big_endian).u64_whole();
    if (magic == magic_64 || magic == magic_32)
      return RecordLayout{0, magic == magic_64 ? 8U : 4U, big_endian, false, 2};
  }
  return std::nullopt;
}

class RawReader {
public:
  RawReader(std::string_view bytes, const std::string &name, ProfileDetail detail)
      : bytes_(bytes), name_(name), detail_(detail) {}

  Result<SourceProfile> run() {
    SourceProfile out;
    // Programs with several images that share a file, and `cat`, put profiles one after another.
    while (begin_ < bytes_.size()) {
      TALLY_TRY(image, read_image());
      out.version = std::max(out.version, layout_.version);
      out.images.push_back(std::move(image));
      while (begin_ < bytes_.size() && bytes_[begin_] == '\0')
        ++begin_;
    }
    out.left_out = left_out_;
    return out;
  }

private:
  tl::unexpected<Error> wrong(std::string message, uint64_t offset) const {
    return fail(ErrorCode::invalid_input, std::move(message), name_,
                Position::at_offset(begin_ + offset));
  }

  Result<ProfileImage> read_image() {
    const std::string_view rest = bytes_.substr(begin_);
    const auto layout = layout_of(rest);
    if (!layout)
      return wrong("expected a raw profile", 0);
    layout_ = *layout;
    ByteCursor from(rest, layout_.big_endian);
    from.u64_whole();
    const uint64_t version = from.u64_whole();
    if (from.failed())
      return wrong("the header is truncated", from.offset());
    if (version & of_optimizer)
      return fail(ErrorCode::unsupported,
                  "is a profile for the optimizer (-fprofile-generate): coverage needs "
                  "-fprofile-instr-generate -fcoverage-mapping",
                  name_);
    layout_.version = version & version_bits;
    layout_.has_byte_counters = (version & byte_counters) != 0;
    if (layout_.version < oldest_raw || layout_.version > newest_raw)
      return fail(ErrorCode::unsupported,
                  fmt::format("is a raw profile of version {}: versions {} to {} are read",
                              layout_.version, oldest_raw, newest_raw),
                  name_);
    return read_body(from);
  }

  Result<ProfileImage> read_body(ByteCursor &from) {
    const uint64_t v = layout_.version;
    const auto field = [&](bool is_there) { return is_there ? from.u64_whole() : 0; };
    const uint64_t id_bytes = field(v >= 7), records = field(true), pad_before = field(true),
                   counters = field(true), pad_after = field(true), bitmap_bytes = field(v >= 9),
                   pad_after_bitmap = field(v >= 9), uniform = field(v >= 11),
                   pad_after_uniform = field(v >= 11);
    field(v >= 11); // the uniform counters' delta
    const uint64_t name_bytes = field(true);
    CounterSections sections;
    sections.counters_delta = field(true);
    sections.bitmaps_delta = field(v >= 9);
    sections.is_relative = v >= 8;
    field(true); // the names' delta
    const uint64_t vtables = field(v >= 10), vtable_name_bytes = field(v >= 10);
    const uint64_t last_kind = from.u64_whole();
    constexpr uint64_t most_kinds = 16;
    if (from.failed())
      return wrong("the header is truncated", from.offset());
    if (last_kind >= most_kinds)
      return wrong("has too many kinds of values", from.before());
    layout_.value_kinds = last_kind + 1;

    ProfileImage out;
    out.has_byte_counters = layout_.has_byte_counters;
    const size_t width = layout_.has_byte_counters ? 1 : sizeof(uint64_t);
    if (!read_binary_ids(from.take(id_bytes), layout_.big_endian, v >= 8, out.build_ids))
      return wrong("a binary id is damaged", from.before());
    const uint64_t records_at = from.offset();
    const std::string_view data = take(from, records, layout_.size());
    take(from, pad_before, 1);
    sections.counters = take(from, counters, width);
    take(from, pad_after, 1);
    sections.bitmaps = take(from, bitmap_bytes, 1);
    take(from, pad_after_bitmap, 1);
    take(from, uniform, width);
    take(from, pad_after_uniform, 1);
    const std::string_view names = take(from, name_bytes, 1);
    const uint64_t names_at = from.before();
    align(from);
    constexpr size_t vtable_record = 24;
    take(from, vtables, layout_.pointer_size == 8 ? vtable_record : 16);
    align(from);
    take(from, vtable_name_bytes, 1);
    align(from);
    if (from.failed())
      return wrong("is truncated", from.offset());
    TALLY_TRY(all, read_records(data, layout_, sections, name_, begin_ + records_at));
    out.records = std::move(all);
    if (records == 0 && counters > 0) {
      out.is_correlated = true;
      out.counters = sections.counters;
      out.bitmaps = sections.bitmaps;
    }
    if (detail_ == ProfileDetail::everything && !add_names(names, out))
      return wrong("the names of functions are damaged", names_at);
    left_out_.virtual_tables |= vtables > 0;
    TALLY_CHECK(skip_values(from, data));
    begin_ += from.offset();
    return out;
  }

  static bool add_names(std::string_view section, ProfileImage &image) {
    const auto texts = read_name_texts(section);
    if (!texts)
      return false;
    for (const std::string &text : *texts)
      for (const std::string_view name : names_of_text(text))
        image.names.try_emplace(md5_low(name), name);
    return true;
  }

  // Takes `count` entries of `size` bytes.
  static std::string_view take(ByteCursor &from, uint64_t count, size_t size) {
    const uint64_t most = from.left() / std::max<size_t>(size, 1);
    return from.take(count > most ? from.left() + 1 : count * size);
  }
  // The last profile of a file may end without padding.
  static void align(ByteCursor &from) {
    from.take(std::min<size_t>((unit - from.offset() % unit) % unit, from.left()));
  }

  // A record whose function has values has a block of them at the end.
  Result<void> skip_values(ByteCursor &from, std::string_view data) {
    const size_t size = layout_.size();
    const size_t sites_at = 2 * sizeof(uint64_t) +
                            (layout_.version >= 11  ? 5
                             : layout_.version >= 9 ? 4
                                                    : 3) *
                                layout_.pointer_size +
                            sizeof(uint32_t);
    for (size_t at = 0; at < data.size(); at += size) {
      ByteCursor sites(data.substr(at + sites_at, layout_.value_kinds * sizeof(uint16_t)));
      bool has_sites = false;
      for (size_t kind = 0; kind < layout_.value_kinds; ++kind)
        has_sites |= sites.u16() != 0;
      if (!has_sites)
        continue;
      const uint32_t bytes = from.u32();
      if (from.failed() || bytes < sizeof bytes)
        return wrong("the values of a function are damaged", from.before());
      from.take(bytes - sizeof bytes);
      if (from.failed())
        return wrong("the values of a function are truncated", from.before());
      left_out_.values |= bytes > empty_values;
    }
    return {};
  }

  std::string_view bytes_;
  const std::string &name_;
  ProfileDetail detail_;
  size_t begin_ = 0; // of the current image
  RecordLayout layout_;
  LeftOut left_out_;
};

} // namespace

bool is_raw_profile(std::string_view head) { return layout_of(head).has_value(); }

Result<SourceProfile> read_raw_profile(std::string_view bytes, const std::string &name,
                                       ProfileDetail detail) {
  return RawReader(bytes, name, detail).run();
}

} // namespace tally::llvm
