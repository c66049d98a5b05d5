// Reads the sections of objects that hold mappings.
#include <algorithm>
#include <filesystem>

#include <ar.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include "formats/llvm/coverage_mapping.h"
#include "formats/llvm/names.h"
#include "support/byte_cursor.h"
#include "support/file_budget.h"
#include "support/found_file.h"
#include "support/hash.h"
#include "support/md5.h"
#include "support/path.h"
#include "support/read_at.h"

namespace tally::llvm {

namespace {

constexpr uint32_t newest_mapping = 7;

struct EndElf {
  void operator()(Elf *elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

// Returns the path of a source. From version 6 on, the first name is the compiler's working
// directory.
std::string source_path(const std::string &name, std::string_view folder) {
  namespace fs = std::filesystem;
  return fs::path(name).is_absolute() || folder.empty()
             ? fs::path(name).lexically_normal().string()
             : (fs::path(folder) / name).lexically_normal().string();
}

// The bytes of an object, which begins at `base` of a file or of memory. A file is read and not
// mapped: if a build truncated it in place, access to a mapping would end the process by SIGBUS.
struct ObjectImage {
  int fd = -1; // -1 if `bytes` has the content
  std::string_view bytes{};
  uint64_t base = 0, size = 0;

  // Returns nothing if the range is not inside the object or cannot be read. `kept` holds what is
  // read from a file.
  std::string_view range(uint64_t offset, uint64_t wanted,
                         std::vector<std::shared_ptr<const std::string>> &kept) const {
    if (offset > size || wanted > size - offset)
      return {};
    if (fd < 0)
      return bytes.substr(base + offset, wanted);
    std::string out(wanted, '\0');
    if (read_at(fd, out.data(), out.size(), base + offset).size < out.size())
      return {};
    kept.push_back(std::make_shared<const std::string>(std::move(out)));
    return *kept.back();
  }
};

} // namespace

class ObjectReader {
public:
  // Reads the object, or the members of the archive, that libelf has opened as `whole`.
  static std::vector<CoverageObject> read_all(Elf *whole, const ObjectImage &image,
                                              const std::string &path, Diagnostics &diagnostics) {
    std::vector<CoverageObject> out;
    FileBudget budget(image.size); // of all members
    const auto add = [&](Elf *elf, std::string name, const ObjectImage &own) {
      CoverageObject object;
      object.name_ = std::move(name);
      if (ObjectReader(object, budget, diagnostics).read(elf, own))
        out.push_back(std::move(object));
    };
    if (!whole)
      return out;
    if (elf_kind(whole) != ELF_K_AR) {
      add(whole, path, image);
      return out;
    }
    Elf_Cmd command = ELF_C_READ;
    for (ElfHandle member(elf_begin(image.fd, command, whole)); member;
         member.reset(elf_begin(image.fd, command, whole))) {
      const Elf_Arhdr *const header = elf_getarhdr(member.get());
      const int64_t base = elf_getbase(member.get());
      if (header && base >= 0 && header->ar_size >= 0 &&
          static_cast<uint64_t>(base) <= image.size) {
        ObjectImage own = image;
        own.base = static_cast<uint64_t>(base);
        own.size = std::min(image.size - own.base, static_cast<uint64_t>(header->ar_size));
        add(member.get(), fmt::format("{}({})", path, header->ar_name ? header->ar_name : ""), own);
      }
      command = elf_next(member.get());
    }
    return out;
  }

private:
  ObjectReader(CoverageObject &out, FileBudget &budget, Diagnostics &diagnostics)
      : out_(out), diagnostics_(diagnostics), budget_(budget) {}

  // Returns false if the object has no mappings.
  bool read(Elf *elf, const ObjectImage &image) {
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
      return false;
    out_.layout_.big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    out_.layout_.pointer_size = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8;
    out_.layout_.version = RecordLayout::in_objects;
    out_.layout_.value_kinds = 3;
    size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
      return false;
    std::vector<std::string_view> units;
    std::vector<std::pair<std::string_view, uint64_t>> functions; // with their offsets in the file
    for (Elf_Scn *scn = nullptr; (scn = elf_nextscn(elf, scn)) != nullptr;) {
      GElf_Shdr section;
      const char *name = nullptr;
      if (!gelf_getshdr(scn, &section) || !(name = elf_strptr(elf, names, section.sh_name)))
        continue;
      const std::string_view word(name);
      if (section.sh_type == SHT_NOTE && word == ".note.gnu.build-id")
        read_build_id(content(section, image));
      if (word == "__llvm_prf_cnts") {
        out_.counters_address_ = section.sh_addr;
        out_.counters_size_ = section.sh_size;
      }
      if (word == "__llvm_prf_bits")
        out_.bitmaps_address_ = section.sh_addr;
      else if (word == "__llvm_covmap")
        units.push_back(content(section, image));
      else if (word == "__llvm_covfun")
        functions.emplace_back(content(section, image), image.base + section.sh_offset);
      else if (word == "__llvm_prf_names" || word == "__llvm_covnames")
        read_names_of(content(section, image));
      else if (word == "__llvm_covdata")
        out_.correlated_ = content(section, image);
    }
    if (units.empty() || functions.empty())
      return false;
    for (const std::string_view unit : units)
      read_units(unit);
    for (const auto &[function, offset] : functions)
      read_functions(function, offset);
    return true;
  }

  void damaged(std::string_view what) {
    diagnostics_.add(Severity::warning, fmt::format("{} are damaged: left out", what), out_.name_);
  }

  // Returns nothing for a section without content, one beyond the end of the file, or one of many
  // that overlap.
  std::string_view content(const GElf_Shdr &section, const ObjectImage &image) {
    if (section.sh_type == SHT_NOBITS || !budget_.take(section.sh_size))
      return {};
    return image.range(section.sh_offset, section.sh_size, out_.sections_);
  }

  void read_build_id(std::string_view note) {
    ByteCursor from(note, out_.layout_.big_endian);
    const uint32_t name_size = from.u32(), size = from.u32();
    from.u32();
    from.take(name_size);
    from.align(sizeof(uint32_t));
    for (const char byte : from.take(size))
      out_.build_id_ += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }

  void read_names_of(std::string_view section) {
    auto texts = read_name_texts(section);
    if (!texts)
      return damaged("the names of functions");
    for (std::string &text : *texts) {
      out_.name_texts_.push_back(std::make_shared<const std::string>(std::move(text)));
      if (!budget_.take(2 * out_.name_texts_.back()->size()))
        return damaged("the names of functions");
      const auto names = names_of_text(*out_.name_texts_.back());
      const auto hashes = md5_low(names);
      out_.names_.reserve(out_.names_.size() + names.size());
      for (size_t i = 0; i < names.size(); ++i)
        out_.names_.emplace(hashes[i], names[i]);
    }
  }

  // Each unit has a header, and the names of its files.
  void read_units(std::string_view section) {
    ByteCursor from(section, out_.layout_.big_endian);
    while (from.left() > 0) {
      from.u32();
      const uint32_t size = from.u32();
      from.u32();
      const uint32_t version = from.u32() + 1;
      const std::string_view names = from.take(size);
      if (from.failed())
        return damaged("the names of files");
      if (version < 4 || version > newest_mapping) {
        diagnostics_.add(Severity::warning,
                         fmt::format("has mappings of version {}: versions 4 to {} are read; "
                                     "left out",
                                     version, newest_mapping),
                         out_.name_);
      } else if (!read_files(names, version)) {
        damaged("the names of files");
      }
      from.take(std::min<size_t>((8 - from.offset() % 8) % 8, from.left()));
    }
  }

  bool read_files(std::string_view blob, uint32_t version) {
    ByteCursor from(blob);
    const uint64_t count = from.uleb128(), size = from.uleb128(), packed = from.uleb128();
    const auto text = read_packed(from, size, packed);
    if (!text || count > text->size() || text->size() > most_unpacked - unpacked_ ||
        !budget_.take(text->size() + count * sizeof(std::string)))
      return false;
    unpacked_ += text->size();
    ByteCursor names(*text);
    std::vector<std::string> files;
    for (uint64_t i = 0; i < count; ++i)
      files.emplace_back(names.take(names.uleb128()));
    if (names.failed())
      return false;
    out_.has_folders_ |= version >= 6;
    if (version >= 6 && !files.empty())
      for (size_t i = 1; i < files.size(); ++i) {
        if (!may_be_a_path(files[0]) || !may_be_a_path(files[i]) ||
            !budget_.take(files[0].size() + files[i].size()))
          return false;
        files[i] = path_of(files[i], files[0]);
      }
    out_.file_names_.emplace(md5_low(blob), std::move(files));
    return true;
  }

  // All units that include a header have its path.
  const std::string &path_of(const std::string &name, const std::string &folder) {
    const auto [at, added] = paths_.try_emplace(folder + '\0' + name);
    if (added)
      at->second = source_path(name, folder);
    return at->second;
  }

  void read_functions(std::string_view section, uint64_t section_offset) {
    ByteCursor from(section, out_.layout_.big_endian);
    while (from.left() > 0) {
      MappingRecord record;
      record.name_hash = from.u64_whole();
      const uint32_t size = from.u32();
      record.function_hash = from.u64_whole();
      record.files_key = from.u64_whole();
      record.offset = section_offset + from.offset();
      record.mapping = from.take(size);
      if (from.failed())
        return damaged("the mappings of functions");
      from.take(std::min<size_t>((8 - from.offset() % 8) % 8, from.left()));
      out_.records_.push_back(record);
    }
  }

  CoverageObject &out_;
  Diagnostics &diagnostics_;
  FileBudget &budget_;  // of sections, names and paths
  size_t unpacked_ = 0; // bytes of the names of files
  SeededMap<std::string, std::string> paths_;
};

std::vector<CoverageObject> CoverageObject::read(const std::string &path,
                                                 Diagnostics &diagnostics) {
  const auto file = open_found(path);
  if (!file || elf_version(EV_CURRENT) == EV_NONE)
    return {};
  const int fd = file->fd.get();
  const ElfHandle whole(elf_begin(fd, ELF_C_READ, nullptr));
  return ObjectReader::read_all(whole.get(),
                                {.fd = fd, .size = static_cast<uint64_t>(file->status.st_size)},
                                path, diagnostics);
}

std::vector<CoverageObject> CoverageObject::read(std::string_view bytes, const std::string &path,
                                                 Diagnostics &diagnostics) {
  if (elf_version(EV_CURRENT) == EV_NONE ||
      (!bytes.starts_with(ELFMAG) && !bytes.starts_with(ARMAG)))
    return {};
  // elf_memory() does not write to the file's bytes.
  const ElfHandle whole(elf_memory(const_cast<char *>(bytes.data()), bytes.size()));
  return ObjectReader::read_all(whole.get(), {.bytes = bytes, .size = bytes.size()}, path,
                                diagnostics);
}

std::set<std::string> CoverageObject::sources() const {
  std::set<std::string> out;
  for (const auto &[key, files] : file_names_)
    // From version 6 on, the first one is the compiler's working directory.
    for (size_t i = has_folders_ && !files.empty() ? 1 : 0; i < files.size(); ++i)
      out.insert(files[i]);
  return out;
}

Result<std::vector<CounterRecord>> CoverageObject::correlate(const ProfileImage &image) const {
  RecordLayout layout = layout_;
  layout.has_byte_counters = image.has_byte_counters;
  CounterSections sections;
  sections.counters = image.counters;
  sections.bitmaps = image.bitmaps;
  sections.counters_delta = counters_address_;
  sections.bitmaps_delta = bitmaps_address_;
  return read_records(correlated_, layout, sections, name_, 0);
}

} // namespace tally::llvm
