#include "symbolize/disassemble.h"

#include <elf.h>

#include <fmt/format.h>

#ifdef TALLY_WITH_DISASSEMBLY
#include <capstone/capstone.h>

#include "support/late_library.h"
#endif

namespace tally::symbolize {

#ifdef TALLY_WITH_DISASSEMBLY

namespace {

// The file name of Capstone's library contains its ABI version, which is the major version of its
// header.
#define TALLY_TEXT_OF(number) #number
#define TALLY_EXPANDED_TEXT_OF(number) TALLY_TEXT_OF(number)
constexpr const char *library_name = "libcapstone.so." TALLY_EXPANDED_TEXT_OF(CS_API_MAJOR);
#undef TALLY_EXPANDED_TEXT_OF
#undef TALLY_TEXT_OF

// Capstone's functions, loaded at first use. The library needs 77,000 relocations, which take
// several milliseconds, and most runs of Tally do not disassemble anything.
struct Library final : LateLibrary {
  decltype(&cs_open) open = nullptr;
  decltype(&cs_close) close = nullptr;
  decltype(&cs_option) option = nullptr;
  decltype(&cs_malloc) malloc = nullptr;
  decltype(&cs_free) free = nullptr;
  decltype(&cs_disasm_iter) disasm_iter = nullptr;
  decltype(&cs_insn_group) insn_group = nullptr;

  Library() : LateLibrary(library_name) {
    resolve("cs_open", open);
    resolve("cs_close", close);
    resolve("cs_option", option);
    resolve("cs_malloc", malloc);
    resolve("cs_free", free);
    resolve("cs_disasm_iter", disasm_iter);
    resolve("cs_insn_group", insn_group);
  }
};

const Library &library() {
  static const Library loaded;
  return loaded;
}

class Capstone {
public:
  // The library's functions must be usable.
  Capstone(const Library &library, cs_arch arch, cs_mode mode, DisassemblyFlavor flavor)
      : library_(library) {
    if (library_.open(arch, mode, &handle_) != CS_ERR_OK)
      return;
    open_ = true;
    library_.option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    library_.option(handle_, CS_OPT_SKIPDATA, CS_OPT_ON);
    if (arch == CS_ARCH_X86)
      library_.option(handle_, CS_OPT_SYNTAX,
                      flavor == DisassemblyFlavor::intel ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT);
    instruction_ = library_.malloc(handle_);
  }
  Capstone(const Capstone &) = delete;
  ~Capstone() {
    if (instruction_)
      library_.free(instruction_, 1);
    if (open_)
      library_.close(&handle_);
  }
  explicit operator bool() const { return instruction_ != nullptr; }

  const cs_insn *next(const uint8_t *&code, size_t &size, uint64_t &address) {
    return library_.disasm_iter(handle_, &code, &size, &address, instruction_) ? instruction_
                                                                               : nullptr;
  }
  bool is_in(unsigned group) const { return library_.insn_group(handle_, instruction_, group); }

private:
  const Library &library_;
  csh handle_ = 0;
  bool open_ = false;
  cs_insn *instruction_ = nullptr;
};

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
  if (!library().problem.empty())
    return fail(
        ErrorCode::unsupported,
        fmt::format("the disassembler (libcapstone) cannot be loaded: {}", library().problem));
  Capstone capstone(library(), machine == EM_AARCH64 ? CS_ARCH_ARM64 : CS_ARCH_X86,
                    machine == EM_AARCH64  ? CS_MODE_ARM
                    : machine == EM_X86_64 ? CS_MODE_64
                                           : CS_MODE_32,
                    flavor);
  if (!capstone)
    return fail(ErrorCode::unsupported,
                "the disassembler (libcapstone) was built without support for this machine");
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
