// From registers and a piece of stack to the chain of callers: the interface that a sampler calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/export.h>
#include <tally/symbolizer.h>

namespace tally {

// x86-64's general registers in DWARF's numbering (psABI, figure 3.36), 16 = return address / pc.
struct Registers {
  std::array<uint64_t, 17> value{};
  uint64_t pc() const { return value[16]; }
  uint64_t sp() const { return value[7]; }
  uint64_t fp() const { return value[6]; }
};

// A mapping that holds a pc at the time of the sample.
struct CodeMapping {
  ModuleId module{};
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
};

struct UnwindInput {
  Registers registers;
  std::span<const std::byte> stack;                                     // begins at registers.sp()
  std::function<std::optional<CodeMapping>(uint64_t pc)> mapping_of_pc; // nothing: not code
};

// Why a chain ends.
enum class StackEnd : uint8_t {
  complete,   // reached the frame that has no caller
  copy_short, // the stack is deeper than its copy, which has the size that was asked for
  unreadable, // the copy is smaller than that: what follows it could not be read
  no_rule,    // no unwind data for a pc, and no frame pointer to trust
  damaged,    // a loop, or a caller below its callee
};

class TALLY_API Unwinder {
public:
  virtual ~Unwinder() = default;
  // The file that a mapping shows; nothing is read yet. Never fails: what has no unwind data is
  // followed by frame pointers.
  virtual ModuleId module(const ModuleKey &key) = 0;
  // Appends pcs, leaf first; callers as return address - 1, but for the frame that a signal
  // interrupted. This and module() are called on the sampler's reader thread, or on a thread that
  // calls the sampler while the reader waits: never by two at once.
  virtual StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) = 0;
};

// By call frame information (.eh_frame, .debug_frame), x86-64. The directories hold separate debug
// files, as SymbolizerOptions has them.
TALLY_API std::unique_ptr<Unwinder> make_unwinder(std::vector<std::string> debug_directories = {
                                                      "/usr/lib/debug"});

} // namespace tally
