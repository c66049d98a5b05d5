#include <tally/file_io.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "support/unique_fd.h"

namespace tally {

namespace {

Result<std::string> read_all(int fd, const std::string &source, uint64_t limit) {
  std::string out;
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail_errno(errno, "cannot read", source);
    if (got == 0)
      return out;
    if (out.size() + static_cast<size_t>(got) > limit)
      return fail(ErrorCode::limit, fmt::format("holds more than {} bytes", limit), source);
    out.append(block.data(), static_cast<size_t>(got));
  }
}

// With its slash; empty for the current folder.
std::string folder_of(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

tl::unexpected<Error> too_large(const std::string &source, uint64_t limit) {
  return fail(ErrorCode::limit, fmt::format("unpacks to more than {} bytes", limit), source);
}

// RFC 1952; several members behind each other are one file.
Result<std::string> unpack_gzip(std::string_view packed, const std::string &source,
                                uint64_t limit) {
  std::string out;
  std::array<char, 1 << 16> block;
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK)
    return fail(ErrorCode::limit, "no memory to unpack gzip", source);
  struct End {
    z_stream *stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  const auto *next = reinterpret_cast<const Bytef *>(packed.data());
  size_t left = packed.size();
  for (;;) {
    const auto slice = static_cast<uInt>(std::min<size_t>(left, size_t{1} << 30));
    stream.next_in = const_cast<Bytef *>(next);
    stream.avail_in = slice;
    stream.next_out = reinterpret_cast<Bytef *>(block.data());
    stream.avail_out = block.size();
    const int status = inflate(&stream, Z_NO_FLUSH);
    next += slice - stream.avail_in;
    left -= slice - stream.avail_in;
    const size_t made = block.size() - stream.avail_out;
    if (out.size() + made > limit)
      return too_large(source, limit);
    out.append(block.data(), made);
    if (status == Z_STREAM_END) {
      const bool another = left >= 2 && next[0] == 0x1f && next[1] == 0x8b;
      if (!another)
        return out;
      inflateReset(&stream);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("damaged gzip data: {}", stream.msg ? stream.msg : "unknown fault"),
                  source, Position::at_offset(packed.size() - left));
    } else if (left == 0 && made == 0) {
      return fail(ErrorCode::invalid_input, "gzip data is cut short", source,
                  Position::at_offset(packed.size()));
    }
  }
}

Result<std::string> unpack_zstd(std::string_view packed, const std::string &source,
                                uint64_t limit) {
  std::string out;
  std::array<char, 1 << 16> block;
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (!context)
    return fail(ErrorCode::limit, "no memory to unpack zstd", source);
  struct End {
    ZSTD_DCtx *context;
    ~End() { ZSTD_freeDCtx(context); }
  } end{context};
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (;;) {
    ZSTD_outBuffer into{block.data(), block.size(), 0};
    const size_t status = ZSTD_decompressStream(context, &into, &in);
    if (ZSTD_isError(status))
      return fail(ErrorCode::invalid_input,
                  fmt::format("damaged zstd data: {}", ZSTD_getErrorName(status)), source,
                  Position::at_offset(in.pos));
    if (out.size() + into.pos > limit)
      return too_large(source, limit);
    out.append(block.data(), into.pos);
    // At the end of a frame nothing is held back, however full the block is.
    if (in.pos == in.size && (into.pos < into.size || status == 0)) {
      if (status != 0)
        return fail(ErrorCode::invalid_input, "zstd data is cut short", source,
                    Position::at_offset(packed.size()));
      return out;
    }
  }
}

Result<void> write_all(int fd, std::string_view bytes, const std::string &source) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return fail_errno(errno, "cannot write", source);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

// Where a chain of symbolic links ends, though nothing may be there yet.
std::string follow_links(std::string path) {
  std::array<char, PATH_MAX> to;
  for (int links = 0; links < 40; ++links) { // as many as the kernel follows
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size <= 0)
      break;
    const std::string_view link(to.data(), static_cast<size_t>(size));
    path = link.starts_with('/') ? std::string(link) : folder_of(path) + std::string(link);
  }
  return path;
}

} // namespace

FileBytes &FileBytes::operator=(FileBytes &&other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_size_, other.map_size_);
  std::swap(owned_, other.owned_);
  return *this;
}

FileBytes::~FileBytes() {
  if (map_)
    ::munmap(map_, map_size_);
}

Result<FileBytes> read_file(const std::string &path, ReadOptions options) {
  const bool standard_input = path == "-";
  const std::string source = standard_input ? "<stdin>" : path;
  UniqueFd opened;
  if (!standard_input) {
    opened.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.get() < 0)
      return fail_errno(errno, "cannot open", source);
  }
  const int fd = standard_input ? STDIN_FILENO : opened.get();
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return fail_errno(errno, "cannot look at", source);
  if (S_ISDIR(info.st_mode))
    return fail(ErrorCode::io, "is a folder", source);

  FileBytes file;
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void *map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
      file.map_ = map;
      file.map_size_ = size;
    }
  }
  if (!file.map_) {
    TALLY_TRY(all, read_all(fd, source, options.max_unpacked_bytes));
    file.owned_ = std::move(all);
  }

  const std::string_view raw = file.bytes();
  const bool gzip = raw.starts_with("\x1f\x8b");
  const bool zstd = raw.starts_with("\x28\xb5\x2f\xfd");
  if (!gzip && !zstd)
    return file;
  FileBytes unpacked;
  TALLY_TRY(bytes, gzip ? unpack_gzip(raw, source, options.max_unpacked_bytes)
                        : unpack_zstd(raw, source, options.max_unpacked_bytes));
  unpacked.owned_ = std::move(bytes);
  return unpacked;
}

Result<void> write_file(const std::string &path, std::string_view bytes) {
  if (path == "-")
    return write_all(STDOUT_FILENO, bytes, "<stdout>");

  const std::string target = follow_links(path);
  std::optional<mode_t> mode; // of the file that is replaced
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return fail(ErrorCode::io, "is a folder", path);
    if (!S_ISREG(info.st_mode)) {
      UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
      if (device.get() < 0)
        return fail_errno(errno, "cannot open for writing", path);
      return write_all(device.get(), bytes, path);
    }
    // A file that its owner made read-only is not replaced behind his back.
    if (::access(path.c_str(), W_OK) != 0)
      return fail_errno(errno, "cannot write", path);
    mode = info.st_mode & 07777;
  } else if (errno != ENOENT) {
    return fail_errno(errno, "cannot write", path);
  }

  static std::atomic<unsigned> counter{0};
  std::string beside;
  UniqueFd fd;
  do {
    // Not named after the target: its name may be as long as a name can be.
    beside = fmt::format("{}.tally-{}-{}.tmp", folder_of(target), ::getpid(), ++counter);
    fd.reset(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (fd.get() < 0 && errno == EEXIST);
  if (fd.get() < 0)
    return fail_errno(errno, "cannot create", path);
  auto give_up = [&](tl::unexpected<Error> error) -> Result<void> {
    ::unlink(beside.c_str());
    return error;
  };
  if (auto written = write_all(fd.get(), bytes, path); !written)
    return give_up(fail(written.error()));
  if (mode && ::fchmod(fd.get(), *mode) != 0)
    return give_up(fail_errno(errno, "cannot set the mode", path));
  // A full disk may show itself only at close.
  if (::close(fd.release()) != 0)
    return give_up(fail_errno(errno, "cannot write", path));
  if (::rename(beside.c_str(), target.c_str()) != 0)
    return give_up(fail_errno(errno, "cannot rename into place", path));
  return {};
}

} // namespace tally
