#include "symbolize/core_file.h"

#include <algorithm>
#include <memory>

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "support/byte_cursor.h"
#include "support/file_budget.h"
#include "support/found_file.h"
#include "support/sort.h"
#include "support/unique_fd.h"

namespace tally::symbolize {

namespace {

constexpr size_t most_frames_in_core = 1024; // of a thread

int no_debuginfo(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *,
                 GElf_Word, char **) {
  return -1;
}

} // namespace

Result<CoreFile> CoreFile::open(const std::string &path) {
  TALLY_TRY(file, ElfFile::open(path, Holes::many));
  GElf_Ehdr header;
  if (!gelf_getehdr(file.elf(), &header) || header.e_type != ET_CORE)
    return fail(ErrorCode::invalid_input, "is not a core file", path);
  CoreFile core(std::move(file), path);
  FileBudget budget(core.file_.size());
  size_t count = 0;
  if (elf_getphdrnum(core.file_.elf(), &count) != 0)
    return fail(ErrorCode::invalid_input, "has no program headers", path);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (!gelf_getphdr(core.file_.elf(), static_cast<int>(i), &part))
      break;
    if (part.p_type == PT_LOAD && part.p_filesz > 0 && part.p_offset <= INT64_MAX &&
        part.p_filesz <= INT64_MAX - part.p_offset && part.p_filesz <= UINT64_MAX - part.p_vaddr)
      core.pieces_.push_back({part.p_vaddr, part.p_filesz, part.p_offset});
    if (part.p_type != PT_NOTE || part.p_offset > INT64_MAX || !budget.take(part.p_filesz))
      continue;
    Elf_Data *const notes =
        elf_getdata_rawchunk(core.file_.elf(), static_cast<int64_t>(part.p_offset), part.p_filesz,
                             part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name = 0, content = 0;
    for (size_t at = 0; notes && (at = gelf_getnote(notes, at, &note, &name, &content)) > 0;)
      if (note.n_type == NT_FILE && core.mappings_.empty()) // the kernel writes one
        core.read_mappings({static_cast<const char *>(notes->d_buf) + content, note.n_descsz});
  }
  sort_stably(core.pieces_, {}, &Piece::start);
  return core;
}

// The note holds the number of mappings, the size of a page, for each mapping its addresses and its
// offset in pages, and then the paths (fs/binfmt_elf.c in Linux).
void CoreFile::read_mappings(std::string_view note) {
  ByteCursor cursor(note, is_big_endian());
  const uint64_t word = file_.pointer_size();
  const auto number = [&] { return word == 4 ? cursor.u32() : cursor.u64_whole(); };
  const uint64_t count = number(), page = number();
  if (cursor.failed() || count > cursor.left() / (3 * word))
    return;
  const size_t first = mappings_.size();
  for (uint64_t i = 0; i < count; ++i) {
    Mapping &mapping = mappings_.emplace_back();
    mapping.start = number();
    mapping.end = number();
    mapping.file_offset = number() * page;
  }
  std::string_view paths = cursor.take(cursor.left());
  for (size_t i = first; i < mappings_.size(); ++i) {
    const size_t end = std::min(paths.find('\0'), paths.size());
    mappings_[i].path = paths.substr(0, end);
    paths.remove_prefix(std::min(end + 1, paths.size()));
  }
}

bool CoreFile::read(uint64_t address, std::span<std::byte> to) const {
  while (!to.empty()) {
    auto piece = std::ranges::upper_bound(pieces_, address, {}, &Piece::start);
    if (piece == pieces_.begin())
      return false;
    --piece;
    const uint64_t within = address - piece->start;
    if (within >= piece->size)
      return false;
    const size_t size = std::min<uint64_t>(to.size(), piece->size - within);
    if (!file_.read_at(piece->file_offset + within, to.first(size)))
      return false;
    to = to.subspan(size);
    address += size;
  }
  return true;
}

std::vector<CoreFile::Thread> CoreFile::threads(const std::string &program) const {
  std::vector<Thread> out;
  // The core and the program say where separate debug information is, and libdwfl would open
  // anything there; the unwind data of the program itself suffice. It opens what is mapped, too.
  if (!may_be_opened(program) || !std::ranges::all_of(mappings_, may_be_opened, &Mapping::path))
    return out;
  static const Dwfl_Callbacks callbacks{.find_elf = dwfl_build_id_find_elf,
                                        .find_debuginfo = no_debuginfo,
                                        .section_address = nullptr,
                                        .debuginfo_path = nullptr};
  // libdwfl changes the ELF descriptor that it is given, so it gets one of its own.
  const auto file = open_found(path_, Holes::many);
  const std::unique_ptr<Elf, int (*)(Elf *)> elf(
      file ? elf_begin(file->fd.get(), ELF_C_READ, nullptr) : nullptr, elf_end);
  const std::unique_ptr<Dwfl, void (*)(Dwfl *)> dwfl(dwfl_begin(&callbacks), dwfl_end);
  if (!elf || !dwfl)
    return out;
  if (dwfl_core_file_report(dwfl.get(), elf.get(), program.empty() ? nullptr : program.c_str()) <=
          0 ||
      dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0 ||
      dwfl_core_file_attach(dwfl.get(), elf.get()) < 0)
    return out;
  const auto visit_frame = [](Dwfl_Frame *frame, void *to) -> int {
    auto &pcs = *static_cast<std::vector<uint64_t> *>(to);
    Dwarf_Addr pc = 0;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation))
      return DWARF_CB_ABORT;
    pcs.push_back(is_activation || pcs.empty() ? pc : pc - 1);
    return pcs.size() < most_frames_in_core ? DWARF_CB_OK : DWARF_CB_ABORT;
  };
  const auto visit_thread = [](Dwfl_Thread *thread, void *to) -> int {
    auto &[threads, frames] =
        *static_cast<std::pair<std::vector<Thread> *, int (*)(Dwfl_Frame *, void *)> *>(to);
    Thread &added = threads->emplace_back();
    added.tid = dwfl_thread_tid(thread);
    dwfl_thread_getframes(thread, frames, &added.pcs); // it may fail after some frames
    return DWARF_CB_OK;
  };
  std::pair<std::vector<Thread> *, int (*)(Dwfl_Frame *, void *)> to(&out, visit_frame);
  dwfl_getthreads(dwfl.get(), visit_thread, &to);
  return out;
}

} // namespace tally::symbolize
