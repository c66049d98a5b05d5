#include "symbolize/debugdata.h"

#include <algorithm>
#include <vector>

#ifdef TALLY_WITH_LZMA
#include <lzma.h>
#endif

namespace tally::symbolize {

#ifdef TALLY_WITH_LZMA

namespace {

constexpr size_t most_debugdata = size_t{64} << 20; // unpacked; that of a browser has 20 MB
constexpr uint64_t most_lzma_memory = uint64_t{128} << 20;

std::optional<std::vector<char>> unpack_xz(std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, most_lzma_memory, 0) != LZMA_OK)
    return std::nullopt;
  stream.next_in = reinterpret_cast<const uint8_t *>(packed.data());
  stream.avail_in = packed.size();
  std::vector<char> out;
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK && out.size() < most_debugdata) {
    const size_t before = out.size();
    out.resize(std::min(most_debugdata, std::max<size_t>(1 << 16, before * 2)));
    stream.next_out = reinterpret_cast<uint8_t *>(out.data() + before);
    stream.avail_out = out.size() - before;
    status = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  return status == LZMA_STREAM_END ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace

std::optional<ElfFile> open_debugdata(const ElfFile &file) {
  Elf_Scn *section = file.section(".gnu_debugdata");
  Elf_Data *data = section ? elf_rawdata(section, nullptr) : nullptr;
  if (!data || !data->d_buf)
    return std::nullopt;
  auto unpacked = unpack_xz({static_cast<const char *>(data->d_buf), data->d_size});
  if (!unpacked)
    return std::nullopt;
  auto opened = ElfFile::of_image(std::move(*unpacked), ".gnu_debugdata");
  // Its addresses are those of the file only if it belongs to it.
  if (!opened || opened->machine() != file.machine() || !opened->has_section(".symtab") ||
      (!opened->build_id().empty() && opened->build_id() != file.build_id()))
    return std::nullopt;
  return std::move(*opened);
}

#else

std::optional<ElfFile> open_debugdata(const ElfFile &) { return std::nullopt; }

#endif

} // namespace tally::symbolize
