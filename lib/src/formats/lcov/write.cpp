#include "formats/lcov/lcov.h"

#include "support/text_sink.h"

namespace tally::lcov {

namespace {

class Writer {
public:
  explicit Writer(std::string &out) : to_(out) {}

  void file(const FileCoverage &file) {
    to_.put("TN:\nSF:");
    to_.put(file.path);
    to_.put('\n');
    for (const FunctionCoverage &function : file.functions) {
      to_.put("FN:");
      to_.put(uint64_t{function.start_line});
      to_.put(',');
      to_.put(function.name);
      to_.put('\n');
    }
    for (const FunctionCoverage &function : file.functions) {
      to_.put("FNDA:");
      to_.put_signed(function.count);
      to_.put(',');
      to_.put(function.name);
      to_.put('\n');
    }
    const CoverageTotals totals = totals_of(file);
    total("FNF:", totals.functions);
    total("FNH:", totals.functions_executed);
    for (const LineCoverage &line : file.lines) {
      uint64_t number = 0;
      for (const BranchCoverage &branch : file.branches_of(line)) {
        to_.put("BRDA:");
        to_.put(uint64_t{line.line});
        to_.put(",0,");
        to_.put(number++);
        to_.put(',');
        if (line.count == 0) // of a line that did not run it is not known
          to_.put('-');
        else
          to_.put_signed(branch.count);
        to_.put('\n');
      }
    }
    total("BRF:", totals.branches);
    total("BRH:", totals.branches_taken);
    for (const LineCoverage &line : file.lines) {
      to_.put("DA:");
      to_.put(uint64_t{line.line});
      to_.put(',');
      to_.put_signed(line.count);
      to_.put('\n');
    }
    total("LF:", totals.lines);
    total("LH:", totals.lines_executed);
    to_.put("end_of_record\n");
  }

private:
  void total(std::string_view key, uint64_t value) {
    to_.put(key);
    to_.put(value);
    to_.put('\n');
  }

  TextSink to_;
};

} // namespace

Result<Written> write(const Coverage &coverage, const WriteOptions &) {
  Written out;
  {
    Writer writer(out.bytes);
    for (const FileCoverage &file : coverage.files)
      writer.file(file);
  }
  return out;
}

} // namespace tally::lcov
