#include "support/jit_dump.h"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include "support/byte_cursor.h"
#include "support/found_file.h"
#include "support/read_at.h"

namespace tally {

namespace {

constexpr size_t jit_header_bytes = 40;
constexpr size_t jit_record_bytes = 16;
constexpr size_t jit_load_bytes = jit_record_bytes + 40; // before the name
constexpr size_t jit_move_bytes = jit_record_bytes + 48; // all of it
constexpr size_t longest_jit_name = 4096;                // of code or of a file
constexpr size_t most_jit_code = 1 << 20;                // code that is held
constexpr size_t most_jit_records = 4 * most_jit_code;   // of all kinds, that are read
constexpr size_t most_jit_name_bytes = 128 << 20;        // of the names that are held
constexpr size_t most_jit_lines = 1 << 20;               // bytes of one record of lines
constexpr uint32_t most_jit_record = 1U << 30;

enum class JitRecord : uint32_t { load = 0, move = 1, debug_info = 2, close = 3 };

// Reads parts of a file. Most records are small: one call of the system reads many.
class Window {
public:
  explicit Window(const UniqueFd &file) : fd_(file.get()) {}

  // Returns fewer bytes at the end of the file. The result is valid until the next call.
  std::string_view at(uint64_t offset, size_t size) {
    constexpr size_t usual = 64 << 10;
    if (offset < begin_ || offset - begin_ > bytes_.size() ||
        bytes_.size() - (offset - begin_) < size) {
      begin_ = offset;
      bytes_.resize(std::max(size, usual));
      bytes_.resize(read_at(fd_, bytes_.data(), bytes_.size(), offset).size);
    }
    return std::string_view(bytes_).substr(offset - begin_, size);
  }

private:
  int fd_;
  uint64_t begin_ = 0; // of bytes_ in the file
  std::string bytes_;
};

// Returns nothing if the record is damaged. V8 writes the memory of a string object in place of
// some files' names (Node 20).
JitLines lines_of(ByteCursor cursor) {
  JitLines out;
  const uint64_t code = cursor.u64_whole();
  for (uint64_t left = cursor.u64_whole(); left > 0 && !cursor.failed(); --left) {
    JitLines::Line line{};
    line.address = cursor.u64_whole();
    line.line = cursor.u32();
    cursor.u32(); // the discriminator
    std::string file;
    while (!cursor.failed())
      if (const std::string_view c = cursor.take(1); !c.empty() && c[0] != '\0')
        file += c;
      else
        break;
    if (cursor.failed() || file.size() > longest_jit_name ||
        std::ranges::any_of(file, [](char c) { return c > 0 && c < ' '; }))
      return {};
    const bool as_before = file == "\xff" && !out.files.empty();
    if (!as_before && (out.files.empty() || out.files.back() != file))
      out.files.push_back(file == "\xff" ? std::string() : std::move(file));
    line.file = static_cast<uint32_t>(out.files.size() - 1);
    out.lines.push_back(line);
  }
  // V8 states addresses as they are in the file that `perf inject` makes, behind an ELF header.
  constexpr uint64_t elf_header = 64;
  if (std::ranges::all_of(out.lines, [&](const JitLines::Line &line) {
        return line.address >= code && line.address - code >= elf_header;
      }))
    for (JitLines::Line &line : out.lines)
      line.address -= elf_header;
  return out;
}

} // namespace

std::optional<JitDump> JitDump::open(const std::string &path, Names names) {
  JitDump dump;
  dump.names_ = names;
  auto file = open_found(path);
  if (!file)
    return std::nullopt;
  dump.fd_ = std::move(file->fd);
  dump.device_ = file->status.st_dev;
  dump.inode_ = file->status.st_ino;
  Window window(dump.fd_);
  const std::string_view head = window.at(0, jit_header_bytes);
  if (head.size() < jit_header_bytes ||
      (!head.starts_with("DTiJ") && !head.starts_with("JiTD"))) // little-endian; big-endian
    return std::nullopt;
  dump.big_endian_ = head[0] == 'J';
  ByteCursor cursor(head, dump.big_endian_);
  cursor.take(4);
  cursor.u32(); // the version, which is 1
  dump.offset_ = cursor.u32();
  cursor.take(8); // the machine, padding
  dump.pid_ = static_cast<int>(cursor.u32());
  cursor.u64_whole(); // the time when the file was made
  dump.is_monotonic_ = (cursor.u64_whole() & 1) == 0;
  if (dump.offset_ < jit_header_bytes)
    return std::nullopt;
  return dump;
}

void JitDump::read(const TakeCode &code, const TakeLines &lines) {
  struct stat info {};
  if (ended_ || ::fstat(fd_.get(), &info) != 0)
    return;
  const auto end = static_cast<uint64_t>(info.st_size);
  Window window(fd_);
  while (!ended_ && offset_ <= end && end - offset_ >= jit_record_bytes) {
    const std::string_view head = window.at(offset_, std::max(jit_load_bytes, jit_move_bytes));
    ByteCursor cursor(head, big_endian_);
    const auto type = static_cast<JitRecord>(cursor.u32());
    const uint32_t size = cursor.u32();
    const uint64_t time = cursor.u64_whole();
    if (cursor.failed() || size < jit_record_bytes || size > most_jit_record ||
        count_ >= most_jit_code || records_ >= most_jit_records) {
      ended_ = true;
      break;
    }
    if (size > end - offset_)
      break; // it is being written
    ++records_;
    if (type == JitRecord::load || type == JitRecord::move) {
      JitCode found;
      found.time = time;
      cursor.take(8 + 8); // pid, tid, virtual address
      found.address = cursor.u64_whole();
      if (type == JitRecord::load) {
        found.size = cursor.u64_whole();
        const uint64_t index = cursor.u64_whole();
        const std::string_view rest = window.at(
            offset_ + jit_load_bytes,
            std::min<size_t>(longest_jit_name, size - std::min<size_t>(size, jit_load_bytes)));
        const size_t name_end = rest.find('\0');
        found.file_offset = offset_ + jit_load_bytes + std::min(name_end, rest.size()) + 1;
        if (names_ == Names::read)
          found.name = rest.substr(0, name_end);
        name_bytes_ += found.name.size();
        ended_ = cursor.failed() || name_end == rest.npos || found.size > size ||
                 found.file_offset - offset_ > size - found.size ||
                 name_bytes_ > most_jit_name_bytes;
        if (!ended_)
          loaded_.insert_or_assign(index, Loaded{found.file_offset, found.size, found.name});
      } else {
        found.address = cursor.u64_whole();
        found.size = cursor.u64_whole();
        const uint64_t index = cursor.u64_whole();
        const auto from = loaded_.find(index);
        if (cursor.failed() || from == loaded_.end()) {
          offset_ += size;
          continue;
        }
        found.name = from->second.name;
        found.file_offset = from->second.file_offset;
        found.size = std::min(found.size, from->second.size);
      }
      if (!ended_ && found.size > 0 && found.size <= UINT64_MAX - found.address) {
        ++count_;
        code(std::move(found));
      }
    } else if (type == JitRecord::debug_info && lines && size <= most_jit_lines) {
      const std::string_view body = window.at(offset_ + jit_record_bytes, size - jit_record_bytes);
      lines(lines_of(ByteCursor(body, big_endian_)));
    } else if (type == JitRecord::close) {
      ended_ = true;
    }
    offset_ += size;
  }
}

} // namespace tally
