#include "collect/agent_library.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/agent.h"
#include "support/found_file.h"
#include "support/read_at.h"
#include "support/unique_fd.h"

#ifndef TALLY_LIBDIR_FROM_BINDIR // set by the build
#define TALLY_LIBDIR_FROM_BINDIR "../lib"
#endif

namespace tally {

namespace {

std::string real_path(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : "";
  std::free(real);
  return result;
}

// Returns the directory of libtally.so, or of the program that contains this code.
std::string folder_of_this_code() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void *>(&find_agent_library), &info) == 0 || !info.dli_fname)
    return "";
  // The dynamic linker names the program as it was called, which need not be a path from here.
  const bool is_program = std::strcmp(info.dli_fname, program_invocation_name) == 0;
  const std::string path = real_path(is_program ? "/proc/self/exe" : info.dli_fname);
  return path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
}

std::string machine_name(uint16_t machine) {
  switch (machine) {
  case EM_386:
    return "32-bit x86";
  case EM_X86_64:
    return "x86-64";
  case EM_ARM:
    return "32-bit ARM";
  case EM_AARCH64:
    return "aarch64";
  default:
    return fmt::format("machine {}", machine);
  }
}

// The first bytes of a file and its mode. at() reads a structure from these bytes, if they contain
// all of it.
struct Head {
  std::vector<char> bytes;
  mode_t mode = 0;

  static std::string read(const std::string &path, Head &head) {
    const auto file = open_found(path);
    if (!file)
      return fmt::format("{} cannot be read", path);
    head.mode = file->status.st_mode;
    head.bytes.resize(65536);
    head.bytes.resize(read_at(file->fd.get(), head.bytes.data(), head.bytes.size(), 0).size);
    return "";
  }
  template <class T> bool at(uint64_t offset, T &value) const {
    if (offset > bytes.size() || bytes.size() - offset < sizeof value)
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return true;
  }
};

std::string why_elf_cannot(const std::string &path, const Head &head) {
  Elf64_Ehdr elf{};
  Elf64_Ehdr own{};
#if defined(__aarch64__)
  own.e_machine = EM_AARCH64;
#else
  own.e_machine = EM_X86_64;
#endif
  if (!head.at(0, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0)
    return fmt::format("{} is not a program that can load the agent (not ELF)", path);
  if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != own.e_machine)
    return fmt::format("{} is for {}, but the agent is for {}", path, machine_name(elf.e_machine),
                       machine_name(own.e_machine));
  for (uint32_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!head.at(elf.e_phoff + uint64_t{i} * sizeof segment, segment))
      return ""; // the program headers lie beyond the bytes read, which is unusual: try to load
    if (segment.p_type == PT_INTERP)
      return "";
  }
  return fmt::format("{} is linked statically: it cannot preload a library", path);
}

std::string interpreter_of_script(const Head &head) {
  const std::string line(head.bytes.begin(), std::find(head.bytes.begin(), head.bytes.end(), '\n'));
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == line.npos)
    return "";
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

} // namespace

std::string why_agent_cannot_load(const std::string &path) {
  std::string name = path;
  for (int depth = 0; depth < 4; ++depth) {
    Head head;
    if (std::string reason = Head::read(name, head); !reason.empty())
      return reason;
    if ((head.mode & (S_ISUID | S_ISGID)) != 0 && depth == 0)
      return fmt::format("{} is set-user-ID or set-group-ID: it cannot preload a library", name);
    if (head.bytes.size() < 2 || head.bytes[0] != '#' || head.bytes[1] != '!')
      return why_elf_cannot(name, head);
    name = interpreter_of_script(head);
    if (name.empty())
      return fmt::format("{} is a script that names no interpreter", path);
  }
  return fmt::format("{} is a script whose interpreters are scripts, nested too deeply", path);
}

Result<std::string> find_agent_library(const std::string &given) {
  std::vector<std::string> candidates;
  if (!given.empty()) {
    candidates.push_back(given);
  } else if (const char *named = std::getenv("TALLY_AGENT_LIBRARY"); named && *named) {
    candidates.emplace_back(named);
  } else if (const std::string folder = folder_of_this_code(); !folder.empty()) {
    // The first two paths are those of an installed library, seen from libtally.so and from the
    // programs. The other two are those in a build directory, likewise.
    for (const char *below :
         {"tally", TALLY_LIBDIR_FROM_BINDIR "/tally", "src/agent", "../src/agent"})
      candidates.push_back(fmt::format("{}/{}/{}", folder, below, agent_library_name));
  }
  std::string looked;
  for (const std::string &candidate : candidates) {
    const std::string path = real_path(candidate);
    if (!path.empty() && ::access(path.c_str(), R_OK) == 0) {
      // LD_PRELOAD separates its entries by these two characters and has no quoting.
      if (path.find_first_of(": ") != path.npos)
        return fail(ErrorCode::unsupported,
                    "the agent's path contains a space or a colon, which LD_PRELOAD cannot express",
                    path);
      return path;
    }
    looked += (looked.empty() ? "" : ", ") + candidate;
  }
  return fail(ErrorCode::not_found,
              fmt::format("the agent's library does not exist (looked for {}): set "
                          "TALLY_AGENT_LIBRARY to its path",
                          looked.empty() ? agent_library_name : looked));
}

} // namespace tally
