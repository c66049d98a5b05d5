#include "support/source_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

#include "support/file_io.h"
#include "support/file_systems.h"
#include "support/text.h"

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
  // A file may name anything as an object.
  FileSystems systems;
  struct stat changed {
  }, made{};
  if (!source.starts_with('/') || !built.starts_with('/') || systems.may_not_answer_here(built) ||
      systems.may_not_answer_here(source) || ::stat(source.c_str(), &changed) != 0 ||
      ::stat(built.c_str(), &made) != 0)
    return false;
  // Reproducible builds set the times of what they install to the first second.
  if (made.st_mtim.tv_sec <= 1)
    return false;
  return std::pair(changed.st_mtim.tv_sec, changed.st_mtim.tv_nsec) >
         std::pair(made.st_mtim.tv_sec, made.st_mtim.tv_nsec);
}

std::string newer_source_text(const std::string &source, const std::string &built,
                              std::string_view what) {
  return fmt::format("{} was changed after {} was built: {} may be beside wrong lines\n",
                     printable(source), printable(built), what);
}

} // namespace tally
