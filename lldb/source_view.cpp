#include "source_view.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "interpreter.h"

namespace tally_lldb {

namespace {

constexpr uint64_t longest_x86_instruction = 15; // bytes
// `source list -l` begins at the line given, so the listing starts some lines earlier.
constexpr unsigned long lines_before = 5, lines_shown = 10;

std::string command_for(int request, const Words &words) {
  const std::string &file = words[0], &location = words[1];
  if (request == TALLY_REQUEST_BREAK)
    return file.empty() ? "breakpoint set -a " + location
                        : "breakpoint set -f " + as_word(file) + " -l " + location;
  const unsigned long line = std::strtoul(location.c_str(), nullptr, 10);
  return "source list -f " + as_word(file) + " -l " +
         std::to_string(line - std::min(line - 1, lines_before)) + " -c " +
         std::to_string(lines_shown);
}

std::string hex(uint64_t address) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%" PRIx64, address);
  return text;
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

Outcome show_location(lldb::SBDebugger &debugger, int request, const Words &words) {
  Outcome out = interpret(debugger, command_for(request, words));
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

std::string disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                        const std::vector<uint64_t> &ranges) {
  const std::string flavor = disassembly_flavor(debugger);
  lldb::SBTarget target = process.GetTarget();
  std::string out;
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    const uint64_t high = ranges[i + 1], wanted = high - ranges[i];
    // The last instruction may extend beyond the range.
    std::vector<uint8_t> bytes(wanted + longest_x86_instruction);
    lldb::SBError error; // LLDB removes its breakpoint instructions from what it reads
    size_t size = process.ReadMemory(ranges[i], bytes.data(), bytes.size(), error);
    if (error.Fail() || size < wanted)
      size = process.ReadMemory(ranges[i], bytes.data(), wanted, error);
    if (error.Fail())
      return error.GetCString() ? error.GetCString() : "LLDB cannot read the memory";
    lldb::SBAddress at = target.ResolveLoadAddress(ranges[i]);
    lldb::SBInstructionList list =
        target.GetInstructionsWithFlavor(at, flavor.c_str(), bytes.data(), size);
    for (uint32_t n = 0; n < list.GetSize(); ++n) {
      lldb::SBInstruction each = list.GetInstructionAtIndex(n);
      if (each.GetAddress().GetLoadAddress(target) >= high)
        break;
      out += hex(each.GetAddress().GetLoadAddress(target)) + "\t" + text_of(each, target) + "\n";
    }
  }
  return out.empty() ? "LLDB finds no instructions at these addresses" : out;
}

} // namespace tally_lldb
