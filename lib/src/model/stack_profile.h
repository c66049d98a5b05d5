// Samples with their stacks, as a sampler counts them and as pprof and folded files hold them.
//
// All tables are stored as columns. The stacks form a trie: a stack is identified by the node of
// its leaf, and each node knows the node of its caller, so that memory grows with the number of
// distinct stacks and not with the number of samples. StackProfileBuilder fills and validates a
// profile, which is constant from then on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/result.h"
#include "support/strings.h"

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

// A mapping of a file: the memory [start, limit) shows the file from file_offset on.
struct Mapping {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  StringId path{};     // "[vdso]", "//anon" and the like as the kernel names them
  StringId build_id{}; // lower-case hex; empty if unknown
  uint64_t device = 0; // the device and inode of the mapped file; 0 if unknown
  uint64_t inode = 0;
  uint64_t bias = 0;     // run-time address - link-time address, modulo 2^64
  bool has_bias = false; // `bias` is known: the file was found, and a segment contains the mapping
};

// A function of the source. Two functions are equal if all five fields are.
struct SourceFunction {
  StringId name{};        // demangled
  StringId system_name{}; // the linkage name
  StringId file{};        // the file that declares it
  StringId object{};      // the path of the mapping that contains it
  uint32_t line = 0;      // the line of its declaration; 0 if unknown
  friend bool operator==(const SourceFunction &, const SourceFunction &) = default;
};

struct SourceLine {
  SourceFunctionId function = none<SourceFunctionId>;
  StringId file{};   // the file of `line`; usually, but not always, that of the function
  uint32_t line = 0; // 0 if unknown
  friend bool operator==(const SourceLine &, const SourceLine &) = default;
};

// An address: the pc for a leaf, the return address - 1 for a caller (as in pprof).
struct Location {
  MappingId mapping = none<MappingId>;
  uint64_t address = 0;              // run-time
  std::span<const SourceLine> lines; // innermost function first; empty before symbolization
};

struct Thread {
  int32_t pid = 0;
  int32_t tid = 0;
  StringId name{};
  StringId process{}; // the name of its process; empty if unknown
};

// A part: the stretch of a profile from a resume to the next stop that the user sees.
struct Part {
  uint32_t number = 1; // from 1, ascending
  StringId trigger{};  // the reason for the stop that ended it: "breakpoint 2, parse.c:10"
  // The times since the beginning of sampling, without the time that the process was stopped.
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

struct Sample {
  StackId stack = none<StackId>;
  ThreadId thread = none<ThreadId>;
  PartId part = none<PartId>;
  std::span<const int64_t> values; // one for each value type
};

// When a part of a sample's value was counted. A profile holds one for each tick, event and wait,
// if the times are known.
struct SampleTime {
  // The time of the tick or event, or the end of the interval, in the units of Part::begin_ns.
  uint64_t at_ns = 0;
  uint32_t row = 0;   // of StackProfile::sample()
  uint32_t value = 0; // the index of the value type
  // The part of the value. If measures_intervals(), the interval began this long before `at_ns`.
  int64_t amount = 0;
};

// A pass of a region of the program, in the units of Part::begin_ns.
struct Pass {
  StringId region{}; // the region as the user typed it: "parse", or "a.c:10 to a.c:20"
  int32_t tid = 0;   // the thread inside; 0 for a region of the whole process
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

// The samples and what they refer to, in tables. It has many data members because each column of a
// table is a data member.
class StackProfile {
public:
  // Compiled once, as everything that returns a Result<StackProfile> needs all of them.
  StackProfile();
  StackProfile(const StackProfile &);
  StackProfile &operator=(const StackProfile &);
  StackProfile(StackProfile &&) noexcept;
  StackProfile &operator=(StackProfile &&) noexcept;
  ~StackProfile();

  StringPool strings;

  std::span<const ValueType> value_types() const { return value_types_; }
  const Column<MappingId, Mapping> &mappings() const { return mappings_; }
  const Column<SourceFunctionId, SourceFunction> &functions() const { return functions_; }
  const Column<ThreadId, Thread> &threads() const { return threads_; }
  const Column<PartId, Part> &parts() const { return parts_; }

  uint32_t location_count() const { return location_address_.size(); }
  Location location(LocationId id) const;
  bool has_places() const; // whether the address or the line of any location is known

  uint32_t stack_count() const { return stack_location_.size(); } // the nodes of the trie
  LocationId stack_location(StackId id) const { return stack_location_[id]; }
  // Returns the caller's node, or none for an outermost frame. The id of a caller is always smaller
  // than that of its callee.
  StackId stack_caller(StackId id) const { return stack_caller_[id]; }

  size_t sample_count() const { return sample_stack_.size(); }
  Sample sample(size_t row) const;
  std::vector<int64_t> totals() const; // one for each value type

  // The times of the samples, in ascending order; empty if they are not known. If memory was short,
  // the earliest are missing: all before times_from_ns.
  std::span<const SampleTime> times() const { return times_; }
  uint64_t times_from_ns = 0;
  std::vector<Pass> passes; // in the order of their ends; only the newest if there are many
  // Returns the end of the time axis, which begins at 0: that of the last part, or the last time.
  uint64_t end_ns() const;

  uint64_t period_ns = 0; // the clock's period, one unit of the first value; 0 without a clock
  StringId command{};     // the program and its arguments
  // Keeps files open that the sampled program may have removed, until the functions have names.
  std::shared_ptr<const void> kept_files;

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
  std::vector<SampleTime> times_;
};

// Returns whether a value is the duration of something that did not run: "wait" or "queued" in
// nanoseconds.
bool measures_intervals(const StackProfile &profile, size_t value);

// Fills a StackProfile. "Unified" below means that equal rows become one, with one id. Sums that do
// not fit in int64_t are an overflow at finish() and snapshot(). A sampler keeps a builder while it
// runs and takes snapshots of it. It has many methods, because each table is filled by its own.
class StackProfileBuilder {
public:
  StackProfileBuilder();
  // Continues from a profile.
  explicit StackProfileBuilder(StackProfile profile);
  StackProfileBuilder(StackProfileBuilder &&) noexcept;
  StackProfileBuilder &operator=(StackProfileBuilder &&) noexcept;
  ~StackProfileBuilder();

  StringId intern(std::string_view text) { return profile_.strings.intern(text); }
  std::string_view string(StringId id) const { return profile_.strings[id]; }
  void add_value_type(std::string_view type, std::string_view unit);
  void set_period_ns(uint64_t period_ns) { profile_.period_ns = period_ns; }
  void set_command(std::string_view command) { profile_.command = intern(command); }

  // Adds a mapping. Mappings are not unified, because only the caller knows which mapping replaced
  // which.
  MappingId add_mapping(const Mapping &mapping) { return profile_.mappings_.push(mapping); }
  // Adds a function. Unified. A mangled name that has no other beside it becomes the linkage name,
  // because many tools write only that one.
  SourceFunctionId add_function(const SourceFunction &function);
  // Adds a location. Unified by mapping and address; without a mapping also by the lines.
  LocationId add_location(MappingId mapping, uint64_t address,
                          std::span<const SourceLine> lines = {});
  ThreadId add_thread(int32_t pid, int32_t tid, std::string_view name); // unified by pid and tid
  void rename_thread(ThreadId thread, std::string_view name);
  void set_process(ThreadId thread, std::string_view name); // the name of its process
  PartId add_part(const Part &part) { return profile_.parts_.push(part); }
  void close_part(PartId part, std::string_view trigger, uint64_t end_ns);
  // Numbers the parts from 1 on in the order of their ends. Their ids change, too.
  void sort_parts();

  // Returns the stack of `callee` called by the stack `caller`, which is none for an outermost
  // frame. Unified.
  StackId push(StackId caller, LocationId callee);
  // Adds a sample. `stack` is none if the address of the sample is unknown; `thread` and `part` may
  // be none, too. Unified: the values of samples with the same stack, thread and part are added up.
  // Returns the sample's row.
  uint32_t add_sample(StackId stack, ThreadId thread, PartId part, std::span<const int64_t> values);
  uint32_t add_sample(StackId stack, ThreadId thread, PartId part, int64_t value) {
    return add_sample(stack, thread, part, std::span(&value, 1));
  }
  // Adds a time of a sample, in any order. The amount is a part of the value, which this function
  // does not change.
  void add_time(const SampleTime &time) { profile_.times_.push_back(time); }
  void reserve_times(size_t count) { profile_.times_.reserve(count); }
  void set_times_from_ns(uint64_t at_ns) { profile_.times_from_ns = at_ns; }
  void drop_times() { // and passes, which are on the same axis
    profile_.times_ = {};
    profile_.passes = {};
  }
  void add_pass(const Pass &pass) { profile_.passes.push_back(pass); }

  // The following functions change rows for symbolization. All ids stay valid.
  void replace_mapping(MappingId id, const Mapping &mapping) { profile_.mappings_[id] = mapping; }
  void replace_lines(std::span<const std::span<const SourceLine>> lines); // one for each location
  // Gives all samples without a stack a stack of one frame with this line.
  void place_stackless(const SourceLine &line);
  // Drops all values but one. The period belongs to the first value, and is dropped with it.
  void keep_value(size_t index);

  const StackProfile &so_far() const { return profile_; }

  // Returns a validated copy of the profile so far. The builder can continue.
  Result<StackProfile> snapshot() const;
  // Validates and returns the profile without a copy, and leaves the builder empty.
  Result<StackProfile> finish();

private:
  struct Tables;        // hash tables of the rows that are unified
  void index_samples(); // fills the table of samples
  SourceFunction with_name_for_people(SourceFunction function);

  StackProfile profile_;
  std::unique_ptr<Tables> tables_;
  bool overflow_ = false;
};

// Returns the profile with only the value type named `event`. An unknown name is invalid_argument,
// and the error lists the known ones.
Result<StackProfile> one_event(StackProfile profile, std::string_view event);

// Checks the rules that the comments above state, and returns the first violation.
Result<void> validate(const StackProfile &profile);

} // namespace tally
