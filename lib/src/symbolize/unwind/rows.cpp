#include "symbolize/unwind/rows.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include <dwarf.h>
#include <gelf.h>

#include "support/hash.h"
#include "symbolize/symtab.h"

namespace tally::symbolize {

namespace {

// A compiler's rule has only a few operations; a damaged file may claim any number.
constexpr size_t most_ops = 64;
// A file with hand-written assembly has some hundreds of general rows.
constexpr size_t most_general_rows = 16384;

bool fits_word(int64_t offset, int16_t &words) {
  // The two lowest numbers have another meaning: UnwindRow::same and UnwindRow::unknown.
  if (offset % 8 != 0 || offset / 8 < INT16_MIN + 2 || offset / 8 > INT16_MAX)
    return false;
  words = static_cast<int16_t>(offset / 8);
  return true;
}

// Recognises "CFA + n" as libdw expresses it: DW_OP_call_frame_cfa, followed for n != 0 by
// DW_OP_plus_uconst of n, which wraps for n < 0.
bool is_cfa_plus(const Dwarf_Op *ops, size_t count, int64_t &offset) {
  if (count == 0 || count > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
      (count == 2 && ops[1].atom != DW_OP_plus_uconst))
    return false;
  offset = count == 2 ? static_cast<int64_t>(ops[1].number) : 0;
  return true;
}

// The rule of one register, as libdw reports the rule. libdw may store the operations in `memory`.
struct RegisterRule {
  Dwarf_Op memory[3];
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  bool read(Dwarf_Frame *frame, const UnwindMachine &machine, int number) {
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0 || count > most_ops)
      return false;
    // A register without a rule follows the ABI: callee-saved registers keep their values. libdw
    // (0.188) applies this to all callee-saved registers except rbx. The dynamic linker's assembly
    // needs rbx to find its frame.
    constexpr int rbx = 3;
    if (machine.processor == Processor::x86_64 && number == rbx && undefined())
      ops = nullptr;
    return true;
  }
  bool same() const { return count == 0 && ops == nullptr; }
  bool undefined() const { return count == 0 && ops != nullptr; }
};

uint64_t hash_of(const UnwindRow &row) {
  uint64_t h = combine(static_cast<uint32_t>(row.cfa_offset),
                       (uint64_t{row.cfa_register} << 8) | row.outermost);
  h = combine(h, (uint64_t{row.general} << 32) | row.signal);
  h = combine(h, static_cast<uint16_t>(row.returns));
  for (const int16_t saved : row.saved)
    h = combine(h, static_cast<uint16_t>(saved));
  return h;
}

uint64_t hash_of(std::span<const Dwarf_Op> ops, uint64_t h) {
  for (const Dwarf_Op &op : ops)
    h = combine(combine(h, op.atom), combine(op.number, op.number2));
  return combine(h, ops.size());
}

uint64_t hash_of(const GeneralRow &row) {
  uint64_t h = hash_of(row.cfa, 0);
  for (const GeneralRule &rule : row.registers)
    h = hash_of(rule.ops, combine(h, static_cast<uint8_t>(rule.kind)));
  return h;
}

// Reserves room for one more row, so that adding it cannot fail after a table refers to it.
template <class Row> void make_room(std::vector<Row> &rows) {
  if (rows.size() == rows.capacity())
    rows.reserve(std::max<size_t>(64, rows.size() * 2));
}

bool same_ops(std::span<const Dwarf_Op> a, std::span<const Dwarf_Op> b) {
  return std::ranges::equal(a, b, [](const Dwarf_Op &x, const Dwarf_Op &y) {
    return x.atom == y.atom && x.number == y.number && x.number2 == y.number2 &&
           x.offset == y.offset;
  });
}

} // namespace

bool operator==(const GeneralRule &a, const GeneralRule &b) {
  return a.kind == b.kind && same_ops(a.ops, b.ops);
}

bool operator==(const GeneralRow &a, const GeneralRow &b) {
  return same_ops(a.cfa, b.cfa) && a.registers == b.registers;
}

UnwindRows::UnwindRows(Processor processor, ElfFile main, std::optional<ElfFile> debug)
    : machine_(machine_of(processor)), main_(std::move(main)), debug_(std::move(debug)),
      ways_out_({[this](uint64_t address, size_t size) { return code(address, size); },
                 [this](uint64_t address) { return begins_function(address); }}) {
  GElf_Ehdr header;
  if (gelf_getehdr(main_.elf(), &header))
    code_.entry = header.e_entry;
  code_.segments = main_.code_segments();
  main_.spare_descriptors();
  if (debug_)
    debug_->spare_descriptors();
}

std::optional<uint64_t> UnwindRows::start_of(uint64_t address) {
  if (!code_.starts)
    code_.starts = UnwindStarts::read(main_);
  return code_.starts->before(address);
}

bool UnwindRows::is_in_main(uint64_t address) {
  if (!code_.mains)
    code_.mains = symbol_addresses(main_, debug_ ? &*debug_ : nullptr, "main");
  const auto start = start_of(address);
  return start && std::ranges::find(*code_.mains, *start) != code_.mains->end();
}

const std::vector<uint64_t> &UnwindRows::named_starts() {
  if (!code_.named)
    code_.named = function_starts(main_, debug_ ? &*debug_ : nullptr);
  return *code_.named;
}

bool UnwindRows::begins_function(uint64_t address) {
  return std::ranges::binary_search(named_starts(), address) || start_of(address) == address;
}

// libelf would keep each piece for ever, and search them all.
std::string UnwindRows::code(uint64_t address, size_t size) const {
  for (const Segment &segment : code_.segments) {
    const uint64_t at = address - segment.address;
    if (address < segment.address || at >= segment.size)
      continue;
    std::string out(std::min<uint64_t>(size, segment.size - at), '\0');
    if (main_.read_at(segment.offset + at, std::as_writable_bytes(std::span(out))))
      return out;
  }
  return {};
}

const UnwindRow *UnwindRows::at(uint64_t address) {
  make_room(addresses_);
  make_room(row_of_);
  const auto [index, added] = by_address_.find_or_add(
      mix(address), static_cast<uint32_t>(addresses_.size()),
      [&](uint32_t i) { return addresses_[i] == address; },
      [&](uint32_t i) { return mix(addresses_[i]); });
  if (added) {
    addresses_.push_back(address);
    row_of_.push_back(no_row);
    row_of_[index] = make_row(address);
  }
  return row_of_[index] == no_row ? nullptr : &rows_[row_of_[index]];
}

uint32_t UnwindRows::make_row(uint64_t address) {
  for (const bool in_debug : {false, true}) { // opening the debug file may take long
    Dwarf_CFI *const cfi = (in_debug ? debug_frame() : eh_frame()).cfi_for(address);
    Dwarf_Frame *found = nullptr;
    if (!cfi || dwarf_cfi_addrframe(cfi, address, &found) != 0)
      continue;
    const std::unique_ptr<Dwarf_Frame, void (*)(Dwarf_Frame *)> frame(
        found, [](Dwarf_Frame *each) { std::free(each); });
    return keep(frame.get());
  }
  return no_row;
}

CallFrames &UnwindRows::eh_frame() {
  if (!eh_frame_)
    eh_frame_.emplace(CallFrames::of_eh_frame(main_));
  return *eh_frame_;
}

CallFrames &UnwindRows::debug_frame() {
  if (!debug_frame_)
    debug_frame_.emplace(CallFrames::of_debug_frame(main_));
  if (!debug_frame_->has_entries() && debug_) {
    named_starts(); // needs the file that is given away here
    debug_frame_.emplace(CallFrames::of_debug_frame(*std::exchange(debug_, std::nullopt)));
  }
  return *debug_frame_;
}

uint32_t UnwindRows::keep(Dwarf_Frame *frame) {
  bool signal = false;
  if (dwarf_frame_info(frame, nullptr, nullptr, &signal) != machine_.return_address)
    return no_row;
  UnwindRow row;
  if (!simple_row(frame, row)) {
    row = {};
    row.general = general_row(frame);
    if (row.general == UnwindRow::not_general)
      return no_row;
  }
  row.signal = signal;
  make_room(rows_);
  const auto [index, added] = by_content_.find_or_add(
      hash_of(row), static_cast<uint32_t>(rows_.size()),
      [&](uint32_t i) { return rows_[i] == row; }, [&](uint32_t i) { return hash_of(rows_[i]); });
  if (added)
    rows_.push_back(row);
  return index;
}

bool UnwindRows::simple_row(Dwarf_Frame *frame, UnwindRow &row) {
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1)
    return false;
  int64_t offset = 0;
  const size_t named = std::min<size_t>(machine_.register_count, 32); // DW_OP_breg0 … DW_OP_breg31
  if (ops[0].atom == DW_OP_bregx && ops[0].number < machine_.register_count) {
    row.cfa_register = static_cast<uint8_t>(ops[0].number);
    offset = static_cast<int64_t>(ops[0].number2);
  } else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom < DW_OP_breg0 + named) {
    row.cfa_register = static_cast<uint8_t>(ops[0].atom - DW_OP_breg0);
    offset = static_cast<int64_t>(ops[0].number);
  } else {
    return false;
  }
  if (offset < INT32_MIN || offset > INT32_MAX)
    return false;
  row.cfa_offset = static_cast<int32_t>(offset);

  RegisterRule rule;
  int64_t at = 0;
  for (size_t i = 0; i < machine_.kept_count; ++i) {
    if (!rule.read(frame, machine_, machine_.kept[i]))
      return false;
    if (rule.same())
      row.saved[i] = UnwindRow::same;
    else if (rule.undefined())
      row.saved[i] = UnwindRow::unknown;
    else if (!is_cfa_plus(rule.ops, rule.count, at) || !fits_word(at, row.saved[i]))
      return false;
  }
  // The caller's stack pointer is the CFA unless a rule says otherwise.
  if (!rule.read(frame, machine_, machine_.number.sp) ||
      !(rule.same() || rule.undefined() ||
        (rule.count == 2 && rule.ops[0].atom == DW_OP_call_frame_cfa &&
         rule.ops[1].atom == DW_OP_stack_value)))
    return false;
  if (!rule.read(frame, machine_, machine_.return_address))
    return false;
  if (rule.undefined()) {
    row.outermost = 1;
    return true;
  }
  // A function that calls no other leaves its return address where the call put it.
  if (rule.same() && machine_.number.pc != machine_.return_address) {
    row.returns = UnwindRow::same;
    return true;
  }
  return !rule.same() && is_cfa_plus(rule.ops, rule.count, at) && fits_word(at, row.returns);
}

uint32_t UnwindRows::general_row(Dwarf_Frame *frame) {
  if (general_.size() >= most_general_rows)
    return UnwindRow::not_general;
  GeneralRow row;
  Dwarf_Op *ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || count > most_ops)
    return UnwindRow::not_general;
  row.cfa.assign(ops, ops + count);
  row.registers.resize(machine_.register_count);
  for (size_t i = 0; i < row.registers.size(); ++i) {
    RegisterRule found;
    if (!found.read(frame, machine_, static_cast<int>(i)))
      return UnwindRow::not_general;
    GeneralRule &rule = row.registers[i];
    if (found.same()) {
      rule.kind = GeneralRule::Kind::same;
    } else if (found.undefined()) {
      rule.kind = GeneralRule::Kind::undefined;
    } else {
      rule.ops.assign(found.ops, found.ops + found.count);
      rule.kind = GeneralRule::Kind::at;
      if (rule.ops.back().atom == DW_OP_stack_value) {
        rule.kind = GeneralRule::Kind::value;
        rule.ops.pop_back();
      } else if (rule.ops.size() == 1 &&
                 (rule.ops[0].atom == DW_OP_regx ||
                  (rule.ops[0].atom >= DW_OP_reg0 && rule.ops[0].atom <= DW_OP_reg31))) {
        // The value is in another register.
        Dwarf_Op &op = rule.ops[0];
        const Dwarf_Word number = op.atom == DW_OP_regx ? op.number : op.atom - DW_OP_reg0;
        op = {DW_OP_bregx, number, 0, 0};
        rule.kind = GeneralRule::Kind::value;
      }
    }
  }
  make_room(general_);
  const auto [index, added] = by_rules_.find_or_add(
      hash_of(row), static_cast<uint32_t>(general_.size()),
      [&](uint32_t i) { return general_[i] == row; },
      [&](uint32_t i) { return hash_of(general_[i]); });
  if (added)
    general_.push_back(std::move(row));
  return index;
}

} // namespace tally::symbolize
