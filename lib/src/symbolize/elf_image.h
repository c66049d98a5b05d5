// Makes ELF files for libdw, which reads a unit only as a part of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <elf.h>

namespace tally::symbolize {

// An ELF file in memory that contains nothing but sections. `add` keeps views of the contents until
// finish() returns the file's bytes.
class ElfImage {
public:
  ElfImage(int elf_class, bool is_big_endian, uint16_t machine)
      : wide_(elf_class == ELFCLASS64), big_(is_big_endian), machine_(machine) {
    add("", {}, SHT_NULL);
  }

  void add(std::string_view name, std::string_view content, uint32_t type = SHT_PROGBITS,
           uint64_t address = 0) {
    sections_.push_back({names_.size(), content, type, address});
    names_ += name;
    names_ += '\0';
  }

  std::vector<char> finish() {
    add(".shstrtab", {}, SHT_STRTAB);
    sections_.back().content = names_;
    const size_t header = wide_ ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    size_t total = header;
    for (const Part &part : sections_)
      total = aligned(total) + part.content.size();
    const size_t table = aligned(total);
    image_.reserve(table + sections_.size() * sizeof(Elf64_Shdr));

    const char ident[EI_NIDENT] = {ELFMAG0,
                                   ELFMAG1,
                                   ELFMAG2,
                                   ELFMAG3,
                                   static_cast<char>(wide_ ? ELFCLASS64 : ELFCLASS32),
                                   static_cast<char>(big_ ? ELFDATA2MSB : ELFDATA2LSB),
                                   EV_CURRENT};
    image_.assign(ident, ident + sizeof ident);
    put(ET_REL, 2);
    put(machine_, 2);
    put(EV_CURRENT, 4);
    put_word(0); // entry
    put_word(0); // program headers
    put_word(table);
    put(0, 4); // flags
    put(header, 2);
    put(0, 2);
    put(0, 2);
    put(wide_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
    put(sections_.size(), 2);
    put(sections_.size() - 1, 2); // the names are in the last section
    for (Part &part : sections_) {
      image_.resize(aligned(image_.size()));
      part.offset = image_.size();
      image_.insert(image_.end(), part.content.begin(), part.content.end());
    }
    image_.resize(table);
    for (const Part &part : sections_) {
      put(part.name, 4);
      put(part.type, 4);
      put_word(0); // flags
      put_word(part.address);
      put_word(part.offset);
      put_word(part.content.size());
      put(0, 4);   // link
      put(0, 4);   // info
      put_word(1); // alignment
      put_word(0); // size of entries
    }
    return std::move(image_);
  }

private:
  struct Part {
    size_t name;
    std::string_view content;
    uint32_t type;
    uint64_t address;
    size_t offset = 0;
  };

  static size_t aligned(size_t size) { return (size + 7) & ~size_t{7}; }
  void put_word(uint64_t value) { put(value, wide_ ? 8 : 4); }
  void put(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      image_.push_back(static_cast<char>(value >> 8 * (big_ ? bytes - 1 - i : i)));
  }

  bool wide_;
  bool big_;
  uint16_t machine_;
  std::string names_;
  std::vector<Part> sections_;
  std::vector<char> image_;
};

} // namespace tally::symbolize
