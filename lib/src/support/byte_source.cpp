// Reads in layers, each of which returns one piece at a time: the file (or memory), then the
// decompressor if the file is compressed.

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "support/file_io.h"
#include "support/found_file.h"
#include "support/memory_limit.h"
#include "support/read_at.h"
#include "support/unique_fd.h"

namespace tally {

namespace {

class Pieces {
public:
  virtual ~Pieces() = default;
  // Returns the next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
};

// Looks ahead. It copies only if the current piece is too small.
class Peekable {
public:
  explicit Peekable(Pieces &from) : from_(&from) {}

  Result<std::string_view> peek(size_t size) {
    while (ahead_.size() < size) {
      if (ahead_.data() != joined_.data())
        joined_.assign(ahead_);
      TALLY_TRY(piece, from_->next());
      if (piece.empty())
        break;
      if (ahead_.empty()) {
        ahead_ = piece;
        continue;
      }
      joined_.append(piece);
      ahead_ = joined_;
    }
    return ahead_;
  }
  Result<std::string_view> next() {
    if (ahead_.empty())
      return from_->next();
    return std::exchange(ahead_, {});
  }

private:
  Pieces *from_;
  std::string_view ahead_; // the piece, or all of joined_
  std::string joined_;
};

class Raw : public Pieces {
public:
  uint64_t size = 0;     // 0 if unknown
  uint64_t position = 0; // bytes returned so far
  virtual Result<std::optional<std::string>> at(uint64_t offset, size_t wanted) = 0;
};

class Memory final : public Raw {
public:
  Memory(std::string_view bytes, size_t piece) : all_(bytes), left_(bytes), piece_(piece) {
    size = bytes.size();
  }
  Result<std::optional<std::string>> at(uint64_t offset, size_t wanted) override {
    return std::string(all_.substr(std::min<uint64_t>(offset, all_.size()), wanted));
  }
  Result<std::string_view> next() override {
    const std::string_view out = left_.substr(0, piece_);
    left_.remove_prefix(out.size());
    position += out.size();
    return out;
  }

private:
  std::string_view all_, left_;
  size_t piece_;
};

class File final : public Raw {
public:
  static Result<std::unique_ptr<File>> open(const std::string &path, const std::string &name,
                                            const ReadOptions &options) {
    std::unique_ptr<File> file(new File(name, options));
    if (path == "-") {
      file->fd_ = STDIN_FILENO;
    } else {
      // A pipe that nobody has opened for writing yet is waited for in next().
      file->owned_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
      file->fd_ = file->owned_.get();
      if (file->fd_ < 0)
        return fail_errno(errno, "cannot open", name);
    }
    if (::fstat(file->fd_, &file->opened_) != 0)
      return fail_errno(errno, "cannot get the status of", name);
    return begun(std::move(file));
  }

  static Result<std::unique_ptr<File>> open_found(const std::string &path,
                                                  const ReadOptions &options) {
    TALLY_TRY(found, tally::open_found(path));
    std::unique_ptr<File> file(new File(path, options));
    file->owned_ = std::move(found.fd);
    file->fd_ = file->owned_.get();
    file->opened_ = found.status;
    return begun(std::move(file));
  }

  Result<std::string_view> next() override {
    ssize_t got;
    do {
      TALLY_CHECK(wait());
      got = ::read(fd_, buffer_.data(), buffer_.size());
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
      return fail_errno(errno, "cannot read", name_);
    position += static_cast<uint64_t>(got);
    if (got == 0 && position < size)
      TALLY_CHECK(explain_short());
    if (size == 0 && position > limit_)
      return fail(ErrorCode::limit, fmt::format("holds more than {} bytes", limit_), name_);
    return std::string_view(buffer_.data(), static_cast<size_t>(got));
  }

  Result<std::optional<std::string>> at(uint64_t offset, size_t wanted) override {
    if (!S_ISREG(opened_.st_mode))
      return std::nullopt;
    std::string out(offset < size ? std::min<uint64_t>(wanted, size - offset) : 0, '\0');
    const BytesRead read =
        read_at(fd_, out.data(), out.size(), static_cast<uint64_t>(begin_) + offset);
    if (read.error != 0)
      return fail_errno(read.error, "cannot read", name_);
    out.resize(read.size);
    return out;
  }

private:
  File(std::string name, const ReadOptions &options)
      : name_(std::move(name)), limit_(options.max_unpacked_bytes),
        piece_bytes_(options.piece_bytes), cancelled_(options.cancelled) {}

  static Result<std::unique_ptr<File>> begun(std::unique_ptr<File> file) {
    const std::string &name = file->name_;
    if (S_ISDIR(file->opened_.st_mode))
      return fail(ErrorCode::io, "is a directory", name);
    if (S_ISREG(file->opened_.st_mode)) {
      // Standard input may have been read partially before.
      file->begin_ =
          file->owned_.get() < 0 ? std::max<off_t>(0, ::lseek(file->fd_, 0, SEEK_CUR)) : 0;
      file->size = static_cast<uint64_t>(std::max<off_t>(0, file->opened_.st_size - file->begin_));
      if (file->size > file->piece_bytes_)
        static_cast<void>(::posix_fadvise(file->fd_, 0, 0, POSIX_FADV_SEQUENTIAL));
    }
    // A small buffer suffices for small files, of which there may be many.
    const bool small = file->size > 0 && file->size < file->piece_bytes_;
    file->buffer_.resize(small ? file->size : file->piece_bytes_);
    return file;
  }

  // Waits until there are bytes, or until the user interrupts.
  Result<void> wait() const {
    constexpr int look_every_ms = 100;
    for (;;) {
      if (cancelled_ && cancelled_())
        return fail(ErrorCode::cancelled, "interrupted while it was read", name_);
      if (size != 0)
        return {};
      pollfd polled{fd_, POLLIN, 0};
      if (::poll(&polled, 1, cancelled_ ? look_every_ms : -1) > 0)
        return {};
    }
  }

  // Returns an error if the file was truncated while it was read. A file of /sys may have fewer
  // bytes than its size says, so a file that is short but did not change is no error.
  Result<void> explain_short() const {
    struct stat now {};
    if (::fstat(fd_, &now) == 0 && now.st_size == opened_.st_size &&
        now.st_mtim.tv_sec == opened_.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec)
      return {};
    return fail(
        ErrorCode::io,
        fmt::format("was truncated while it was read: {} of {} bytes are left", position, size),
        name_);
  }

  std::string name_;
  uint64_t limit_;
  size_t piece_bytes_;
  std::function<bool()> cancelled_;
  UniqueFd owned_;
  int fd_ = -1;
  off_t begin_ = 0; // offset at which reading began
  struct stat opened_ {};
  std::vector<char> buffer_;
};

// The common part of both compression formats.
class Unpacker : public Pieces {
public:
  Unpacker(std::string_view format, Peekable &packed, const std::string &name,
           const ReadOptions &options)
      : format_(format), packed_(packed), name_(name), limit_(options.max_unpacked_bytes),
        buffer_(options.piece_bytes) {}

  Result<std::string_view> next() override {
    size_t made = 0;
    while (!ended_ && made < buffer_.size()) {
      if (in_.empty() && !full_) {
        TALLY_TRY(piece, packed_.next());
        if (piece.empty() && in_the_middle_)
          return fail(ErrorCode::invalid_input, fmt::format("{} data ends in the middle", format_),
                      name_, Position::at_offset(taken_));
        if (piece.empty()) {
          ended_ = true;
          break;
        }
        in_ = piece;
      }
      if (!in_the_middle_)
        begin_ = taken_;
      const size_t before = in_.size();
      TALLY_TRY(bytes, unpack(buffer_.data() + made, buffer_.size() - made));
      taken_ += before - in_.size();
      made += bytes;
      full_ = made == buffer_.size(); // if full, more output may follow without more input
    }
    unpacked_ += made;
    if (unpacked_ > limit_)
      return fail(ErrorCode::limit, fmt::format("unpacks to more than {} bytes", limit_), name_);
    return std::string_view(buffer_.data(), made);
  }

protected:
  // Consumes input from the front of in_, which may be empty, and sets in_the_middle_. Returns the
  // number of bytes that it produced.
  virtual Result<size_t> unpack(char *to, size_t size) = 0;

  tl::unexpected<Error> damaged(std::string_view why, size_t left) const {
    return fail(ErrorCode::invalid_input, fmt::format("damaged {} data: {}", format_, why), name_,
                Position::at_offset(taken_ + in_.size() - left));
  }
  tl::unexpected<Error> junk() const {
    return fail(ErrorCode::invalid_input,
                fmt::format("something that is not {} follows the packed data", format_), name_,
                Position::at_offset(begin_));
  }
  bool at_begin() const { return begin_ == 0; }

  std::string_view in_;        // the unread part of the piece
  bool in_the_middle_ = false; // of a gzip member or zstd frame

private:
  std::string_view format_;
  Peekable &packed_;
  const std::string &name_;
  uint64_t limit_;
  std::vector<char> buffer_;
  uint64_t taken_ = 0; // the packed bytes consumed so far
  uint64_t begin_ = 0; // where the current member or frame begins
  uint64_t unpacked_ = 0;
  bool full_ = false, ended_ = false;
};

// RFC 1952. Several concatenated members form one file.
class Gzip final : public Unpacker {
public:
  using Unpacker::Unpacker;
  ~Gzip() override {
    if (ready_)
      inflateEnd(&stream_);
  }

private:
  Result<size_t> unpack(char *to, size_t size) override {
    if (!in_the_middle_ && in_.empty())
      return size_t{0};
    if (!ready_ && inflateInit2(&stream_, 15 + 16) != Z_OK)
      return fail(ErrorCode::limit, "no memory to unpack gzip");
    ready_ = true;
    if (!in_the_middle_ && in_.front() != '\x1f')
      return junk();
    const size_t slice = std::min<size_t>(in_.size(), size_t{1} << 30);
    stream_.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(in_.data()));
    stream_.avail_in = static_cast<uInt>(slice);
    stream_.next_out = reinterpret_cast<Bytef *>(to);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, size_t{1} << 30));
    const size_t room = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_BUF_ERROR && status != Z_STREAM_END)
      return damaged(stream_.msg ? stream_.msg : "unknown fault", stream_.avail_in);
    in_.remove_prefix(slice - stream_.avail_in);
    in_the_middle_ = status != Z_STREAM_END;
    if (!in_the_middle_)
      inflateReset(&stream_);
    return room - stream_.avail_out;
  }

  z_stream stream_{};
  bool ready_ = false;
};

// RFC 8878. Several concatenated frames form one file.
class Zstd final : public Unpacker {
public:
  using Unpacker::Unpacker;
  ~Zstd() override { ZSTD_freeDCtx(context_); }

private:
  Result<size_t> unpack(char *to, size_t size) override {
    if (!in_the_middle_ && in_.empty())
      return size_t{0};
    if (!context_ && !(context_ = ZSTD_createDCtx()))
      return fail(ErrorCode::limit, "no memory to unpack zstd");
    ZSTD_inBuffer in{in_.data(), in_.size(), 0};
    ZSTD_outBuffer out{to, size, 0};
    const size_t status = ZSTD_decompressStream(context_, &out, &in);
    if (ZSTD_isError(status)) {
      if (ZSTD_getErrorCode(status) == ZSTD_error_prefix_unknown && !at_begin())
        return junk();
      return damaged(ZSTD_getErrorName(status), in.size - in.pos);
    }
    in_.remove_prefix(in.pos);
    in_the_middle_ = status != 0;
    return out.pos;
  }

  ZSTD_DCtx *context_ = nullptr;
};

} // namespace

struct ByteSource::State {
  std::string name;
  ReadOptions options;
  std::unique_ptr<Raw> raw;
  std::optional<Peekable> packed;
  std::unique_ptr<Unpacker> unpacker;
  std::optional<Peekable> unpacked;
  Peekable *read_from = nullptr; // the one of the two that callers read; null until it is known

  void set(ReadOptions wanted) {
    options = std::move(wanted);
    // An empty piece would mean the end.
    options.piece_bytes = std::max<size_t>(1, options.piece_bytes);
  }

  // Creates the layers on first use, because open() must not read.
  Result<Peekable *> pieces() {
    if (read_from)
      return read_from;
    if (!packed)
      packed.emplace(*raw);
    TALLY_TRY(head, packed->peek(4));
    if (head.starts_with("\x1f\x8b"))
      unpacker = std::make_unique<Gzip>("gzip", *packed, name, options);
    else if (head.starts_with("\x28\xb5\x2f\xfd"))
      unpacker = std::make_unique<Zstd>("zstd", *packed, name, options);
    read_from = unpacker ? &unpacked.emplace(*unpacker) : &*packed;
    return read_from;
  }
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::~ByteSource() = default;

Result<std::unique_ptr<ByteSource>> ByteSource::open_if_there(const std::string &path) {
  auto source = open_found(path);
  if (!source && source.error().code == ErrorCode::not_found)
    return nullptr;
  return source;
}

Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::string &path, ReadOptions options) {
  auto state = std::make_unique<State>();
  state->name = path == "-" ? "<stdin>" : path;
  state->set(std::move(options));
  TALLY_TRY(file, File::open(path, state->name, state->options));
  state->raw = std::move(file);
  return std::unique_ptr<ByteSource>(new ByteSource(std::move(state)));
}

Result<std::unique_ptr<ByteSource>> ByteSource::open_found(const std::string &path,
                                                           ReadOptions options) {
  auto state = std::make_unique<State>();
  state->name = path;
  state->set(std::move(options));
  TALLY_TRY(file, File::open_found(path, state->options));
  // Nobody can allow more for a file that another one names.
  state->options.max_unpacked_bytes =
      std::min(state->options.max_unpacked_bytes, MemoryLimit::usual(file->size));
  state->raw = std::move(file);
  return std::unique_ptr<ByteSource>(new ByteSource(std::move(state)));
}

std::unique_ptr<ByteSource> ByteSource::of(std::string_view bytes, std::string name,
                                           ReadOptions options) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->set(std::move(options));
  state->raw = std::make_unique<Memory>(bytes, state->options.piece_bytes);
  return std::unique_ptr<ByteSource>(new ByteSource(std::move(state)));
}

Result<std::string_view> ByteSource::next() {
  TALLY_TRY(pieces, state_->pieces());
  if (state_->options.progress)
    state_->options.progress(position(), size_hint());
  MemoryLimit::check(position());
  return pieces->next();
}

Result<std::string_view> ByteSource::peek(size_t size) {
  TALLY_TRY(pieces, state_->pieces());
  return pieces->peek(size);
}

Result<std::string> ByteSource::rest() {
  std::string out;
  const uint64_t limit = state_->options.max_unpacked_bytes;
  for (;;) {
    TALLY_TRY(piece, next());
    if (piece.empty())
      return out;
    if (piece.size() > limit - out.size())
      return fail(ErrorCode::limit, fmt::format("holds more than {} bytes", limit), name());
    out += piece;
  }
}

Result<std::optional<std::string>> ByteSource::at(uint64_t offset, size_t size) {
  TALLY_CHECK(state_->pieces()); // finds out whether it is packed
  if (state_->unpacker)
    return std::nullopt;
  return state_->raw->at(offset, size);
}

const std::string &ByteSource::name() const { return state_->name; }
uint64_t ByteSource::size_hint() const { return state_->raw->size; }
uint64_t ByteSource::position() const { return state_->raw->position; }

} // namespace tally
