#include "live/file_backed.h"

#include <string_view>

namespace tally::live {

namespace {

// Returns whether the memory holds the same build ID as the file. If either is not known, the file
// is trusted: a build ID is an option of the linker.
bool is_same_build(const symbolize::ElfFile &file, uint64_t bias, Memory &memory) {
  for (const symbolize::Section &section : file.loaded_sections()) {
    if (section.name != ".note.gnu.build-id" || section.size > 256)
      continue;
    std::string here(section.size, '\0'), there(section.size, '\0');
    if (file.read_constants(section.address, std::as_writable_bytes(std::span(here))) &&
        memory.read(section.address + bias, std::as_writable_bytes(std::span(there))))
      return here == there;
  }
  return true;
}

} // namespace

std::optional<LoadedModule> FileBackedMemory::add(const std::string &path, uint64_t bias,
                                                  Diagnostics &diagnostics) {
  auto file = symbolize::ElfFile::open(path);
  if (!file)
    return std::nullopt;
  if (!is_same_build(*file, bias, rest_)) {
    diagnostics.add(Severity::warning, "is of another build than the one that the program loaded",
                    path);
    return std::nullopt;
  }
  LoadedModule module;
  module.key.path = path;
  module.bias = bias;
  module.places = find_places(*file);
  files_.push_back({std::move(*file), bias});
  return module;
}

bool FileBackedMemory::read(uint64_t address, std::span<std::byte> to) {
  for (const File &file : files_)
    if (file.elf.read_constants(address - file.bias, to))
      return true;
  return rest_.read(address, to);
}

} // namespace tally::live
