// Defines a profile of costs by line and call, as Callgrind and gmon files hold it and as tables
// are made from it.
//
// Rows are grouped in blocks: the self costs, calls and jumps of one function, in one file, in one
// part. A CostProfileBuilder fills and validates a profile, which is const afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/cost_rows.h"
#include "model/stack_profile.h"
#include "support/result.h"
#include "support/strings.h"

namespace tally {

enum class ObjectId : uint32_t {};
enum class CostPartId : uint32_t {};
enum class BlockId : uint32_t {};

// The maximum number of events. Tables have a column for each event, so with very many events they
// would need far more memory than the file has bytes. Valgrind has about 20 events.
inline constexpr size_t most_cost_events = 256;

struct CostEvent {
  StringId name{};      // "ticks", "Ir"
  StringId long_name{}; // "Instruction Fetch"; may be empty
  StringId formula{};   // for a derived event: "Ir + 10 I1mr"; empty for a counted one
};

struct CostPart {
  uint32_t number = 1;
  int32_t pid = 0;       // 0 if unknown
  int32_t thread = 0;    // 0 for all threads together
  StringId command{};    // the program and its arguments
  StringId trigger{};    // "desc: Trigger": the event that ended the part
  StringId time_range{}; // "desc: Timerange", as text
  std::vector<std::pair<StringId, StringId>>
      descriptions; // name and text of other "desc:" lines, in order
  // The totals that the tool recorded, one for each of the first events; empty if they equal the
  // sums of the rows.
  std::vector<uint64_t> summary;
};

// All three fields together identify a function.
struct CostFunction {
  StringId name{};
  FileId file = none<FileId>;
  ObjectId object = none<ObjectId>;
  friend bool operator==(const CostFunction &, const CostFunction &) = default;
};

// The half-open row ranges of one function's costs, calls and jumps, in one file and one part.
struct CostBlock {
  CostPartId part{};
  CostFunctionId function{};
  FileId file = none<FileId>; // file of the lines; for inlined code it differs from the function's
  uint32_t first_cost = 0, last_cost = 0;
  uint32_t first_call = 0, last_call = 0;
  uint32_t first_jump = 0, last_jump = 0;
  bool empty() const {
    return first_cost == last_cost && first_call == last_call && first_jump == last_jump;
  }
};

class CostProfile {
public:
  // Compiled once, as everything that returns a Result<CostProfile> needs all of them.
  CostProfile();
  CostProfile(const CostProfile &);
  CostProfile &operator=(const CostProfile &);
  CostProfile(CostProfile &&) noexcept;
  CostProfile &operator=(CostProfile &&) noexcept;
  ~CostProfile();

  StringPool strings;
  StringId creator{};            // the tool that wrote the profile
  bool has_addresses = false;    // positions have addresses (Callgrind's "instr")
  bool has_basic_blocks = false; // positions have basic blocks ("bb")
  bool has_lines = true;         // positions have lines ("line")
  bool has_call_costs = true;    // false if calls were counted, but not their costs

  std::span<const CostEvent> events() const { return events_; }
  // Events that are computed from others by their formula, and have no column in the tables.
  std::span<const CostEvent> derived_events() const { return derived_events_; }
  const Column<CostPartId, CostPart> &parts() const { return parts_; }
  const Column<ObjectId, StringId> &objects() const { return objects_; }
  const Column<FileId, StringId> &files() const { return files_; }
  const Column<CostFunctionId, CostFunction> &functions() const { return functions_; }
  const Column<BlockId, CostBlock> &blocks() const { return blocks_; }

  uint32_t cost_count() const { return rows_.self.count(); }
  CostPosition cost_position(uint32_t row) const { return rows_.self.position(row); }
  const CostTable &costs() const { return rows_.self.costs(); }
  uint32_t call_count() const { return rows_.calls.count(); }
  CostCall call(uint32_t row) const { return rows_.calls[row]; }
  const CostTable &call_costs() const { return rows_.calls.costs(); }
  uint32_t jump_count() const { return rows_.jumps.count(); }
  CostJump jump(uint32_t row) const { return rows_.jumps[row]; }

  // Whether the source of the profile knew the inclusive costs of functions. A profile made from
  // stacks has them: each stack counts once for each function in it. For other profiles, CallGraph
  // derives inclusive costs from the arcs.
  bool has_inclusive() const { return !sums_.inclusive.empty(); }
  // Returns the inclusive costs of a function, one for each event. Requires has_inclusive().
  std::span<const uint64_t> inclusive(CostFunctionId function) const {
    return std::span(sums_.inclusive)
        .subspan(size_t{index_of(function)} * events_.size(), events_.size());
  }
  // Whether costs of the first event were distributed among functions and rounded, as the ticks of
  // a histogram's bins are. If so, exact_self() returns a function's self cost before rounding,
  // otherwise 0.
  bool has_exact_self() const { return !sums_.exact_self.empty(); }
  double exact_self(CostFunctionId function) const {
    return index_of(function) < sums_.exact_self.size() ? sums_.exact_self[index_of(function)] : 0;
  }
  // Returns the sums of self cost over all parts, one for each event.
  std::span<const uint64_t> totals() const { return sums_.totals; }
  // Returns the sums of one part. The result may be shorter than events(); the rest are 0.
  std::span<const uint64_t> totals(CostPartId part) const { return sums_.parts[index_of(part)]; }
  size_t memory_bytes() const; // of all rows

private:
  friend class CostProfileBuilder;
  std::vector<CostEvent> events_, derived_events_;
  Column<CostPartId, CostPart> parts_;
  Column<ObjectId, StringId> objects_;
  Column<FileId, StringId> files_;
  Column<CostFunctionId, CostFunction> functions_;
  Column<BlockId, CostBlock> blocks_;
  struct Rows {
    SelfRows self;
    CallRows calls;
    JumpRows jumps;
  };
  Rows rows_;
  struct Sums {                      // one for each event, unless noted
    std::vector<uint64_t> inclusive; // by function; empty if the source did not know them
    std::vector<double> exact_self;  // by function, of the first event
    std::vector<uint64_t> totals;
    std::vector<std::vector<uint64_t>> parts; // the totals of each part
  };
  Sums sums_;
};

// Fills a CostProfile.
class CostProfileBuilder {
public:
  CostProfileBuilder();
  CostProfileBuilder(const CostProfileBuilder &) = delete;
  CostProfileBuilder &operator=(const CostProfileBuilder &) = delete;
  CostProfileBuilder(CostProfileBuilder &&) noexcept;
  CostProfileBuilder &operator=(CostProfileBuilder &&) noexcept;
  ~CostProfileBuilder();

  StringId intern(std::string_view text) { return profile_.strings.intern(text); }
  // Adds a counted event, which is the next column of all costs.
  void add_event(std::string_view name, std::string_view long_name = {},
                 std::string_view formula = {});
  // Sets the long name and formula of an event. An unknown event is added as a derived one.
  void describe_event(std::string_view name, std::string_view long_name, std::string_view formula);
  void set_creator(std::string_view creator) { profile_.creator = intern(creator); }
  void set_call_costs(bool known) { profile_.has_call_costs = known; }
  // Sets the fields that positions have. In existing rows, new fields are 0.
  void set_positions(bool addresses, bool lines, bool basic_blocks = false);
  CostPartId add_part(CostPart part);
  CostPart &part(CostPartId id) { return profile_.parts_[id]; }
  const CostProfile &so_far() const { return profile_; }
  // Add an object, file or function, or return the existing one with the same fields. "" and "???"
  // (Callgrind's word) both name the unknown object or file.
  ObjectId add_object(std::string_view name);
  FileId add_file(std::string_view name);
  CostFunctionId add_function(std::string_view name, FileId file, ObjectId object) {
    return add_function(intern(name), file, object);
  }
  // Do the same for a name that is interned already; "???" is not recognized.
  ObjectId add_object(StringId name);
  FileId add_file(StringId name);
  CostFunctionId add_function(StringId name, FileId file, ObjectId object);

  // Begins a block, or continues the last block if its part, function and file are the same. Rows
  // are added to the last block; a row before the first block makes finish() fail.
  void begin_block(CostPartId part, CostFunctionId function, FileId file);
  // Adds a row with one cost for each event; costs that are missing at the end are 0. Returns the
  // index of the first event whose sum over the part exceeds 64 bits, in which case finish() fails.
  // Otherwise returns nothing.
  std::optional<size_t> add_cost(CostPosition position, std::span<const uint64_t> costs);
  void add_call(const CostCall &call, std::span<const uint64_t> inclusive_costs);
  void add_jump(const CostJump &jump);
  void set_inclusive(CostFunctionId function, std::span<const uint64_t> costs);
  void set_exact_self(CostFunctionId function, double cost);

  // Validates and returns the profile; the builder is empty afterwards. Errors: limit if there are
  // too many costs, overflow if a total exceeds 64 bits, and invalid_input as validate().
  Result<CostProfile> finish();

private:
  CostProfile profile_;
  std::vector<ObjectId> objects_; // by string; none if not added yet
  std::vector<FileId> files_;
  struct LastFunction { // the last function of a name; most names have one
    CostFunction function;
    CostFunctionId id = none<CostFunctionId>;
  };
  std::vector<LastFunction> last_functions_; // by string
  struct FunctionHash {
    size_t operator()(const CostFunction &f) const;
  };
  std::unordered_map<CostFunction, CostFunctionId, FunctionHash> functions_;
  CostBlock *block(); // the last block; if there is none, sets broken_ and returns null
  bool full_ = false, broken_ = false;
  std::optional<size_t> overflown_; // the event
};

// Checks that all ids and row ranges are valid and that there are 1 to most_cost_events events.
// Fails with invalid_input otherwise.
Result<void> validate(const CostProfile &profile);

// Returns a factor for each counted event, so that the cost of `event` is the sum of all counted
// costs times their factors. For a counted `event`, its own factor is 1 and the others are 0. For a
// derived one, its formula states the factors (see "Callgrind Format Specification" in Callgrind's
// manual). Errors: invalid_argument for an unknown name, with a list of the names; invalid_input
// for a formula that cannot be parsed.
Result<std::vector<uint64_t>> event_weights(const CostProfile &profile, std::string_view event);
// Returns the profile reduced to one event, counted or derived. Errors: those of event_weights(),
// and overflow if a cost exceeds 64 bits.
Result<CostProfile> one_event(const CostProfile &profile, std::string_view event);

struct AggregateOptions {
  PartId only_part = none<PartId>; // none for the sum of all parts, as one part
  // Adds a line of cost 0, at one of the calls, to each file that has calls but no costs, because
  // callgrind_annotate assumes that every source it shows has a line.
  bool line_in_each_file = false;
};

// Converts stacks to costs. Self costs are by function, file, address and line. Each pair of a
// caller frame and its callee frame becomes an arc. The cost of an arc is that of the stacks that
// contain it, counting each stack once; its number of calls is the cost of the first event. In the
// inclusive costs, each stack counts once for each function. Samples without a stack or name are
// costs of the unknown function of their object. Errors: no_data if the profile has no events,
// invalid_input for a negative value, and those of CostProfileBuilder::finish().
Result<CostProfile> aggregate(const StackProfile &stacks, AggregateOptions options = {});

} // namespace tally
