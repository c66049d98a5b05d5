#include "symbolize/module_file.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "model/kept_files.h"
#include "model/kernel_code.h"
#include "support/path.h"

namespace tally::symbolize {

namespace {

constexpr std::string_view deleted_suffix = " (deleted)";

std::string folder_of(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string real_path(const std::string &path) {
  std::unique_ptr<char, void (*)(void *)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

struct Candidate {
  enum class Place : uint8_t { machine, kept, sysroot, named };
  std::string path;
  bool deleted = false; // the file of this name was deleted: the name alone proves nothing
  Place place = Place::machine;
};

// Returns whether a file on disk is the one that was mapped.
bool is_mapped_file(const ElfFile &file, const ModuleKey &key, const Candidate &candidate) {
  if (!key.build_id.empty())
    return file.build_id() == key.build_id;
  if (candidate.place == Candidate::Place::kept) // by device and inode
    return true;
  if (candidate.place == Candidate::Place::named)
    return base_name(candidate.path) == base_name(key.path);
  if (key.inode == 0 || candidate.place == Candidate::Place::sysroot)
    return !candidate.deleted;
  const FileIdentity &identity = file.identity();
  if (identity.inode != key.inode)
    return false;
  return key.device == 0 || is_same_device(key.device, identity.device);
}

// Returns the path at which perf keeps its copy of a recorded file, by build ID; see
// perf-buildid-cache(1).
std::string file_kept_by_perf(const std::string &build_id) {
  const char *home = std::getenv("HOME");
  if (!home)
    return {};
  return fmt::format("{}/.debug/.build-id/{}/{}/elf", home, build_id.substr(0, 2),
                     build_id.substr(2));
}

std::vector<Candidate> candidates(const ModuleKey &key, const ModuleSources &sources) {
  std::string path = key.path;
  bool deleted = false;
  std::vector<Candidate> all;
  for (const std::string &file : sources.files)
    all.push_back({file, false, Candidate::Place::named});
  if (!sources.sysroot.empty() && path.starts_with("/"))
    all.push_back({sources.sysroot + path, false, Candidate::Place::sysroot});
  if (!sources.sysroot.empty() && key.build_id.empty())
    return all;
  if (path.ends_with(deleted_suffix)) {
    all.push_back({path, false}); // a file's name may really end with the suffix
    path.resize(path.size() - deleted_suffix.size());
    deleted = true;
  }
  const std::string process = fmt::format("/proc/{}", key.pid);
  // For a process in a container, the same path names another file here.
  if (key.pid > 0 && path.starts_with("/"))
    all.push_back({process + "/root" + path, deleted});
  all.push_back({path, deleted});
  if (key.pid > 0 && (key.inode || !key.build_id.empty()))
    all.push_back({process + "/exe", false});
  if (key.pid == 0 && key.build_id.size() > 2)
    if (std::string kept = file_kept_by_perf(key.build_id); !kept.empty())
      all.push_back({std::move(kept), false});
  return all;
}

class DebugFileSearch {
public:
  DebugFileSearch(const ElfFile &main, ModuleFiles &files, Diagnostics &diagnostics)
      : main_(main), files_(files), diagnostics_(diagnostics) {}

  void run(const std::vector<std::string> &of_machine, const ModuleSources &sources) {
    const std::string &id = files_.build_id;
    for (const std::string &named : sources.files)
      if (may_be_debug_file(named) && take(named, link_crc()))
        return;
    std::vector<std::string> directories;
    if (!sources.sysroot.empty())
      for (const std::string &directory : of_machine)
        directories.push_back(sources.sysroot + directory);
    directories.insert(directories.end(), of_machine.begin(), of_machine.end());
    for (const std::string &directory : directories) {
      if (id.size() > 2 &&
          take(fmt::format("{}/.build-id/{}/{}.debug", directory, id.substr(0, 2), id.substr(2)),
               std::nullopt))
        return;
    }
    const auto link = main_.debug_link();
    if (!link)
      return;
    std::vector<std::string> folders = {folder_of(files_.main)};
    for (const std::string &path : {files_.name, real_path(files_.main)}) {
      if (folder_of(path) != folders.back())
        folders.push_back(folder_of(path));
    }
    for (const std::string &folder : folders) {
      for (const char *between : {"/", "/.debug/"}) {
        if (take(folder + between + link->first, link->second))
          return;
      }
      for (const std::string &directory : directories) {
        if (folder.starts_with("/") && take(directory + folder + "/" + link->first, link->second))
          return;
      }
    }
  }

private:
  std::optional<uint32_t> link_crc() const {
    const auto link = main_.debug_link();
    return link ? std::optional(link->second) : std::nullopt;
  }

  // Returns whether a file that was named for any module is that of this one.
  bool may_be_debug_file(const std::string &path) const {
    const auto file = ElfFile::open(path);
    if (!file)
      return false;
    const auto link = main_.debug_link();
    return files_.build_id.empty() ? link && base_name(path) == link->first
                                   : file->build_id() == files_.build_id;
  }

  // Accepts a debug file by build ID if both files have one: the build ID is more reliable than the
  // CRC, and does not require reading the whole file.
  bool take(const std::string &path, std::optional<uint32_t> crc) {
    const auto identity = identify(path);
    if (!identity || (identity->device == files_.main_identity.device &&
                      identity->inode == files_.main_identity.inode))
      return false;
    auto file = ElfFile::open(path);
    if (!file)
      return false;
    const std::string id = file->build_id();
    const bool matches = files_.build_id.empty() || id.empty() ? crc && file_crc32(path) == crc
                                                               : id == files_.build_id;
    if (!matches) {
      diagnostics_.add(Severity::warning, "is not the debug file of " + files_.name, path);
      return false;
    }
    files_.debug_has_dwarf = file->has_dwarf();
    if (!files_.debug_has_dwarf && !file->has_section(".symtab"))
      return false;
    files_.debug = path;
    files_.debug_identity = file->identity();
    return true;
  }

  const ElfFile &main_;
  ModuleFiles &files_;
  Diagnostics &diagnostics_;
};

} // namespace

static std::optional<ElfFile> open_as(const std::string &path, const FileIdentity &identity) {
  if (path.empty())
    return std::nullopt;
  auto file = ElfFile::open(path);
  if (!file || file->identity() != identity)
    return std::nullopt;
  return std::move(*file);
}

std::optional<ElfFile> ModuleFiles::open_main() const {
  if (!vdso)
    return open_as(main, main_identity);
  auto image = ElfFile::open_vdso();
  return image ? std::optional(std::move(*image)) : std::nullopt;
}

std::optional<ElfFile> ModuleFiles::open_debug() const { return open_as(debug, debug_identity); }

// The places are those of GDB, beside the program and in the debug directories, and beside the
// debug file.
std::vector<std::string>
ModuleFiles::packages(const std::vector<std::string> &debug_directories) const {
  constexpr std::string_view debug_suffix = ".debug";
  std::vector<std::string> paths;
  const auto add = [&](const std::string &of) {
    if (!of.empty() && std::find(paths.begin(), paths.end(), of + ".dwp") == paths.end())
      paths.push_back(of + ".dwp");
  };
  add(name);
  add(real_path(name));
  add(main);
  add(debug);
  if (debug.ends_with(debug_suffix))
    add(debug.substr(0, debug.size() - debug_suffix.size()));
  for (const std::string &directory : debug_directories)
    add(directory + "/" + name.substr(name.rfind('/') + 1));
  return paths;
}

std::optional<uint64_t> ModuleFiles::link_address(uint64_t file_offset) const {
  // Whole pages are mapped. If a segment begins inside a page (LLVM's linker creates such
  // segments), the part of the page before the segment is mapped, too.
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const Segment &segment : code) {
    const bool before = file_offset < segment.offset && file_offset >= segment.offset / page * page;
    if (before || (file_offset >= segment.offset && file_offset - segment.offset < segment.size))
      return segment.address + (file_offset - segment.offset);
  }
  return std::nullopt;
}

namespace {

// Reports a named file, or one below the sysroot, that is not used although it should be.
void report_unused(const Candidate &candidate, const ElfFile &file, const ModuleKey &key,
                   Diagnostics &diagnostics) {
  if (base_name(candidate.path) == base_name(key.path) && file.build_id() != key.build_id)
    diagnostics.add(
        Severity::warning,
        fmt::format("is not used for {}, which has the build ID {}: this file {}", key.path,
                    key.build_id,
                    file.build_id().empty() ? "has none" : "has " + std::string(file.build_id())),
        candidate.path);
}

bool has_code(const std::vector<Segment> &segments) {
  return std::ranges::any_of(segments, [](const Segment &segment) { return segment.size > 0; });
}

} // namespace

ModuleFiles find_files(const ModuleKey &key, const std::vector<std::string> &debug_directories,
                       Diagnostics &diagnostics, MappedFiles &mapped,
                       const ModuleSources &sources) {
  ModuleFiles files;
  files.name = key.path;
  if (key.path == kernel_object) // the kernel has no file here; KernelSymbols names its functions
    return files;
  if (key.path == "[vdso]") {
    auto image = ElfFile::open_vdso();
    if (!image) {
      diagnostics.add(Severity::note, image.error().message, key.path);
      return files;
    }
    // Another kernel has another vdso.
    if (!key.build_id.empty() && image->build_id() != key.build_id) {
      diagnostics.add(Severity::warning,
                      "does not belong to this kernel, so its functions have no names", key.path);
      return files;
    }
    files.vdso = true;
    files.build_id = image->build_id();
    files.code = image->code_segments();
    return files;
  }
  if (key.path.empty() || key.path[0] == '[' || key.path.starts_with("//")) {
    diagnostics.add(Severity::note, "no file is mapped at these addresses, so they have no names",
                    key.path.empty() ? "[anonymous]" : key.path);
    return files;
  }

  std::optional<Error> first_error;
  bool replaced = false, is_debug_only = false;
  std::vector<Candidate> all = candidates(key, sources);
  if (key.pid > 0) // a process of this machine
    files.kept = kept_file(key.device, key.inode);
  if (files.kept)
    all.push_back({files.kept->path(), false, Candidate::Place::kept});
  // Looked at last, because it takes a look at all mappings.
  bool may_ask_for_mapping =
      key.pid > 0 && key.inode != 0 && (sources.sysroot.empty() || !key.build_id.empty());
  const bool may_not_answer = mapped.file_systems().may_not_answer(key.pid, key.device, key.path);
  if (may_not_answer)
    first_error = Error{ErrorCode::unsupported,
                        "is in a file system of a program (FUSE), which may not answer", key.path};
  for (size_t i = 0;; ++i) {
    if (i == all.size() && std::exchange(may_ask_for_mapping, false))
      if (std::string path = mapped.path_of(key.pid, key.device, key.inode); !path.empty())
        all.push_back({std::move(path), false});
    if (i == all.size())
      break;
    const Candidate &candidate = all[i];
    const bool is_of_machine =
        candidate.place == Candidate::Place::machine || candidate.place == Candidate::Place::kept;
    if (candidate.place == Candidate::Place::machine && may_not_answer)
      continue;
    auto file = ElfFile::open(candidate.path);
    if (!file && candidate.place == Candidate::Place::named) {
      diagnostics.add(Severity::warning, file.error().message, candidate.path, file.error().where,
                      candidate.path);
      continue;
    }
    if (!file) {
      // The error for the caller's own path has precedence in the report.
      if (!first_error || candidate.path == key.path)
        first_error = file.error();
      continue;
    }
    if (!is_mapped_file(*file, key, candidate)) {
      replaced |= is_of_machine;
      if (!is_of_machine)
        report_unused(candidate, *file, key, diagnostics);
      continue;
    }
    if (candidate.place == Candidate::Place::named && !has_code(file->code_segments())) {
      is_debug_only = true;
      continue;
    }
    files.main_identity = file->identity();
    // A path through /proc ends with the process, but the file may be read later.
    files.main = identify(key.path) == files.main_identity ? key.path : candidate.path;
    if (files.name.ends_with(deleted_suffix) && candidate.path != files.name)
      files.name.resize(files.name.size() - deleted_suffix.size());
    files.build_id = file->build_id();
    files.code = file->code_segments();
    files.main_has_dwarf = file->has_dwarf();
    if (!files.main_has_dwarf)
      DebugFileSearch(*file, files, diagnostics).run(debug_directories, sources);
    return files;
  }
  std::string why = replaced ? "was replaced on disk after it was mapped"
                    : first_error
                        ? first_error->message
                        : std::string("is not among the files of --symbols and --sysroot");
  if (is_debug_only)
    why += ", and its debug file alone does not tell where its code was";
  diagnostics.add(Severity::warning,
                  why + ", so its functions have no names" +
                      (sources.remedy.empty() ? "" : fmt::format(" ({})", sources.remedy)),
                  key.path);
  return files;
}

} // namespace tally::symbolize
