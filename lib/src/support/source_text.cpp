#include "support/source_text.h"

#include <filesystem>
#include <system_error>

#include <algorithm>
#include <cstddef>

#include <sys/stat.h>

#include <fmt/format.h>

#include "support/file_io.h"

namespace tally {

Result<SourceText> read_source(const std::string &path) {
  SourceText out;
  ReadOptions options;
  options.max_unpacked_bytes = uint64_t{64} << 20; // no real source file is larger
  auto opened = ByteSource::open_found(path, std::move(options));
  if (!opened && opened.error().code == ErrorCode::not_found)
    return fail(ErrorCode::not_found, "there is no such file", path);
  TALLY_TRY(source, std::move(opened));
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0)
    out.modified = info.st_mtime;
  TALLY_TRY(bytes, source->rest());
  constexpr ptrdiff_t most_lines = 2'000'000; // nor has a real one more: a page has a row for each
  if (std::ranges::count(bytes, '\n') > most_lines)
    return fail(ErrorCode::limit, fmt::format("has more than {} lines", most_lines), path);
  out.bytes = std::move(bytes);
  return out;
}

bool is_newer(const std::string &source, const std::string &built) {
  std::error_code no_source, not_built;
  const auto changed = std::filesystem::last_write_time(source, no_source);
  const auto made = std::filesystem::last_write_time(built, not_built);
  return !no_source && !not_built && changed > made;
}

} // namespace tally
