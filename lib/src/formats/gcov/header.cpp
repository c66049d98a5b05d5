#include "formats/gcov/header.h"

#include <algorithm>

#include <fmt/format.h>

namespace tally {

std::string version_text(uint32_t version_word) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += static_cast<char>(version_word >> shift);
  return text;
}

namespace gcov {

namespace {

uint32_t magic_of(std::string_view bytes, bool big_endian) {
  return bytes.size() < 4 ? 0 : ByteCursor(bytes, big_endian).u32();
}

bool at_least(uint32_t version, GcovVersion since) {
  return version >= static_cast<uint32_t>(since);
}

// Returns whether records follow one another from here to the end of the file.
bool walks(ByteCursor cursor, const GcovHeader &header) {
  while (cursor.left() > 0) {
    const uint32_t tag = cursor.u32();
    if (tag == 0)
      return !cursor.failed();
    if (tag & 0xffff)
      return false;
    const uint32_t length = cursor.u32();
    const auto negative = static_cast<int32_t>(length) < 0 && is_counter_tag(tag);
    if (!negative)
      cursor.take(header.bytes_in(length));
    if (cursor.failed())
      return false;
  }
  return true;
}

// Rates how well the bytes after the header fit the layout of `header`: 2 if they are records up to
// the end of the file, 1 if they begin with a tag (for example in a truncated file), otherwise 0.
int fit(ByteCursor cursor, const GcovHeader &header, bool notes) {
  if (notes && header.version >= GcovVersion::v9)
    take_string(cursor, header);
  if (notes && header.version >= GcovVersion::v8)
    cursor.u32();
  if (cursor.failed())
    return 0;
  if (walks(cursor, header))
    return 2;
  const uint32_t tag = cursor.u32();
  return tag != 0 && (tag & 0xffff) == 0;
}

} // namespace

uint32_t version_of(uint32_t word) {
  const auto character = [&](int index) { return static_cast<char>(word >> (24 - 8 * index)); };
  const auto digit = [&](int index) {
    const char c = character(index);
    return c >= '0' && c <= '9' ? static_cast<uint32_t>(c - '0') : 1000;
  };
  const uint32_t tens = digit(1), ones = digit(2);
  if (tens > 9 || ones > 9)
    return 0;
  if (digit(0) <= 9)
    return digit(0) * 100 + tens * 10 + ones;
  const char letter = character(0);
  if (letter < 'A' || letter > 'Z')
    return 0;
  return (static_cast<uint32_t>(letter - 'A') * 10 + tens) * 100 + ones;
}

bool has_magic(std::string_view head, uint32_t magic) {
  return magic_of(head, false) == magic || magic_of(head, true) == magic;
}
bool is_notes(std::string_view head) { return has_magic(head, notes_magic); }
bool is_data(std::string_view head) { return has_magic(head, data_magic); }

std::optional<uint32_t> stamp_of(std::string_view head) {
  if (head.size() < 12 || !(is_notes(head) || is_data(head)))
    return std::nullopt;
  ByteCursor cursor = cursor_of(head);
  cursor.u32(); // the version
  return cursor.u32();
}

tl::unexpected<Error> fail_at(size_t offset, std::string message, std::string_view source) {
  return fail(ErrorCode::invalid_input, std::move(message), std::string(source),
              Position::at_offset(offset));
}

tl::unexpected<Error> cut_at(size_t offset, std::string_view source) {
  return fail_at(offset, "truncated: the file ends within the item that begins here", source);
}

ByteCursor cursor_of(std::string_view bytes) {
  const uint32_t magic = magic_of(bytes, true);
  ByteCursor cursor(bytes, magic == notes_magic || magic == data_magic || magic == name_magic);
  cursor.u32();
  return cursor;
}

std::string_view take_string(ByteCursor &cursor, const GcovHeader &header) {
  const uint32_t length = cursor.u32();
  const std::string_view bytes = cursor.take(header.bytes_in(length));
  return bytes.substr(0, std::min(bytes.find('\0'), bytes.size()));
}

Result<GcovHeader> take_header(ByteCursor &cursor, std::string_view bytes,
                               std::string_view source) {
  GcovHeader header;
  header.big_endian = cursor.big_endian();
  header.version_word = cursor.u32();
  header.stamp = cursor.u32();
  if (cursor.failed())
    return cut_at(cursor.offset(), source);
  const uint32_t version = version_of(header.version_word);
  if (version == 0)
    return fail_at(4,
                   fmt::format("'{}' is not a compiler version", version_text(header.version_word)),
                   source);
  header.version = static_cast<GcovVersion>(version);
  if (!at_least(version, GcovVersion::v12))
    return header;
  ByteCursor behind = cursor;
  GcovHeader with_checksum = header;
  with_checksum.checksum = behind.u32();
  const bool notes = is_notes(bytes);
  // Clang may write any version before the older layout.
  if (fit(behind, with_checksum, notes) < fit(cursor, header, notes))
    return header;
  cursor = behind;
  if (cursor.failed())
    return cut_at(cursor.offset(), source);
  return with_checksum;
}

} // namespace gcov
} // namespace tally
