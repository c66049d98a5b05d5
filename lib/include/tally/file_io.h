// Files: read a piece at a time with their compression taken off, written without ever losing the
// old one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

struct ReadOptions {
  // A compressed file may unpack to no more than this, and what has no size (a pipe, a device) hold
  // no more: a bomb is an error, not a full memory.
  uint64_t max_unpacked_bytes = uint64_t{8} << 30;
  size_t piece_bytes = size_t{256} << 10;
  // Called after each piece with position() and size_hint(): reading may take long.
  std::function<void(uint64_t position, uint64_t size)> progress{};
};

// The bytes of a file, a piece at a time; unpacked where it is gzip or zstd. It is read, never
// mapped: a file that is cut short meanwhile is an error, no signal.
class TALLY_API ByteSource {
public:
  // "-" is standard input.
  static Result<std::unique_ptr<ByteSource>> open(const std::string &path,
                                                  ReadOptions options = {});
  // null: there is no such file.
  static Result<std::unique_ptr<ByteSource>> open_if_there(const std::string &path);
  // Of bytes in memory, which outlive it.
  static std::unique_ptr<ByteSource> of(std::string_view bytes, std::string name,
                                        ReadOptions options = {});
  ~ByteSource();
  ByteSource(const ByteSource &) = delete;
  ByteSource &operator=(const ByteSource &) = delete;

  // A view is valid until the next call of any of these three.
  Result<std::string_view> next();            // the next piece; empty at the end
  Result<std::string_view> peek(size_t size); // so many bytes, or all that are left; still to come
  Result<std::string> rest();                 // all that is left, max_unpacked_bytes at most

  // Up to `size` bytes that lie elsewhere, fewer at the end; next() goes on from where it was.
  // Nothing where that cannot be had: of a pipe, or of what is packed.
  Result<std::optional<std::string>> at(uint64_t offset, size_t size);

  const std::string &name() const; // "<stdin>", or the path
  // In bytes as they lie on the disk, packed or not.
  uint64_t size_hint() const; // 0: not known
  uint64_t position() const;  // how many of them were read so far

private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Beside its target, then renamed, with the mode of the file it replaces; links are followed. "-"
// is standard output; devices and pipes are written to as they are. An existing file survives a
// failure, and nothing is left beside it.
TALLY_API Result<void> write_file(const std::string &path, std::string_view bytes);

} // namespace tally
