#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tally/version.h>

#include "formats/firefox/code_table.h"
#include "formats/firefox/firefox.h"
#include "formats/firefox/thread_tables.h"
#include "formats/firefox/tracks.h"
#include "model/pc_words.h"
#include "support/hash.h"
#include "support/json_text.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/text_sink.h"
#include "transform/frame_tree.h"

namespace tally::firefox {

namespace {

constexpr uint32_t other = 0, running = 1, waiting = 2, queued = 3;
struct Category {
  std::string_view name, colour;
};
constexpr std::array<Category, 4> categories{{
    {other_category, "grey"},
    {running_category, "yellow"},
    {waiting_category, "blue"},
    {queued_category, "orange"},
}};

uint32_t category_of(Measure measure) {
  return measure == Measure::waiting ? waiting : measure == Measure::queued ? queued : running;
}

struct Marker {
  uint64_t begin_ns = 0, end_ns = 0;
  std::string name;
  std::string_view schema;
  uint32_t category = other;
  std::optional<uint32_t> stack{};
  std::string_view trigger{};
};

constexpr std::string_view wait_schema = "Wait", part_schema = "Part", region_schema = "Region";

// The process of samples that have none, if others have one.
constexpr std::string_view no_process = "[no process]";

class Writer {
public:
  Writer(const StackProfile &profile, const FrameTree &tree, const CodeTable &code,
         const std::vector<ValueRole> &roles, std::string &out)
      : profile_(profile), tree_(tree), code_(code), roles_(roles), to_(out) {}

  void write(const std::vector<Track> &tracks, int64_t time) {
    number_objects(tracks);
    for (const Track &track : tracks) {
      ++names_[name_of(track)];
      if (!track.value && track.thread != none<ThreadId>)
        tids_.insert(profile_.threads()[track.thread].tid);
    }
    const std::string_view command = profile_.strings[profile_.command];
    product_ = base_name(command.substr(0, command.find(' ')));
    if (product_.empty())
      product_ = "tally";
    knows_processes_ =
        std::ranges::any_of(profile_.threads(), [](const Thread &known) { return known.pid != 0; });
    meta(tracks, time);
    libs();
    to_.put("\"threads\":[");
    for (size_t i = 0; i < tracks.size(); ++i) {
      to_.put(i == 0 ? "\n" : ",\n");
      thread(tracks[i], i == 0);
    }
    to_.put("]}\n");
    to_.flush();
  }

  bool changed() const { return changed_; }

private:
  void text(std::string_view raw) { to_.put(json_text(raw, changed_)); }
  void number(uint64_t value) { to_.put(value); }
  // Writes an index or a line; null stands for none.
  void number_or_null(std::optional<uint32_t> value) {
    if (value)
      to_.put(uint64_t{*value});
    else
      to_.put("null");
  }
  // Writes nanoseconds as milliseconds, exactly.
  void milliseconds(uint64_t ns) {
    constexpr uint64_t in_ms = 1'000'000;
    to_.put(ns / in_ms);
    if (ns % in_ms == 0)
      return;
    const std::string digits = std::to_string(in_ms + ns % in_ms);
    to_.put('.');
    to_.put(std::string_view(digits).substr(1, digits.find_last_not_of('0')));
  }
  // Writes a column with an element for each row.
  template <class Rows, class Element>
  void column(std::string_view name, const Rows &rows, Element element) {
    to_.put("\n\"");
    to_.put(name);
    to_.put("\":[");
    bool is_first = true;
    for (const auto &row : rows) {
      if (!is_first)
        to_.put(',');
      is_first = false;
      element(row);
    }
    to_.put("],");
  }
  template <class Rows>
  void same(std::string_view name, const Rows &rows, std::string_view element) {
    column(name, rows, [&](const auto &) { to_.put(element); });
  }
  void length(size_t rows) {
    to_.put("\n\"length\":");
    number(rows);
    to_.put('}');
  }

  std::string name_of(const Track &track) const {
    const std::string title = thread_title(profile_, track.thread);
    return track.value
               ? fmt::format("{}: {}", profile_.strings[profile_.value_types()[*track.value].type],
                             title)
               : title;
  }

  // Numbers the objects of functions in stacks in the order of their names.
  void number_objects(const std::vector<Track> &tracks) {
    std::vector<bool> used(tree_.size());
    for (const Track &track : tracks)
      for (const TimedValue &sample : track.samples)
        used[tree_.leaf(profile_.sample(sample.row).stack)] = true;
    for (uint32_t node = tree_.size(); node-- > 0;) { // callers precede their callees
      if (!used[node])
        continue;
      if (tree_[node].parent != none<uint32_t>)
        used[tree_[node].parent] = true;
      if (const std::string_view object = tree_.frames()[tree_[node].frame].object; !object.empty())
        objects_.push_back(object);
    }
    sort_stably(objects_);
    objects_.erase(std::unique(objects_.begin(), objects_.end()), objects_.end());
  }
  uint32_t number_of_object(std::string_view object) const {
    return static_cast<uint32_t>(std::ranges::lower_bound(objects_, object) - objects_.begin());
  }

  void meta(const std::vector<Track> &tracks, int64_t time) {
    to_.put("{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":48,\"interval\":");
    milliseconds(interval_ns(profile_));
    to_.put(",\"startTime\":");
    number(static_cast<uint64_t>(std::max<int64_t>(0, time)) * 1000);
    to_.put(",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
            "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
            "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
            "\n\"product\":");
    text(product_);
    if (const std::string_view command = profile_.strings[profile_.command]; !command.empty()) {
      to_.put(",\"arguments\":");
      text(command);
    }
    to_.put(",\"importedFrom\":\"tally " TALLY_VERSION "\",\n\"sampleUnits\":{\"time\":\"ms\","
            "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n\"categories\":[");
    for (const Category &category : categories) {
      to_.put(&category == categories.data() ? "{\"name\":\"" : ",{\"name\":\"");
      to_.put(category.name);
      to_.put("\",\"color\":\"");
      to_.put(category.colour);
      to_.put("\",\"subcategories\":[\"Other\"]}");
    }
    to_.put("],\n\"markerSchema\":[{\"name\":\"Wait\",\"display\":[\"marker-chart\","
            "\"marker-table\"],\"data\":[]},{\"name\":\"Part\",\"display\":[\"marker-chart\","
            "\"marker-table\",\"timeline-overview\"],\"chartLabel\":\"{marker.name}\",\"data\":[{"
            "\"key\":\"trigger\",\"label\":\"Ended "
            "by\",\"format\":\"string\"}]},{\"name\":\"Region\",\"display\":["
            "\"marker-chart\",\"marker-table\",\"timeline-overview\"],\"chartLabel\":"
            "\"{marker.name}\",\"data\":[]}],\n");
    shown_tracks(tracks);
    own_meta();
    to_.put("},\n");
  }

  // Shows the tracks of time if there are any; the viewer's menu has the others.
  void shown_tracks(const std::vector<Track> &tracks) {
    const std::optional<size_t> shown = tracks.front().value;
    size_t busiest = 0;
    to_.put("\"initialVisibleThreads\":[");
    for (size_t i = 0; i < tracks.size(); ++i) {
      if (tracks[i].value.has_value() != shown.has_value())
        continue;
      if (i > 0)
        to_.put(',');
      number(i);
      if (tracks[i].total > tracks[busiest].total)
        busiest = i;
    }
    to_.put("],\"initialSelectedThreads\":[");
    number(busiest);
    to_.put("]");
  }

  void own_meta() {
    to_.put(",\n\"tally\":{\"values\":[");
    for (const ValueType &type : profile_.value_types()) {
      to_.put(&type == profile_.value_types().data() ? "{\"type\":" : ",{\"type\":");
      text(profile_.strings[type.type]);
      to_.put(",\"unit\":");
      text(profile_.strings[type.unit]);
      to_.put('}');
    }
    to_.put("],\"periodNs\":");
    number(profile_.period_ns);
    to_.put(",\"timesFromNs\":");
    number(profile_.times_from_ns);
    to_.put(",\"parts\":[");
    bool is_first = true;
    for (const Part &part : profile_.parts()) {
      to_.put(is_first ? "{\"number\":" : ",{\"number\":");
      is_first = false;
      number(part.number);
      to_.put(",\"beginNs\":");
      number(part.begin_ns);
      to_.put(",\"endNs\":");
      number(part.end_ns);
      to_.put(",\"trigger\":");
      text(profile_.strings[part.trigger]);
      to_.put('}');
    }
    to_.put("]}");
  }

  void libs() {
    to_.put("\"libs\":[");
    for (const std::string_view object : objects_) {
      to_.put(object == objects_.front() ? "\n{" : ",\n{");
      to_.put("\"arch\":\"\",\"name\":");
      text(base_name(object));
      to_.put(",\"path\":");
      text(object);
      to_.put(",\"debugName\":");
      text(base_name(object));
      to_.put(",\"debugPath\":");
      text(object);
      to_.put(",\"breakpadId\":\"\",\"codeId\":null}");
    }
    to_.put("],\n");
  }

  void thread(const Track &track, bool is_first) {
    const Thread *known =
        track.thread == none<ThreadId> ? nullptr : &profile_.threads()[track.thread];
    std::string name = name_of(track);
    if (known && names_[name] > 1) // the viewer shows a tid only in a tooltip
      name += fmt::format(" ({})", known->tid);
    const std::string value =
        track.value ? std::string(profile_.strings[profile_.value_types()[*track.value].type]) : "";
    to_.put("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
            "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"processName\":");
    const std::string_view process =
        known ? std::string_view(profile_.strings[known->process]) : std::string_view();
    const bool has_process = known && known->pid != 0;
    text(!process.empty() ? process : knows_processes_ && !has_process ? no_process : product_);
    to_.put(",\"name\":");
    text(name);
    to_.put(",\"isMainThread\":");
    to_.put(known && known->pid == known->tid && !track.value ? "true" : "false");
    to_.put(",\"pid\":\"");
    to_.put_signed(known ? known->pid : 0);
    to_.put("\",\"tid\":");
    // Threads must differ in their tids.
    if (!known)
      text(value.empty() ? std::string(unknown_tid) : fmt::format("{} {}", unknown_tid, value));
    else if (track.value)
      text(fmt::format("{} {}", known->tid, value));
    else
      to_.put_signed(known->tid);
    to_.put(",\n\"tally\":{\"name\":");
    text(known ? profile_.strings[known->name] : std::string_view());
    if (!process.empty()) {
      to_.put(",\"process\":");
      text(process);
    }
    to_.put(",\"value\":");
    number_or_null(track.value ? std::optional(static_cast<uint32_t>(*track.value)) : std::nullopt);
    to_.put(",\"untimed\":");
    number(track.untimed);
    to_.put("},\n");
    ThreadTables tables(code_);
    const std::vector<Marker> marks = samples(track, tables, is_first);
    markers(marks, tables);
    code(tables);
    to_.put('}');
  }

  // Returns the markers of the track.
  std::vector<Marker> samples(const Track &track, ThreadTables &tables, bool is_first) {
    std::vector<Marker> marks;
    if (is_first)
      for (const Part &part : profile_.parts())
        marks.push_back({part.begin_ns,
                         part.end_ns,
                         fmt::format("Part {}", part.number),
                         part_schema,
                         other,
                         {},
                         profile_.strings[part.trigger]});
    if (!track.value)
      add_passes(track, is_first, marks);
    std::vector<uint32_t> stacks;
    for (const TimedValue &sample : track.samples) {
      const Measure measure = roles_[sample.value].measure;
      const uint32_t category = category_of(measure);
      const StackId stack = profile_.sample(sample.row).stack;
      stacks.push_back(tables.stack(code_.leaf(stack), category, running));
      const bool is_timed = stacks.size() > track.untimed;
      if (is_timed && (measure == Measure::waiting || measure == Measure::queued))
        marks.push_back({sample.at_ns,
                         sample.at_ns + static_cast<uint64_t>(sample.amount),
                         std::string(categories[category].name),
                         wait_schema,
                         category,
                         stacks.back(),
                         {}});
    }
    const bool is_time = roles_[track.samples.front().value].unit_ns != 0;
    to_.put("\"samples\":{");
    column("stack", stacks, [&](uint32_t stack) { number(stack); });
    column("time", track.samples, [&](const TimedValue &sample) { milliseconds(sample.at_ns); });
    column("weight", track.samples, [&](const TimedValue &sample) {
      const auto amount = static_cast<uint64_t>(sample.amount);
      if (is_time)
        milliseconds(amount * static_cast<uint64_t>(roles_[sample.value].unit_ns));
      else
        number(amount);
    });
    if (!track.value)
      column("threadCPUDelta", track.samples, [&](const TimedValue &sample) {
        const ValueRole &role = roles_[sample.value];
        number(role.measure == Measure::running
                   ? static_cast<uint64_t>(sample.amount) * static_cast<uint64_t>(role.unit_ns)
                   : 0);
      });
    const bool are_bytes =
        track.value && profile_.strings[profile_.value_types()[*track.value].unit] == "bytes";
    to_.put("\n\"weightType\":\"");
    to_.put(is_time ? "tracing-ms" : are_bytes ? "bytes" : "samples");
    to_.put("\",");
    length(track.samples.size());
    to_.put(",\n");
    sort_stably(marks, {}, &Marker::begin_ns);
    return marks;
  }

  // A pass of the whole process is shown in the first track, and so is one of a thread without
  // samples.
  void add_passes(const Track &track, bool is_first, std::vector<Marker> &marks) const {
    for (const Pass &pass : profile_.passes) {
      const bool is_its_own =
          track.thread != none<ThreadId> && profile_.threads()[track.thread].tid == pass.tid;
      if (is_its_own || (is_first && !tids_.contains(pass.tid)))
        marks.push_back({pass.begin_ns,
                         pass.end_ns,
                         std::string(profile_.strings[pass.region]),
                         region_schema,
                         other,
                         {},
                         {}});
    }
  }

  void markers(const std::vector<Marker> &marks, ThreadTables &tables) {
    to_.put("\"markers\":{");
    column("data", marks, [&](const Marker &mark) {
      to_.put("{\"type\":\"");
      to_.put(mark.schema);
      to_.put('"');
      if (mark.stack) {
        to_.put(",\"cause\":{\"time\":");
        milliseconds(mark.begin_ns);
        to_.put(",\"stack\":");
        number(*mark.stack);
        to_.put('}');
      }
      if (!mark.trigger.empty()) {
        to_.put(",\"trigger\":");
        text(mark.trigger);
      }
      to_.put('}');
    });
    column("name", marks, [&](const Marker &mark) { number(tables.text(mark.name)); });
    column("startTime", marks, [&](const Marker &mark) { milliseconds(mark.begin_ns); });
    column("endTime", marks, [&](const Marker &mark) { milliseconds(mark.end_ns); });
    same("phase", marks, "1"); // an interval
    column("category", marks, [&](const Marker &mark) { number(mark.category); });
    length(marks.size());
    to_.put(",\n");
  }

  void code(ThreadTables &tables) {
    stacks_and_frames(tables);
    functions(tables);
    to_.put("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
            "\"length\":0},\n\"stringArray\":[");
    bool is_first = true;
    for (const std::string_view string : tables.strings()) {
      to_.put(is_first ? "\n" : ",\n");
      is_first = false;
      text(string);
    }
    to_.put(']');
  }

  void stacks_and_frames(const ThreadTables &tables) {
    const auto &stacks = tables.stacks();
    to_.put("\"stackTable\":{");
    column("frame", stacks, [&](const StackRow &row) { number(row.frame); });
    column("prefix", stacks, [&](const StackRow &row) {
      number_or_null(row.prefix == none<uint32_t> ? std::nullopt : std::optional(row.prefix));
    });
    column("category", stacks, [&](const StackRow &row) { number(row.category); });
    same("subcategory", stacks, "0");
    length(stacks.size());
    const auto &frames = tables.frames();
    to_.put(",\n\"frameTable\":{");
    column("func", frames, [&](const FrameRow &row) { number(row.function); });
    column("line", frames, [&](const FrameRow &row) {
      number_or_null(row.line == 0 ? std::nullopt : std::optional(row.line));
    });
    column("inlineDepth", frames, [&](const FrameRow &row) { number(row.inline_depth); });
    column("category", frames, [&](const FrameRow &row) { number(row.category); });
    same("subcategory", frames, "0");
    same("address", frames, "-1");
    for (const std::string_view empty :
         {"nativeSymbol", "innerWindowID", "implementation", "column"})
      same(empty, frames, "null");
    length(frames.size());
    to_.put(",\n");
  }

  void functions(ThreadTables &tables) {
    const auto &functions = tables.functions();
    const auto frame = [&](uint32_t function) -> const TreeFrame & {
      return tree_.frames()[function];
    };
    Numbering<uint32_t> objects;
    to_.put("\"funcTable\":{");
    column("name", functions, [&](uint32_t id) { number(tables.text(frame(id).name)); });
    column("fileName", functions, [&](uint32_t id) {
      const std::string_view file = frame(id).file;
      number_or_null(file.empty() ? std::nullopt : std::optional(tables.text(file)));
    });
    column("lineNumber", functions, [&](uint32_t id) {
      number_or_null(frame(id).line == 0 ? std::nullopt : std::optional(frame(id).line));
    });
    column("resource", functions, [&](uint32_t id) {
      const std::string_view object = frame(id).object;
      to_.put_signed(object.empty() ? int64_t{-1}
                                    : int64_t{objects.number(number_of_object(object)).first});
    });
    same("columnNumber", functions, "null");
    same("isJS", functions, "false");
    same("relevantForJS", functions, "false");
    length(functions.size());
    const auto &used = objects.keys();
    to_.put(",\n\"resourceTable\":{");
    column("lib", used, [&](uint32_t object) { number(object); });
    column("name", used,
           [&](uint32_t object) { number(tables.text(base_name(objects_[object]))); });
    same("host", used, "null");
    same("type", used, "1"); // a library
    length(used.size());
    to_.put(",\n");
  }

  const StackProfile &profile_;
  const FrameTree &tree_;
  const CodeTable &code_;
  const std::vector<ValueRole> &roles_;
  TextSink to_;
  std::string_view product_;
  bool knows_processes_ = false;          // of any thread
  std::vector<std::string_view> objects_; // sorted
  SeededSet<int32_t> tids_;               // of the tracks of time
  SeededMap<std::string, size_t> names_;  // how many of the tracks have each
  bool changed_ = false;
};

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &options) {
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  TALLY_TRY(roles, roles_of_values(profile));
  TALLY_TRY(tree, FrameTree::of(profile));
  TALLY_TRY(code, CodeTable::of(profile, tree));
  TALLY_TRY(tracks, tracks_of(profile, tree, code, roles));
  if (tracks.empty())
    return fail(ErrorCode::no_data, "holds no samples: every count is 0");
  Written out;
  Writer writer(profile, tree, code, roles, out.bytes);
  writer.write(tracks, options.time);
  if (profile.times().empty())
    out.lost.emplace_back("the times of samples, which are not known (samples are placed one after "
                          "another)");
  if (has_addresses(profile))
    out.lost.emplace_back("addresses");
  if (code.lost_lines())
    out.lost.emplace_back("lines in a file other than that of their function (written as unknown)");
  if (profile.parts().size() > 1 && profile.times().empty())
    out.lost.emplace_back("the part of each sample");
  if (writer.changed())
    out.lost.emplace_back("bytes in names that are not valid UTF-8 (written as U+FFFD)");
  return out;
}

} // namespace tally::firefox
