#include "source_view.h"

#include <algorithm>

#include "interpreter.h"

namespace tally_lldb {

namespace {

constexpr uint64_t longest_x86_instruction = 15; // bytes
// `source list -l` begins at the line given, so the listing starts some lines earlier.
constexpr uint64_t lines_before = 5, lines_shown = 10;

// Executes a command. An error has one line, without LLDB's prefix.
Outcome outcome_of(lldb::SBDebugger &debugger, const std::string &command) {
  Outcome out = interpret(debugger, command);
  constexpr std::string_view prefix = "error: ";
  if (out.error.starts_with(prefix))
    out.error.erase(0, prefix.size());
  out.error.erase(std::min(out.error.find('\n'), out.error.size()));
  return out;
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

Outcome set_breakpoint(lldb::SBDebugger &debugger, const std::string &file, uint64_t at) {
  return outcome_of(debugger, file.empty() ? "breakpoint set -a " + std::to_string(at)
                                           : "breakpoint set -f " + as_word(file) + " -l " +
                                                 std::to_string(at));
}

Outcome list_source(lldb::SBDebugger &debugger, const std::string &file, uint64_t at) {
  return outcome_of(debugger, "source list -f " + as_word(file) + " -l " +
                                  std::to_string(at - std::min(at - 1, lines_before)) + " -c " +
                                  std::to_string(lines_shown));
}

std::string disassembly_flavor(lldb::SBDebugger &debugger) {
  lldb::SBStringList values = lldb::SBDebugger::GetInternalVariableValue(
      "target.x86-disassembly-flavor", debugger.GetInstanceName());
  const char *const value = values.GetSize() > 0 ? values.GetStringAtIndex(0) : nullptr;
  return value ? value : "default";
}

Answer disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                   tally::Front::Addresses ranges, tally_sink *to) {
  const std::string flavor = disassembly_flavor(debugger);
  lldb::SBTarget target = process.GetTarget();
  bool is_empty = true;
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    const uint64_t low = ranges[i], high = ranges[i + 1];
    const uint64_t wanted = high - low;
    // The last instruction may extend beyond the range.
    std::vector<uint8_t> bytes(wanted + longest_x86_instruction);
    lldb::SBError error; // LLDB removes its breakpoint instructions from what it reads
    size_t size = process.ReadMemory(low, bytes.data(), bytes.size(), error);
    if (error.Fail() || size < wanted)
      size = process.ReadMemory(low, bytes.data(), wanted, error);
    if (error.Fail())
      return Answer::refused(error.GetCString() ? error.GetCString()
                                                : "LLDB cannot read the memory");
    lldb::SBAddress at = target.ResolveLoadAddress(low);
    lldb::SBInstructionList list =
        target.GetInstructionsWithFlavor(at, flavor.c_str(), bytes.data(), size);
    for (uint32_t n = 0; n < list.GetSize(); ++n) {
      lldb::SBInstruction each = list.GetInstructionAtIndex(n);
      const lldb::addr_t address = each.GetAddress().GetLoadAddress(target);
      if (address >= high)
        break;
      library().tally_sink_instruction(to, address, text_of(each, target).c_str());
      is_empty = false;
    }
  }
  return is_empty ? Answer::refused("LLDB finds no instructions at these addresses")
                  : Answer::done();
}

} // namespace tally_lldb
