// Opens one ELF file by libelf, and reads what does not require debug information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include "model/unwinder.h"
#include "support/found_file.h"
#include "support/result.h"
#include "support/unique_fd.h"

namespace tally::symbolize {

// Distinguishes one state of a file from another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  friend bool operator==(const FileIdentity &, const FileIdentity &) = default;
};

std::optional<FileIdentity> identify(const std::string &path);

// Sorted, disjoint ranges [low, high) of link-time addresses that can contain code.
class CodeRanges {
public:
  struct Range {
    uint64_t low;
    uint64_t high;
  };
  void add(uint64_t low, uint64_t high);
  void finish();
  bool contains(uint64_t address) const;
  // Returns the end of the range that contains the address, or 0 if there is none.
  uint64_t end_of(uint64_t address) const;
  bool empty() const { return ranges_.empty(); }

private:
  std::vector<Range> ranges_;
};

struct Segment {
  uint64_t offset;
  uint64_t size;
  uint64_t address;
  bool writable = false;
};

// A section that is loaded with the program.
struct Section {
  std::string_view name;
  uint64_t address;
  uint64_t size;
  bool initialised_data; // writable, and its content is in the file
};

struct DataSymbol {
  std::string_view name;
  uint64_t address;
  uint64_t size;
  bool is_file; // it names a source file
};

struct EndDwarf {
  void operator()(Dwarf *dwarf) const;
};
using DwarfHandle = std::unique_ptr<Dwarf, EndDwarf>;

// The content of sections that did not end with a NUL byte, with one behind it. It outlives the Elf
// and the Dwarf whose sections they are.
using EndedSections = std::vector<std::unique_ptr<char[]>>;

// Makes libdw search for the supplementary file that .gnu_debugaltlink of the file at `path` names,
// unless it has one already, and makes its strings safe to read, as ElfFile::open_dwarf() does.
// Returns null if there is none.
Dwarf *search_alternate(Dwarf *dwarf, const std::string &path, EndedSections &ended);

class ElfFile {
public:
  static Result<ElfFile> open(const std::string &path, Holes holes = Holes::few);
  // Opens the vdso of this process: the kernel maps the same vdso into all processes with the same
  // word size.
  static Result<ElfFile> open_vdso();

  // Opens an ELF file that is in memory.
  static Result<ElfFile> of_image(std::vector<char> image, const std::string &name);

  Elf *elf() const { return elf_.get(); }
  const std::string &path() const { return path_; } // empty if it is in memory
  bool is_image() const { return fd_.get() < 0 && !image_.empty(); }
  const FileIdentity &identity() const { return identity_; }
  uint64_t size() const { return is_image() ? image_.size() : identity_.size; }
  // Returns lower-case hexadecimal digits; empty if the file has no build ID.
  std::string build_id() const;
  // Returns the segments that are mapped executable (PT_LOAD with PF_X).
  std::vector<Segment> code_segments() const;
  // Returns the sections with SHF_EXECINSTR, or the segments if there are no such sections.
  CodeRanges code_ranges() const;
  // Returns the file's bytes at link-time addresses; empty unless one executable segment contains
  // them all.
  std::string_view code(uint64_t low, uint64_t high) const;
  uint16_t machine() const; // e_machine
  bool is_big_endian() const;
  uint32_t pointer_size() const; // in bytes, 4 or 8
  // Copies bytes of the file that begin at a link-time address. Returns false unless one segment
  // that is loaded and is not writable contains them all.
  bool read_constants(uint64_t address, std::span<std::byte> to) const;
  // Copies bytes of the file that begin at an offset. Returns false if it is shorter.
  bool read_at(uint64_t offset, std::span<std::byte> to) const;
  // Returns all segments that are loaded, with their sizes in memory.
  std::vector<Segment> loaded_segments() const;
  std::vector<Section> loaded_sections() const;
  // Calls visit() for each data object that .symtab defines, and for each name of a source file,
  // which precedes the local symbols of its unit.
  void visit_data_symbols(const std::function<void(const DataSymbol &symbol)> &visit) const;
  // Returns the texts of a section that holds constants. Nothing if it cannot be read.
  std::string_view content_of(std::string_view section_name) const;
  // Calls visit(name, address, size) for each function that .symtab defines.
  void visit_function_symbols(const std::function<void(std::string_view name, uint64_t address,
                                                       uint64_t size)> &visit) const;
  bool has_section(std::string_view name) const { return section(name) != nullptr; }
  Elf_Scn *section(std::string_view name) const;
  // Calls visit() for each symbol that a table defines and names, until the names exceed what
  // FileBudget allows.
  using VisitSymbol = std::function<void(const GElf_Sym &symbol, std::string_view name)>;
  void visit_symbols(Elf_Scn *table, const VisitSymbol &visit) const;
  bool has_dwarf() const;
  // Returns the processor, if it is one whose stacks can be unwound: 64-bit and little-endian.
  std::optional<Processor> processor() const;
  // Returns the name and CRC32 from .gnu_debuglink.
  std::optional<std::pair<std::string, uint32_t>> debug_link() const;
  // Opens the debug information for libdw; null if there is none that libdw can open. The file
  // outlives what this returns.
  DwarfHandle open_dwarf() const;
  // If descriptors are scarce (a debugger may hold hundreds of modules), reads the whole file and
  // closes its descriptor.
  void spare_descriptors();

private:
  struct EndElf {
    void operator()(Elf *elf) const { elf_end(elf); }
  };
  UniqueFd fd_;
  std::string path_;
  std::vector<char> image_; // the content if it is not a file's; outlives elf_
  std::unique_ptr<Elf, EndElf> elf_;
  mutable EndedSections ended_;
  FileIdentity identity_;
};

// Returns the CRC32 (as .gnu_debuglink uses it) of a whole file, or nothing if it cannot be read.
std::optional<uint32_t> file_crc32(const std::string &path);

// Returns the content of the first of these sections that there is. libdw decompresses a section of
// debug information when it opens the file; one that it cannot decompress is left out.
std::string_view section_bytes(Elf *elf, std::initializer_list<const char *> names);
inline std::string_view section_bytes(const ElfFile &file,
                                      std::initializer_list<const char *> names) {
  return section_bytes(file.elf(), names);
}

// Returns the number of bytes from a place in debug information, which libdw has returned, to the
// end of its section; 0 if no section contains it.
size_t left_in_section(Elf *elf, const void *at);

std::string to_hex(const void *bytes, size_t size);

} // namespace tally::symbolize
