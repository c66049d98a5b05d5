// Costs of lines and calls: what Callgrind and gmon files hold, and what tables are drawn from.
//
// Rows come in blocks: the self costs, calls and jumps of one function, in one file, in one part.
// Filled through CostProfileBuilder, validated once, then const.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tally/chunks.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/strings.h>

namespace tally {

enum class ObjectId : uint32_t {};
enum class FileId : uint32_t {};
enum class CostFunctionId : uint32_t {};
enum class CostPartId : uint32_t {};
enum class BlockId : uint32_t {};

// Tables are as wide as a profile has events: with very many they would need far more memory than
// its file has bytes. Valgrind knows about 20.
inline constexpr size_t most_cost_events = 256;

struct CostEvent {
  StringId name{};      // "ticks", "Ir"
  StringId long_name{}; // "Instruction Fetch"; may be empty
  StringId formula{};   // of a derived event: "Ir + 10 I1mr"; empty for a counted one
};

struct CostPart {
  uint32_t number = 1;
  int32_t pid = 0;
  int32_t thread = 0; // 0: all threads together
  StringId command{};
  StringId trigger{};
  StringId time_range{};
  std::vector<std::pair<StringId, StringId>> descriptions; // other "desc:" lines, in order
  // What the tool says it counted, one for each of the first events, where that is not the sum of
  // the rows.
  std::vector<uint64_t> summary;
};

// A function is told apart by all three fields.
struct CostFunction {
  StringId name{};
  FileId file = none<FileId>;
  ObjectId object = none<ObjectId>;
  friend bool operator==(const CostFunction &, const CostFunction &) = default;
};

struct CostPosition {
  uint64_t address = 0;     // link-time; 0: not known
  uint32_t line = 0;        // 0: not known
  uint64_t basic_block = 0; // where its basic block begins; 0: not known
  friend auto operator<=>(const CostPosition &, const CostPosition &) = default;
};

// Positions of rows: no room is taken for what none of them carries.
class TALLY_API PositionColumn {
public:
  // From now on. Rows that are there already keep 0.
  void carry(bool addresses, bool basic_blocks);
  void push_back(const CostPosition &position) {
    if (addresses_)
      address_.push_back(position.address);
    if (basic_blocks_)
      basic_block_.push_back(position.basic_block);
    line_.push_back(position.line);
  }
  CostPosition operator[](size_t row) const {
    return {addresses_ ? address_[row] : 0, line_[row], basic_blocks_ ? basic_block_[row] : 0};
  }
  size_t size() const { return line_.size(); }
  size_t memory_bytes() const {
    return address_.memory_bytes() + basic_block_.memory_bytes() + line_.memory_bytes();
  }

private:
  bool addresses_ = false, basic_blocks_ = false;
  Chunks<uint64_t> address_, basic_block_;
  Chunks<uint32_t> line_;
};

// Rows of unsigned costs. Zeros at a row's end are not stored; the others take one byte for each
// seven bits (LEB128), for most costs are small.
class TALLY_API CostTable {
public:
  CostTable() = default;
  CostTable(CostTable &&other) noexcept { *this = std::move(other); }
  CostTable &operator=(CostTable &&other) noexcept;
  CostTable(const CostTable &other);
  CostTable &operator=(const CostTable &other);
  ~CostTable() = default;

  // False when the table is full (2^32 rows or about 4 GiB), or the row wider than 6000 costs.
  [[nodiscard]] bool push(std::span<const uint64_t> costs);
  uint32_t rows() const { return static_cast<uint32_t>(first_.size()); }
  // Fills `out` (one for each event), with zeros where nothing is stored.
  void get(uint32_t row, std::span<uint64_t> out) const;
  // Adds the row to the sums; false where one leaves 64 bits.
  [[nodiscard]] bool add_to(uint32_t row, std::span<uint64_t> sums) const;
  size_t memory_bytes() const;

private:
  class Decoder;
  static constexpr size_t chunk_bytes = size_t{1} << 16;

  Chunks<uint32_t> first_; // chunk and byte where the row begins: how many costs, then these
  std::vector<std::unique_ptr<uint8_t[]>> chunks_;
  size_t used_ = chunk_bytes; // of the newest chunk
};

struct CostBlock {
  CostPartId part{};
  CostFunctionId function{};
  FileId file = none<FileId>; // of the lines; differs from the function's for inlined code
  uint32_t first_cost = 0, last_cost = 0; // half-open
  uint32_t first_call = 0, last_call = 0;
  uint32_t first_jump = 0, last_jump = 0;
  bool empty() const {
    return first_cost == last_cost && first_call == last_call && first_jump == last_jump;
  }
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
  bool has_addresses = false;    // positions carry instr
  bool has_basic_blocks = false; // … bb
  bool has_lines = true;         // … line
  bool has_call_costs = true;    // false: calls were counted, and what they cost was not

  std::span<const CostEvent> events() const { return events_; }
  // Sums of others by their formula: not counted, no cost of a row.
  std::span<const CostEvent> derived_events() const { return derived_events_; }
  const Column<CostPartId, CostPart> &parts() const { return parts_; }
  const Column<ObjectId, StringId> &objects() const { return objects_; }
  const Column<FileId, StringId> &files() const { return files_; }
  const Column<CostFunctionId, CostFunction> &functions() const { return functions_; }
  const Column<BlockId, CostBlock> &blocks() const { return blocks_; }

  uint32_t cost_count() const { return costs_.rows(); }
  CostPosition cost_position(uint32_t row) const { return cost_positions_[row]; }
  const CostTable &costs() const { return costs_; }
  uint32_t call_count() const { return call_costs_.rows(); }
  CostCall call(uint32_t row) const {
    return {call_from_[row], callees_[row], call_target_[row], call_counts_[row]};
  }
  const CostTable &call_costs() const { return call_costs_; }
  uint32_t jump_count() const { return jump_counts_.rows(); }
  CostJump jump(uint32_t row) const;

  // Inclusive cost of a function, where the source knew it (from stacks: once a function a stack).
  // Empty when it must be derived from the arcs.
  bool has_inclusive() const { return !inclusive_.empty(); }
  std::span<const uint64_t> inclusive(CostFunctionId function) const {
    return std::span(inclusive_)
        .subspan(size_t{index_of(function)} * events_.size(), events_.size());
  }
  // Where costs of the first event were shared out among functions (as the bins of a histogram are)
  // and rounded: a function's share before that. Empty where costs are what was counted.
  bool has_exact_self() const { return !exact_self_.empty(); }
  double exact_self(CostFunctionId function) const {
    return index_of(function) < exact_self_.size() ? exact_self_[index_of(function)] : 0;
  }
  std::span<const uint64_t> totals() const { return totals_; } // sums of self cost
  // The same of one part; events left out at the end are 0.
  std::span<const uint64_t> totals(CostPartId part) const { return part_totals_[index_of(part)]; }
  size_t memory_bytes() const; // of the rows

private:
  friend class CostProfileBuilder;
  std::vector<CostEvent> events_, derived_events_;
  Column<CostPartId, CostPart> parts_;
  Column<ObjectId, StringId> objects_;
  Column<FileId, StringId> files_;
  Column<CostFunctionId, CostFunction> functions_;
  Column<BlockId, CostBlock> blocks_;
  PositionColumn cost_positions_;
  CostTable costs_;
  PositionColumn call_from_, call_target_;
  Chunks<CostFunctionId> callees_;
  Chunks<uint64_t> call_counts_;
  CostTable call_costs_;
  struct JumpTarget {
    FileId file;
    CostFunctionId function;
  };
  PositionColumn jump_from_, jump_target_;
  Chunks<JumpTarget> jump_places_;
  Chunks<bool> jump_conditional_;
  CostTable jump_counts_; // executed, followed
  std::vector<uint64_t> inclusive_;
  std::vector<double> exact_self_;
  std::vector<uint64_t> totals_;
  std::vector<std::vector<uint64_t>> part_totals_;
};

class TALLY_API CostProfileBuilder {
public:
  StringId intern(std::string_view text) { return profile_.strings.intern(text); }
  void add_event(std::string_view name, std::string_view long_name = {},
                 std::string_view formula = {});
  // Of a counted event, or of a derived one, which it adds.
  void describe_event(std::string_view name, std::string_view long_name, std::string_view formula);
  void set_creator(std::string_view creator) { profile_.creator = intern(creator); }
  void set_call_costs(bool known) { profile_.has_call_costs = known; }
  // What positions carry. Rows that are there already keep 0 where they had nothing.
  void set_positions(bool addresses, bool lines, bool basic_blocks = false);
  CostPartId add_part(CostPart part);
  CostPart &part(CostPartId id) { return profile_.parts_[id]; }
  const CostProfile &so_far() const { return profile_; }
  // Unified by name; "" and "???" are the one unknown.
  ObjectId add_object(std::string_view name);
  FileId add_file(std::string_view name);
  CostFunctionId add_function(std::string_view name, FileId file, ObjectId object) {
    return add_function(intern(name), file, object);
  }
  // The same, for a reader that has interned the name; "???" is not looked for.
  ObjectId add_object(StringId name);
  FileId add_file(StringId name);
  CostFunctionId add_function(StringId name, FileId file, ObjectId object);

  // Rows belong to the block begun last; one before any block makes finish() fail. A block equal to
  // the last one goes on.
  void begin_block(CostPartId part, CostFunctionId function, FileId file);
  // One cost for each event; those left out at the end are 0. Returns none, or the index of the
  // first event whose sum over the part leaves 64 bits (finish() fails then).
  std::optional<size_t> add_cost(CostPosition position, std::span<const uint64_t> costs);
  void add_call(const CostCall &call, std::span<const uint64_t> inclusive_costs);
  void add_jump(const CostJump &jump);
  void set_inclusive(CostFunctionId function, std::span<const uint64_t> costs);
  void set_exact_self(CostFunctionId function, double cost);

  Result<CostProfile> finish(); // validates; the builder is empty afterwards

private:
  CostProfile profile_;
  std::vector<ObjectId> objects_; // by string; none: not added yet
  std::vector<FileId> files_;
  struct LastFunction { // of a name: most have one
    CostFunction function;
    CostFunctionId id = none<CostFunctionId>;
  };
  std::vector<LastFunction> last_functions_; // by string
  struct FunctionHash {
    size_t operator()(const CostFunction &f) const;
  };
  std::unordered_map<CostFunction, CostFunctionId, FunctionHash> functions_;
  CostBlock *block(); // the newest; null, and broken_, where there is none
  bool full_ = false, broken_ = false;
  std::optional<size_t> overflown_; // event
};

TALLY_API Result<void> validate(const CostProfile &profile);

// How often each counted event is in one: in itself once, in a derived one by its formula. An
// unknown name is invalid_argument, with those there are; a formula that makes no sense is
// invalid_input.
TALLY_API Result<std::vector<uint64_t>> event_weights(const CostProfile &profile,
                                                      std::string_view event);
// The profile with one event alone, counted or derived. Errors: as event_weights().
TALLY_API Result<CostProfile> one_event(const CostProfile &profile, std::string_view event);

struct AggregateOptions {
  PartId only_part = none<PartId>; // none: the sum of all parts, as one
  // A file that holds calls alone gets a line of cost 0, where one of them is made:
  // callgrind_annotate takes for granted that every source it shows has a line.
  bool line_in_each_file = false;
};

// Self cost by function, file, address and line; an arc for each pair of frames, its cost and its
// count the samples whose stack holds it, once a stack; inclusive once a function a stack. What has
// no stack or no name is booked on the unknown function of its object.
TALLY_API Result<CostProfile> aggregate(const StackProfile &stacks, AggregateOptions options = {});

} // namespace tally
