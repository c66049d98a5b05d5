// The rows of cost profiles in canonical order (<tally/merge.h>), block by block: whoever writes
// them need not have them all at once.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tally/cost_profile.h>

namespace tally {

// The rows of one function in one file of one part, by position, each key once.
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
  // The inputs must outlive it. keep_parts: of one input.
  Sum(std::span<const CostProfile *const> inputs, bool keep_parts)
      : inputs_(inputs), keep_parts_(keep_parts) {}

  Result<void> begin(); // once, before all else
  // All but rows: parts, events, and names, whose ids sort as they do.
  const CostProfile &names() const { return out_.so_far(); }
  // Valid until the next call; null: there are no more.
  Result<const SumBlock *> next();
  // The costs of a row of that block, one for each event. False: one leaves 64 bits; error() tells.
  bool cost_values(size_t row, std::span<uint64_t> out);
  bool call_values(size_t row, std::span<uint64_t> out);
  const Error &error() const { return error_; }
  // The names with all blocks that are still to come.
  Result<CostProfile> finish();

private:
  struct Input {
    std::vector<uint32_t> columns; // of its events in the sum
    bool same_columns = false;     // event i is column i, and there are no others
    std::vector<FileId> files;     // by its own ids; none: no row needs it
    std::vector<CostFunctionId> functions;
  };
  struct Source {
    uint32_t input;
    BlockId block;
  };
  struct Group { // blocks that become one
    CostPartId part;
    CostFunctionId function;
    bool other_file; // than the function's
    FileId file;
    std::vector<Source> sources;
    auto key() const { return std::tie(part, function, other_file, file); }
  };
  struct Place { // of a row
    uint32_t input, row;
  };
  struct CostRow {
    CostPosition at;
    Place place;
  };
  struct CallRow {
    CostCall call;
    Place place;
    auto key() const { return std::tie(call.from, call.callee, call.target); }
  };
  // Rows that become one are neighbours: where those of each end.
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
  std::vector<uint64_t> narrow_; // a row as its input has it
  Sorted<CostRow> costs_;
  Sorted<CallRow> calls_;
  Error error_;
};

} // namespace tally
