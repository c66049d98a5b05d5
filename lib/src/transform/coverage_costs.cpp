#include "transform/coverage_costs.h"

#include "transform/function_of_line.h"

namespace tally {

Result<CostProfile> costs_of(const Coverage &coverage) {
  CostProfileBuilder out;
  out.add_event("Executions", "how often a line ran");
  const CostPartId part = out.add_part({});
  const ObjectId object = out.add_object(std::string_view());
  for (const FileCoverage &file : coverage.files) {
    const FileId file_id = out.add_file(file.path);
    FunctionOfLine function_of(file);
    for (const LineCoverage &line : file.lines) {
      const FunctionCoverage *function = function_of(line.line);
      out.begin_block(part, out.add_function(function ? function->name : "", file_id, object),
                      file_id);
      const uint64_t cost = static_cast<uint64_t>(times_run(line.count));
      out.add_cost({.line = line.line}, std::span(&cost, 1));
    }
  }
  return out.finish();
}

} // namespace tally
