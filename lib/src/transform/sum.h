// Produces the rows of cost profiles in canonical order (transform/merge.h), block by block, so
// that a writer need not hold all of them at once.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/cost_profile.h"

namespace tally {

// The rows of one function in one file of one part, by position, with each key once.
struct SumBlock {
  CostPartId part{};
  CostFunctionId function{};
  FileId file = none<FileId>;
  std::vector<CostPosition> costs;
  std::vector<CostCall> calls;
  std::vector<CostJump> jumps;
};

class Sum {
public:
  // The inputs must outlive the sum. `keep_parts` keeps the parts of a single input apart.
  Sum(std::span<const CostProfile *const> inputs, bool keep_parts)
      : inputs_(inputs), keep_parts_(keep_parts) {}

  Result<void> begin(); // must be called once, first
  // Returns everything but the rows: parts, events, and names, whose ids sort as the names do.
  const CostProfile &names() const { return out_.so_far(); }
  // Returns the next block, valid until the next call; null at the end.
  Result<const SumBlock *> next();
  // Computes the costs of a row of the block that next() has returned, one for each event. Returns
  // false if a sum exceeds 64 bits; error() describes it.
  bool cost_values(size_t row, std::span<uint64_t> out);
  bool call_values(size_t row, std::span<uint64_t> out);
  const Error &error() const { return error_; }
  // Returns a profile with all names and the blocks that next() has not returned yet.
  Result<CostProfile> finish();

private:
  struct Input {
    std::vector<uint32_t> columns; // by index of its events: the column in the sum
    bool same_columns = false;     // event i is column i, and there are no others
    std::vector<FileId> files;     // by its own ids; none if no row needs it
    std::vector<CostFunctionId> functions;
  };
  struct Source {
    uint32_t input;
    BlockId block;
  };
  struct Group { // blocks that become one
    CostPartId part;
    CostFunctionId function;
    bool other_file; // whether the file is not the function's
    FileId file;
    std::vector<Source> sources;
    auto key() const { return std::tie(part, function, other_file, file); }
  };
  struct InputRow { // of a row: an input and its row number
    uint32_t input, row;
  };
  struct CostRow {
    CostPosition at;
    InputRow source;
  };
  struct CallRow {
    CostCall call;
    InputRow source;
    auto key() const { return std::tie(call.from, call.callee, call.target); }
  };
  // Rows that are summed are adjacent; `ends` holds where those of each sum end.
  template <class Row> struct Sorted {
    std::vector<Row> rows;
    std::vector<uint32_t> ends;
    std::span<const Row> of(size_t sum) const {
      const size_t first = sum == 0 ? 0 : ends[sum - 1];
      return std::span(rows).subspan(first, ends[sum] - first);
    }
  };

  Result<void> unite_events();
  void describe_events();
  Result<void> add_parts();
  CostPart copy(uint32_t input, const CostPart &from);
  Result<void> add_summary(uint32_t input, CostPartId id, std::span<uint64_t> summary) const;
  static bool keep_common(CostPart &all, CostPart part);
  void number_names();
  void group_blocks();
  void add_inclusive();
  void sort_costs(const Group &group);
  Result<void> sum_calls(const Group &group);
  Result<void> sum_jumps(const Group &group);
  const CostBlock &block_of(const Source &source) const {
    return inputs_[source.input]->blocks()[source.block];
  }
  template <class Row>
  bool values(std::span<const Row> rows, const CostTable &(CostProfile::*table)() const,
              std::span<uint64_t> out);
  Error overflow(size_t event) const;
  std::string_view text(uint32_t input, StringId id) const { return inputs_[input]->strings[id]; }

  std::span<const CostProfile *const> inputs_;
  bool keep_parts_;
  std::vector<Input> maps_{inputs_.size()};
  CostProfileBuilder out_;
  std::vector<std::string_view> events_;
  std::vector<Group> groups_;
  size_t next_group_ = 0;
  SumBlock block_;
  std::vector<uint64_t> narrow_; // a row, with the columns of its input
  Sorted<CostRow> costs_;
  Sorted<CallRow> calls_;
  Error error_;
};

} // namespace tally
