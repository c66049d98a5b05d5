// Reads files a piece at a time, decompressing gzip and zstd, and writes files so that a failure
// leaves the old content intact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

struct ReadOptions {
  // The most bytes that a compressed file may unpack to, that an input without a size (a pipe, a
  // device) may hold, and that rest() returns. More is ErrorCode::limit, so that a decompression
  // bomb does not fill the memory.
  uint64_t max_unpacked_bytes = uint64_t{8} << 30;
  // The most bytes by which the memory of this process may grow while read_file() reads a file;
  // more is ErrorCode::limit. 0: 1 GiB, or 64 times the file's size if that is more.
  uint64_t memory_limit = 0;
  size_t piece_bytes = size_t{256} << 10; // the most bytes that one read returns; at least 1
  // Called by next() before it reads, with position() and size_hint(), both in bytes, so that a
  // caller can show progress.
  std::function<void(uint64_t position, uint64_t size)> progress{};
  // Asked before each read and, ten times a second, while a pipe or a device has no bytes. If it
  // returns true, the reading ends with ErrorCode::cancelled.
  std::function<bool()> cancelled{};
};

// Gives the bytes of a file a piece at a time, decompressed if it is gzip or zstd. The file is read
// and never mapped, so that a file that another program truncates meanwhile causes an error and not
// a SIGBUS.
class ByteSource {
public:
  // Opens `path`, which may be a pipe or a device; "-" is standard input. Reads nothing yet.
  static Result<std::unique_ptr<ByteSource>> open(const std::string &path,
                                                  ReadOptions options = {});
  // Opens a file that the user does not name: another file or the listing of a directory does. Only
  // a regular file is opened, so that a pipe cannot block the caller; no file of /proc or /sys.
  static Result<std::unique_ptr<ByteSource>> open_found(const std::string &path,
                                                        ReadOptions options = {});
  // Does the same, but returns null if the file does not exist.
  static Result<std::unique_ptr<ByteSource>> open_if_there(const std::string &path);
  // Reads from memory. `bytes` must outlive the source; `name` is used in errors.
  static std::unique_ptr<ByteSource> of(std::string_view bytes, std::string name,
                                        ReadOptions options = {});
  ~ByteSource();
  ByteSource(const ByteSource &) = delete;
  ByteSource &operator=(const ByteSource &) = delete;

  // A view that next() or peek() returns is valid until the next call of next(), peek() or rest().
  Result<std::string_view> next(); // the next piece; empty at the end
  // Returns at least `size` bytes, or all that are left if there are fewer. next() returns them
  // again.
  Result<std::string_view> peek(size_t size);
  Result<std::string> rest(); // all that is left; more than max_unpacked_bytes is an error

  // Returns up to `size` bytes from `offset`, fewer at the end of the file. It does not move the
  // position of next(). Returns nothing if the input has no random access: a pipe, or a compressed
  // file.
  Result<std::optional<std::string>> at(uint64_t offset, size_t size);

  const std::string &name() const; // "<stdin>", or the path
  // Both count the bytes of the file itself, before decompression.
  uint64_t size_hint() const; // the file's size; 0 if unknown
  uint64_t position() const;  // the bytes read so far

private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Tells whether the user chose the name of an output. If not, write_file() replaces a symbolic
// link, a pipe or a device of that name: a program or a stranger's directory may have put it there,
// and it may lead elsewhere.
enum class OutputName : unsigned char { chosen, usual };

// Writes `bytes` to a temporary file in the target's directory and renames it to the target. The
// new file gets the mode of the file that it replaces and, if that is permitted, its owner and
// group. If the name is `chosen`, symbolic links are followed, "-" is standard output, and devices
// and pipes are written directly. After an error an existing file is unchanged, and the temporary
// file is gone. A file without write permission is an error, although it could be replaced.
Result<void> write_file(const std::string &path, std::string_view bytes,
                        OutputName name = OutputName::chosen);

} // namespace tally
