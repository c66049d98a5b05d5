// Reads a jitdump: the file in which a JIT compiler records the code that it makes. The format is
// described by perf (tools/perf/Documentation/jitdump-specification.txt).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/hash.h"
#include "support/unique_fd.h"

namespace tally {

struct JitCode {
  uint64_t time = 0; // of JitDump::is_monotonic()
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0; // of the code in the file
  std::string name;
};

// A record of lines. Entries of one file share its name, so that they need little memory.
struct JitLines {
  struct Line {
    uint64_t address;
    uint32_t line;
    uint32_t file; // an index of files
  };
  std::vector<std::string> files;
  std::vector<Line> lines;
};

class JitDump {
public:
  enum class Names : bool { skipped, read }; // those of the code; skipped names are empty
  // Opens a file, which must be a regular one that begins as a jitdump does.
  static std::optional<JitDump> open(const std::string &path, Names names);

  int pid() const { return pid_; }
  // Returns whether times are those of CLOCK_MONOTONIC. Otherwise they are of the processor.
  bool is_monotonic() const { return is_monotonic_; }
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }

  // Reads the records that are complete and were not read yet. A program may be writing the file.
  // `lines` come before the code that they belong to. A damaged record ends the file.
  using TakeCode = std::function<void(JitCode)>;
  using TakeLines = std::function<void(JitLines)>; // null: they are skipped
  void read(const TakeCode &code, const TakeLines &lines = nullptr);

private:
  JitDump() : fd_(-1) {}
  struct Loaded {
    uint64_t file_offset, size;
    std::string name;
  };

  UniqueFd fd_;
  int pid_ = 0;
  bool is_monotonic_ = true;
  bool big_endian_ = false;
  bool ended_ = false;
  Names names_ = Names::skipped;
  size_t name_bytes_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  uint64_t offset_ = 0;                // of the next record
  size_t count_ = 0;                   // of the code that was read
  size_t records_ = 0;                 // that were read
  SeededMap<uint64_t, Loaded> loaded_; // by the index that records of moves name
};

} // namespace tally
