// Tally in LLDB: load this plug-in with `plugin load`, then type `help profile`.
#include "front.h"

namespace lldb {

__attribute__((visibility("default"))) bool PluginInitialize(SBDebugger debugger) {
  return tally_lldb::load(debugger);
}

} // namespace lldb
