#include <tally/coverage_costs.h>

#include <algorithm>

namespace tally {

namespace {

// Tells the function that a line is of; lines come in order.
class FunctionOfLine {
public:
  explicit FunctionOfLine(const FileCoverage &file) : functions_(file.functions) {}

  const FunctionCoverage *operator()(uint32_t line) {
    for (; next_ < functions_.size() && functions_[next_].start_line <= line; ++next_) {
      const FunctionCoverage &function = functions_[next_];
      // Instances that begin in one line: the first.
      if (next_ == 0 || functions_[next_ - 1].start_line != function.start_line)
        open_.push_back(&function);
    }
    // Where no end is told, a function ends where the next one begins.
    while (!open_.empty() && open_.back()->end_line != 0 && open_.back()->end_line < line)
      open_.pop_back();
    return open_.empty() ? nullptr : open_.back();
  }

private:
  const std::vector<FunctionCoverage> &functions_;
  size_t next_ = 0;
  std::vector<const FunctionCoverage *> open_;
};

} // namespace

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
      const uint64_t cost = static_cast<uint64_t>(std::max<int64_t>(line.count, 0));
      out.add_cost({.line = line.line}, std::span(&cost, 1));
    }
  }
  return out.finish();
}

} // namespace tally
