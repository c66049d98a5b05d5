#include "symbolize/disassemble.h"

#include <elf.h>

#include <fmt/format.h>

#include "symbolize/capstone.h"

namespace tally::symbolize {

#ifdef TALLY_WITH_DISASSEMBLY

namespace {

// Returns the target of a call or jump, or nothing if it depends on a register.
std::optional<uint64_t> target_of(uint16_t machine, const cs_insn &instruction) {
  if (!instruction.detail)
    return {};
  if (machine == EM_AARCH64) {
    const cs_arm64 &arm = instruction.detail->arm64;
    if (arm.op_count > 0 && arm.operands[arm.op_count - 1].type == ARM64_OP_IMM)
      return static_cast<uint64_t>(arm.operands[arm.op_count - 1].imm);
    return {};
  }
  const cs_x86 &x86 = instruction.detail->x86;
  if (x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM)
    return static_cast<uint64_t>(x86.operands[0].imm);
  return {};
}

} // namespace

Result<std::vector<Instruction>> disassemble(uint16_t machine, std::string_view bytes,
                                             uint64_t address, DisassemblyFlavor flavor,
                                             const NameOfCode &name_of) {
  if (machine != EM_X86_64 && machine != EM_386 && machine != EM_AARCH64)
    return fail(ErrorCode::unsupported,
                fmt::format("cannot disassemble code for this machine (ELF number {})", machine));
  const CapstoneLibrary &library = CapstoneLibrary::get();
  if (!library.problem.empty())
    return fail(
        ErrorCode::unsupported,
        fmt::format("the disassembler (libcapstone) cannot be loaded: {}", library.problem));
  Capstone capstone(library, machine == EM_AARCH64 ? CS_ARCH_ARM64 : CS_ARCH_X86,
                    machine == EM_AARCH64  ? CS_MODE_ARM
                    : machine == EM_X86_64 ? CS_MODE_64
                                           : CS_MODE_32);
  if (!capstone)
    return fail(ErrorCode::unsupported,
                "the disassembler (libcapstone) was built without support for this machine");
  capstone.set(CS_OPT_SKIPDATA, CS_OPT_ON);
  if (machine != EM_AARCH64)
    capstone.set(CS_OPT_SYNTAX,
                 flavor == DisassemblyFlavor::intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
  std::vector<Instruction> out;
  const auto *code = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t size = bytes.size();
  const uint64_t low = address, high = address + bytes.size();
  while (const cs_insn *instruction = capstone.next(code, size, address)) {
    std::string text = instruction->mnemonic;
    if (instruction->op_str[0] != '\0')
      text += fmt::format(" {}", instruction->op_str);
    const bool is_data = instruction->id == 0; // data that was skipped has no details
    const bool calls = !is_data && capstone.is_in(CS_GRP_CALL);
    if (calls || (!is_data && capstone.is_in(CS_GRP_JUMP)))
      if (const auto target = target_of(machine, *instruction);
          target && (calls || *target < low || *target >= high))
        if (const std::string_view name = name_of(*target); !name.empty())
          text += fmt::format(" <{}>", name);
    out.push_back({instruction->address, std::move(text)});
  }
  return out;
}

#else

Result<std::vector<Instruction>> disassemble(uint16_t, std::string_view, uint64_t,
                                             DisassemblyFlavor, const NameOfCode &) {
  return fail(ErrorCode::unsupported,
              "Tally was built without a disassembler (libcapstone): only a debugger that has the "
              "process can show its code");
}

#endif

} // namespace tally::symbolize
