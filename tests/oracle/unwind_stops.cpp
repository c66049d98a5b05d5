// Unwinds the stops that gdb_frames_test.py recorded: the process's maps, and for each stop the
// registers in DWARF's order and the stack from rsp on, in hexadecimal. Prints for each stop how
// the stack ended (a StackEnd) and its pcs.
#include <charconv>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/unwinder.h"
#include "stacks/address_space.h"

using namespace tally;

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  std::ifstream maps(argv[1]), stops(argv[2]);
  const int pid = std::stoi(argv[3]);
  const auto unwinder = make_unwinder();
  AddressSpace space;
  std::vector<ModuleId> modules;
  for (const CodeRange &range : parse_maps(std::string{std::istreambuf_iterator<char>(maps), {}})) {
    space.map(range);
    modules.push_back(unwinder->module({range.path, {}, range.device, range.inode, pid}));
  }
  std::string line;
  while (std::getline(stops, line)) {
    std::istringstream words(line);
    UnwindInput input;
    words >> std::hex;
    for (uint64_t &value : std::span(input.registers.value).first(17))
      words >> value;
    std::string text;
    words >> text;
    std::vector<std::byte> stack(text.size() / 2);
    for (size_t i = 0; i < stack.size(); ++i) {
      unsigned char byte = 0;
      std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, byte, 16);
      stack[i] = static_cast<std::byte>(byte);
    }
    if (!words || stack.empty())
      return 2;
    input.stack = stack;
    input.mapping_of_pc = [&](uint64_t pc) -> std::optional<CodeMapping> {
      const uint32_t found = space.find(pc);
      if (found == AddressSpace::nowhere)
        return std::nullopt;
      const CodeRange &range = space.ranges()[found];
      return CodeMapping{modules[found], range.start, range.limit, range.file_offset};
    };
    std::vector<uint64_t> pcs;
    const StackEnd end = unwinder->unwind(input, pcs);
    fmt::print("{} {:x}\n", static_cast<int>(end), fmt::join(pcs, " "));
  }
  return 0;
}
