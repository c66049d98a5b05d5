#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/finished.h"
#include "formats/json_number.h"
#include "formats/speedscope/speedscope.h"
#include "formats/stack_depth.h"
#include "support/json_text.h"
#include "support/json_tree.h"
#include "support/text.h"

namespace tally::speedscope {

namespace {

// Each sample has a value of each type, so with very many types a profile would need far more
// memory than its file has bytes.
constexpr size_t most_values = 64;

// A value of the profile, and how weights are converted to it.
struct Value {
  std::string_view type, unit;
  int64_t factor = 1;  // of a weight
  int64_t divisor = 1; // after that
};

// A profile of the file.
struct Track {
  JsonValue json;
  Value value;
  size_t column = 0; // of the value
  ThreadId thread = none<ThreadId>;
  bool is_evented = false;
};

class Reader {
public:
  Reader(const JsonTree &tree, const std::string &source, Diagnostics &diagnostics)
      : document_(tree.root()), own_(document_[own_key]), source_(source),
        diagnostics_(diagnostics) {}

  Result<Profile> run() {
    TALLY_CHECK(read_frames());
    if (!document_["profiles"].is_list())
      return document_.error("the list of profiles is missing");
    builder_.set_command(document_["name"].text().value_or(""));
    if (own_.is_object())
      TALLY_CHECK(read_own_values());
    TALLY_CHECK(read_tracks());
    find_begin();
    for (const Track &track : tracks_)
      TALLY_CHECK(track.is_evented ? read_events(track) : read_samples(track));
    return finished(builder_.finish(), source_);
  }

private:
  Result<void> read_frames() {
    const JsonValue frames = document_["shared"]["frames"];
    if (!document_.is_object() || !frames.is_list())
      return document_.error("is not a profile of speedscope: the list of shared frames is "
                             "missing");
    for (JsonValue frame = frames.first(); !frame.is_absent(); frame = frame.next()) {
      const JsonValue name = frame["name"];
      if (!name.text() && (name.is_absent() || !name.is_null())) // pyinstrument has null
        return frame.error("a frame without a name");
      const int64_t number = frame["line"].integer().value_or(0);
      const auto line = static_cast<uint32_t>(number > 0 && number <= UINT32_MAX ? number : 0);
      // Writers that tell columns state where a function is declared, and the others which line
      // ran.
      const bool declares = own_.is_object() || !frame["col"].is_null();
      SourceFunction function;
      function.name = builder_.intern(name.text().value_or("[unknown]"));
      const auto object = frame["object"].text();
      const StringId file = builder_.intern(frame["file"].text().value_or(""));
      (object == "" ? function.object : function.file) = file;
      if (object && !object->empty())
        function.object = builder_.intern(*object);
      function.line = declares ? line : 0;
      const SourceLine at{builder_.add_function(function), function.file, declares ? 0 : line};
      frames_.push_back(builder_.add_location(none<MappingId>, 0, std::span(&at, 1)));
    }
    return {};
  }

  // Reads what only we write about values.
  Result<void> read_own_values() {
    for (JsonValue type = own_["values"].first(); !type.is_absent(); type = type.next()) {
      const auto name = type["type"].text(), unit = type["unit"].text();
      if (!name || !unit)
        return type.error("expected the type and unit of a value");
      if (own_values_.size() == most_values)
        return type.error(fmt::format("there are more than {} values", most_values),
                          ErrorCode::limit);
      own_values_.push_back({*name, *unit});
      builder_.add_value_type(*name, *unit);
    }
    const JsonValue period = own_["periodNs"];
    const int64_t period_ns = period.integer().value_or(-1);
    if (own_values_.empty() || period_ns < 0)
      return own_.error("expected the list of values and the clock's period");
    builder_.set_period_ns(static_cast<uint64_t>(period_ns));
    own_values_[0].divisor = std::max<int64_t>(1, period_ns);
    return {};
  }

  Result<void> read_tracks() {
    for (JsonValue json = document_["profiles"].first(); !json.is_absent(); json = json.next()) {
      Track track{json, {}, 0, none<ThreadId>, false};
      const auto type = json["type"].text();
      track.is_evented = type == "evented";
      if (!track.is_evented && type != "sampled")
        return (type ? json["type"] : json).error("expected a profile of type sampled or evented");
      TALLY_CHECK(read_unit(track));
      // Ids of threads are unknown. Files of equal names are different threads.
      const JsonValue own = json[own_key];
      const auto id_of = [&](std::string_view key) {
        const auto id = own[key].integer();
        return id && *id >= INT32_MIN && *id <= INT32_MAX ? static_cast<int32_t>(*id) : 0;
      };
      if (!own.is_object())
        track.thread = builder_.add_thread(0, static_cast<int32_t>(tracks_.size() + 1),
                                           json["name"].text().value_or(""));
      else if (!own["tid"].is_null()) {
        track.thread =
            builder_.add_thread(id_of("pid"), id_of("tid"), own["name"].text().value_or(""));
        builder_.set_process(track.thread, own["process"].text().value_or(""));
      }
      tracks_.push_back(track);
    }
    if (tracks_.empty())
      return document_["profiles"].error("the list of profiles is empty", ErrorCode::no_data);
    if (!own_values_.empty())
      return {};
    // Profiles whose units can be added up share a value.
    std::vector<std::string_view> types;
    for (Track &track : tracks_) {
      const auto found = std::ranges::find(types, track.value.type);
      track.column = static_cast<size_t>(found - types.begin());
      if (found != types.end())
        continue;
      types.push_back(track.value.type);
      builder_.add_value_type(track.value.type, track.value.unit);
    }
    return {};
  }

  Result<void> read_unit(Track &track) const {
    const JsonValue unit = track.json["unit"];
    const auto *const known =
        std::ranges::find(weight_units, unit.text().value_or(""), &WeightUnit::name);
    if (known == weight_units.end()) {
      std::vector<std::string_view> names;
      names.reserve(std::size(weight_units));
      for (const WeightUnit &each : weight_units)
        names.push_back(each.name);
      return (unit.is_absent() ? track.json : unit)
          .error(fmt::format("expected one of these as the unit: {}", joined_text(names, ", ")));
    }
    if (own_values_.empty()) {
      track.value = known->unit_ns > 0       ? Value{"time", "nanoseconds", known->unit_ns}
                    : known->name == "bytes" ? Value{"bytes", "bytes"}
                                             : Value{"ticks", "count"};
      return {};
    }
    const JsonValue index = track.json[own_key]["value"];
    const auto number = index.integer();
    if (!number || *number < 0 || static_cast<size_t>(*number) >= own_values_.size())
      return (index.is_absent() ? track.json : index).error("expected the index of a value");
    track.column = static_cast<size_t>(*number);
    track.value = own_values_[track.column];
    return {};
  }

  // Events of different threads share an axis, which begins with the first of them.
  void find_begin() {
    std::optional<int64_t> first;
    for (const Track &track : tracks_)
      if (has_times(track))
        for (const JsonValue &at : {track.json["startValue"], track.json["events"].first()["at"]})
          if (const auto ns = scaled_integer(at, track.value.factor))
            first = std::min(first.value_or(*ns), *ns);
    begin_ns_ = first.value_or(0);
  }

  bool has_times(const Track &track) const {
    return track.is_evented && own_values_.empty() && track.value.type == "time";
  }

  Result<int64_t> amount_of(const JsonValue &value, const Track &track, std::string_view what) {
    const auto amount = scaled_integer(value, track.value.factor);
    if (!amount && !value.number())
      return value.error(fmt::format("expected a number as {}", what));
    if (!amount)
      return value.error(fmt::format("{} does not fit in 63 bits{}", what,
                                     track.value.factor > 1 ? " of nanoseconds" : ""));
    if (track.value.factor == 1 && !value.integer())
      diagnostics_.add(Severity::warning, "values that are not whole numbers are rounded", source_,
                       Position::at_offset(value.offset()));
    if (*amount % track.value.divisor != 0)
      return value.error(fmt::format("{} is not a multiple of the clock's period", what));
    return *amount / track.value.divisor;
  }

  Result<uint32_t> frame_of(const JsonValue &value) const {
    const auto index = value.integer();
    if (!index)
      return value.error("expected the index of a frame");
    if (*index < 0 || static_cast<size_t>(*index) >= frames_.size())
      return value.error(
          fmt::format("frame {} does not exist: there are {}", *index, frames_.size()));
    return static_cast<uint32_t>(*index);
  }

  uint32_t add(const Track &track, StackId stack, int64_t amount) {
    values_.assign(builder_.so_far().value_types().size(), 0);
    values_[track.column] = amount;
    return builder_.add_sample(stack, track.thread, none<PartId>, values_);
  }

  Result<void> read_samples(const Track &track) {
    const JsonValue samples = track.json["samples"], list = track.json["weights"];
    if (!samples.is_list())
      return track.json.error("a sampled profile without samples");
    const auto weights = list.column();
    if (!weights)
      return (list.is_absent() ? track.json : list).error("expected a list of numbers as weights");
    size_t count = 0;
    for (JsonValue sample = samples.first(); !sample.is_absent(); sample = sample.next()) {
      if (!sample.is_list())
        return sample.error("expected a list of frames as a sample");
      if (count == weights->size())
        return list.error(fmt::format("there are more samples than weights, {}", count));
      const JsonValue weight = (*weights)[count++];
      TALLY_TRY(amount, amount_of(weight, track, "a weight"));
      if (amount < 0)
        return weight.error("a weight is negative");
      StackId stack = none<StackId>;
      for (JsonValue frame = sample.first(); !frame.is_absent(); frame = frame.next()) {
        TALLY_TRY(index, frame_of(frame));
        stack = builder_.push(stack, frames_[index]);
      }
      if (amount > 0)
        add(track, stack == none<StackId> ? unknown_stack() : stack, amount);
    }
    if (count < weights->size())
      return list.error(
          fmt::format("there are {} samples, but {} weights", count, weights->size()));
    return {};
  }

  StackId unknown_stack() {
    const SourceLine at{
        builder_.add_function({builder_.intern("[unknown]"), {}, {}, {}, 0}), {}, 0};
    return builder_.push(none<StackId>,
                         builder_.add_location(none<MappingId>, 0, std::span(&at, 1)));
  }

  struct Open {
    uint32_t frame = 0;
    StackId stack = none<StackId>;
  };

  Result<void> read_events(const Track &track) {
    const JsonValue events = track.json["events"];
    if (!events.is_list())
      return track.json.error("an evented profile without events");
    std::vector<Open> open;
    std::optional<int64_t> now;
    // Counts the time since the last event, in which the open frames ran.
    const auto move_to = [&](int64_t at) -> bool {
      int64_t amount = 0;
      if (now && __builtin_sub_overflow(at, *now, &amount))
        return false;
      now = at;
      if (amount == 0 || open.empty())
        return true;
      const uint32_t row = add(track, open.back().stack, amount);
      uint64_t at_ns = 0;
      if (has_times(track) && !__builtin_sub_overflow(at, begin_ns_, &at_ns) && at_ns <= INT64_MAX)
        builder_.add_time({at_ns, row, static_cast<uint32_t>(track.column), amount});
      return true;
    };
    for (JsonValue event = events.first(); !event.is_absent(); event = event.next()) {
      const JsonValue at_json = event["at"].is_absent() ? event : event["at"];
      TALLY_TRY(at, amount_of(at_json, track, "the time of an event"));
      if (now && at < *now)
        return at_json.error("an event is earlier than the one before it");
      if (!move_to(at))
        return at_json.error("the time of an event does not fit in 63 bits");
      TALLY_TRY(frame, frame_of(event["frame"].is_absent() ? event : event["frame"]));
      const auto type = event["type"].text();
      if (type == "O") {
        if (open.size() == most_frames)
          return event.error(too_deep(), ErrorCode::limit);
        const StackId caller = open.empty() ? none<StackId> : open.back().stack;
        open.push_back({frame, builder_.push(caller, frames_[frame])});
      } else if (type != "C") {
        return event.error("expected an event of type O or C");
      } else if (open.empty()) {
        return event.error(fmt::format("frame {} is closed, but no frame is open", frame));
      } else if (open.back().frame != frame) {
        return event.error(fmt::format("frame {} is closed, but {} is the last one that was opened",
                                       frame, open.back().frame));
      } else {
        open.pop_back();
      }
    }
    if (open.empty())
      return {};
    diagnostics_.add(Severity::error,
                     "frames that are not closed are read as if they last until the profile ends",
                     source_, Position::at_offset(events.offset()));
    const JsonValue end = track.json["endValue"];
    TALLY_TRY(at, amount_of(end.is_absent() ? track.json : end, track, "endValue"));
    if (at > now.value_or(at) && !move_to(at))
      return end.error("endValue does not fit in 63 bits");
    return {};
  }

  JsonValue document_, own_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  StackProfileBuilder builder_;
  std::vector<LocationId> frames_;
  std::vector<Value> own_values_; // only of files that we wrote
  std::vector<Track> tracks_;
  int64_t begin_ns_ = 0; // where the axis of times begins
  std::vector<int64_t> values_;
};

} // namespace

bool probe(std::string_view head) {
  if (!skip_json(head, "{"))
    return false;
  // Some writers escape the slashes of the schema's address.
  const size_t schema = head.find("speedscope.app");
  if (schema != head.npos && head.substr(schema, 50).find("file-format-schema.json") != head.npos)
    return true;
  const auto skip = [&](std::string_view token) { return skip_json(head, token); };
  return skip("\"shared\"") && skip(":") && skip("{") && skip("\"frames\"");
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  TALLY_TRY(tree, JsonTree::parse(text, source.name()));
  return Reader(tree, source.name(), diagnostics).run();
}

} // namespace tally::speedscope
