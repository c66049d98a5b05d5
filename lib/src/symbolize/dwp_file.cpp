#include "symbolize/dwp_file.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>
#include <gelf.h>

#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

constexpr PackagePart all_parts[] = {PackagePart::info, PackagePart::abbrev, PackagePart::line,
                                     PackagePart::str_offsets, PackagePart::rnglists};

constexpr const char *name_of(PackagePart part) {
  switch (part) {
  case PackagePart::info:
    return ".debug_info.dwo";
  case PackagePart::abbrev:
    return ".debug_abbrev.dwo";
  case PackagePart::line:
    return ".debug_line.dwo";
  case PackagePart::str_offsets:
    return ".debug_str_offsets.dwo";
  case PackagePart::rnglists:
    return ".debug_rnglists.dwo";
  }
  return "";
}

// Writes an ELF file that contains nothing but sections.
class ElfImage {
public:
  ElfImage(int elf_class, bool is_big_endian, uint16_t machine)
      : wide_(elf_class == ELFCLASS64), big_(is_big_endian), machine_(machine) {
    add("", {}, SHT_NULL);
  }

  void add(std::string_view name, std::string_view content, uint32_t type = SHT_PROGBITS) {
    sections_.push_back({names_.size(), content, type});
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
      put_word(0); // address
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

DwarfCursor cursor_of(std::string_view bytes, bool swap) {
  const auto *const start = reinterpret_cast<const unsigned char *>(bytes.data());
  return {start, start + bytes.size(), swap};
}

} // namespace

Result<std::unique_ptr<DwpFile>> DwpFile::open(const std::string &path) {
  TALLY_TRY(file, ElfFile::open(path));
  std::unique_ptr<DwpFile> package(new DwpFile(std::move(file), path));
  package->swap_ = swaps_bytes(package->file_.elf());
  for (const PackagePart part : all_parts)
    package->sections_[static_cast<size_t>(part)] = package->find_section(name_of(part));
  const SectionBytes index = package->find_section(".debug_cu_index");
  auto read = DwpIndex::read(section_bytes(package->file_, {".debug_cu_index"}), package->swap_,
                             {".debug_cu_index", index.offset});
  if (!read) {
    read.error().source = path;
    return fail(std::move(read.error()));
  }
  package->index_ = *read;
  return package;
}

DwpFile::SectionBytes DwpFile::find_section(const std::string &name) const {
  SectionBytes out;
  Elf_Scn *const found = file_.section(name);
  GElf_Shdr header;
  if (!found || !gelf_getshdr(found, &header) || header.sh_type == SHT_NOBITS)
    return out;
  out.offset = header.sh_offset;
  if (header.sh_flags & SHF_COMPRESSED) {
    out.compressed = true;
    if (elf_compress(found, 0, 0) >= 0)
      out.whole = section_bytes(file_, {name.c_str()});
    out.size = out.whole.size();
  } else if (header.sh_offset <= file_.identity().size &&
             header.sh_size <= file_.identity().size - header.sh_offset) {
    out.size = header.sh_size;
  }
  return out;
}

Result<std::string> DwpFile::bytes_of(PackagePart part, const DwpIndex::Row &row) const {
  const Contribution &at = row[static_cast<size_t>(part)];
  const SectionBytes &section = sections_[static_cast<size_t>(part)];
  if (at.size == 0)
    return std::string();
  if (at.offset > section.size || at.size > section.size - at.offset)
    return fail(ErrorCode::invalid_input,
                fmt::format("the index names {} bytes at {:#x} of {}, which has {:#x}", at.size,
                            at.offset, name_of(part), section.size),
                path_, Position::at_offset(section.offset));
  if (section.compressed)
    return std::string(section.whole.substr(at.offset, at.size));
  std::string bytes(at.size, '\0');
  if (!file_.read_at(section.offset + at.offset, std::as_writable_bytes(std::span(bytes))))
    return fail(ErrorCode::io, fmt::format("cannot read {}", name_of(part)), path_,
                Position::at_offset(section.offset + at.offset));
  return bytes;
}

// Copies the strings that a unit uses, and replaces the offsets of these strings. All units share
// .debug_str.dwo, which may be as large as all their other sections together.
std::string DwpFile::unit_strings(std::string &offsets, bool is_version_5, bool is_64_bit) {
  std::string strings(1, '\0'); // an offset without a string leads to the empty one
  std::unordered_map<uint64_t, uint64_t> copied;
  DwarfCursor cursor = cursor_of(offsets, swap_);
  unsigned offset_size = is_64_bit ? 8 : 4;
  if (is_version_5) { // a header (DWARF 5, section 7.26)
    const bool wide = cursor.fixed<uint32_t>() == UINT32_MAX;
    offset_size = wide ? 8 : 4;
    cursor.skip(wide ? 12 : 4);
  }
  // Offsets into the middle of long strings may stand for more text than the section has.
  const size_t most = strings_.size();
  while (cursor.good() && cursor.left() >= offset_size) {
    auto *const place = const_cast<unsigned char *>(cursor.at());
    const uint64_t offset = cursor.sized(offset_size);
    auto [known, is_new] = copied.try_emplace(offset, 0);
    if (is_new && offset < strings_.size()) {
      const std::string_view rest = strings_.substr(offset);
      const size_t length = rest.find('\0');
      if (length != std::string_view::npos && length <= most && strings.size() <= most - length) {
        known->second = strings.size();
        strings.append(rest.substr(0, length + 1));
      }
    }
    for (unsigned i = 0; i < offset_size; ++i) {
      const bool big = swap_ == (std::endian::native == std::endian::little);
      place[i] = static_cast<unsigned char>(known->second >> 8 * (big ? offset_size - 1 - i : i));
    }
  }
  return strings;
}

Result<std::unique_ptr<SplitUnit>> DwpFile::make_unit(uint64_t id, const DwpIndex::Row &row) {
  auto unit = std::make_unique<SplitUnit>();
  TALLY_TRY(info, bytes_of(PackagePart::info, row));
  TALLY_TRY(abbrev, bytes_of(PackagePart::abbrev, row));
  TALLY_TRY(line, bytes_of(PackagePart::line, row));
  TALLY_TRY(str_offsets, bytes_of(PackagePart::str_offsets, row));
  TALLY_TRY(rnglists, bytes_of(PackagePart::rnglists, row));
  unit->rnglists = std::move(rnglists);
  if (strings_.empty())
    strings_ = section_bytes(file_, {".debug_str.dwo"});

  DwarfCursor header = cursor_of(info, swap_);
  const bool is_64_bit = header.fixed<uint32_t>() == UINT32_MAX;
  if (is_64_bit)
    header.skip(8);
  const bool is_version_5 = header.fixed<uint16_t>() >= 5;
  const std::string strings = unit_strings(str_offsets, is_version_5, is_64_bit);

  ElfImage image(gelf_getclass(file_.elf()), file_.is_big_endian(), file_.machine());
  image.add(".debug_info", info);
  image.add(".debug_abbrev", abbrev);
  if (!line.empty())
    image.add(".debug_line", line);
  image.add(".debug_str_offsets", str_offsets);
  image.add(".debug_str", strings);
  TALLY_TRY(file, ElfFile::of_image(image.finish(), path_));
  unit->file = std::make_unique<ElfFile>(std::move(file));
  unit->dwarf.reset(dwarf_begin_elf(unit->file->elf(), DWARF_C_READ, nullptr));
  Dwarf_CU *each = nullptr;
  Dwarf_Die die{};
  uint8_t type = 0;
  while (unit->dwarf &&
         dwarf_get_units(unit->dwarf.get(), each, &each, nullptr, &type, &die, nullptr) == 0) {
    uint64_t own_id = 0;
    if (type == DW_UT_split_compile && die.addr &&
        dwarf_cu_info(each, nullptr, nullptr, nullptr, nullptr, &own_id, nullptr, nullptr) == 0 &&
        own_id == id) {
      unit->die = die;
      return unit;
    }
  }
  const uint64_t offset = sections_[static_cast<size_t>(PackagePart::info)].offset +
                          row[static_cast<size_t>(PackagePart::info)].offset;
  return fail(ErrorCode::invalid_input,
              fmt::format("there is no unit {:#018x}, which the index names", id), path_,
              Position::at_offset(offset));
}

Result<const SplitUnit *> DwpFile::unit(uint64_t id) {
  auto [known, is_new] = units_.try_emplace(id);
  if (!is_new)
    return known->second.get();
  auto row = index_.find(id);
  if (!row) {
    row.error().source = path_;
    return fail(std::move(row.error()));
  }
  if (!*row)
    return nullptr;
  TALLY_TRY(unit, make_unit(id, **row));
  known->second = std::move(unit);
  return known->second.get();
}

} // namespace tally::symbolize
