#include "coverage_collect/test_counters.h"

#include <limits>

#include <zlib.h>

#include "coverage_collect/counter_paths.h"
#include "support/byte_cursor.h"
#include "support/file_io.h"

namespace tally {

namespace {

constexpr std::string_view magic = "tally counters 1\n";
// The most bytes to which one byte can inflate; zlib.net/zlib_tech states this limit of zlib.
constexpr uint64_t most_deflated = 1032;

void put(std::string &out, size_t number) {
  const uint32_t word = in_order(static_cast<uint32_t>(number), false);
  out.append(reinterpret_cast<const char *>(&word), sizeof word);
}

} // namespace

Result<std::string> pack_counters(const std::string &folder, Diagnostics &diagnostics,
                                  std::string before) {
  std::string out = before.empty() ? std::string(magic) : std::move(before);
  TALLY_TRY(names, files_below(
                       folder,
                       [](std::string_view name) {
                         return name.ends_with(".gcda") || name.ends_with(raw_profile_suffix);
                       },
                       diagnostics));
  for (const std::string &name : names) {
    TALLY_TRY(source, ByteSource::open_found(name));
    TALLY_TRY(bytes, source->rest());
    if (bytes.empty())
      continue;
    if (bytes.size() > std::numeric_limits<uint32_t>::max())
      return fail(ErrorCode::limit, "is larger than 4 GiB", name);
    std::string packed(::compressBound(bytes.size()), '\0');
    uLongf size = packed.size();
    if (::compress2(reinterpret_cast<Bytef *>(packed.data()), &size,
                    reinterpret_cast<const Bytef *>(bytes.data()), bytes.size(),
                    Z_BEST_SPEED) != Z_OK)
      return fail(ErrorCode::limit, "there is not enough memory", name);
    const std::string_view path = std::string_view(name).substr(folder.size());
    put(out, path.size());
    put(out, size);
    put(out, bytes.size());
    out += path;
    out.append(packed, 0, size);
  }
  return out;
}

Result<PackedCounters> PackedCounters::read(std::string bytes, std::string source) {
  PackedCounters out;
  out.source_ = std::move(source);
  out.bytes_ = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view all = *out.bytes_;
  if (!all.starts_with(magic))
    return fail(ErrorCode::invalid_input, "is not a file of packed counters", out.source_,
                Position::at_offset(0));
  ByteCursor cursor(all);
  cursor.take(magic.size());
  while (cursor.left() > 0) {
    const size_t at = cursor.offset();
    const uint32_t path = cursor.u32(), packed = cursor.u32();
    File file;
    file.size = cursor.u32();
    file.path = cursor.take(path);
    file.packed = cursor.take(packed);
    if (cursor.failed())
      return fail(ErrorCode::invalid_input, "truncated: a counters file is incomplete", out.source_,
                  Position::at_offset(at));
    if (file.size > packed * most_deflated)
      return fail(ErrorCode::invalid_input, "the stated size of a counters file is impossible",
                  out.source_, Position::at_offset(at + 8));
    out.files_.push_back(file);
  }
  return out;
}

Result<std::string> PackedCounters::unpack(const File &file) const {
  std::string out(file.size, '\0');
  uLongf size = file.size;
  if (::uncompress(reinterpret_cast<Bytef *>(out.data()), &size,
                   reinterpret_cast<const Bytef *>(file.packed.data()),
                   file.packed.size()) != Z_OK ||
      size != file.size)
    return fail(ErrorCode::invalid_input, "counters cannot be decompressed", source_,
                Position::at_offset(static_cast<uint64_t>(file.packed.data() - bytes_->data())));
  return out;
}

} // namespace tally
