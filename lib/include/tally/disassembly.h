// Machine code with its costs beside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/annotate.h>
#include <tally/cost_profile.h>
#include <tally/report.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/symbolizer.h>

namespace tally {

// The code of a function, to be disassembled by whoever can.
struct FunctionCode {
  struct Object {
    ModuleId module = none<ModuleId>; // none: code that no file holds, by run-time address
    std::string path;
    std::optional<uint64_t> bias; // run-time address - link-time address, of its newest mapping
    std::vector<InstructionRange> ranges; // link-time; ascending, apart
    // The ends of the function are not known: from its first sampled address to its last.
    bool partly = false;
    std::vector<Instruction> instructions; // by address, which is as that of the ranges
    bool run_time = false;                 // addresses are to be shown as the debugger has them
    std::string problem;                   // why there are no instructions
  };
  std::vector<Object> objects;
  int pid = 0; // as below
};

// All code in which the profile has a function of that name, with what is inlined into it; inlined
// itself, it is the code of those copies that were sampled. The symbolizer outlives what is made
// here. `pid`: a process that has the files mapped; 0: none. Errors: not_found, no such function;
// unsupported, the profile has no addresses, or where the code begins is not known.
TALLY_API Result<FunctionCode> function_code(const StackProfile &profile, std::string_view function,
                                             Symbolizer &symbolizer, Diagnostics &diagnostics,
                                             int pid = 0);
TALLY_API Result<FunctionCode> function_code(const CostProfile &profile, std::string_view function,
                                             Symbolizer &symbolizer, Diagnostics &diagnostics);
// Refuses what no table could show: more than a megabyte.
TALLY_API Result<void> check_code_size(const FunctionCode &code, std::string_view function);
// Disassembles what has no instructions yet from the objects' files. An error where nothing could
// be; else the objects' problems tell.
TALLY_API Result<void> disassemble(FunctionCode &code, Symbolizer &symbolizer,
                                   DisassemblyFlavor flavor = DisassemblyFlavor::att);

struct InstructionRow {
  uint64_t address = 0; // as shown
  std::string text;
  uint64_t self = 0, inclusive = 0; // of the first event
  std::string function;             // innermost
  bool own = true;                  // that is no other, which is inlined there
  std::string file;                 // of the line; may be empty
  uint32_t line = 0;                // 0: not known
};

struct Disassembly {
  struct Object {
    std::string path;
    uint64_t self = 0; // of all its rows
    uint64_t own = 0;  // of that, what is not of functions inlined into this one
    // Of addresses in the code that no instruction holds: what could not be disassembled.
    uint64_t unplaced = 0;
    bool partly = false;
    std::string problem;
    std::vector<InstructionRow> rows;
    std::vector<size_t> first_rows; // where ranges begin
  };
  std::string function; // as it was asked for
  std::string event;
  uint64_t total = 0;
  bool has_inclusive = false;
  std::vector<Object> objects; // the costliest first
};

// Costs of addresses go to the instruction that holds them: a call has the return addresses behind
// it, less 1. Inclusive: once a stack.
TALLY_API Result<Disassembly> disassembly(const StackProfile &profile, const FunctionCode &code,
                                          std::string_view function, Symbolizer &symbolizer);
// Self cost alone: what calls cost is not known by address.
TALLY_API Result<Disassembly> disassembly(const CostProfile &profile, const FunctionCode &code,
                                          std::string_view function, Symbolizer &symbolizer);

// The source lines stand between, where they are known.
TALLY_API std::string to_text(const Disassembly &disassembly, const SourcePaths &sources = {},
                              const TextOptions &options = {});
// {"event","total","objects":[{"object","self","own","unplaced","instructions":[{"address","text","self",
// "inclusive","function","file","line"}]}]}. limit: instructions of each object; 0: all.
TALLY_API std::string to_json(const Disassembly &disassembly, uint32_t limit = 0);

} // namespace tally
