// Changes the tables of ELF files of 64 bits, so that many rows refer to the same bytes.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <elf.h>

#include "symbolize/elf_image.h"

namespace tally {

inline std::string elf_of(symbolize::ElfImage &image) {
  const std::vector<char> bytes = image.finish();
  return {bytes.begin(), bytes.end()};
}

// Lets change() change the structure at an offset.
template <class Row, class Change> void change_at(std::string &elf, size_t offset, Change change) {
  Row row;
  std::memcpy(&row, elf.data() + offset, sizeof row);
  change(row);
  std::memcpy(elf.data() + offset, &row, sizeof row);
}

template <class Change> void change_section(std::string &elf, size_t section, Change change) {
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  change_at<Elf64_Shdr>(elf, header.e_shoff + section * sizeof(Elf64_Shdr), change);
}

// Lists a section so many times. The table of sections is at the end of the file.
inline void list_section(std::string &elf, size_t section, unsigned times) {
  change_at<Elf64_Ehdr>(elf, 0, [&](Elf64_Ehdr &header) {
    const size_t at = header.e_shoff + section * sizeof(Elf64_Shdr);
    const std::string row = elf.substr(at, sizeof(Elf64_Shdr));
    for (unsigned i = 1; i < times; ++i)
      elf.insert(at, row);
    header.e_shnum = static_cast<Elf64_Half>(header.e_shnum + times - 1);
    if (header.e_shstrndx > section)
      header.e_shstrndx = static_cast<Elf64_Half>(header.e_shstrndx + times - 1);
  });
}

} // namespace tally
