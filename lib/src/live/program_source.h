// Where the memory and the modules of a program are known from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <tally/diagnostics.h>
#include <tally/result.h>

#include "live/counter_layout.h"
#include "live/memory.h"
#include "live/open_functions.h"

namespace tally::live {

class ProgramSource {
public:
  virtual ~ProgramSource() = default;
  virtual Memory &memory() = 0;
  // Returns a text that changes when a module is loaded or unloaded. Fails if the program is gone.
  virtual Result<std::string> state_of_modules() = 0;
  // Returns the modules in the order of their addresses or of the debugger's list.
  virtual std::vector<LoadedModule> modules(Diagnostics &diagnostics) = 0;
  // Returns the ranges of the memory that are not known yet, and that reads have missed since the
  // last call. They were answered as not readable; repeat them when the ranges have been given.
  virtual std::vector<AddressRange> take_wanted() { return {}; }
  virtual bool wants_more() const { return false; } // whether there are such ranges
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

// A program whose memory only a debugger can read. The debugger is not called: reads that miss
// something fail, and take_wanted() returns what to request from it.
class DebuggerSource : public ProgramSource {
public:
  // Sets the modules: a line "module ADDRESS SECTION PATH" for some section of each, with its
  // run-time address in hexadecimal. PATH is of a file on this machine.
  virtual void set_modules(std::string_view listing) = 0;
  // Adds the content of a range, as take_wanted() returned it; nothing if it cannot be read.
  virtual void give(const AddressRange &range, std::optional<std::string> bytes) = 0;
  // Forgets the content of the memory, because the program ran.
  virtual void forget() = 0;
};
std::unique_ptr<DebuggerSource> debugger_source();

} // namespace tally::live
