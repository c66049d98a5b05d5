// Costs of lines and calls: what Callgrind and gmon files hold, and what tables are drawn from.
//
// Rows come in blocks: the self costs, calls and jumps of one function, in one file, in one part.
// Filled through CostProfileBuilder, validated once, then const.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/strings.h>

namespace tally {

enum class ObjectId : uint32_t {};
enum class FileId : uint32_t {};
enum class CostFunctionId : uint32_t {};
enum class CostPartId : uint32_t {};
enum class BlockId : uint32_t {};

struct CostEvent {
  StringId name{};      // "ticks", "Ir"
  StringId long_name{}; // "Instruction Fetch"; may be empty
  StringId formula{};   // of a derived event; empty for a counted one
};

struct CostPart {
  uint32_t number = 1;
  int32_t pid = 0;
  int32_t thread = 0; // 0: all threads together
  StringId command{};
  StringId trigger{};
  StringId time_range{};
  std::vector<std::pair<StringId, StringId>> descriptions; // other "desc:" lines, in order
};

// A function is told apart by all three fields.
struct CostFunction {
  StringId name{};
  FileId file = none<FileId>;
  ObjectId object = none<ObjectId>;
  friend bool operator==(const CostFunction &, const CostFunction &) = default;
};

struct CostPosition {
  uint64_t address = 0; // link-time; 0: not known
  uint32_t line = 0;    // 0: not known
  friend auto operator<=>(const CostPosition &, const CostPosition &) = default;
};

// Rows of unsigned costs. Zeros at a row's end are not stored; a cost takes four bytes, and twelve
// where it is 2^32 - 1 or more.
class TALLY_API CostTable {
public:
  // False when the table is full (2^32 cells).
  [[nodiscard]] bool push(std::span<const uint64_t> costs);
  uint32_t rows() const { return static_cast<uint32_t>(first_.size()); }
  // Fills `out` (one for each event), with zeros where nothing is stored.
  void get(uint32_t row, std::span<uint64_t> out) const;
  size_t memory_bytes() const;

private:
  std::vector<uint32_t> first_;
  std::vector<uint32_t> cells_; // 0xFFFFFFFF: the next two hold the value, low half first
};

struct CostBlock {
  CostPartId part{};
  CostFunctionId function{};
  FileId file = none<FileId>; // of the lines; differs from the function's for inlined code
  uint32_t first_cost = 0, last_cost = 0; // half-open
  uint32_t first_call = 0, last_call = 0;
  uint32_t first_jump = 0, last_jump = 0;
};

struct CostCall {
  CostPosition from;
  CostFunctionId callee{};
  CostPosition target;
  uint64_t count = 0;
};

struct CostJump {
  CostPosition from;
  CostPosition target;
  FileId target_file = none<FileId>;                     // none: the same
  CostFunctionId target_function = none<CostFunctionId>; // none: the same
  bool conditional = false;
  uint64_t executed = 0;
  uint64_t followed = 0;
};

class TALLY_API CostProfile {
public:
  StringPool strings;
  StringId creator{};
  bool has_addresses = false; // positions carry instr
  bool has_lines = true;      // positions carry line

  std::span<const CostEvent> events() const { return events_; }
  const Column<CostPartId, CostPart> &parts() const { return parts_; }
  const Column<ObjectId, StringId> &objects() const { return objects_; }
  const Column<FileId, StringId> &files() const { return files_; }
  const Column<CostFunctionId, CostFunction> &functions() const { return functions_; }
  const Column<BlockId, CostBlock> &blocks() const { return blocks_; }

  CostPosition cost_position(uint32_t row) const {
    return {has_addresses ? cost_address_[row] : 0, cost_line_[row]};
  }
  const CostTable &costs() const { return costs_; }
  const std::vector<CostCall> &calls() const { return calls_; }
  const CostTable &call_costs() const { return call_costs_; }
  const std::vector<CostJump> &jumps() const { return jumps_; }

  // Inclusive cost of a function, where the source knew it (from stacks: once a function a stack).
  // Empty when it must be derived from the arcs.
  bool has_inclusive() const { return !inclusive_.empty(); }
  std::span<const uint64_t> inclusive(CostFunctionId function) const {
    return std::span(inclusive_)
        .subspan(size_t{index_of(function)} * events_.size(), events_.size());
  }
  std::span<const uint64_t> totals() const { return totals_; } // sums of self cost

private:
  friend class CostProfileBuilder;
  std::vector<CostEvent> events_;
  Column<CostPartId, CostPart> parts_;
  Column<ObjectId, StringId> objects_;
  Column<FileId, StringId> files_;
  Column<CostFunctionId, CostFunction> functions_;
  Column<BlockId, CostBlock> blocks_;
  std::vector<uint64_t> cost_address_; // empty without addresses
  std::vector<uint32_t> cost_line_;
  CostTable costs_;
  std::vector<CostCall> calls_;
  CostTable call_costs_;
  std::vector<CostJump> jumps_;
  std::vector<uint64_t> inclusive_;
  std::vector<uint64_t> totals_;
};

class TALLY_API CostProfileBuilder {
public:
  StringId intern(std::string_view text) { return profile_.strings.intern(text); }
  void add_event(std::string_view name, std::string_view long_name = {},
                 std::string_view formula = {});
  void set_creator(std::string_view creator) { profile_.creator = intern(creator); }
  void set_positions(bool addresses, bool lines);
  CostPartId add_part(CostPart part) { return profile_.parts_.push(std::move(part)); }
  // Unified by name; "" and "???" are the one unknown.
  ObjectId add_object(std::string_view name);
  FileId add_file(std::string_view name);
  CostFunctionId add_function(std::string_view name, FileId file, ObjectId object);

  // Rows belong to the block begun last. A block equal to the last one goes on.
  void begin_block(CostPartId part, CostFunctionId function, FileId file);
  void add_cost(CostPosition position, std::span<const uint64_t> costs);
  void add_call(const CostCall &call, std::span<const uint64_t> inclusive_costs);
  void add_jump(const CostJump &jump);
  void set_inclusive(CostFunctionId function, std::span<const uint64_t> costs);

  Result<CostProfile> finish(); // validates; the builder is empty afterwards

private:
  CostProfile profile_;
  std::unordered_map<uint32_t, ObjectId> objects_; // by string
  std::unordered_map<uint32_t, FileId> files_;
  struct FunctionHash {
    size_t operator()(const CostFunction &f) const;
  };
  std::unordered_map<CostFunction, CostFunctionId, FunctionHash> functions_;
  bool full_ = false;
};

TALLY_API Result<void> validate(const CostProfile &profile);

struct AggregateOptions {
  PartId only_part = none<PartId>; // none: the sum of all parts, as one
};

// Self cost by function, file, address and line; an arc for each pair of frames, its cost and its
// count the samples whose stack holds it, once a stack; inclusive once a function a stack. What has
// no stack or no name is booked on the unknown function of its object.
TALLY_API Result<CostProfile> aggregate(const StackProfile &stacks, AggregateOptions options = {});

} // namespace tally
