// One ELF file, opened by libelf, and what is read from it before any debug information is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <libelf.h>

#include <tally/result.h>

#include "support/unique_fd.h"

namespace tally::symbolize {

// What tells one state of a file from another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  friend bool operator==(const FileIdentity &, const FileIdentity &) = default;
};

std::optional<FileIdentity> identify(const std::string &path);

// Sorted, disjoint [low, high) of link-time addresses that can hold code.
class CodeRanges {
public:
  struct Range {
    uint64_t low;
    uint64_t high;
  };
  void add(uint64_t low, uint64_t high);
  void finish();
  bool contains(uint64_t address) const;
  // The end of the range that holds the address; 0 when none does.
  uint64_t end_of(uint64_t address) const;
  bool empty() const { return ranges_.empty(); }

private:
  std::vector<Range> ranges_;
};

struct Segment {
  uint64_t offset;
  uint64_t size;
  uint64_t address;
};

class ElfFile {
public:
  static Result<ElfFile> open(const std::string &path);
  // The vdso of this very process: the kernel maps the same one into all of one word size.
  static Result<ElfFile> open_vdso();

  Elf *elf() const { return elf_.get(); }
  const FileIdentity &identity() const { return identity_; }
  // Lower-case hex; empty when the file has none.
  std::string build_id() const;
  // Segments that are mapped executable (PT_LOAD with PF_X).
  std::vector<Segment> code_segments() const;
  // Sections with SHF_EXECINSTR; where there are no sections, the segments.
  CodeRanges code_ranges() const;
  // The file's bytes at link-time addresses; empty where no executable segment holds them all.
  std::string_view code(uint64_t low, uint64_t high) const;
  uint16_t machine() const; // e_machine
  bool has_section(std::string_view name) const { return section(name) != nullptr; }
  Elf_Scn *section(std::string_view name) const;
  bool has_dwarf() const;
  bool is_for_x86_64() const; // 64-bit
  // Name and CRC32 of .gnu_debuglink.
  std::optional<std::pair<std::string, uint32_t>> debug_link() const;
  // Where descriptors get scarce (a debugger may hold hundreds of modules), reads the whole file
  // and gives its descriptor back.
  void spare_descriptors();

private:
  struct EndElf {
    void operator()(Elf *elf) const { elf_end(elf); }
  };
  UniqueFd fd_;
  std::vector<char> image_; // of the vdso; outlives elf_
  std::unique_ptr<Elf, EndElf> elf_;
  FileIdentity identity_;
};

// CRC32 (as .gnu_debuglink uses it) of a whole file.
std::optional<uint32_t> file_crc32(const std::string &path);

std::string to_hex(const void *bytes, size_t size);

} // namespace tally::symbolize
