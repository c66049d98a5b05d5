// Samples with their stacks: what a sampler counts, and what pprof and folded files hold.
//
// Columns throughout. Stacks are a trie: a stack is its leaf's node, a node knows its caller's, so
// memory grows with distinct stacks and not with samples. Filled through StackProfileBuilder,
// validated once, then const.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/result.h>
#include <tally/strings.h>

namespace tally {

enum class MappingId : uint32_t {};
enum class SourceFunctionId : uint32_t {};
enum class LocationId : uint32_t {};
enum class StackId : uint32_t {};
enum class ThreadId : uint32_t {};
enum class PartId : uint32_t {};

struct ValueType {
  StringId type{}; // "ticks"
  StringId unit{}; // "count"
};

// A piece of a file in memory: [start, limit) shows the file from file_offset on.
struct Mapping {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  StringId path{};     // "[vdso]", "//anon" and the like as the kernel names them
  StringId build_id{}; // lower-case hex
  uint64_t device = 0; // with the inode, of the file that was mapped; 0 when not known
  uint64_t inode = 0;
  uint64_t bias = 0;     // run-time address - link-time address, modulo 2^64
  bool has_bias = false; // the file was found and a segment holds this piece
};

// A function of the source. Two functions are the same when all five fields are.
struct SourceFunction {
  StringId name{};        // for people: demangled
  StringId system_name{}; // the linkage name
  StringId file{};        // that declares it
  StringId object{};      // path of the mapping it was found in
  uint32_t line = 0;      // of its declaration; 0: not known
  friend bool operator==(const SourceFunction &, const SourceFunction &) = default;
};

struct SourceLine {
  SourceFunctionId function = none<SourceFunctionId>;
  StringId file{};   // of `line`; mostly, but not always, the function's
  uint32_t line = 0; // 0: not known
  friend bool operator==(const SourceLine &, const SourceLine &) = default;
};

// An address: a pc for leaves, return address - 1 for callers (as pprof has it).
struct Location {
  MappingId mapping = none<MappingId>;
  uint64_t address = 0;
  std::span<const SourceLine> lines; // innermost first; empty before symbolizing
};

struct Thread {
  int32_t pid = 0;
  int32_t tid = 0;
  StringId name{};
};

// What ran from one resume to the next stop that the user saw.
struct Part {
  uint32_t number = 1;   // from 1, ascending
  StringId trigger{};    // what ended it: "breakpoint 2, parse.c:10"
  uint64_t begin_ns = 0; // this and the next: since sampling began, time at a prompt taken off
  uint64_t end_ns = 0;
};

struct Sample {
  StackId stack = none<StackId>;
  ThreadId thread = none<ThreadId>;
  PartId part = none<PartId>;
  std::span<const int64_t> values; // one for each value type
};

class TALLY_API StackProfile {
public:
  StringPool strings;

  std::span<const ValueType> value_types() const { return value_types_; }
  const Column<MappingId, Mapping> &mappings() const { return mappings_; }
  const Column<SourceFunctionId, SourceFunction> &functions() const { return functions_; }
  const Column<ThreadId, Thread> &threads() const { return threads_; }
  const Column<PartId, Part> &parts() const { return parts_; }

  uint32_t location_count() const { return location_address_.size(); }
  Location location(LocationId id) const;

  uint32_t stack_count() const { return stack_location_.size(); } // nodes of the trie
  LocationId stack_location(StackId id) const { return stack_location_[id]; }
  // none for an outermost frame. A caller's id is always smaller than its callee's.
  StackId stack_caller(StackId id) const { return stack_caller_[id]; }

  size_t sample_count() const { return sample_stack_.size(); }
  Sample sample(size_t row) const;
  std::vector<int64_t> totals() const; // one for each value type

  uint64_t period_ns = 0; // of the clock, for one unit of the first value; 0: not a clock
  StringId command{};     // the program and its arguments

  size_t memory_bytes() const; // of stacks and counts

private:
  friend class StackProfileBuilder;
  std::vector<ValueType> value_types_;
  Column<MappingId, Mapping> mappings_;
  Column<SourceFunctionId, SourceFunction> functions_;
  Column<LocationId, MappingId> location_mapping_;
  Column<LocationId, uint64_t> location_address_;
  Column<LocationId, uint32_t> location_first_line_; // lines_ from here to the next location's
  std::vector<SourceLine> lines_;
  Column<StackId, LocationId> stack_location_;
  Column<StackId, StackId> stack_caller_;
  Column<ThreadId, Thread> threads_;
  Column<PartId, Part> parts_;
  std::vector<StackId> sample_stack_;
  std::vector<ThreadId> sample_thread_;
  std::vector<PartId> sample_part_;
  std::vector<int64_t> sample_values_; // rows of value_types_.size()
};

// The one way to fill a StackProfile. Rows that are equal become one; sums that leave int64_t are
// an error at finish(). A sampler keeps a builder while it runs and takes snapshots of it.
class TALLY_API StackProfileBuilder {
public:
  StackProfileBuilder();
  // Goes on from a profile.
  explicit StackProfileBuilder(StackProfile profile);
  StackProfileBuilder(StackProfileBuilder &&) noexcept;
  StackProfileBuilder &operator=(StackProfileBuilder &&) noexcept;
  ~StackProfileBuilder();

  StringId intern(std::string_view text) { return profile_.strings.intern(text); }
  std::string_view string(StringId id) const { return profile_.strings[id]; }
  void add_value_type(std::string_view type, std::string_view unit);
  void set_period_ns(uint64_t period_ns) { profile_.period_ns = period_ns; }
  void set_command(std::string_view command) { profile_.command = intern(command); }

  // Not unified: the caller knows which mapping replaced which.
  MappingId add_mapping(const Mapping &mapping) { return profile_.mappings_.push(mapping); }
  SourceFunctionId add_function(const SourceFunction &function); // unified
  LocationId add_location(
      MappingId mapping, uint64_t address,
      std::span<const SourceLine> lines = {}); // unified, inside of a mapping by address alone
  ThreadId add_thread(int32_t pid, int32_t tid, std::string_view name); // unified by pid and tid
  void rename_thread(ThreadId thread, std::string_view name);
  PartId add_part(const Part &part) { return profile_.parts_.push(part); }
  void close_part(PartId part, std::string_view trigger, uint64_t end_ns);

  // The stack that is `caller` (none: no caller) and then `callee`. Unified.
  StackId push(StackId caller, LocationId callee);
  // stack none: a sample without a known place. Unified: values add up.
  void add_sample(StackId stack, ThreadId thread, PartId part, std::span<const int64_t> values);
  void add_sample(StackId stack, ThreadId thread, PartId part, int64_t value) {
    add_sample(stack, thread, part, std::span(&value, 1));
  }

  // For symbolizing, afterwards: the ids stay as they are.
  void replace_mapping(MappingId id, const Mapping &mapping) { profile_.mappings_[id] = mapping; }
  void replace_lines(std::span<const std::span<const SourceLine>> lines); // one for each location
  void place_stackless(const SourceLine &line); // samples without a stack get one of this line
  // Drops all values but one. The period is that of the first, and goes with it.
  void keep_value(size_t index);

  size_t memory_bytes() const;
  const StackProfile &so_far() const { return profile_; }

  // A validated copy of what there is; the builder goes on.
  Result<StackProfile> snapshot() const;
  // The same without the copy; the builder is empty afterwards.
  Result<StackProfile> finish();

private:
  struct Tables; // finds equal rows

  StackProfile profile_;
  std::unique_ptr<Tables> tables_;
  bool overflow_ = false;
};

// Adds all of `from`: equal mappings, threads, stacks become one, its parts follow those that are
// there, later by `shift_ns`. Both must have the same value types, and periods where both know
// them.
TALLY_API Result<void> append(StackProfileBuilder &to, const StackProfile &from,
                              uint64_t shift_ns = 0);

// A profile of that one value type; where there is none of that name, an error lists them.
TALLY_API Result<StackProfile> one_event(StackProfile profile, std::string_view event);

// Every rule that the comments above state; the first one broken is the error.
TALLY_API Result<void> validate(const StackProfile &profile);

} // namespace tally
