#include "source_view.h"

#include <algorithm>
#include <cstdlib>

#include "interpreter.h"

namespace tally_lldb {

namespace {

constexpr uint64_t longest_x86_instruction = 15; // bytes
// `source list -l` begins at the line given, so the listing starts some lines earlier.
constexpr unsigned long lines_before = 5, lines_shown = 10;

std::string command_for(Act act, const Words &words) {
  const std::string &file = words[0], &location = words[1];
  if (act == Act::set_breakpoint)
    return file.empty() ? "breakpoint set -a " + location
                        : "breakpoint set -f " + as_word(file) + " -l " + location;
  const unsigned long line = std::strtoul(location.c_str(), nullptr, 10);
  return "source list -f " + as_word(file) + " -l " +
         std::to_string(line - std::min(line - 1, lines_before)) + " -c " +
         std::to_string(lines_shown);
}

} // namespace

std::string text_of(lldb::SBInstruction instruction, lldb::SBTarget &target) {
  std::string out;
  for (const char *const part : {instruction.GetMnemonic(target), instruction.GetOperands(target)})
    if (part && *part)
      out += (out.empty() ? "" : " ") + std::string(part);
  if (const char *const comment = instruction.GetComment(target); comment && *comment)
    out += std::string(" ; ") + comment;
  for (char &c : out)
    if (c == '\n' || c == '\t')
      c = ' ';
  return out;
}

Outcome show_location(lldb::SBDebugger &debugger, Act act, const Words &words) {
  Outcome out = interpret(debugger, command_for(act, words));
  constexpr std::string_view prefix = "error: ";
  if (out.error.starts_with(prefix))
    out.error.erase(0, prefix.size());
  out.error.erase(std::min(out.error.find('\n'), out.error.size()));
  return out;
}

std::string disassembly_flavor(lldb::SBDebugger &debugger) {
  lldb::SBStringList values = lldb::SBDebugger::GetInternalVariableValue(
      "target.x86-disassembly-flavor", debugger.GetInstanceName());
  const char *const value = values.GetSize() > 0 ? values.GetStringAtIndex(0) : nullptr;
  return value ? value : "default";
}

Refused disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                    std::span<const Range> ranges, const Sink &to) {
  const std::string flavor = disassembly_flavor(debugger);
  lldb::SBTarget target = process.GetTarget();
  bool is_empty = true;
  for (const auto &[low, high] : ranges) {
    const uint64_t wanted = high - low;
    // The last instruction may extend beyond the range.
    std::vector<uint8_t> bytes(wanted + longest_x86_instruction);
    lldb::SBError error; // LLDB removes its breakpoint instructions from what it reads
    size_t size = process.ReadMemory(low, bytes.data(), bytes.size(), error);
    if (error.Fail() || size < wanted)
      size = process.ReadMemory(low, bytes.data(), wanted, error);
    if (error.Fail())
      return Refusal{error.GetCString() ? error.GetCString() : "LLDB cannot read the memory"};
    lldb::SBAddress at = target.ResolveLoadAddress(low);
    lldb::SBInstructionList list =
        target.GetInstructionsWithFlavor(at, flavor.c_str(), bytes.data(), size);
    for (uint32_t n = 0; n < list.GetSize(); ++n) {
      lldb::SBInstruction each = list.GetInstructionAtIndex(n);
      const lldb::addr_t address = each.GetAddress().GetLoadAddress(target);
      if (address >= high)
        break;
      to.library.tally_sink_instruction(to.to, address, text_of(each, target).c_str());
      is_empty = false;
    }
  }
  return is_empty ? Refused(Refusal{"LLDB finds no instructions at these addresses"})
                  : std::nullopt;
}

} // namespace tally_lldb
