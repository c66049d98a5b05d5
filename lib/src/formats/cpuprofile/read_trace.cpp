// Reads the trace events of Chrome, which may contain profiles of V8.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/nodes.h"
#include "formats/cpuprofile/trace_events.h"
#include "formats/cpuprofile/trace_samples.h"
#include "formats/finished.h"
#include "support/json_text.h"
#include "support/sort.h"

namespace tally::cpuprofile {

namespace {

constexpr std::string_view json_blanks = " \t\r\n";

// An event of a profile of V8: the profile itself, or some of its nodes and samples.
struct Chunk {
  int64_t at_ns = 0;
  JsonValue data;
};

struct TracedProfile {
  ThreadId thread = none<ThreadId>;
  JsonValue start, end; // absent if unknown
  std::vector<Chunk> chunks;
};

class TraceReader {
public:
  TraceReader(const JsonTree &tree, const std::string &source, Diagnostics &diagnostics)
      : document_(tree.root()), source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    const JsonValue events = document_.is_list() ? document_ : document_["traceEvents"];
    if (!events.is_list())
      return document_.error("is not a trace: the list of traceEvents is missing");
    const JsonValue samples = document_["samples"];
    const bool has_stacks = !samples.first().is_absent() && document_["stackFrames"].is_object();
    if (has_stacks)
      builder_.add_value_type("ticks", "count");
    else
      builder_.add_value_type("time", "nanoseconds");
    find_negative_tids(events);
    find_negative_tids(samples);
    for (JsonValue event = events.first(); !event.is_absent(); event = event.next())
      if (event.is_object())
        TALLY_CHECK(read_event(event));
      else if (!event.is_null())
        return event.error("expected an event");
    for (const auto &[thread, name] : names_)
      builder_.rename_thread(thread_of(thread), name);
    TALLY_CHECK(has_stacks     ? add_stacks(samples)
                : has_samples_ ? add_profiles()
                               : add_durations(events));
    return finished(builder_.finish(), source_);
  }

private:
  using ThreadKey = std::pair<std::string, std::string>; // pid and tid, as the file has them

  static ThreadKey key_of(const JsonValue &event) {
    return {id_text(event["pid"]), id_text(event["tid"])};
  }

  static std::optional<int32_t> number_of(std::string_view text) {
    int32_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    return fault == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                    : std::nullopt;
  }

  void find_negative_tids(const JsonValue &events) {
    for (JsonValue event = events.first(); !event.is_absent(); event = event.next())
      if (const auto tid = number_of(id_text(event["tid"])); tid && *tid < 0)
        negative_tids_.insert(*tid);
  }

  // Tids that are not numbers of 32 bits are replaced by negative ones, which no other thread has.
  ThreadId thread_of(const ThreadKey &key) {
    const auto found = threads_.find(key);
    if (found != threads_.end())
      return found->second;
    const auto tid = number_of(key.second);
    while (!tid && negative_tids_.contains(--last_replaced_))
      ;
    const ThreadId thread = builder_.add_thread(
        number_of(key.first).value_or(0), tid.value_or(last_replaced_), tid ? "" : key.second);
    return threads_.emplace(key, thread).first->second;
  }

  // Returns a time, which some writers put in quotes.
  static Result<int64_t> stamp_of(const JsonValue &event, std::string_view key) {
    const JsonValue value = event[key];
    if (const auto text = value.text()) {
      const char *const limit = text->data() + text->size();
      int64_t us = 0, ns = 0;
      if (const auto [end, fault] = std::from_chars(text->data(), limit, us);
          fault == std::errc() && end == limit && !__builtin_mul_overflow(us, 1000, &ns) &&
          std::abs(ns / 2) < (int64_t{1} << 60))
        return ns;
      double fraction = 0;
      if (const auto [end, fault] = std::from_chars(text->data(), limit, fraction);
          fault == std::errc() && end == limit &&
          std::abs(fraction) < static_cast<double>(most_ns) / 1000)
        return static_cast<int64_t>(std::round(fraction * 1000));
    }
    if (value.is_absent())
      return event.error(fmt::format("an event without {}", key));
    TALLY_TRY(ns, time_of(value));
    if (std::abs(ns) > most_ns)
      return value.error("the time does not fit in 61 bits of nanoseconds");
    return ns;
  }
  static constexpr int64_t most_ns = int64_t{1} << 61; // such that times can be added

  Result<void> read_event(const JsonValue &event) {
    const std::string_view phase = event["ph"].text().value_or(""),
                           name = event["name"].text().value_or("");
    if (phase == "M") {
      const auto value = event["args"]["name"].text();
      if (name == "thread_name" && value)
        names_[key_of(event)] = *value;
      else if (name == "process_name" && value && builder_.so_far().command == StringId{})
        builder_.set_command(*value);
      return {};
    }
    if (name == "Profile" || name == "ProfileChunk" || name == "CpuProfile")
      return read_chunk(event, name);
    if (phase != "X" && phase != "B" && phase != "E")
      return {};
    TraceEvent read;
    TALLY_TRY(at, stamp_of(event, "ts"));
    read.at_ns = at;
    read.phase = phase == "X" ? Phase::complete : phase == "B" ? Phase::begin : Phase::end;
    if (phase == "X")
      for (const std::string_view key : {"dur", "tdur"})
        if (!event[key].is_null()) {
          TALLY_TRY(duration, stamp_of(event, key));
          if (duration < 0)
            return event[key].error("a duration is negative");
          read.duration_ns = duration;
          break;
        }
    read.name = builder_.intern(name.empty() && read.phase != Phase::end ? "(unnamed)" : name);
    read.offset = event.offset();
    events_[key_of(event)].push_back(read);
    return {};
  }

  Result<void> read_chunk(const JsonValue &event, std::string_view name) {
    const JsonValue data = event["args"]["data"];
    if (!data.is_object()) // as in some events of Chrome
      return {};
    const JsonValue id = event["id"];
    const ThreadKey key{id_text(event["pid"]), id.is_null() ? id_text(event["tid"]) : id_text(id)};
    TracedProfile &profile = profiles_[key];
    // The chunks come from the thread of the profiler.
    if (name != "ProfileChunk")
      profile.thread = thread_of(key_of(event));
    const JsonValue whole = name == "CpuProfile" ? data["cpuProfile"] : data;
    for (const auto &[place, what] :
         {std::pair(&profile.start, "startTime"), std::pair(&profile.end, "endTime")})
      if (!whole[what].is_null())
        *place = whole[what];
    TALLY_TRY(at, stamp_of(event, "ts"));
    profile.chunks.push_back({at, data});
    has_samples_ |= !data["cpuProfile"]["samples"].first().is_absent();
    return {};
  }

  Result<void> add_durations(const JsonValue &list) {
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (const auto &[key, events] : events_)
      for (const TraceEvent &event : events)
        begin = std::min(begin, event.at_ns);
    ThreadEvents durations(builder_, source_, diagnostics_);
    for (auto &[key, events] : events_)
      TALLY_CHECK(durations.add(events, thread_of(key), begin));
    if (events_.empty())
      return list.error("holds neither duration events nor a profile of V8 nor samples with "
                        "stackFrames; other events are not supported",
                        ErrorCode::no_data);
    return {};
  }

  void note_other_events(std::string_view what) {
    if (!events_.empty())
      diagnostics_.add(Severity::note,
                       fmt::format("holds {} read; its duration events are not", what), source_);
  }

  // Each sample counts as often as its weight says.
  Result<void> add_stacks(const JsonValue &list) {
    note_other_events("samples of stacks, which are");
    TraceFrames frames(document_["stackFrames"], builder_);
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (JsonValue sample = list.first(); !sample.is_absent(); sample = sample.next()) {
      TALLY_TRY(at, stamp_of(sample, "ts"));
      begin = std::min(begin, at);
    }
    for (JsonValue sample = list.first(); !sample.is_absent(); sample = sample.next()) {
      TALLY_TRY(at, stamp_of(sample, "ts"));
      TALLY_TRY(stack, frames.stack_of(sample["sf"]));
      const JsonValue weight = sample["weight"];
      const double number =
          weight.is_null() ? 1 : weight.number().value_or(number_of(id_text(weight)).value_or(-1));
      if (!(number >= 0 && number < 0x1p31))
        return weight.error("expected a weight of 0 to 2^31 - 1");
      const auto count = static_cast<int64_t>(std::round(number));
      const ThreadId thread = thread_of(key_of(sample));
      const uint32_t row = builder_.add_sample(stack, thread, none<PartId>, count);
      builder_.add_time({static_cast<uint64_t>(at - begin), row, 0, count});
    }
    return {};
  }

  Result<void> add_profiles() {
    note_other_events("a profile of V8, which is");
    // The profiles share an axis, which begins with the first of them.
    std::optional<int64_t> first;
    for (const auto &[key, profile] : profiles_)
      if (!profile.start.is_null()) {
        TALLY_TRY(start, time_of(profile.start));
        first = std::min(first.value_or(start), start);
      }
    int64_t idle_ns = 0;
    for (auto &[key, profile] : profiles_) {
      SampleTrack track;
      track.thread = profile.thread;
      if (!profile.start.is_null()) {
        TALLY_TRY(start, time_of(profile.start));
        track.begin_ns = start - *first;
      }
      if (!profile.end.is_null() && first) {
        TALLY_TRY(end, time_of(profile.end));
        track.end_ns = end - *first;
      }
      TALLY_TRY(idle, add_profile(profile, track));
      idle_ns = idle > INT64_MAX - idle_ns ? INT64_MAX : idle_ns + idle;
    }
    note_idle(idle_ns, source_, diagnostics_);
    return {};
  }

  Result<int64_t> add_profile(TracedProfile &profile, const SampleTrack &track) {
    sort_stably(profile.chunks, {}, &Chunk::at_ns);
    Nodes nodes(builder_, false);
    for (const Chunk &chunk : profile.chunks) {
      const JsonValue list = chunk.data["cpuProfile"]["nodes"];
      for (JsonValue node = list.first(); !node.is_absent(); node = node.next())
        TALLY_CHECK(nodes.add(node));
    }
    bool are_missing = false;
    TALLY_CHECK(nodes.find_callers(&are_missing));
    std::vector<NodeSample> samples;
    for (const Chunk &chunk : profile.chunks)
      TALLY_CHECK(read_samples(chunk.data, nodes, samples));
    are_missing |= std::ranges::find(samples, none<uint32_t>, &NodeSample::node) != samples.end();
    if (are_missing)
      diagnostics_.add(Severity::warning,
                       "nodes are missing: their time is not counted, and what they called has no "
                       "callers",
                       source_);
    if (nodes.size() == 0)
      return 0;
    TALLY_TRY(idle_ns, add_samples(nodes, samples, track, builder_));
    return idle_ns;
  }

  Result<void> read_samples(const JsonValue &data, const Nodes &nodes,
                            std::vector<NodeSample> &samples) {
    const JsonValue ids = data["cpuProfile"]["samples"];
    if (ids.is_null())
      return {};
    const JsonValue deltas =
        data["timeDeltas"].is_null() ? data["cpuProfile"]["timeDeltas"] : data["timeDeltas"];
    const auto id_list = ids.column(), delta_list = deltas.column(), lines = data["lines"].column();
    if (!id_list)
      return ids.error("expected a list of numbers as samples");
    if (!delta_list || delta_list->size() != id_list->size())
      return (deltas.is_absent() ? ids : deltas)
          .error(fmt::format("there are {} samples, but {} timeDeltas", id_list->size(),
                             delta_list ? delta_list->size() : 0));
    const bool has_lines = lines && lines->size() == id_list->size();
    for (size_t i = 0; i < id_list->size(); ++i) {
      NodeSample sample;
      TALLY_TRY(delta, time_of((*delta_list)[i]));
      sample.node = none<uint32_t>; // a trace may lack the beginning
      if (!(*id_list)[i].integer() || nodes.contains((*id_list)[i])) {
        TALLY_TRY(node, nodes.by_id((*id_list)[i]));
        sample.node = node;
      }
      sample.delta_ns = delta;
      if (has_lines) {
        const int64_t line = (*lines)[i].integer().value_or(0);
        sample.line = line > 0 && line <= UINT32_MAX ? static_cast<uint32_t>(line) : 0;
      }
      if (delta < 0 && !samples.empty())
        warn_of_negative_delta((*delta_list)[i], source_, diagnostics_);
      samples.push_back(sample);
    }
    return {};
  }

  JsonValue document_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  StackProfileBuilder builder_;
  std::map<ThreadKey, ThreadId> threads_;
  std::map<ThreadKey, std::string> names_;
  std::map<ThreadKey, std::vector<TraceEvent>> events_;
  std::map<ThreadKey, TracedProfile> profiles_; // by pid and id
  bool has_samples_ = false;                    // of a profile
  std::set<int32_t> negative_tids_;             // those of the file
  int32_t last_replaced_ = 0;                   // the last tid that replaces another one
};

} // namespace

bool probe_trace(std::string_view head) {
  const auto has = [&](std::string_view key) { return head.find(key) != head.npos; };
  std::string_view rest = head;
  if (skip_json(rest, "{"))
    return has("\"traceEvents\"");
  return skip_json(rest, "[") && skip_json(rest, "{") && has("\"ph\"") && has("\"pid\"");
}

Result<Profile> read_trace(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  // A program that ends early leaves a list without its end, which viewers accept.
  std::string completed;
  const size_t last = text.find_last_not_of(json_blanks);
  std::string_view rest = text;
  constexpr std::string_view mark = "\xEF\xBB\xBF"; // the byte order mark
  rest.remove_prefix(rest.starts_with(mark) ? mark.size() : 0);
  if (last != text.npos && skip_json(rest, "[") && (text[last] == ',' || text[last] == '}')) {
    completed.assign(text.substr(0, text[last] == ',' ? last : last + 1));
    completed += ']';
  }
  auto tree =
      JsonTree::parse(completed.empty() ? std::string_view(text) : completed, source.name());
  if (!tree) {
    // The added bracket is not in the file.
    uint64_t &offset = tree.error().where.offset;
    offset = std::min<uint64_t>(offset, text.size());
    return fail(std::move(tree.error()));
  }
  return TraceReader(*tree, source.name(), diagnostics).run();
}

} // namespace tally::cpuprofile
