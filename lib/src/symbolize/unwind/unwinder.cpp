// Unwinds from registers and a stack dump to the chain of callers, with rows of call frame
// information.

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "model/unwinder.h"
#include "support/strings.h"
#include "symbolize/module_file.h"
#include "symbolize/unwind/expression.h"
#include "symbolize/unwind/lost_frame.h"
#include "symbolize/unwind/machine.h"
#include "symbolize/unwind/rows.h"

namespace tally {

namespace symbolize {

namespace {

// A frame takes at least the eight bytes of its return address, and a stack dump is smaller than 64
// KiB. What another sample found of a stack may have more frames.
constexpr size_t most_frames = 8192;
// The length of the assembly code at a file's entry point.
constexpr uint64_t start_bytes = 64;

struct Module {
  ModuleFiles files;
  std::unique_ptr<UnwindRows> rows; // null if not opened yet, or not available
  bool opened = false;
};

constexpr uint64_t bit(size_t number) { return uint64_t{1} << number; }

// The registers that belong to the caller, and that a function therefore preserves.
constexpr uint64_t callers_own_of(const UnwindMachine &machine) {
  uint64_t out = 0;
  for (size_t i = 0; i < machine.kept_count; ++i)
    out |= bit(machine.kept[i]);
  return out;
}

// A signal's frame, from the stack pointer on: struct rt_sigframe of the kernel has a siginfo_t and
// an ucontext_t, whose mcontext_t is aligned.
namespace signal_frame {
// The kernel sets these to 0. It writes the siginfo_t only for a handler that takes one.
constexpr uint64_t flags = 128, link = 136;
// AArch64 has its registers here (arch/arm64/kernel/signal.c).
constexpr uint64_t registers = 312, sp = registers + uint64_t{31} * 8, pc = sp + 8, pstate = pc + 8;
// RISC-V has pc and x1 to x31 here (arch/riscv/kernel/signal.c).
constexpr uint64_t riscv_registers = 304;
} // namespace signal_frame

// Walks outward through the frames of one sample.
class Walk {
public:
  explicit Walk(const UnwindInput &input)
      : machine_(machine_of(input.registers.processor)), callers_own_(callers_own_of(machine_)),
        value_(input.registers.value),
        known_(input.registers.only_sp_and_pc ? bit(machine_.number.sp) | bit(machine_.number.pc)
                                              : bit(size_t{machine_.number.pc} + 1) - 1),
        low_(input.registers.sp()), stack_(input.stack), other_at_(input.other_at),
        other_(input.other) {}

  uint64_t pc() const { return value_[machine_.number.pc]; }
  uint64_t sp() const { return value_[machine_.number.sp]; }
  // Removes the signature of a return address, which pointer authentication of AArch64 adds.
  void strip_pc() { value_[machine_.number.pc] = stripped(pc()); }
  // Returns whether a frame is found by the frame pointer, and no callee has saved it.
  bool lacks_frame_pointer(const UnwindRow &row) const {
    return row.needs(machine_.number.fp) && !known(machine_.number.fp) && !slot_missing_;
  }
  // Returns whether a frame is found by the stack pointer, which a step by the frame pointer left
  // unknown.
  bool lacks_stack_pointer(const UnwindRow &row) const {
    return row.needs(machine_.number.sp) && !known(machine_.number.sp);
  }
  bool knows_stack_pointer() const { return known(machine_.number.sp); }
  void set_frame_pointer(uint64_t value) {
    value_[machine_.number.fp] = value;
    known_ |= bit(machine_.number.fp);
  }

  std::optional<uint64_t> word_at(uint64_t address) const {
    const auto word = word_in(stack_, low_, address);
    return word || address < low_ ? word : other_word_at(address);
  }
  // Returns whether a word was read that only another sample found.
  bool has_joined() const { return joined_; }

  // Steps to the caller. Returns `complete`, or the reason why the step is impossible. The row must
  // not be the outermost one.
  StackEnd step(const UnwindRow &row, const UnwindRows &rows) {
    return row.general == UnwindRow::not_general ? step_simply(row)
                                                 : step_generally(rows.general(row), row.signal);
  }

  // Steps to the caller without a row, on the assumption that the code has frame pointers. Returns
  // false if the stack does not confirm this assumption.
  template <class IsCode> bool step_by_frame_pointer(IsCode is_code) {
    const auto record = frame_record();
    if (!record)
      return false;
    const uint64_t at = *record;
    const auto callers = word_at(at), returns = word_at(at + 8);
    if (!callers || !returns || !is_code(stripped(*returns) - 1))
      return machine_.processor == Processor::riscv64 && returns &&
             step_from_riscv_leaf(at + 8, *returns, is_code);
    last_returns_ = {last_returns_[1], last_returns_[2], at + 8};
    value_[machine_.number.fp] = *callers;
    value_[machine_.number.pc] = *returns;
    value_[machine_.number.sp] = at + 16;
    known_ = bit(machine_.number.fp) | bit(machine_.number.pc);
    // On AArch64 the two words may be anywhere in the frame, so that its end is unknown.
    if (machine_.processor != Processor::aarch64)
      known_ |= bit(machine_.number.sp);
    return true;
  }

  // Steps to the caller by what the function has yet to do, from a link-time address on. Returns
  // `no_rule` if that does not lead to a return address.
  template <class IsReturn> StackEnd step_by_code(WayOut &ways, uint64_t link, IsReturn is_return) {
    const uint64_t low = sp();
    const uint8_t sp = machine_.number.sp, fp = machine_.number.fp;
    auto value = value_;
    uint64_t has = known_;
    std::optional<uint64_t> absent; // a word outside of the stack dump
    std::vector<std::pair<uint64_t, std::optional<uint64_t>>> pushed; // by address
    const auto set = [&](uint8_t to, std::optional<uint64_t> known) {
      has = known ? has | bit(to) : has & ~bit(to);
      value[to] = known.value_or(0);
    };
    const auto sum = [&](uint8_t from, int64_t offset) {
      return from != CodeStep::unknown && (has & bit(from)) != 0
                 ? std::optional(value[from] + static_cast<uint64_t>(offset))
                 : std::nullopt;
    };
    const auto word = [&](std::optional<uint64_t> at) -> std::optional<uint64_t> {
      if (!at)
        return std::nullopt;
      const auto last = std::find_if(pushed.rbegin(), pushed.rend(),
                                     [&](const auto &each) { return each.first == *at; });
      if (last != pushed.rend())
        return last->second;
      const auto there = *at >= low ? word_at(*at) : std::nullopt; // below, nothing is written yet
      if (!there && *at >= low && !absent)
        absent = at;
      return there;
    };
    const auto pop = [&](uint8_t to) {
      const auto popped = word(sum(sp, 0));
      set(sp, sum(sp, 8));
      set(to, popped);
    };
    int32_t more = 0; // bytes that the return pops
    const bool returns = ways.follow(link, budget_, [&](const CodeStep &step) {
      has &= ~uint64_t{step.forgets};
      switch (step.kind) {
      case CodeStep::Kind::set:
        set(step.to, sum(step.from, step.offset));
        break;
      case CodeStep::Kind::load:
        set(step.to, word(sum(step.from, step.offset)));
        break;
      case CodeStep::Kind::push: {
        const auto stored = sum(step.from, 0);
        set(sp, sum(sp, -8));
        if (const auto at = sum(sp, 0))
          pushed.emplace_back(*at, stored);
        break;
      }
      case CodeStep::Kind::pop:
        pop(step.to);
        break;
      case CodeStep::Kind::leave:
        set(sp, sum(fp, 0));
        pop(fp);
        break;
      case CodeStep::Kind::returns:
        more = step.offset;
        break;
      default:
        break;
      }
    });
    if (budget_ == 0)
      return StackEnd::damaged;
    const auto at = sum(sp, 0), address = word(at);
    if (returns && !address && absent) {
      slot_missing_ = true;
      return missing(*absent);
    }
    if (!returns || !address || *at < low || !is_return(*address))
      return StackEnd::no_rule;
    slot_missing_ |= absent.has_value();
    value[machine_.number.pc] = *address;
    value[sp] = *at + 8 + static_cast<uint64_t>(more);
    value_ = value;
    known_ = has | bit(machine_.number.pc); // hand-written callers may need any register
    last_returns_ = {last_returns_[1], last_returns_[2], *at};
    return StackEnd::complete;
  }

  // Steps from the code that ends a signal's handler to where the signal arrived. The kernel's own
  // call frame information has only the pc and the frame pointer there on AArch64, and no register
  // on RISC-V. Returns false if the stack does not confirm that this is such a frame.
  template <class IsCode> bool step_by_signal_frame(IsCode is_code) {
    if (!known(machine_.number.sp))
      return false;
    switch (machine_.processor) {
    case Processor::aarch64:
      return step_by_aarch64_frame(sp(), is_code);
    case Processor::riscv64:
      return step_by_riscv_frame(sp(), is_code);
    case Processor::x86_64:
      break;
    }
    return false;
  }

private:
  static std::optional<uint64_t> word_in(std::span<const std::byte> bytes, uint64_t low,
                                         uint64_t address) {
    const uint64_t offset = address - low;
    if (address < low || bytes.size() < sizeof(uint64_t) ||
        offset > bytes.size() - sizeof(uint64_t))
      return std::nullopt;
    uint64_t word;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
  }

  // A frame's return address and saved registers do not change while it exists. If the outermost
  // return addresses of the dump were at the same places in the other sample, the frames beyond are
  // the same. One address might be that of another frame of the same size: of 1,300 stacks of
  // clang, 8 were wrong with one; of 5,900 of clang and GCC, 6 with three.
  std::optional<uint64_t> other_word_at(uint64_t address) const {
    const auto word = word_in(other_, other_at_, address);
    if (!word || joined_)
      return word;
    for (const uint64_t at : last_returns_) {
      const auto now = word_in(stack_, low_, at);
      if (!now || now != word_in(other_, other_at_, at))
        return std::nullopt;
    }
    joined_ = true;
    return word;
  }

  // Returns where the frame pointer says that the caller's frame pointer and the return address
  // are.
  std::optional<uint64_t> frame_record() const {
    const uint64_t at = value_[machine_.number.fp] + static_cast<uint64_t>(machine_.frame_record);
    return known(machine_.number.fp) && at >= sp() ? std::optional(at) : std::nullopt;
  }

  // A function that calls no other saves only the frame pointer, in the word where others have the
  // return address.
  template <class IsCode> bool step_from_riscv_leaf(uint64_t at, uint64_t callers, IsCode is_code) {
    if (!known(machine_.return_address) || callers <= at ||
        !is_code(value_[machine_.return_address] - 1))
      return false;
    value_[machine_.number.pc] = value_[machine_.return_address];
    value_[machine_.number.fp] = callers;
    value_[machine_.number.sp] = at + 8;
    known_ = bit(machine_.number.fp) | bit(machine_.number.pc) | bit(machine_.number.sp);
    return true;
  }

  template <class IsCode> bool step_by_riscv_frame(uint64_t frame, IsCode is_code) {
    const auto flags = word_at(frame + signal_frame::flags),
               link = word_at(frame + signal_frame::link),
               interrupted = word_at(frame + signal_frame::riscv_registers);
    if (!flags || !link || !interrupted || *flags != 0 || *link != 0 || !is_code(*interrupted))
      return false;
    decltype(value_) next{};
    for (size_t i = 1; i < machine_.register_count; ++i) {
      const auto word = word_at(frame + signal_frame::riscv_registers + i * 8);
      if (!word)
        return false;
      next[i] = *word;
    }
    // Code in user mode has a stack, and a pointer to its thread (x4).
    const uint64_t callers_sp = next[machine_.number.sp];
    if (callers_sp == 0 || callers_sp % 16 != 0 || callers_sp > machine_.address_bits ||
        next[4] == 0 || next[4] > machine_.address_bits || *interrupted % 2 != 0)
      return false;
    next[machine_.number.pc] = *interrupted;
    value_ = next;
    known_ = bit(size_t{machine_.number.pc} + 1) - 1;
    return true;
  }

  template <class IsCode> bool step_by_aarch64_frame(uint64_t frame, IsCode is_code) {
    const auto flags = word_at(frame + signal_frame::flags),
               link = word_at(frame + signal_frame::link),
               callers_sp = word_at(frame + signal_frame::sp),
               interrupted = word_at(frame + signal_frame::pc),
               state = word_at(frame + signal_frame::pstate);
    if (!flags || !link || !callers_sp || !interrupted || !state)
      return false;
    constexpr uint64_t not_of_user_mode = 0xffffffff0000001f; // M[4:0] is 0 in EL0t
    if (*flags != 0 || *link != 0 || (*state & not_of_user_mode) != 0 || *callers_sp % 16 != 0 ||
        !is_code(*interrupted))
      return false;
    for (size_t i = 0; i <= aarch64.return_address; ++i)
      value_[i] = word_at(frame + signal_frame::registers + i * 8).value_or(0);
    value_[machine_.number.sp] = *callers_sp;
    value_[machine_.number.pc] = *interrupted;
    known_ = bit(size_t{machine_.number.pc} + 1) - 1;
    return true;
  }

  uint64_t stripped(uint64_t address) const {
    return machine_.processor == Processor::aarch64 ? address & machine_.address_bits : address;
  }
  bool known(size_t number) const { return (known_ & bit(number)) != 0; }

  // Returns why a word is missing.
  StackEnd missing(uint64_t address) const {
    return address < low_ || address > machine_.address_bits ? StackEnd::damaged
                                                             : StackEnd::dump_too_short;
  }

  // Returns why a register is unknown: it was saved outside of the stack dump, or its rule says so.
  StackEnd lost_register() const {
    return slot_missing_ ? StackEnd::dump_too_short : StackEnd::no_rule;
  }

  StackEnd step_simply(const UnwindRow &row) {
    if (!known(row.cfa_register))
      return lost_register();
    const uint64_t cfa = value_[row.cfa_register] + static_cast<uint64_t>(int64_t{row.cfa_offset});
    const uint64_t sp = this->sp();
    const bool in_register = row.returns == UnwindRow::same;
    // The stack grows down: otherwise the walk would never end. Only the innermost frame has its
    // return address in a register, and may have no room of its own.
    if ((in_register ? cfa < sp : cfa <= sp) && !row.signal)
      return StackEnd::damaged;
    uint64_t returns = 0;
    if (in_register) {
      if (!known(machine_.return_address))
        return lost_register();
      returns = value_[machine_.return_address];
    } else {
      const uint64_t at = cfa + static_cast<uint64_t>(int64_t{8} * row.returns);
      const auto word = word_at(at);
      if (!word)
        return missing(at);
      returns = *word;
      last_returns_ = {last_returns_[1], last_returns_[2], at};
    }
    uint64_t known = known_ & callers_own_;
    for (size_t i = 0; i < machine_.kept_count; ++i) {
      if (row.saved[i] == UnwindRow::same)
        continue;
      const uint8_t number = machine_.kept[i];
      known &= ~bit(number);
      if (row.saved[i] == UnwindRow::unknown)
        continue;
      const uint64_t slot = cfa + static_cast<uint64_t>(int64_t{8} * row.saved[i]);
      if (slot < sp) {
        // The slot was popped already, but GCC's rule for it is still in effect. The register
        // itself already has the caller's value.
        known |= known_ & bit(number);
      } else if (const auto value = word_at(slot)) {
        value_[number] = *value;
        known |= bit(number);
      } else {
        slot_missing_ = true;
      }
    }
    value_[machine_.number.sp] = cfa;
    value_[machine_.number.pc] = returns;
    known_ = known | bit(machine_.number.sp) | bit(machine_.number.pc);
    return StackEnd::complete;
  }

  StackEnd step_generally(const GeneralRow &row, bool signal) {
    ExpressionInput input;
    input.register_value = [this](uint64_t number) {
      return number < machine_.register_count && known(number) ? std::optional(value_[number])
                                                               : std::nullopt;
    };
    StackEnd why = lost_register();
    input.word_at = [this, &why](uint64_t address) {
      const auto word = word_at(address);
      if (!word) {
        why = missing(address);
        slot_missing_ = true;
      }
      return word;
    };
    input.budget = &budget_;
    input.cfa = evaluate(row.cfa, input);
    if (budget_ == 0)
      return StackEnd::damaged;
    if (!input.cfa)
      return why;
    // The return address of vfork() is in a register, so that its frame takes no room.
    const auto return_kind = row.registers[machine_.return_address].kind;
    const bool has_no_frame =
        return_kind == GeneralRule::Kind::value ||
        (return_kind == GeneralRule::Kind::same && machine_.number.pc != machine_.return_address);
    if (*input.cfa < sp() + (has_no_frame ? 0 : 1) && !signal)
      return StackEnd::damaged;

    auto next = value_;
    // Where a call pushes no return address, it leaves it in a register.
    const uint64_t kept_or_return =
        callers_own_ | (machine_.number.pc != machine_.return_address ? bit(machine_.return_address)
                                                                      : uint64_t{0});
    uint64_t next_known = 0;
    for (size_t i = 0; i < row.registers.size(); ++i) {
      const GeneralRule &rule = row.registers[i];
      std::optional<uint64_t> value;
      switch (rule.kind) {
      case GeneralRule::Kind::same:
        // There is rarely a rule for the caller's stack pointer. Without one, it is the CFA. A
        // function need not preserve the registers that are not callee-saved.
        if (i == machine_.number.sp)
          value = input.cfa;
        else if (known(i) && (signal || (kept_or_return & bit(i)) != 0))
          value = value_[i];
        break;
      case GeneralRule::Kind::undefined:
        if (i == machine_.number.sp)
          value = input.cfa;
        break;
      case GeneralRule::Kind::at:
        if (const auto at = evaluate(rule.ops, input)) {
          if (*at < sp() && *at < low_ && known(i) && !signal)
            value = value_[i]; // popped already
          else
            value = input.word_at(*at);
        }
        break;
      case GeneralRule::Kind::value:
        value = evaluate(rule.ops, input);
        break;
      }
      if (value) {
        next[i] = *value;
        next_known |= bit(i);
      }
    }
    if (budget_ == 0)
      return StackEnd::damaged;
    const uint64_t needed = bit(machine_.number.sp) | bit(machine_.return_address);
    if ((next_known & needed) != needed)
      return why;
    if (machine_.number.pc != machine_.return_address) {
      // The caller's own return address was overwritten by that of its call.
      next[machine_.number.pc] = next[machine_.return_address];
      next_known = (next_known & ~bit(machine_.return_address)) | bit(machine_.number.pc);
    }
    value_ = next;
    known_ = next_known;
    return StackEnd::complete;
  }

  const UnwindMachine &machine_;
  uint64_t callers_own_;
  decltype(Registers::value) value_;
  uint64_t known_;
  uint64_t low_;              // the address of the stack dump's first byte
  bool slot_missing_ = false; // a register was saved outside of the stack dump
  // The number of operations in expressions and of steps through code: a valid chain needs some
  // hundreds or thousands, but a damaged file could request any number while a caller of the
  // sampler waits.
  uint32_t budget_ = 100'000;
  std::span<const std::byte> stack_;
  uint64_t other_at_;
  std::span<const std::byte> other_;
  std::array<uint64_t, 3> last_returns_{}; // where the last return addresses were
  mutable bool joined_ = false;
};

class ElfUnwinder final : public Unwinder {
public:
  ElfUnwinder(std::vector<std::string> debug_directories, ModuleSources sources)
      : debug_directories_(std::move(debug_directories)), sources_(std::move(sources)) {}

  ModuleId module(const ModuleKey &key) override {
    try {
      // All processes that have a file mapped share its unwind data.
      const Key known{key.path, key.build_id, key.device, key.inode,
                      key.inode != 0 || !key.build_id.empty() ? 0 : key.pid};
      if (const auto at = ids_.find(known); at != ids_.end())
        return at->second;
      Diagnostics reported_by_the_symbolizer;
      modules_.push_back(
          {find_files(key, debug_directories_, reported_by_the_symbolizer, mapped_, sources_),
           {},
           false});
      // The ID is published last: if memory runs out before, nothing refers to the new module.
      const auto id = static_cast<ModuleId>(modules_.size() - 1);
      ids_.emplace(known, id);
      return id;
    } catch (...) {
      return none<ModuleId>;
    }
  }

  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    try {
      return walk(input, pcs);
    } catch (...) {
      return StackEnd::no_rule; // out of memory
    }
  }

private:
  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, int>;
  struct Place {
    UnwindRows *rows = nullptr; // null if there is no unwind data
    uint64_t link = 0;          // the link-time address
  };
  struct Found : Place {
    std::optional<UnwindRow> row; // a copy, because the next look-up may move the rows
    bool start = false;           // the pc is at the file's entry point
  };

  StackEnd walk(const UnwindInput &input, std::vector<uint64_t> &pcs) {
    const auto is_code = [&](uint64_t pc) { return input.mapping_of_pc(pc).has_value(); };
    Walk walk(input);
    const Processor processor = input.registers.processor;
    uint64_t pc = walk.pc();
    auto mapping = input.mapping_of_pc(pc);
    pcs.push_back(pc);
    bool guessed = false;
    Place callee; // the function that the one at `pc` has called
    // Whatever the reason, what follows a wrong guess means nothing.
    const auto ended = [&](StackEnd why) {
      return guessed                                          ? StackEnd::guessed
             : why == StackEnd::complete && walk.has_joined() ? StackEnd::joined
                                                              : why;
    };
    for (size_t depth = 1; depth < most_frames; ++depth) {
      const Found found = mapping ? find(*mapping, pc, processor) : Found{};
      bool interrupted = false;
      if (found.row && found.row->outermost)
        return ended(StackEnd::complete);
      if ((!found.row || found.row->signal != 0) && walk.step_by_signal_frame(is_code)) {
        interrupted = true;
      } else if (found.row && !walk.lacks_stack_pointer(*found.row)) {
        if (walk.lacks_frame_pointer(*found.row) && processor == Processor::x86_64) {
          if (const auto frame = find_frame(found, pc, walk, input)) {
            walk.set_frame_pointer(frame->frame_pointer);
            guessed |= frame->guessed;
          }
        }
        StackEnd end = walk.step(*found.row, *found.rows);
        // Hand-written code may have wrong rules, such as a register that a call overwrites.
        if ((end == StackEnd::no_rule || end == StackEnd::damaged) && found.row->signal == 0 &&
            step_by_code(found, pc, walk, input) == StackEnd::complete)
          end = StackEnd::complete;
        if (end != StackEnd::complete)
          return ended(end);
        interrupted = found.row->signal != 0;
      } else if (found.start) {
        return ended(StackEnd::complete);
      } else if (const StackEnd end = step_without_row(found, pc, walk, input);
                 end != StackEnd::complete) {
        // A C library without unwind data, such as musl, calls `main` from its start-up code.
        const bool calls_main = callee.rows && callee.rows->is_in_main(callee.link);
        return ended(calls_main ? StackEnd::complete : end);
      }
      callee = found;
      if (processor == Processor::aarch64 && !is_code(walk.pc()))
        walk.strip_pc();
      pc = walk.pc();
      if (pc == 0)
        return ended(StackEnd::complete); // a thread that was started without a return address
      if (!interrupted)
        --pc; // the call instruction precedes the return address
      mapping = input.mapping_of_pc(pc);
      // A signal's handler returns to code that nothing precedes; an emulator maps it alone.
      if (!mapping && processor != Processor::x86_64) {
        pc = walk.pc();
        mapping = input.mapping_of_pc(pc);
      }
      if (!mapping)
        return ended(StackEnd::damaged);
      pcs.push_back(pc);
    }
    return ended(walk.has_joined() ? StackEnd::dump_too_short : StackEnd::damaged);
  }

  Found find(const CodeMapping &mapping, uint64_t pc, Processor processor) {
    Found found{place_in(mapping, pc, processor), {}, false};
    if (found.rows) {
      if (const UnwindRow *const row = found.rows->at(found.link))
        found.row = *row;
      found.start = found.link - found.rows->entry() < start_bytes;
    }
    return found;
  }

  Place place_in(const CodeMapping &mapping, uint64_t pc, Processor processor) {
    if (index_of(mapping.module) >= modules_.size())
      return {};
    Module &module = modules_[index_of(mapping.module)];
    if (!module.opened)
      open(module);
    const auto link = module.files.link_address(mapping.file_offset + (pc - mapping.start));
    return module.rows && module.rows->processor() == processor && link
               ? Place{module.rows.get(), *link}
               : Place{};
  }

  // Steps to the caller of code without unwind data. Returns `complete`, or why that is impossible.
  StackEnd step_without_row(const Found &found, uint64_t pc, Walk &walk, const UnwindInput &input) {
    const auto is_code = [&](uint64_t at) { return input.mapping_of_pc(at).has_value(); };
    const StackEnd end = step_by_code(found, pc, walk, input);
    return end != StackEnd::no_rule              ? end
           : walk.step_by_frame_pointer(is_code) ? StackEnd::complete
                                                 : StackEnd::no_rule;
  }

  StackEnd step_by_code(const Found &found, uint64_t pc, Walk &walk, const UnwindInput &input) {
    const auto is_return = [&](uint64_t address) {
      const Place at = place_of(input, address - 1);
      if (!at.rows) // its code cannot be read
        return input.mapping_of_pc(address - 1).has_value();
      const UnwindRow *const row = at.rows->at(at.link + 1); // a signal's handler is not called
      return (row && row->signal != 0) ||
             ends_with_call(at.rows->code(at.link + 1 - longest_call, longest_call));
    };
    if (!found.rows || found.rows->processor() != Processor::x86_64 || !walk.knows_stack_pointer())
      return StackEnd::no_rule;
    const uint64_t next = found.link + (walk.pc() - pc); // a caller's pc is within its call
    const bool never_returns = walk.pc() != pc && found.rows->begins_function(next);
    return never_returns ? StackEnd::no_rule
                         : walk.step_by_code(found.rows->ways_out(), next, is_return);
  }

  std::optional<FoundFrame> find_frame(const Found &found, uint64_t pc, const Walk &walk,
                                       const UnwindInput &input) {
    LostFrame lost;
    lost.sp = walk.sp();
    lost.word_at = [&walk](uint64_t address) { return walk.word_at(address); };
    lost.code_at = [this, &input](uint64_t address, size_t size) {
      const Place at = place_of(input, address);
      return at.rows ? at.rows->code(at.link, size) : std::string();
    };
    lost.row = &*found.row;
    if (const auto start = found.rows->start_of(found.link)) {
      lost.start = pc - (found.link - *start);
      lost.code = found.rows->code(
          *start, std::min<uint64_t>(found.link - *start, LostFrame::most_code_bytes));
    }
    lost.needs_frame_pointer = [&](uint64_t address) {
      const Place at = place_of(input, address);
      const UnwindRow *const there = at.rows ? at.rows->at(at.link) : nullptr;
      return there && there->needs(x86_64.number.fp);
    };
    return find_lost_frame(lost);
  }

  Place place_of(const UnwindInput &input, uint64_t pc) {
    const auto mapping = input.mapping_of_pc(pc);
    return mapping ? place_in(*mapping, pc, input.registers.processor) : Place{};
  }

  static void open(Module &module) {
    module.opened = true;
    auto main = module.files.open_main();
    const auto processor = main ? main->processor() : std::nullopt;
    if (processor)
      module.rows =
          std::make_unique<UnwindRows>(*processor, std::move(*main), module.files.open_debug());
  }

  std::vector<std::string> debug_directories_;
  ModuleSources sources_;
  MappedFiles mapped_;
  std::vector<Module> modules_;
  std::map<Key, ModuleId> ids_;
};

} // namespace
} // namespace symbolize

std::unique_ptr<Unwinder> make_unwinder(std::vector<std::string> debug_directories,
                                        ModuleSources sources) {
  return std::make_unique<symbolize::ElfUnwinder>(std::move(debug_directories), std::move(sources));
}

} // namespace tally
