#include "symbolize/split_units.h"

#include <algorithm>
#include <utility>

#include <dwarf.h>
#include <fmt/format.h>
#include <gelf.h>

#include "support/file_budget.h"
#include "support/found_file.h"
#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

std::string split_text(Dwarf_Die skeleton, unsigned name, unsigned gnu_name) {
  Dwarf_Attribute attribute;
  const char *text = nullptr;
  if (dwarf_attr(&skeleton, name, &attribute) || dwarf_attr(&skeleton, gnu_name, &attribute))
    text = dwarf_formstring(&attribute);
  return text ? text : "";
}

std::string dwo_name(Dwarf_Die skeleton) {
  return split_text(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
}

// Returns whether the bytes are those of .debug_info with a split unit that has this ID (DWARF 5,
// section 7.5.1).
bool has_split_unit(std::string_view info, uint64_t id, bool swap) {
  DwarfCursor cursor = dwarf_cursor(info, swap);
  while (cursor.good() && cursor.left()) {
    uint64_t length = cursor.fixed<uint32_t>();
    const bool is_64_bit = length == UINT32_MAX;
    if (is_64_bit)
      length = cursor.fixed<uint64_t>();
    DwarfCursor unit = cursor;
    cursor.skip(length);
    if (unit.fixed<uint16_t>() != 5 || unit.fixed<uint8_t>() != DW_UT_split_compile)
      continue;
    unit.skip(1 + (is_64_bit ? 8 : 4)); // size of an address, offset in .debug_abbrev
    if (unit.fixed<uint64_t>() == id && unit.good())
      return true;
  }
  return false;
}

// Reads a split unit of DWARF 5. GCC puts each type unit (-fdebug-types-section) into a section
// .debug_info.dwo of its own, and libdw 0.188 reads only the first of them.
Result<std::unique_ptr<SplitUnit>> read_split_file(const std::string &path, uint64_t id) {
  TALLY_TRY(file, ElfFile::open(path));
  const bool swap = swaps_bytes(file.elf());
  FileBudget budget(file.size());
  size_t names = 0;
  if (elf_getshdrstrndx(file.elf(), &names) != 0)
    return nullptr;
  for (Elf_Scn *each = nullptr; (each = elf_nextscn(file.elf(), each));) {
    GElf_Shdr header;
    if (!gelf_getshdr(each, &header))
      continue;
    const char *const name = elf_strptr(file.elf(), names, header.sh_name);
    if (!name || std::string_view(name) != ".debug_info.dwo")
      continue;
    if (!budget.take(header.sh_size))
      break;
    if (header.sh_flags & SHF_COMPRESSED)
      (void)elf_compress(each, 0, 0);
    const Elf_Data *const data = elf_getdata(each, nullptr);
    if (!data || !data->d_buf)
      continue;
    const std::string_view info(static_cast<const char *>(data->d_buf), data->d_size);
    if (!has_split_unit(info, id, swap))
      continue;
    const auto part = [&](const char *of) { return std::string(section_bytes(file, {of})); };
    TALLY_TRY(unit, make_split_unit(file, path, id,
                                    {std::string(info), part(".debug_abbrev.dwo"),
                                     part(".debug_str_offsets.dwo"), part(".debug_rnglists.dwo"),
                                     section_bytes(file, {".debug_str.dwo"})}));
    return unit;
  }
  return nullptr;
}

} // namespace

std::optional<SplitUnits::Found> SplitUnits::find(Dwarf_Die skeleton) {
  uint64_t id = 0;
  if (dwarf_cu_info(skeleton.cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) != 0)
    return std::nullopt;
  const auto found = [&](const SplitUnit &unit) {
    return Found{unit.die, UnitAddresses::of_split(skeleton, sections_, unit.rnglists)};
  };
  if (const SplitUnit *unit = in_package(id))
    return found(*unit);
  Dwarf_Die split{};
  const std::vector<std::string> paths = own_paths(skeleton);
  // libdw opens whatever is at these places.
  if (std::ranges::all_of(paths, may_be_opened) &&
      dwarf_cu_info(skeleton.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) ==
          0 &&
      split.addr) {
    Elf *const elf = dwarf_getelf(dwarf_cu_getdwarf(split.cu));
    return Found{split, UnitAddresses::of_split(skeleton, sections_,
                                                section_bytes(elf, {".debug_rnglists.dwo"}))};
  }
  if (const SplitUnit *unit = in_own_file(paths, id))
    return found(*unit);
  report_missing(skeleton);
  return std::nullopt;
}

const SplitUnit *SplitUnits::in_package(uint64_t id) {
  for (const std::string &path : std::exchange(packages_, {})) {
    if (!identify(path))
      continue;
    auto opened = DwpFile::open(path);
    if (opened)
      package_ = std::move(*opened);
    else
      report_package(opened.error());
    break;
  }
  if (!package_)
    return nullptr;
  const auto unit = package_->unit(id);
  if (unit)
    return *unit;
  report_package(unit.error());
  return nullptr;
}

// Returns the places where libdw seeks a .dwo file.
std::vector<std::string> SplitUnits::own_paths(Dwarf_Die skeleton) const {
  const std::string name = dwo_name(skeleton);
  std::vector<std::string> paths;
  if (name.starts_with('/')) {
    paths.push_back(name);
  } else if (!name.empty()) {
    const size_t slash = path_.rfind('/');
    paths.push_back((slash == std::string::npos ? "" : path_.substr(0, slash + 1)) + name);
    const std::string folder = split_text(skeleton, DW_AT_comp_dir, DW_AT_comp_dir);
    if (folder.starts_with('/'))
      paths.push_back(folder + "/" + name);
  }
  return paths;
}

const SplitUnit *SplitUnits::in_own_file(const std::vector<std::string> &paths, uint64_t id) {
  for (const std::string &path : paths) {
    auto unit = read_split_file(path, id);
    if (!unit || !*unit)
      continue;
    own_files_.push_back(std::move(*unit));
    return own_files_.back().get();
  }
  return nullptr;
}

// A damaged package is reported once, by its first defect.
void SplitUnits::report_package(const Error &error) {
  if (!std::exchange(reported_package_, true))
    diagnostics_.add(Severity::warning, error.message + ", so inlined functions may be missing",
                     error.source, error.where);
}

void SplitUnits::report_missing(Dwarf_Die skeleton) {
  if (!std::exchange(reported_missing_, true))
    diagnostics_.add(Severity::note,
                     fmt::format("the split debug information \"{}\" was not found, nor a package "
                                 "(.dwp) that contains it, so inlined functions are missing",
                                 dwo_name(skeleton)),
                     path_);
}

} // namespace tally::symbolize
