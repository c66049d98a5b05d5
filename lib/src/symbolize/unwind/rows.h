// Stores call frame information as rows: the caller's registers for a given pc. elfutils makes a
// row when its pc is first met, and the row is kept: the pcs of a program repeat, and making a row
// takes about thirty times as long as using one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "support/id_table.h"
#include "symbolize/elf_file.h"
#include "symbolize/unwind/call_frames.h"
#include "symbolize/unwind/machine.h"
#include "symbolize/unwind/starts.h"
#include "symbolize/unwind/way_out.h"

namespace tally::symbolize {

// Any rule that a register can have. Only signal frames, PLT entries and hand-written code need it.
struct GeneralRule {
  enum class Kind : uint8_t { same, undefined, at, value }; // `at`: in memory, where `ops` says
  Kind kind = Kind::same;
  std::vector<Dwarf_Op> ops;
};
struct GeneralRow {
  std::vector<Dwarf_Op> cfa;
  std::vector<GeneralRule> registers; // UnwindMachine::register_count of them
};

bool operator==(const GeneralRule &a, const GeneralRule &b);
bool operator==(const GeneralRow &a, const GeneralRow &b);

struct UnwindRow {
  static constexpr int16_t same = INT16_MIN, unknown = INT16_MIN + 1; // values of `saved`
  static constexpr uint32_t not_general = UINT32_MAX;

  int32_t cfa_offset = 0; // CFA = register + offset
  uint8_t cfa_register = 0;
  uint8_t outermost = 0; // there is no caller
  int16_t returns = 0;   // the return address is at CFA + 8 * returns, or in its register
  int16_t saved[most_kept_registers] = {}; // of UnwindMachine::kept: each is at CFA + 8 * saved
  uint32_t general = not_general;          // the general row, if the fields above do not suffice
  uint32_t signal = 0; // the caller was interrupted by a signal and made no call
  // Returns whether the CFA is an offset from a register.
  bool needs(uint8_t number) const { return general == not_general && cfa_register == number; }
  friend bool operator==(const UnwindRow &, const UnwindRow &) = default;
};

class UnwindRows {
public:
  // Rows come from .eh_frame. If .eh_frame has no row for an address, the row comes from
  // .debug_frame, which may be in the debug file.
  UnwindRows(Processor processor, ElfFile main, std::optional<ElfFile> debug);
  UnwindRows(const UnwindRows &) = delete;
  UnwindRows &operator=(const UnwindRows &) = delete;

  // Returns the row for a link-time address, or null if there is none. The row is valid until the
  // next call.
  const UnwindRow *at(uint64_t address);
  const GeneralRow &general(const UnwindRow &row) const { return general_[row.general]; }
  // Returns the start of the last function in .eh_frame that begins at or before an address.
  std::optional<uint64_t> start_of(uint64_t address);
  // Returns how code without a row goes on to its return.
  WayOut &ways_out() { return ways_out_; }
  // Returns whether a function of the unwind data or of the symbol table begins at an address.
  bool begins_function(uint64_t address);
  // Returns the bytes of code from an address on; fewer at the end of the code.
  std::string code(uint64_t address, size_t size) const;
  Processor processor() const { return machine_.processor; }
  // Returns the address of the file's entry point, which has no caller, and in some files no row.
  uint64_t entry() const { return code_.entry; }
  // Returns whether an address is in the function `main`, as the symbol table names it.
  bool is_in_main(uint64_t address);

private:
  static constexpr uint32_t no_row = UINT32_MAX;

  uint32_t make_row(uint64_t address);
  const std::vector<uint64_t> &named_starts();
  uint32_t keep(Dwarf_Frame *frame);
  bool simple_row(Dwarf_Frame *frame, UnwindRow &row);
  uint32_t general_row(Dwarf_Frame *frame);
  CallFrames &eh_frame();
  CallFrames &debug_frame();

  const UnwindMachine &machine_;
  ElfFile main_;
  std::optional<ElfFile> debug_;
  std::optional<CallFrames> eh_frame_; // read when they are first needed
  std::optional<CallFrames> debug_frame_;
  struct {
    std::optional<UnwindStarts> starts;         // read when they are first needed
    std::optional<std::vector<uint64_t>> mains; // likewise: the addresses of `main`
    std::optional<std::vector<uint64_t>> named; // likewise: where functions with a symbol begin
    std::vector<Segment> segments;
    uint64_t entry = 0;
  } code_;

  WayOut ways_out_;

  // Rows are kept by pc, and not by the interval that elfutils returns with a row, which begins too
  // early after DW_CFA_restore_state (0.188).
  IdTable by_address_;
  std::vector<uint64_t> addresses_;
  std::vector<uint32_t> row_of_; // parallel to addresses_
  IdTable by_content_;           // finds an equal row, because most rows are equal to another one
  std::vector<UnwindRow> rows_;
  IdTable by_rules_;
  std::vector<GeneralRow> general_;
};

} // namespace tally::symbolize
