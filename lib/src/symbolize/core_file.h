// Reads core files: the memory of a program when it ended, and the files that were mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "support/result.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

class CoreFile {
public:
  // A part of a file that was mapped (the note NT_FILE of Linux).
  struct Mapping {
    uint64_t start = 0, end = 0; // run-time addresses, half-open
    uint64_t file_offset = 0;
    std::string path;
  };
  struct Thread {
    pid_t tid = 0;
    std::vector<uint64_t> pcs; // leaf first; a caller's is its return address - 1
  };

  // Fails if the file cannot be read, or is not a core file.
  static Result<CoreFile> open(const std::string &path);

  const std::string &path() const { return path_; }
  const std::vector<Mapping> &mappings() const { return mappings_; }
  bool is_big_endian() const { return file_.is_big_endian(); }
  // Copies the bytes that begin at a run-time address. Returns false unless the core file holds all
  // of them: the kernel leaves out what core(5) and its filter name, and the rest of a file that
  // was cut.
  bool read(uint64_t address, std::span<std::byte> to) const;
  // Returns the stacks of the threads, as far as they can be unwound; `program` is the executable
  // or empty. The order is that of the core file, which begins with the thread that a signal ended.
  std::vector<Thread> threads(const std::string &program) const;

private:
  struct Piece {
    uint64_t start = 0, size = 0, file_offset = 0; // of the bytes that the file holds
  };
  CoreFile(ElfFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  void read_mappings(std::string_view note);

  ElfFile file_;
  std::string path_;
  std::vector<Piece> pieces_; // sorted by address
  std::vector<Mapping> mappings_;
};

} // namespace tally::symbolize
