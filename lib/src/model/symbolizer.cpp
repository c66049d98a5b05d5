#include "model/symbolizer.h"

namespace tally {

// Not inline, so that the class has its virtual table and type information in this layer.
Result<std::vector<Instruction>> Symbolizer::instructions(ModuleId, InstructionRange,
                                                          DisassemblyFlavor) {
  return fail(ErrorCode::not_found, "the file that contains the code is not available");
}

} // namespace tally
