#include "symbolize/elf_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include <elf.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <elfutils/libdwelf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <zlib.h>

#include "support/byte_cursor.h"
#include "support/file_budget.h"
#include "support/found_file.h"
#include "support/memory_limit.h"
#include "support/read_at.h"
#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

FileIdentity identity_of(const struct stat &info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          static_cast<uint64_t>(info.st_size),
          static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec};
}

bool libelf_ready() {
  static const bool ready = elf_version(EV_CURRENT) != EV_NONE;
  return ready;
}

tl::unexpected<Error> no_elf(const std::string &path) {
  return fail(ErrorCode::invalid_input, "is not an ELF file", path);
}

} // namespace

std::optional<FileIdentity> identify(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  return identity_of(info);
}

void CodeRanges::add(uint64_t low, uint64_t high) {
  if (low < high)
    ranges_.push_back({low, high});
}

void CodeRanges::finish() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range &a, const Range &b) { return a.low < b.low; });
  // Overlaps are removed, so that a search by the start is sufficient.
  size_t kept = 0;
  for (Range range : ranges_) {
    if (kept && range.low < ranges_[kept - 1].high)
      range.low = ranges_[kept - 1].high;
    if (range.low < range.high)
      ranges_[kept++] = range;
  }
  ranges_.resize(kept);
}

uint64_t CodeRanges::end_of(uint64_t address) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t a, const Range &range) { return a < range.low; });
  if (after == ranges_.begin() || address >= (--after)->high)
    return 0;
  return after->high;
}

bool CodeRanges::contains(uint64_t address) const { return end_of(address) != 0; }

// Returns the size that a compressed section states for its content (elf(5), Chdr; for .zdebug_*,
// "ZLIB" and a number of big-endian bytes). libelf allocates as much when the section is read.
static uint64_t unpacked_size(int fd, const GElf_Ehdr &file, const GElf_Shdr &section) {
  std::string head(24, '\0');
  head.resize(read_at(fd, head.data(), head.size(), section.sh_offset).size);
  const bool is_gnu = (section.sh_flags & SHF_COMPRESSED) == 0;
  if (is_gnu && !head.starts_with("ZLIB"))
    return 0;
  ByteCursor cursor(head, is_gnu || file.e_ident[EI_DATA] == ELFDATA2MSB);
  cursor.u32(); // the type
  if (is_gnu)
    return cursor.u64_whole();
  if (file.e_ident[EI_CLASS] == ELFCLASS32)
    return cursor.u32();
  cursor.u32();
  return cursor.u64_whole();
}

// Refuses a file whose sections unpack to far more than real ones do.
static Result<void> check_unpacked_size(Elf *elf, int fd, const GElf_Ehdr &header, uint64_t size,
                                        const std::string &path) {
  const uint64_t limit = MemoryLimit::usual(size);
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return {};
  uint64_t all = 0;
  for (Elf_Scn *each = nullptr; (each = elf_nextscn(elf, each));) {
    GElf_Shdr section;
    if (!gelf_getshdr(each, &section) || section.sh_type == SHT_NOBITS)
      continue;
    const char *const name = elf_strptr(elf, names, section.sh_name);
    const bool is_gnu = name && std::string_view(name).starts_with(".zdebug_");
    if (!is_gnu && (section.sh_flags & SHF_COMPRESSED) == 0)
      continue;
    const uint64_t unpacked = unpacked_size(fd, header, section);
    all = unpacked > UINT64_MAX - all ? UINT64_MAX : all + unpacked;
    if (all > limit)
      return fail(
          ErrorCode::limit,
          fmt::format("has compressed sections that unpack to more than {} MiB", limit >> 20),
          path);
  }
  return {};
}

Result<ElfFile> ElfFile::open(const std::string &path, Holes holes) {
  TALLY_TRY(found, open_found(path, holes));
  ElfFile file;
  file.fd_ = std::move(found.fd);
  file.path_ = path;
  file.identity_ = identity_of(found.status);
  if (!libelf_ready())
    return fail(ErrorCode::unsupported, "libelf is too old", path);
  // The file is read, not mapped: if a build truncated it in place, access to a mapping would
  // terminate the debugger by SIGBUS. A section is read when it is first needed.
  file.elf_.reset(elf_begin(file.fd_.get(), ELF_C_READ, nullptr));
  if (!file.elf_ || elf_kind(file.elf_.get()) != ELF_K_ELF)
    return no_elf(path);
  GElf_Ehdr header;
  if (!gelf_getehdr(file.elf_.get(), &header))
    return no_elf(path);
  TALLY_CHECK(
      check_unpacked_size(file.elf_.get(), file.fd_.get(), header, file.identity_.size, path));
  return file;
}

Result<ElfFile> ElfFile::of_image(std::vector<char> image, const std::string &name) {
  if (!libelf_ready())
    return no_elf(name);
  ElfFile file;
  file.image_ = std::move(image);
  file.elf_.reset(elf_memory(file.image_.data(), file.image_.size()));
  if (!file.elf_ || elf_kind(file.elf_.get()) != ELF_K_ELF)
    return no_elf(name);
  return file;
}

Result<ElfFile> ElfFile::open_vdso() {
  const std::string name = "[vdso]";
  const auto *image = reinterpret_cast<const char *>(::getauxval(AT_SYSINFO_EHDR));
  if (!image || !libelf_ready())
    return fail(ErrorCode::not_found, "this process has no vdso", name);
  // The size is not recorded anywhere; the section headers are the last part of the image.
  size_t size = 0;
  if (image[EI_CLASS] == ELFCLASS64) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  } else {
    Elf32_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  }
  return of_image(std::vector<char>(image, image + size), name);
}

std::string ElfFile::build_id() const {
  const void *bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf(), &bytes);
  if (size <= 0 || size > 64)
    return {};
  return to_hex(bytes, static_cast<size_t>(size));
}

bool ElfFile::is_big_endian() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf(), &header) && header.e_ident[EI_DATA] == ELFDATA2MSB;
}

uint32_t ElfFile::pointer_size() const { return gelf_getclass(elf()) == ELFCLASS32 ? 4 : 8; }

std::vector<Segment> ElfFile::loaded_segments() const {
  std::vector<Segment> segments;
  size_t count = 0;
  if (elf_getphdrnum(elf(), &count) != 0)
    return segments;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf(), static_cast<int>(i), &header) && header.p_type == PT_LOAD &&
        header.p_memsz <= UINT64_MAX - header.p_vaddr)
      segments.push_back(
          {header.p_offset, header.p_memsz, header.p_vaddr, (header.p_flags & PF_W) != 0});
  }
  return segments;
}

std::vector<Section> ElfFile::loaded_sections() const {
  std::vector<Section> sections;
  size_t names = 0;
  if (elf_getshdrstrndx(elf(), &names) != 0)
    return sections;
  for (Elf_Scn *each = nullptr; (each = elf_nextscn(elf(), each));) {
    GElf_Shdr header;
    if (!gelf_getshdr(each, &header) || !(header.sh_flags & SHF_ALLOC) ||
        header.sh_size > UINT64_MAX - header.sh_addr)
      continue;
    if (const char *name = elf_strptr(elf(), names, header.sh_name))
      sections.push_back({name, header.sh_addr, header.sh_size,
                          header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_WRITE)});
  }
  return sections;
}

std::string_view ElfFile::content_of(std::string_view section_name) const {
  Elf_Scn *const found = section(section_name);
  GElf_Shdr header;
  if (!found || !gelf_getshdr(found, &header) || header.sh_type == SHT_NOBITS)
    return {};
  const Elf_Data *const data = elf_rawdata(found, nullptr);
  return data && data->d_buf
             ? std::string_view(static_cast<const char *>(data->d_buf), data->d_size)
             : std::string_view();
}

void ElfFile::visit_data_symbols(const std::function<void(const DataSymbol &symbol)> &visit) const {
  visit_symbols(section(".symtab"), [&](const GElf_Sym &symbol, std::string_view name) {
    const unsigned char type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_FILE || type == STT_OBJECT)
      visit({name, symbol.st_value, symbol.st_size, type == STT_FILE});
  });
}

void ElfFile::visit_function_symbols(
    const std::function<void(std::string_view name, uint64_t address, uint64_t size)> &visit)
    const {
  visit_symbols(section(".symtab"), [&](const GElf_Sym &symbol, std::string_view name) {
    if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
      visit(name, symbol.st_value, symbol.st_size);
  });
}

void ElfFile::visit_symbols(Elf_Scn *table, const VisitSymbol &visit) const {
  GElf_Shdr header;
  if (!table || !gelf_getshdr(table, &header))
    return;
  FileBudget budget(size());
  Elf_Data *const data = elf_getdata(table, nullptr);
  GElf_Sym symbol;
  for (int i = 1; data && i < INT32_MAX && gelf_getsym(data, i, &symbol); ++i) {
    if (symbol.st_shndx == SHN_UNDEF)
      continue;
    if (const auto name = budget.take_name(elf_strptr(elf(), header.sh_link, symbol.st_name)))
      visit(symbol, *name);
  }
}

std::vector<Segment> ElfFile::code_segments() const {
  std::vector<Segment> segments;
  size_t count = 0;
  if (elf_getphdrnum(elf(), &count) != 0)
    return segments;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf(), static_cast<int>(i), &header))
      break;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X))
      segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
  return segments;
}

bool ElfFile::read_at(uint64_t offset, std::span<std::byte> to) const {
  if (fd_.get() < 0) { // spare_descriptors() has read the whole file
    size_t size = 0;
    const char *const bytes = elf_rawfile(elf(), &size);
    if (!bytes || offset > size || to.size() > size - offset)
      return false;
    std::memcpy(to.data(), bytes + offset, to.size());
    return true;
  }
  return tally::read_at(fd_.get(), to.data(), to.size(), offset).size == to.size();
}

bool ElfFile::read_constants(uint64_t address, std::span<std::byte> to) const {
  size_t count = 0;
  if (elf_getphdrnum(elf(), &count) != 0)
    return false;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf(), static_cast<int>(i), &header) && header.p_type == PT_LOAD &&
        !(header.p_flags & PF_W) && address >= header.p_vaddr && to.size() <= header.p_filesz &&
        address - header.p_vaddr <= header.p_filesz - to.size() && header.p_offset <= INT64_MAX)
      return read_at(header.p_offset + (address - header.p_vaddr), to);
  }
  return false;
}

std::string_view ElfFile::code(uint64_t low, uint64_t high) const {
  for (const Segment &segment : code_segments()) {
    if (low < segment.address || high < low || high - segment.address > segment.size)
      continue;
    // elf_rawfile() is not used: it reads the whole file, and libelf then does not free the
    // sections that were read before.
    const uint64_t offset = segment.offset + (low - segment.address);
    const Elf_Data *bytes = offset > INT64_MAX
                                ? nullptr
                                : elf_getdata_rawchunk(elf(), static_cast<int64_t>(offset),
                                                       static_cast<size_t>(high - low), ELF_T_BYTE);
    if (bytes && bytes->d_buf && bytes->d_size == high - low)
      return {static_cast<const char *>(bytes->d_buf), bytes->d_size};
  }
  return {};
}

uint16_t ElfFile::machine() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf(), &header) ? header.e_machine : uint16_t{EM_NONE};
}

CodeRanges ElfFile::code_ranges() const {
  CodeRanges ranges;
  Elf_Scn *section = nullptr;
  while ((section = elf_nextscn(elf(), section))) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) &&
        (header.sh_flags & SHF_ALLOC) && header.sh_size <= UINT64_MAX - header.sh_addr)
      ranges.add(header.sh_addr, header.sh_addr + header.sh_size);
  }
  if (ranges.empty()) {
    for (const Segment &segment : code_segments()) {
      if (segment.size <= UINT64_MAX - segment.address)
        ranges.add(segment.address, segment.address + segment.size);
    }
  }
  ranges.finish();
  return ranges;
}

namespace {

// Returns the name; empty if it cannot be read.
std::string_view section_name(Elf *elf, Elf_Scn *section) {
  size_t names = 0;
  GElf_Shdr header;
  const char *const text = elf_getshdrstrndx(elf, &names) == 0 && gelf_getshdr(section, &header)
                               ? elf_strptr(elf, names, header.sh_name)
                               : nullptr;
  return text ? text : "";
}

Elf_Scn *section_of(Elf *elf, std::string_view name) {
  Elf_Scn *section = nullptr;
  while ((section = elf_nextscn(elf, section)))
    if (section_name(elf, section) == name)
      break;
  return section;
}

} // namespace

std::string_view section_bytes(Elf *elf, std::initializer_list<const char *> names) {
  for (const char *name : names) {
    Elf_Scn *section = section_of(elf, name);
    GElf_Shdr header;
    if (!section || !gelf_getshdr(section, &header) || (header.sh_flags & SHF_COMPRESSED) != 0)
      continue;
    if (const Elf_Data *data = elf_getdata(section, nullptr); data && data->d_buf)
      return {static_cast<const char *>(data->d_buf), data->d_size};
  }
  return {};
}

Elf_Scn *ElfFile::section(std::string_view name) const { return section_of(elf(), name); }

bool ElfFile::has_dwarf() const {
  for (const char *name : {".debug_info", ".zdebug_info"}) {
    GElf_Shdr header;
    if (Elf_Scn *found = section(name);
        found && gelf_getshdr(found, &header) && header.sh_type != SHT_NOBITS && header.sh_size)
      return true;
  }
  return false;
}

std::optional<Processor> ElfFile::processor() const {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf(), &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  switch (header.e_machine) {
  case EM_X86_64:
    return Processor::x86_64;
  case EM_AARCH64:
    return Processor::aarch64;
  case EM_RISCV:
    return Processor::riscv64;
  default:
    return std::nullopt;
  }
}

std::optional<std::pair<std::string, uint32_t>> ElfFile::debug_link() const {
  GElf_Word crc = 0;
  const char *name = dwelf_elf_gnu_debuglink(elf(), &crc);
  // A link must be a plain file name: a link with directories could lead anywhere.
  if (!name || !*name || std::strchr(name, '/'))
    return std::nullopt;
  return std::pair{std::string(name), uint32_t{crc}};
}

void ElfFile::spare_descriptors() {
  rlimit limit{};
  const bool room = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                    static_cast<rlim_t>(fd_.get()) < limit.rlim_cur / 4;
  if (fd_.get() < 0 || room)
    return;
  if (elf_cntl(elf(), ELF_C_FDREAD) == 0)
    fd_.reset();
}

void EndDwarf::operator()(Dwarf *dwarf) const { dwarf_end(dwarf); }

namespace {

// Returns whether DWARF has strings in a section of this name, in any of the forms that libdw
// reads.
bool holds_strings(std::string_view name) {
  for (const std::string_view prefix : {".gnu.debuglto_", ".zdebug_", ".debug_"})
    if (name.starts_with(prefix))
      name.remove_prefix(prefix == ".gnu.debuglto_" ? prefix.size() : prefix.size() - 1);
  if (name.ends_with(".dwo"))
    name.remove_suffix(4);
  return name == "_str" || name == "_line_str" || name == "_info" || name == "_types";
}

// Returns whether four bytes anywhere are the lower 32 bits of a number in the file's byte order.
bool contains_number(std::string_view bytes, uint64_t number, bool swap) {
  auto wanted = static_cast<uint32_t>(number);
  if (swap)
    wanted = __builtin_bswap32(wanted);
  return bytes.find({reinterpret_cast<const char *>(&wanted), sizeof wanted}) != bytes.npos;
}

// Returns the data of a section of debug information with strings; null if it is another section.
Elf_Data *string_data(Elf_Scn *section, std::string_view name) {
  GElf_Shdr header;
  if (!holds_strings(name) || !gelf_getshdr(section, &header) ||
      (header.sh_flags & SHF_COMPRESSED) != 0)
    return nullptr;
  Elf_Data *const data = elf_getdata(section, nullptr);
  return data && data->d_buf && data->d_size > 0 ? data : nullptr;
}

// libdw returns strings without a check that they end within their section. A section that does not
// end with a NUL byte gets a copy that one follows. So does .debug_str if a table of offsets may
// have its very end. .debug_info of intact files often ends with another byte, that of a unit of
// assembly code.
void end_strings(Elf *elf, EndedSections &ended) {
  const std::string_view offsets =
      section_bytes(elf, {".debug_str_offsets", ".debug_str_offsets.dwo"});
  for (Elf_Scn *each = nullptr; (each = elf_nextscn(elf, each));) {
    const std::string_view name = section_name(elf, each);
    Elf_Data *const data = string_data(each, name);
    if (!data || std::ranges::find(ended, data->d_buf, [](const auto &copy) {
                   return static_cast<void *>(copy.get());
                 }) != ended.end())
      continue;
    const std::string_view bytes(static_cast<const char *>(data->d_buf), data->d_size);
    const bool may_be_exceeded = name.find("debug_str") != name.npos &&
                                 contains_number(offsets, bytes.size(), swaps_bytes(elf));
    if (bytes.ends_with('\0') && !may_be_exceeded)
      continue;
    auto &copy = ended.emplace_back(std::make_unique<char[]>(bytes.size() + 1));
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    data->d_buf = copy.get();
  }
}

} // namespace

DwarfHandle ElfFile::open_dwarf() const {
  DwarfHandle dwarf(dwarf_begin_elf(elf(), DWARF_C_READ, nullptr)); // decompresses the sections
  if (dwarf)
    end_strings(elf(), ended_);
  return dwarf;
}

Dwarf *search_alternate(Dwarf *dwarf, const std::string &path, EndedSections &ended) {
  const char *name = nullptr;
  const void *id = nullptr;
  // libdw opens whatever has this name.
  if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) > 0 && name) {
    const std::filesystem::path beside = std::filesystem::path(path).parent_path();
    if (!may_be_opened(name) || !may_be_opened((beside / name).string()))
      return nullptr;
  }
  Dwarf *const alternate = dwarf_getalt(dwarf);
  if (alternate)
    end_strings(dwarf_getelf(alternate), ended);
  return alternate;
}

size_t left_in_section(Elf *elf, const void *at) {
  for (Elf_Scn *each = nullptr; (each = elf_nextscn(elf, each));) {
    const Elf_Data *const data = string_data(each, section_name(elf, each));
    const uintptr_t offset =
        reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(data ? data->d_buf : nullptr);
    if (data && offset < data->d_size)
      return data->d_size - offset;
  }
  return 0;
}

std::optional<uint32_t> file_crc32(const std::string &path) {
  const auto file = open_found(path);
  if (!file)
    return std::nullopt;
  std::array<Bytef, 1 << 16> block;
  uLong crc = crc32(0, nullptr, 0);
  for (uint64_t at = 0;;) {
    const BytesRead got = read_at(file->fd.get(), block.data(), block.size(), at);
    if (got.error != 0)
      return std::nullopt;
    if (got.size == 0)
      return static_cast<uint32_t>(crc);
    crc = crc32(crc, block.data(), static_cast<uInt>(got.size));
    at += got.size;
  }
}

std::string to_hex(const void *bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i)
    text += fmt::format("{:02x}", static_cast<const unsigned char *>(bytes)[i]);
  return text;
}

} // namespace tally::symbolize
