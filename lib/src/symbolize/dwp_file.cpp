#include "symbolize/dwp_file.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <gelf.h>

#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

constexpr PackagePart all_parts[] = {PackagePart::info, PackagePart::abbrev,
                                     PackagePart::str_offsets, PackagePart::rnglists};

constexpr const char *name_of(PackagePart part) {
  switch (part) {
  case PackagePart::info:
    return ".debug_info.dwo";
  case PackagePart::abbrev:
    return ".debug_abbrev.dwo";
  case PackagePart::str_offsets:
    return ".debug_str_offsets.dwo";
  case PackagePart::rnglists:
    return ".debug_rnglists.dwo";
  }
  return "";
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

Result<std::unique_ptr<SplitUnit>> DwpFile::make_unit(uint64_t id, const DwpIndex::Row &row) {
  TALLY_TRY(info, bytes_of(PackagePart::info, row));
  TALLY_TRY(abbrev, bytes_of(PackagePart::abbrev, row));
  TALLY_TRY(str_offsets, bytes_of(PackagePart::str_offsets, row));
  TALLY_TRY(rnglists, bytes_of(PackagePart::rnglists, row));
  if (strings_.empty())
    strings_ = section_bytes(file_, {".debug_str.dwo"});
  TALLY_TRY(unit, make_split_unit(file_, path_, id,
                                  {std::move(info), std::move(abbrev), std::move(str_offsets),
                                   std::move(rnglists), strings_}));
  if (unit)
    return unit;
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
