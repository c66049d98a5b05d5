#include "symbolize/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

namespace {

constexpr const char *kallsyms = "/proc/kallsyms";

std::string content_of(const char *path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the build ID of the running kernel, or an empty string if it is unknown.
std::string own_build_id() {
  const std::string notes = content_of("/sys/kernel/notes");
  const auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t description = name + padded(note.n_namesz);
    at = description + padded(note.n_descsz);
    if (at > notes.size())
      break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string_view("GNU\0", 4)) == 0)
      return to_hex(notes.data() + description, note.n_descsz);
  }
  return {};
}

} // namespace

Result<KernelSymbols> KernelSymbols::read() {
  KernelSymbols symbols(content_of(kallsyms));
  if (symbols.size() > 1)
    return symbols;
  return fail(ErrorCode::unsupported,
              "hides the addresses of the kernel's functions from this user: set "
              "kernel.kptr_restrict to 0 and be root, or set kernel.perf_event_paranoid to 1",
              kallsyms);
}

KernelSymbols::KernelSymbols(std::string text) : text_(text.begin(), text.end()) {
  std::string_view rest(text_.data(), text_.size());
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    KernelSymbol symbol;
    const auto [end, error] =
        std::from_chars(line.data(), line.data() + line.size(), symbol.address, 16);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    if (error != std::errc{} || line.size() < 4 || line[0] != ' ' || line[2] != ' ')
      continue;
    const char type = line[1];
    symbol.name = line.substr(3, line.find('\t', 3) - 3);
    if (line.find('\t') != line.npos)
      symbol.module = line.substr(line.find('\t') + 1);
    if (symbol.address == 0 || !std::strchr("tTwW", type))
      continue;
    if (symbol.name == "_text" || symbol.name == "_stext")
      texts_.push_back(symbol.address);
    symbols_.push_back(symbol);
  }
  std::ranges::stable_sort(symbols_, {}, &KernelSymbol::address);
}

const KernelSymbol *KernelSymbols::at(uint64_t address) const {
  const auto next = std::ranges::upper_bound(symbols_, address, {}, &KernelSymbol::address);
  return next == symbols_.begin() ? nullptr : &*std::prev(next);
}

bool KernelSymbols::are_of(std::string_view build_id, uint64_t text_address) const {
  return std::ranges::find(texts_, text_address) != texts_.end() &&
         (build_id.empty() || build_id == own_build_id());
}

} // namespace tally::symbolize
