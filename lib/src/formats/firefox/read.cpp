#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/finished.h"
#include "formats/firefox/firefox.h"
#include "formats/firefox/gecko.h"
#include "formats/firefox/read_code.h"
#include "formats/firefox/read_values.h"
#include "formats/sample_times.h"
#include "support/json_text.h"
#include "support/json_tree.h"

namespace tally::firefox {

namespace {

// Version 5 is of 2017; before it, functions had no files of their own. Version 70 is that of
// Firefox Profiler in August 2026.
constexpr int64_t oldest_version = 5, newest_version = 70;

// In `meta`. Only what Firefox Profiler saved has it.
constexpr std::string_view version_key = "preprocessedProfileVersion";

// Each sample has a value of each type, so with very many types a profile would need far more
// memory than its file has bytes.
constexpr size_t most_values = 64;

// The reader skips these members without storing them.
constexpr std::array<std::string_view, 14> ignored{
    "markers",       "counters",      "nativeAllocations", "jsAllocations",
    "jsTracer",      "markerSchema",  "profilerOverhead",  "pages",
    "profilingLog",  "nativeSymbols", "innerWindowID",     "profileGatheringLog",
    "visualMetrics", "extensions"};

enum class WeightType : uint8_t { samples, time, bytes };
constexpr std::array<std::string_view, 3> weight_types{"samples", "tracing-ms", "bytes"};

class Reader {
public:
  Reader(const JsonTree &tree, const std::string &source, Diagnostics &diagnostics)
      : document_(tree.root()), meta_(document_["meta"]), own_(meta_[own_key]),
        shared_(document_["shared"]), strings_(shared_["stringArray"]),
        sources_(shared_["sources"]), source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    TALLY_CHECK(check_version());
    const JsonValue threads = document_["threads"];
    if (!threads.is_list())
      return document_.error("the list of threads is missing");
    const auto arguments = meta_["arguments"].text();
    const auto product = own_.is_object() ? std::nullopt : meta_["product"].text();
    version_ = *meta_[version_key].integer();
    libs_ = read_libraries(document_["libs"], builder_);
    builder_.set_command(arguments ? *arguments : product.value_or(""));
    if (own_.is_object())
      TALLY_CHECK(read_own());
    else
      TALLY_CHECK(find_values(threads));
    TALLY_CHECK(placed(read_shared(), document_));
    int32_t index = 0;
    for (JsonValue thread = threads.first(); !thread.is_absent(); thread = thread.next())
      TALLY_CHECK(placed(read_thread(thread, ++index), thread));
    return finished(builder_.finish(), source_);
  }

private:
  // Gives an error that has no place that of `value`.
  static Result<void> placed(Result<void> result, const JsonValue &value) {
    if (!result && result.error().where.kind == Position::Kind::none)
      return value.error(std::move(result.error().message), result.error().code);
    return result;
  }

  Result<void> check_version() const {
    const JsonValue version = meta_[version_key];
    const auto number = version.integer();
    if (!number)
      return meta_.error("has no version of Firefox Profiler's format: open it there and save it",
                         ErrorCode::unsupported);
    if (*number < oldest_version || *number > newest_version)
      return version.error(fmt::format("has version {} of Firefox Profiler's format, but only "
                                       "versions {} to {} can be read",
                                       *number, oldest_version, newest_version),
                           ErrorCode::unsupported);
    return {};
  }

  static Result<uint64_t> unsigned_of(const JsonValue &object, std::string_view key) {
    const JsonValue value = object[key];
    const auto number = value.integer();
    if (!number || *number < 0)
      return (value.is_absent() ? object : value)
          .error(fmt::format("expected a whole number as {}", key));
    return static_cast<uint64_t>(*number);
  }

  // Reads what only we write.
  Result<void> read_own() {
    for (JsonValue type = own_["values"].first(); !type.is_absent(); type = type.next()) {
      const auto name = type["type"].text(), unit = type["unit"].text();
      if (!name || !unit)
        return type.error("expected the type and unit of a value");
      if (builder_.so_far().value_types().size() == most_values)
        return type.error(fmt::format("there are more than {} values", most_values),
                          ErrorCode::limit);
      builder_.add_value_type(*name, *unit);
    }
    if (builder_.so_far().value_types().empty())
      return own_.error("the list of values is empty");
    TALLY_TRY(period, unsigned_of(own_, "periodNs"));
    builder_.set_period_ns(period);
    TALLY_TRY(times_from, unsigned_of(own_, "timesFromNs"));
    builder_.set_times_from_ns(times_from);
    TALLY_TRY(roles, roles_of_values(builder_.so_far()));
    roles_ = std::move(roles);
    for (JsonValue part = own_["parts"].first(); !part.is_absent(); part = part.next()) {
      TALLY_TRY(number, unsigned_of(part, "number"));
      TALLY_TRY(begin, unsigned_of(part, "beginNs"));
      TALLY_TRY(end, unsigned_of(part, "endNs"));
      const auto trigger = part["trigger"].text();
      if (number > UINT32_MAX || !trigger)
        return part.error("expected the number and the trigger of a part");
      builder_.add_part({static_cast<uint32_t>(number), builder_.intern(*trigger), begin, end});
    }
    for (JsonValue category = meta_["categories"].first(); !category.is_absent();
         category = category.next()) {
      const auto name = category["name"].text();
      measures_.push_back(name == running_category   ? Measure::running
                          : name == waiting_category ? Measure::waiting
                          : name == queued_category  ? Measure::queued
                                                     : Measure::other);
    }
    return {};
  }

  static WeightType type_of(const JsonValue &samples) {
    const auto type = samples["weightType"].text();
    if (samples["weight"].is_null() || !type)
      return WeightType::samples;
    const auto *const found = std::ranges::find(weight_types, *type);
    return found == weight_types.end() ? WeightType::samples
                                       : static_cast<WeightType>(found - weight_types.begin());
  }

  // Finds the kinds of weights, which become the values of the profile.
  Result<void> find_values(const JsonValue &threads) {
    std::array<bool, weight_types.size()> is_used{};
    for (JsonValue thread = threads.first(); !thread.is_absent(); thread = thread.next())
      is_used[static_cast<size_t>(type_of(thread["samples"]))] = true;
    constexpr std::array<ValueTypeName, weight_types.size()> names{
        {{"ticks", "count"}, {"time", "nanoseconds"}, {"bytes", "bytes"}}};
    for (size_t i = 0; i < names.size(); ++i)
      if (is_used[i]) {
        values_[i] = builder_.so_far().value_types().size();
        builder_.add_value_type(names[i].type, names[i].unit);
      }
    const auto interval = meta_["interval"].number();
    if (const auto ns = nanoseconds(interval.value_or(0)); is_used[0] && ns && *ns > 0)
      builder_.set_period_ns(static_cast<uint64_t>(*ns));
    TALLY_TRY(roles, roles_of_values(builder_.so_far()));
    roles_ = std::move(roles);
    // The axis begins where recording did.
    const auto begin = meta_["profilingStartTime"].number();
    if (const auto ns = nanoseconds(begin.value_or(0)); ns && *ns > 0)
      zero_ns_ = *ns;
    return {};
  }

  // Since version 60 all threads share the tables of stacks, and since 56 the strings.
  Result<void> read_shared() {
    if (shared_["stackTable"].is_absent())
      return {};
    TALLY_TRY(stacks, read_stacks({shared_, strings_, sources_, libs_, version_}, builder_));
    shared_stacks_ = std::move(stacks);
    return {};
  }

  // A thread that is being read.
  struct Track {
    ThreadId thread = none<ThreadId>;
    std::optional<size_t> value{}; // of all samples; none for our own track of time
    WeightType weights = WeightType::samples;
    uint64_t untimed = 0;
  };

  Result<void> read_thread(const JsonValue &thread, int32_t index) {
    const JsonValue samples = thread["samples"];
    if (!samples.is_object())
      return thread.error("a thread without samples");
    const JsonValue own = own_.is_object() ? thread[own_key] : JsonValue();
    Track track;
    track.weights = type_of(samples);
    if (own.is_object()) {
      if (own["value"].is_null()) {
        track.value = std::nullopt;
      } else {
        TALLY_TRY(value, index_below(own["value"], roles_.size(), "value"));
        track.value = value.value_or(0);
      }
      TALLY_TRY(untimed, unsigned_of(own, "untimed"));
      track.untimed = untimed;
    } else {
      track.value = own_.is_object() ? 0 : values_[static_cast<size_t>(track.weights)];
    }
    const auto tid_text = thread["tid"].text();
    if (!tid_text || !tid_text->starts_with(unknown_tid)) {
      const auto name = (own.is_object() ? own : thread)["name"].text();
      track.thread = builder_.add_thread(id_of(thread["pid"]).value_or(0),
                                         id_of(thread["tid"]).value_or(index), name.value_or(""));
      // In our own files, the viewer's name of a process without a name is the program's.
      const JsonValue process = own.is_object() ? own["process"] : thread["processName"];
      builder_.set_process(track.thread, process.text().value_or(""));
    }
    if (!shared_stacks_.empty() || thread["stackTable"].is_absent())
      return read_samples(samples, track, shared_stacks_);
    const JsonValue strings = thread["stringArray"];
    const JsonValue libs = thread["libs"]; // until version 40
    std::vector<StringId> own_libs;
    if (!libs.is_absent())
      own_libs = read_libraries(libs, builder_);
    TALLY_TRY(stacks, read_stacks({thread, strings.is_absent() ? strings_ : strings, sources_,
                                   libs.is_absent() ? libs_ : own_libs, version_},
                                  builder_));
    return read_samples(samples, track, stacks);
  }

  Result<void> read_samples(const JsonValue &samples, const Track &track,
                            const std::vector<ReadStack> &stacks) {
    TALLY_TRY(leaves, needed_column(samples, "stack", "samples"));
    const size_t size = leaves.rows.size();
    TALLY_TRY(times, optional_column(samples, "time", size));
    TALLY_TRY(deltas, optional_column(samples, "timeDeltas", size)); // since version 50
    // The weights of comparisons were durations before version 29.
    const bool has_durations = samples["weight"].is_absent() && !samples["duration"].is_null();
    TALLY_TRY(weights, optional_column(samples, has_durations ? "duration" : "weight", size));
    if (times.is_absent() && deltas.is_absent())
      return samples.error("samples without times");
    double now = 0;
    std::vector<int64_t> values(builder_.so_far().value_types().size());
    for (size_t i = 0; i < size; ++i) {
      const JsonValue at = times.is_absent() ? deltas.rows[i] : times.rows[i];
      const auto time = at.number();
      if (!time)
        return at.error("expected a time in milliseconds");
      now = times.is_absent() ? now + *time : *time;
      const auto begin = nanoseconds(now);
      if (!begin)
        return at.error("the time does not fit in 63 bits of nanoseconds");
      TALLY_TRY(leaf, index_below(leaves.rows[i], stacks.size(), "stack"));
      size_t value = track.value.value_or(0);
      if (!track.value) {
        const auto category = leaf ? stacks[*leaf].category : std::nullopt;
        value = value_of(category && *category < measures_.size() ? measures_[*category]
                                                                  : Measure::other);
      }
      int64_t amount = 1;
      if (!weights.is_absent()) {
        TALLY_TRY(weighed, amount_of(weights.rows[i], track.weights, roles_[value]));
        amount = weighed;
      }
      if (amount == 0)
        continue;
      SampleTime stamp;
      stamp.value = static_cast<uint32_t>(value);
      stamp.amount = amount;
      const int64_t length = measures_intervals(builder_.so_far(), value) ? amount : 0;
      stamp.at_ns =
          time_after(*begin, zero_ns_) + static_cast<uint64_t>(std::max<int64_t>(0, length));
      const bool is_timed = i >= track.untimed;
      std::ranges::fill(values, 0);
      values[value] = amount;
      stamp.row = builder_.add_sample(leaf ? stacks[*leaf].id : push_unknown(builder_),
                                      track.thread, part_at(is_timed, stamp.at_ns), values);
      if (is_timed && amount > 0)
        builder_.add_time(stamp);
    }
    return {};
  }

  // Returns the value that a sample of our own track of time belongs to.
  size_t value_of(Measure measure) const {
    if (measure == Measure::other)
      measure = Measure::running;
    const auto found = std::ranges::find(roles_, measure, &ValueRole::measure);
    return found == roles_.end() ? 0 : static_cast<size_t>(found - roles_.begin());
  }

  // Converts a weight to the units of its value.
  Result<int64_t> amount_of(const JsonValue &weight, WeightType type, const ValueRole &role) {
    const auto number = weight.number();
    if (!number)
      return weight.error("expected a number as the weight of a sample");
    if (type == WeightType::time) {
      int64_t ns = 0;
      const auto whole = weight.integer();
      const auto rounded = nanoseconds(*number);
      if (whole && !__builtin_mul_overflow(*whole, int64_t{1'000'000}, &ns))
        ;
      else if (rounded)
        ns = *rounded;
      else
        return weight.error("the weight does not fit in 63 bits of nanoseconds");
      const int64_t unit = std::max<int64_t>(1, role.unit_ns);
      const int64_t rest = ns % unit;
      return ns / unit + (rest > 0 && rest >= unit - rest ? 1 : 0);
    }
    if (const auto whole = weight.integer())
      return *whole;
    constexpr double limit = 9.2e18;
    if (!(std::abs(*number) < limit))
      return weight.error("the weight does not fit in 63 bits");
    diagnostics_.add(Severity::warning, "weights that are not whole numbers are rounded", source_,
                     Position::at_offset(weight.offset()));
    return static_cast<int64_t>(std::round(*number));
  }

  // Returns the part that contains a time, which only the limits of parts tell.
  PartId part_at(bool is_timed, uint64_t at_ns) const {
    const auto &parts = builder_.so_far().parts();
    if (parts.size() == 0 || (!is_timed && parts.size() > 1))
      return none<PartId>;
    const auto after = std::ranges::lower_bound(parts, at_ns, {}, &Part::begin_ns);
    const auto index = after - parts.begin();
    return static_cast<PartId>(index == 0 ? 0 : index - 1);
  }

  struct ValueTypeName {
    std::string_view type, unit;
  };

  // A search for a key takes the time of all keys of the object, and there may be many threads.
  JsonValue document_, meta_, own_, shared_, strings_, sources_;
  std::vector<StringId> libs_; // of all threads: their paths
  const std::string &source_;
  Diagnostics &diagnostics_;
  StackProfileBuilder builder_;
  std::vector<ValueRole> roles_;
  std::vector<Measure> measures_;                    // by category, in our own files
  std::array<size_t, weight_types.size()> values_{}; // by WeightType, in those of others
  int64_t version_ = 0;
  int64_t zero_ns_ = 0;
  std::vector<ReadStack> shared_stacks_;
};

} // namespace

bool probe(std::string_view head) {
  const auto skip = [&](std::string_view token) { return skip_json(head, token); };
  if (!skip("{"))
    return false;
  if (head.find("\"preprocessedProfileVersion\"") != head.npos)
    return true;
  // Firefox begins with the libraries.
  if (skip("\"libs\"")) {
    if (!skip(":") || !skip("["))
      return false;
    if (!skip("]"))
      return skip("{") && head.find("\"breakpadId\"") != head.npos;
    skip(",");
  }
  // Long lists may come before the version.
  if (!skip("\"meta\"") || !skip(":") || !skip("{"))
    return false;
  return std::ranges::any_of(std::array<std::string_view, 4>{"\"markerSchema\"", "\"stackwalk\"",
                                                             "\"processType\"", "\"categories\""},
                             [&](std::string_view key) { return head.find(key) != head.npos; });
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *) {
  TALLY_TRY(text, source.rest());
  TALLY_TRY(tree, JsonTree::parse(text, source.name(), ignored));
  const JsonValue meta = tree.root()["meta"];
  if (!meta.is_object())
    return tree.root().error("is not a profile of Firefox: meta is missing");
  // The first versions of Firefox Profiler's form had no number, but lists of strings.
  if (meta[version_key].is_absent() && tree.root()["threads"].first()["stringArray"].is_absent())
    return read_gecko(tree, source.name());
  return Reader(tree, source.name(), diagnostics).run();
}

} // namespace tally::firefox
