#include "session/stop_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <elf.h>

#include <fmt/format.h>

#include "collect/proc_info.h"
#include "session/tracee.h"
#include "stacks/address_space.h"
#include "support/found_file.h"
#include "support/read_at.h"
#include "support/unique_fd.h"

namespace tally {

namespace {

using Code = std::array<uint8_t, 2 * sizeof(uint64_t)>;
static_assert(std::tuple_size_v<Code> > StopAddresses::longest_instruction);

std::span<const uint8_t> code_of_process(pid_t pid, uint64_t address, Code &code) {
  size_t got = 0;
  uint64_t word = 0;
  for (; pid != 0 && got < code.size() && read_word(pid, address + got, word); got += sizeof word)
    std::memcpy(code.data() + got, &word, sizeof word);
  return std::span(code).first(got);
}

std::span<const uint8_t> code_of_file(const BreakpointLocation &location, Code &code) {
  const auto file = open_found(location.file);
  return std::span(code).first(
      file ? read_at(file->fd.get(), code.data(), code.size(), location.address).size : 0);
}

// Returns the file and offset of a run-time address. Code is read from the file, because in memory
// the breakpoint may already have replaced the instruction.
std::optional<BreakpointLocation> in_file(uint64_t address, std::span<const CodeRange> ranges) {
  for (const CodeRange &range : ranges)
    if (range.start <= address && address < range.limit && range.path.starts_with('/'))
      return BreakpointLocation{range.path, range.file_offset + (address - range.start)};
  return std::nullopt;
}

} // namespace

void add_stops(StopAddresses &stops, pid_t pid, std::span<const BreakpointLocation> locations) {
  std::vector<CodeRange> ranges;
  if (pid != 0 &&
      std::ranges::any_of(locations, [](const auto &each) { return each.file.empty(); }))
    if (const auto maps = read_small_file(fmt::format("/proc/{}/maps", pid)))
      ranges = parse_maps(*maps);
  for (const BreakpointLocation &location : locations) {
    Code code;
    if (!location.file.empty())
      stops.add(location, code_of_file(location, code));
    else if (const auto found = in_file(location.address, ranges))
      stops.add(location, code_of_file(*found, code));
    else
      stops.add(location, code_of_process(pid, location.address, code));
  }
}

void note_step_area(StopAddresses &stops, pid_t pid) {
  constexpr uint64_t longest_copy = 32;
  if (const uint64_t entry = auxiliary_value(pid, AT_ENTRY); entry != 0)
    stops.set_step_area(entry, entry + longest_copy);
}

} // namespace tally
