// Where the memory and the modules of a program are known from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "live/counter_layout.h"
#include "live/memory.h"
#include "live/open_functions.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally::live {

class ProgramSource {
public:
  virtual ~ProgramSource() = default;
  virtual Memory &memory() = 0;
  // Returns a text that changes when a module is loaded or unloaded. Fails if the program is gone.
  virtual Result<std::string> state_of_modules() = 0;
  // Returns the modules in the order of their addresses or of the debugger's list.
  virtual std::vector<LoadedModule> modules(Diagnostics &diagnostics) = 0;
  // Fails if reads of the memory were interrupted, or if the debugger lost the program: what they
  // show is not complete then.
  virtual Result<void> failure() const { return {}; }
};

// Returns a thread of the process that has not ended: the first one, whose ID is `pid`, if
// possible. The threads share their memory, but /proc shows none for a thread that has ended.
pid_t thread_with_memory(pid_t pid);

// A process of this machine. Fails with not_found or permission, as process_memory() does.
Result<std::unique_ptr<ProgramSource>> process_source(pid_t pid);

// A core file. What the core file leaves out, because the program cannot have changed it, is read
// from the files that were mapped. `program` replaces the mapped file that has the same name; it
// may be empty.
Result<std::unique_ptr<ProgramSource>> core_source(const std::string &core,
                                                   const std::string &program);

// Returns the stacks of a core file's threads; see symbolize::CoreFile::threads().
Result<std::vector<StoppedThread>> threads_of_core(const std::string &core,
                                                   const std::string &program);

// Some section of a module that a debugger reports.
struct LoadedSection {
  uint64_t address = 0; // at run time
  std::string section;
  std::string path; // of the module's file on this machine
};

// A program whose memory only a debugger can read.
class DebuggerSource : public ProgramSource {
public:
  // Returns the content of a range, or nothing if some byte cannot be read. After an error, which
  // failure() then returns, all reads fail until forget().
  using ReadRange = std::function<Result<std::optional<std::string>>(const AddressRange &range)>;

  // Sets the modules: one section of each.
  virtual void set_modules(std::vector<LoadedSection> modules) = 0;
  // Forgets the content of the memory, because the program ran.
  virtual void forget() = 0;
};
std::unique_ptr<DebuggerSource> debugger_source(DebuggerSource::ReadRange read);

} // namespace tally::live
