// Annotates machine code with its costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "model/symbolizer.h"
#include "report/annotate.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// The code of a function, which a debugger or disassemble() disassembles.
struct FunctionCode {
  struct Object {
    ModuleId module = none<ModuleId>; // none for code in no file, whose addresses are run-time
    std::string path;
    std::optional<uint64_t> bias;         // run-time minus link-time address, of the newest mapping
    std::vector<InstructionRange> ranges; // link-time; ascending, disjoint
    // True if a range ends at its last sampled address because the end of the code is unknown. If
    // the start of the code is unknown, too, the range begins at its first sampled address.
    bool partly = false;
    std::vector<Instruction>
        instructions;      // sorted by address; link-time or run-time as in `ranges`
    bool run_time = false; // show run-time addresses, as the debugger does
    std::string problem;   // why there are no instructions; empty if there are
  };
  std::vector<Object> objects;
  int pid = 0; // as in function_code()
};

// Returns all code that the profile attributes to functions with the name `function`, including
// functions inlined into them. If `function` itself is inlined, returns the code of its sampled
// copies. The symbolizer must outlive the result. `pid` is a process that maps the files, or 0 if
// there is none. Errors: not_found if there is no such function; unsupported if the profile has no
// addresses, or if it is unknown where the code begins.
Result<FunctionCode> function_code(const StackProfile &profile, std::string_view function,
                                   Symbolizer &symbolizer, Diagnostics &diagnostics, int pid = 0);
Result<FunctionCode> function_code(const CostProfile &profile, std::string_view function,
                                   Symbolizer &symbolizer, Diagnostics &diagnostics);
// Fails with limit if the code exceeds 1 MiB, which no table could show.
Result<void> check_code_size(const FunctionCode &code, std::string_view function);
// Disassembles the objects that have no instructions yet, from their files. Sets Object::problem of
// each object for which that fails. Returns the first error if no object has instructions.
Result<void> disassemble(FunctionCode &code, Symbolizer &symbolizer,
                         DisassemblyFlavor flavor = DisassemblyFlavor::att);

struct InstructionRow {
  uint64_t address = 0; // the address to show
  std::string text;
  uint64_t self = 0, inclusive = 0; // costs of the first event
  std::string function;             // the innermost function; may be empty
  bool own = true;                  // false if `function` was inlined into the requested one
  std::string file;                 // empty if unknown
  uint32_t line = 0;                // 0 if unknown
};

struct Disassembly {
  struct Object {
    std::string path;
    uint64_t self = 0; // self cost of the code in this object
    uint64_t own = 0;  // `self` without functions inlined into the requested one
    // Self cost of addresses in code that could not be disassembled.
    uint64_t unplaced = 0;
    bool partly = false;
    std::string problem;
    std::vector<InstructionRow> rows;
    std::vector<size_t> first_rows; // the row at which each range begins
  };
  std::string function; // the name that was requested
  std::string event;
  uint64_t total = 0; // of the whole profile
  bool has_inclusive = false;
  std::vector<Object> objects; // by falling self cost
};

// Attributes costs to the instruction that contains their address. A caller's address is its return
// address - 1, which lies within the call. For the inclusive cost of an instruction, each stack
// counts once. Fails with overflow if a sum exceeds 64 bits.
Result<Disassembly> disassembly(const StackProfile &profile, const FunctionCode &code,
                                std::string_view function, Symbolizer &symbolizer);
// Attributes only self costs, because a cost profile does not have the costs of calls by address.
Result<Disassembly> disassembly(const CostProfile &profile, const FunctionCode &code,
                                std::string_view function, Symbolizer &symbolizer);

// Returns the instructions as text, with the source lines between them if they are known.
std::string to_text(const Disassembly &disassembly, const SourcePaths &sources = {},
                    const TextOptions &options = {});
// Returns {"event","total","objects":[{"object","self","own","unplaced","instructions":[{"address",
// "text","self","inclusive","function","file","line"}]}]}. `limit` is the maximum number of
// instructions for each object; 0 means all.
std::string to_json(const Disassembly &disassembly, uint32_t limit = 0);

} // namespace tally
