// Reads arbitrary bytes as an object with a mapping of source-based coverage, and counts its
// functions with counters that fit.
#include <string>
#include <string_view>
#include <vector>

#include "coverage/llvm_coverage.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::llvm_mapping_fuzz {

FUZZ_TARGET(llvm_mapping) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics findings;
  const auto objects = llvm::CoverageObject::read(bytes, "x", findings);
  llvm::ReadProfile profile;
  llvm::ProfileImage &image = profile.profile.images.emplace_back();
  for (const llvm::CoverageObject &object : objects)
    for (const llvm::MappingRecord &record : object.records()) {
      llvm::MappedFunction function;
      if (const auto decoded = object.decode(record, function); !decoded)
        require_clear(decoded.error(), size);
      llvm::CounterRecord counts;
      counts.name_hash = record.name_hash;
      counts.function_hash = record.function_hash;
      for (uint64_t i = 0; i < record.mapping.size(); ++i)
        counts.counts.push_back(i * record.name_hash);
      counts.bitmap = record.mapping;
      // As if threads were in some functions of a program that is stopped.
      counts.open.frames = static_cast<uint32_t>(record.name_hash % 3);
      counts.open.frames_before = static_cast<uint32_t>(record.function_hash % 2);
      counts.open.at_least = record.files_key % 5 == 1;
      if (record.name_hash % 7 == 1)
        counts.open.next = {static_cast<uint32_t>(record.function_hash % 4)};
      image.records.push_back(std::move(counts));
    }
  const Coverage coverage = llvm::coverage_of(
      objects, {std::move(profile)}, llvm::CountedObjects::all,
      [](const std::string &name) { return std::optional("/" + name); }, findings);
  for (const FileCoverage &file : coverage.files) {
    uint32_t before = 0;
    for (const LineCoverage &line : file.lines) {
      require(line.line > before || (line.line == 0 && &line == file.lines.data()));
      require(line.count >= 0 && line.uncertain >= 0 && line.first_branch <= line.last_branch &&
              line.last_branch <= file.branches.size() &&
              line.last_decision <= file.decisions.size());
      before = line.line;
    }
  }
  return 0;
}

} // namespace tally::llvm_mapping_fuzz
