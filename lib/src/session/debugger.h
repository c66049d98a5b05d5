// Declares what a session asks the debugger to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "live/counter_places.h"
#include "live/open_functions.h"
#include "live/program_source.h"
#include "model/symbolizer.h"
#include "support/result.h"
#include "transform/symbolization.h"

namespace tally {

// The functions of tally_front, which tally.h describes. capi/front.h calls those of a front.
//
// A function fails with ErrorCode::cancelled if the user interrupts it, and otherwise with the
// message that says why the debugger does not do it. What it was to do may be half done then. Most
// are called by Front::ask() and Front::undo(), which call an interrupted function once more.
class Debugger {
public:
  struct LoadedFiles {
    std::string core; // the path of the core file, if it is one and its path is known
    std::vector<live::LoadedSection> sections;
  };

  Debugger() = default;
  Debugger(const Debugger &) = delete;
  virtual ~Debugger() = default;

  virtual Result<void> progress(const std::string &text) = 0;
  // Returns the functions at each address, as Symbolization::set_names() takes them.
  virtual Result<std::vector<std::vector<Symbolization::Named>>>
  symbols(std::span<const uint64_t> addresses) = 0;
  virtual Result<std::vector<Instruction>>
  disassemble(const std::vector<live::AddressRange> &ranges) = 0;
  virtual Result<std::vector<live::StoppedThread>> stacks() = 0;
  virtual Result<LoadedFiles> modules() = 0;
  // Returns nothing if some byte of the range cannot be read.
  virtual Result<std::optional<std::string>> memory(const live::AddressRange &range) = 0;
  virtual Result<size_t> break_once(const std::vector<uint64_t> &entries) = 0;
  virtual Result<void> set_breakpoint(const std::string &file, uint64_t at) = 0;
  virtual Result<void> list_source(const std::string &file, uint64_t at) = 0;
  virtual Result<void> preload(const std::string &library, const std::string &variable,
                               const std::vector<int32_t> &signals) = 0;
  virtual Result<void> end_preload() = 0;
  virtual Result<void> load(const std::string &library, const std::string &argument,
                            const std::vector<int32_t> &signals) = 0;
  virtual Result<void> interrupt(int32_t signal, bool with_stacks) = 0;
  virtual Result<void> end_interrupt() = 0;
  virtual Result<void> restore_signals() = 0;
  virtual Result<void> halt() = 0;
  virtual Result<void> watch_region(const std::string &first, const std::string &second) = 0;
  virtual Result<void> end_region() = 0;
};

// The error of a function that the user interrupts, and of the command that called it.
inline Error interrupted() {
  return {ErrorCode::cancelled, "interrupted; what was collected is kept"};
}
inline bool is_interrupted(const Error &error) { return error.code == ErrorCode::cancelled; }
// Returns the error of a command, or about a location, because a function failed with `why`. Its
// message begins with `what`, unless the user interrupted.
inline Error error_about(std::string source, ErrorCode code, Error why,
                         std::string_view what = {}) {
  if (is_interrupted(why))
    return why;
  return Error{code, why.message.insert(0, what), std::move(source)};
}

} // namespace tally
