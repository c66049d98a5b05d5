#include "support/gzip.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace tally {

Result<std::string> gzip_packed(std::string_view bytes) {
  constexpr size_t step = size_t{64} << 10;
  // zlib.h: adding 16 selects a gzip header instead of a zlib header.
  constexpr int gzip_window = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return fail(ErrorCode::limit, "no memory to pack as gzip");
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      const size_t slice = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
      stream.avail_in = static_cast<uInt>(slice);
      bytes.remove_prefix(slice);
    }
    const size_t before = out.size();
    out.resize(before + step);
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + before);
    stream.avail_out = static_cast<uInt>(step);
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  if (status != Z_STREAM_END)
    return fail(ErrorCode::internal, "zlib did not pack to the end");
  return out;
}

std::optional<std::string> zlib_unpacked(std::string_view bytes, size_t size) {
  // zlib packs at most about a thousand bytes into one, so that a larger size is a lie.
  constexpr size_t most_per_byte = 1040;
  if (bytes.size() > std::numeric_limits<uLong>::max() || size / most_per_byte > bytes.size() + 1)
    return std::nullopt;
  std::string out(size, '\0');
  uLongf unpacked = size;
  uLong used = bytes.size();
  if (uncompress2(reinterpret_cast<Bytef *>(out.data()), &unpacked,
                  reinterpret_cast<const Bytef *>(bytes.data()), &used) != Z_OK ||
      unpacked != size)
    return std::nullopt;
  return out;
}

} // namespace tally
