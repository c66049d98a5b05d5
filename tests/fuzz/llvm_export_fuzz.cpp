// Reads arbitrary bytes as the JSON of llvm-cov export. They are read or rejected with a position.
#include <string_view>

#include "formats/llvm/export.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::llvm_export_fuzz {

FUZZ_TARGET(llvm_export) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  const auto coverage = llvm::read_export(*ByteSource::of(bytes, "input"), diagnostics);
  if (!coverage)
    require_clear(coverage.error(), bytes);
  else
    for (const FileCoverage &file : coverage->files)
      for (const LineCoverage &line : file.lines)
        require(line.count >= 0 && line.first_branch <= line.last_branch &&
                line.last_branch <= file.branches.size() &&
                line.last_decision <= file.decisions.size());
  static_cast<void>(llvm::probe_export(bytes.substr(0, 4096)));
  return 0;
}

} // namespace tally::llvm_export_fuzz
