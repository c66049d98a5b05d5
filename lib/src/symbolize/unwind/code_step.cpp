#include "symbolize/unwind/code_step.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "symbolize/capstone.h"
#include "symbolize/unwind/operand_size.h"

namespace tally::symbolize {

#ifdef TALLY_WITH_DISASSEMBLY

struct CodeSteps::Decoder {
  std::unique_ptr<Capstone> capstone; // null if it cannot be used
};

namespace {

// Each row has the names of one register; the row's number is that of DWARF.
constexpr uint16_t register_names[16][5] = {
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
};

// The registers in the order of their numbers in instructions.
constexpr uint8_t encoded[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

// Returns the register that has a name of Capstone, or that it is a part of.
std::optional<uint8_t> register_named(unsigned name) {
  for (size_t i = 0; name != X86_REG_INVALID && i < std::size(register_names); ++i)
    if (std::ranges::find(register_names[i], name) != std::end(register_names[i]))
      return static_cast<uint8_t>(i);
  return std::nullopt;
}

std::optional<uint8_t> whole_register(const cs_x86_op &operand) {
  const auto number = operand.type == X86_OP_REG ? register_named(operand.reg) : std::nullopt;
  return number && register_names[*number][0] == operand.reg ? number : std::nullopt;
}

bool set_offset(CodeStep &step, int64_t offset) {
  step.offset = static_cast<int32_t>(offset);
  return step.offset == offset;
}

// Reads an address of the form base + offset.
bool set_address(CodeStep &step, const cs_x86_op &operand) {
  if (operand.type != X86_OP_MEM || operand.mem.index != X86_REG_INVALID ||
      operand.mem.segment != X86_REG_INVALID)
    return false;
  const auto base = register_named(operand.mem.base);
  if (!base || register_names[*base][0] != operand.mem.base)
    return false;
  step.from = *base;
  return set_offset(step, operand.mem.disp);
}

// Reads an instruction that gives a register a known value.
bool set_value(CodeStep &step, unsigned instruction, const cs_x86 &x86) {
  const auto to = x86.op_count == 2 ? whole_register(x86.operands[0]) : std::nullopt;
  if (!to)
    return false;
  const cs_x86_op &source = x86.operands[1];
  step.to = *to;
  step.kind = CodeStep::Kind::set;
  switch (instruction) {
  case X86_INS_ADD:
  case X86_INS_SUB:
    step.from = *to;
    return source.type == X86_OP_IMM && source.imm > INT32_MIN &&
           set_offset(step, instruction == X86_INS_ADD ? source.imm : -source.imm);
  case X86_INS_LEA:
    return set_address(step, source);
  case X86_INS_MOV: {
    if (const auto from = whole_register(source)) {
      step.from = *from;
      return true;
    }
    step.kind = CodeStep::Kind::load;
    return set_address(step, source);
  }
  default:
    return false;
  }
}

bool is_rip_relative_word(const cs_x86 &x86) {
  return x86.op_count == 1 && x86.operands[0].type == X86_OP_MEM &&
         x86.operands[0].mem.base == X86_REG_RIP && x86.operands[0].mem.index == X86_REG_INVALID;
}

uint64_t target_of(const cs_x86 &x86) {
  return x86.op_count == 1 && x86.operands[0].type == X86_OP_IMM
             ? static_cast<uint64_t>(x86.operands[0].imm)
             : 0;
}

// Reads how control goes on. Returns false if it goes on with the next instruction.
bool set_flow(CodeStep &step, const Capstone &capstone, unsigned instruction, const cs_x86 &x86) {
  switch (instruction) {
  case X86_INS_RET:
    step.kind = CodeStep::Kind::returns;
    return x86.op_count == 0 || set_offset(step, x86.operands[0].imm);
  case X86_INS_RETF:
  case X86_INS_RETFQ:
  case X86_INS_SYSRET:
  case X86_INS_HLT:
  case X86_INS_UD0:
  case X86_INS_UD2:
  case X86_INS_UD2B:
  case X86_INS_INT3:
    return true;
  case X86_INS_JMP:
    step.target = target_of(x86);
    if (step.target != 0) {
      step.kind = CodeStep::Kind::jumps;
      return true;
    }
    // The function ends with a call by pointer, which returns to its caller, or it jumps by a table
    // of its own. A word beside the code is one of the linkage table.
    step.kind = CodeStep::Kind::returns;
    step.is_likely = is_rip_relative_word(x86);
    return true;
  case X86_INS_LOOP:
  case X86_INS_LOOPE:
  case X86_INS_LOOPNE:
    step.target = target_of(x86);
    step.kind = CodeStep::Kind::branches;
    step.forgets = 1u << 2; // rcx
    return true;
  default:
    break;
  }
  if (capstone.is_in(CS_GRP_CALL)) {
    step.kind = CodeStep::Kind::calls;
    step.target = target_of(x86);
    step.forgets = lost_by_calls;
    return true;
  }
  if (!capstone.is_in(CS_GRP_JUMP))
    return capstone.is_in(CS_GRP_IRET);
  step.target = target_of(x86);
  if (step.target != 0)
    step.kind = CodeStep::Kind::branches;
  return true;
}

// Reads an instruction that moves the stack pointer by one word. Returns false for others.
bool set_stack(CodeStep &step, unsigned instruction, const cs_x86 &x86) {
  constexpr uint8_t sp = 7;
  const auto add = [&](int32_t bytes) {
    step.kind = CodeStep::Kind::set;
    step.to = step.from = sp;
    step.offset = bytes;
  };
  const auto operand = x86.op_count == 1 ? whole_register(x86.operands[0]) : std::nullopt;
  switch (instruction) {
  case X86_INS_PUSH:
  case X86_INS_PUSHFQ:
    step.kind = CodeStep::Kind::push;
    step.from = operand.value_or(CodeStep::unknown);
    break;
  case X86_INS_POP:
    if (operand) {
      step.kind = CodeStep::Kind::pop;
      step.to = *operand;
    } else {
      add(8); // to memory, or to a segment register
    }
    break;
  case X86_INS_POPFQ:
    add(8);
    break;
  case X86_INS_LEAVE:
    step.kind = CodeStep::Kind::leave;
    break;
  case X86_INS_ENTER:
    step.kind = CodeStep::Kind::stops;
    break;
  default:
    return false;
  }
  constexpr uint8_t half_words = 0x66; // the prefix, which no compiler uses here
  if (x86.prefix[2] == half_words)
    step.kind = CodeStep::Kind::stops;
  return true;
}

// Reads an instruction of AVX-512, or one with the same prefixes, if Capstone does not know it:
// version 4 lacks many. Sections 2.3 and 2.7 of volume 2 of Intel's manual describe the prefixes;
// the opcode and the operands follow. Only a few write to a register that is neither a vector nor a
// mask.
CodeStep step_of_vectors(std::string_view code) {
  const auto byte = [code](size_t at) {
    return at < code.size() ? static_cast<uint8_t>(code[at]) : uint8_t{0};
  };
  CodeStep step;
  const size_t prefix = byte(0) == 0x62 ? 4 : byte(0) == 0xc4 ? 3 : byte(0) == 0xc5 ? 2 : 0;
  if (prefix == 0)
    return step;
  const uint8_t map = prefix == 2 ? 1 : byte(1) & (prefix == 3 ? 0x1f : 7);
  const bool is_half_precision = prefix == 4 && (map == 5 || map == 6);
  if ((map == 0 || map > 3) && !is_half_precision)
    return step;
  const uint8_t opcode = byte(prefix), operands = byte(prefix + 1);
  if (prefix != 4 && map == 2 && opcode >= 0xe0) // CMPccXADD and others write to registers
    return step;
  const bool has_constant =
      map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                                opcode == 0xc4 || opcode == 0xc5 || opcode == 0xc6));
  if (prefix + 1 >= code.size())
    return step;
  const size_t size = prefix + 1 + operand_size(code.substr(prefix + 1)) + (has_constant ? 1 : 0);
  if (size > code.size())
    return step;
  step.kind = CodeStep::Kind::other;
  step.size = static_cast<uint8_t>(size);
  const uint8_t kind = byte(prefix == 4 ? 2 : prefix - 1) & 3; // stands for 66, F3 or F2
  const auto forget = [&step](unsigned number) {
    step.forgets |= static_cast<uint16_t>(1u << encoded[number]);
  };
  const bool converts = (map == 1 || map == 5) && kind >= 2 &&
                        (opcode == 0x2c || opcode == 0x2d || opcode == 0x78 || opcode == 0x79);
  if (converts || (map == 1 && (opcode == 0x93 || opcode == 0xc5)))
    forget((operands >> 3 & 7u) | ((byte(1) & 0x80) == 0 ? 8u : 0u));
  const bool extracts = (map == 3 && opcode >= 0x14 && opcode <= 0x17) ||
                        ((map == 1 || map == 5) && opcode == 0x7e && kind == 1);
  if (extracts && operands >= 0xc0) // not to memory
    forget((operands & 7u) | (prefix != 2 && (byte(1) & 0x20) == 0 ? 8u : 0u));
  return step;
}

} // namespace

CodeSteps::CodeSteps() = default;

CodeStep CodeSteps::at(std::string_view code, uint64_t address) {
  if (!decoder_) {
    decoder_ = std::make_unique<Decoder>();
    const CapstoneLibrary &library = CapstoneLibrary::get();
    if (library.problem.empty())
      decoder_->capstone = std::make_unique<Capstone>(library, CS_ARCH_X86, CS_MODE_64);
    if (decoder_->capstone && !*decoder_->capstone)
      decoder_->capstone.reset();
  }
  CodeStep step;
  if (!decoder_->capstone)
    return step;
  Capstone &capstone = *decoder_->capstone;
  const auto *bytes = reinterpret_cast<const uint8_t *>(code.data());
  size_t size = code.size();
  uint64_t next = address;
  const cs_insn *const read = capstone.next(bytes, size, next);
  if (!read || !read->detail)
    return step_of_vectors(code);
  const cs_x86 &x86 = read->detail->x86;
  step.size = static_cast<uint8_t>(next - address);
  if (set_flow(step, capstone, read->id, x86) || set_stack(step, read->id, x86))
    return step;
  if (set_value(step, read->id, x86))
    return step;
  step.kind = CodeStep::Kind::other;
  const auto forget = [&step](unsigned name) {
    if (const auto number = register_named(name))
      step.forgets |= static_cast<uint16_t>(1u << *number);
  };
  if (!capstone.for_each_written(forget))
    step.kind = CodeStep::Kind::stops;
  return step;
}

#else

struct CodeSteps::Decoder {};
CodeSteps::CodeSteps() = default;
CodeStep CodeSteps::at(std::string_view, uint64_t) { return {}; }

#endif

CodeSteps::~CodeSteps() = default;

} // namespace tally::symbolize
