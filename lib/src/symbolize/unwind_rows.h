// Call frame information as rows: what the caller's registers are, given a pc. Made by elfutils as
// pcs are first met, and kept: a program's pcs repeat, and making a row takes about thirty times as
// long as using one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <elfutils/libdw.h>

#include "model/id_table.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

// x86-64's registers in DWARF's numbers (psABI, figure 3.36).
constexpr uint8_t stack_pointer = 7, frame_pointer = 6, return_address = 16;
constexpr size_t register_count = 17;
// Those that a function gives back as it found them.
constexpr std::array<uint8_t, 6> kept_registers{3, 6, 12, 13, 14, 15};

// Any rule that a register may have; only signal frames, PLT entries and hand-written code need it.
struct GeneralRule {
  enum class Kind : uint8_t { same, undefined, at, value }; // at: memory at what the ops make
  Kind kind = Kind::same;
  std::vector<Dwarf_Op> ops;
};
struct GeneralRow {
  std::vector<Dwarf_Op> cfa;
  std::array<GeneralRule, register_count> registers;
};

bool operator==(const GeneralRule &a, const GeneralRule &b);
bool operator==(const GeneralRow &a, const GeneralRow &b);

struct UnwindRow {
  static constexpr int16_t same = INT16_MIN, unknown = INT16_MIN + 1; // of `saved`
  static constexpr uint32_t not_general = UINT32_MAX;

  int32_t cfa_offset = 0; // CFA = register + offset
  uint8_t cfa_register = 0;
  uint8_t outermost = 0;          // there is no caller
  int16_t returns = 0;            // the return address is at CFA + 8 * returns
  int16_t saved[6] = {};          // of kept_registers: at CFA + 8 * saved
  uint32_t general = not_general; // where the row does not fit into the above: which general row
  uint32_t signal = 0;            // the caller was interrupted, and has called nobody
  friend bool operator==(const UnwindRow &, const UnwindRow &) = default;
};

class UnwindRows {
public:
  // Of .eh_frame, and where that tells nothing of .debug_frame, which may be in a file of its own.
  UnwindRows(ElfFile main, std::optional<ElfFile> debug);
  ~UnwindRows();
  UnwindRows(const UnwindRows &) = delete;
  UnwindRows &operator=(const UnwindRows &) = delete;

  // For a link-time address; null: there is none. Valid until the next call.
  const UnwindRow *at(uint64_t address);
  const GeneralRow &general(const UnwindRow &row) const { return general_[row.general]; }
  // Where the file's own start is, which has no caller and in some files no row.
  uint64_t entry() const { return entry_; }

private:
  struct EndDwarf {
    void operator()(Dwarf *dwarf) const { dwarf_end(dwarf); }
  };
  static constexpr uint32_t no_row = UINT32_MAX;

  uint32_t make_row(uint64_t address);
  uint32_t keep(Dwarf_Frame *frame);
  bool simple_row(Dwarf_Frame *frame, UnwindRow &row);
  uint32_t general_row(Dwarf_Frame *frame);
  Dwarf_CFI *debug_frame();

  ElfFile main_;
  std::optional<ElfFile> debug_;
  Dwarf_CFI *eh_frame_;
  bool debug_frame_tried_ = false;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  Dwarf_CFI *debug_frame_ = nullptr; // dwarf_'s
  uint64_t entry_ = 0;

  // By the very pc, not by the interval that elfutils gives with a row: after DW_CFA_restore_state
  // that begins too early (0.188).
  IdTable by_address_;
  std::vector<uint64_t> addresses_;
  std::vector<uint32_t> row_of_; // of addresses_
  IdTable by_content_;           // few rows differ
  std::vector<UnwindRow> rows_;
  IdTable by_rules_;
  std::vector<GeneralRow> general_;
};

} // namespace tally::symbolize
