#include "support/source_text.h"

#include <sys/stat.h>

#include <tally/file_io.h>

namespace tally {

Result<SourceText> read_source(const std::string &path) {
  SourceText out;
  struct stat info {};
  // The path of an imported report may name any file. Reading a pipe would block forever.
  if (path.find('\0') != path.npos || ::stat(path.c_str(), &info) != 0)
    return fail(ErrorCode::not_found, "there is no such file", path);
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::invalid_input, "is not a regular file", path);
  out.modified = info.st_mtime;
  ReadOptions options;
  options.max_unpacked_bytes = uint64_t{64} << 20; // no real source file is larger
  TALLY_TRY(source, ByteSource::open(path, std::move(options)));
  TALLY_TRY(bytes, source->rest());
  out.bytes = std::move(bytes);
  return out;
}

} // namespace tally
