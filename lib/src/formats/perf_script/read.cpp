#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/event_values.h"
#include "formats/perf_script/lines.h"
#include "formats/perf_script/perf_script.h"
#include "formats/unnamed_function.h"
#include "support/line_blocks.h"

namespace tally::perf_script {

namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

bool is_clock(std::string_view event) {
  event = event.substr(0, event.find(':'));
  return event == "cpu-clock" || event == "task-clock";
}

class Reader {
public:
  Reader(ByteSource &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    LineBlocks blocks(source_);
    while (true) {
      TALLY_TRY(block, blocks.next());
      if (block.empty())
        break;
      for (; !block.empty(); ++line_)
        add(next_line(block));
    }
    end_sample();
    if (rows_.empty() && unknown_)
      return fail(ErrorCode::invalid_input, std::string(unknown_line), source_.name(), *unknown_);
    if (rows_.empty())
      return fail(ErrorCode::no_data, "holds no samples", source_.name());
    if (blocks.last_line_open())
      diagnostics_.add(Severity::warning,
                       "the last line has no end: the last stack may be truncated", source_.name(),
                       Position::at_line(line_ - 1, 1));
    TALLY_CHECK(add_rows());
    TALLY_TRY(profile, builder_.finish());
    return Profile(std::move(profile));
  }

private:
  static constexpr std::string_view unknown_line =
      "expected COMMAND PID … EVENT: of a sample, or ADDRESS SYMBOL (FILE) of a frame";

  struct Frame {
    uint64_t address;
    StringId function, object;
    bool inlined;
    StringId file;
    uint32_t line;
  };
  struct Sample {
    bool open = false;
    bool has_only_frame = false; // the frame is on the sample's line, so there is no stack
    ThreadId thread = none<ThreadId>;
    uint32_t event = 0;
    std::optional<int64_t> period;
    uint64_t at_ns = no_time;
    std::vector<Frame> frames; // innermost first
  };
  struct Event {
    EventKind kind;
    std::optional<int64_t> only_period; // of all samples so far, unless it varies
    bool varies = false;
  };

  void add(std::string_view line) {
    const bool below_frame = std::exchange(is_frame_above_, false);
    if (is_blank(line)) {
      end_sample();
    } else if (line.starts_with('#')) {
      add_comment(line);
    } else if (line.starts_with('\t')) {
      if (!add_frame(line))
        find_unknown();
    } else if (const auto sample = sample_line(line, !sample_.open)) {
      end_sample();
      begin_sample(*sample);
    } else if (!add_frame(line) && !add_source(line, below_frame)) {
      find_unknown();
    }
  }

  void add_comment(std::string_view line) {
    constexpr std::string_view key = "# cmdline :";
    if (!line.starts_with(key))
      return;
    line.remove_prefix(key.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    builder_.set_command(line);
  }

  void find_unknown() {
    const Position where = Position::at_line(line_, 1);
    if (!unknown_)
      unknown_ = where;
    diagnostics_.add(Severity::error, std::string(unknown_line), source_.name(), where);
  }

  void begin_sample(const SampleLine &sample) {
    if (sample.is_record)
      return;
    sample_.open = has_samples_ = true;
    sample_.thread = builder_.add_thread(sample.pid, sample.tid, sample.command);
    // A thread gets its last name, as for perf.data.
    builder_.rename_thread(sample_.thread, sample.command);
    sample_.event = event_of(sample.event);
    sample_.period = sample.period;
    sample_.at_ns = sample.time_ns.value_or(no_time);
    if (sample.frame) {
      push(*sample.frame);
      is_frame_above_ = sample_.has_only_frame = true;
    }
  }

  bool add_frame(std::string_view line) {
    const auto frame = frame_line(line);
    if (!frame || (!sample_.open && has_samples_) || sample_.has_only_frame)
      return false;
    if (!sample_.open) { // -F ip,sym
      sample_.open = true;
      sample_.thread = none<ThreadId>;
      sample_.event = event_of({});
      sample_.period.reset();
      sample_.at_ns = no_time;
    }
    push(*frame);
    is_frame_above_ = true;
    return true;
  }

  // Adds a source line to the frame above it. If that frame is on the line of its sample, `line`
  // may also be a damaged sample, whose command is padded with blanks. In that case the name of the
  // source file must not contain a blank.
  bool add_source(std::string_view line, bool below_frame) {
    const auto source = source_line(line);
    if (!source || !below_frame || (sample_.has_only_frame && source->has_blank))
      return false;
    sample_.frames.back().file = builder_.intern(source->file);
    sample_.frames.back().line = source->line;
    return true;
  }

  uint32_t event_of(std::string_view name) {
    name = without_precision(name);
    const auto [at, added] =
        event_ids_.try_emplace(std::string(name), static_cast<uint32_t>(events_.size()));
    if (added)
      events_.push_back({{std::string(name), is_clock(name)}, {}, false});
    return at->second;
  }

  void push(const FrameLine &frame) {
    sample_.frames.push_back({frame.address,
                              builder_.intern(frame.symbol.empty() ? unnamed_function(frame.object)
                                                                   : std::string(frame.symbol)),
                              builder_.intern(frame.object), frame.inlined, StringId{}, 0});
  }

  void end_sample() {
    if (!sample_.open)
      return;
    StackId stack = none<StackId>;
    for (size_t end = sample_.frames.size(); end > 0;) {
      // Functions inlined into this one precede it and have the same address.
      const Frame &outer = sample_.frames[end - 1];
      size_t begin = end - 1;
      while (begin > 0 && sample_.frames[begin - 1].inlined &&
             sample_.frames[begin - 1].address == outer.address)
        --begin;
      lines_.clear();
      for (size_t i = begin; i < end; ++i)
        lines_.push_back(
            {builder_.add_function({sample_.frames[i].function, {}, {}, outer.object, 0}),
             sample_.frames[i].file, sample_.frames[i].line});
      stack = builder_.push(stack, builder_.add_location(none<MappingId>, 0, lines_));
      end = begin;
    }
    Event &event = events_[sample_.event];
    if (sample_.period) {
      event.varies |= event.only_period && *event.only_period != *sample_.period;
      event.only_period = *sample_.period;
    } else {
      event.kind.has_periods = false;
    }
    rows_.push_back(
        {stack, sample_.thread, sample_.event, sample_.period.value_or(1), sample_.at_ns});
    sample_.frames.clear();
    sample_.open = sample_.has_only_frame = false;
  }

  Result<void> add_rows() {
    std::vector<EventKind> kinds;
    for (const Event &event : events_) {
      kinds.push_back(event.kind);
      if (event.kind.is_clock && event.kind.has_periods && !event.varies)
        kinds.back().period_ns = static_cast<uint64_t>(*event.only_period);
    }
    for (EventRow &row : rows_)
      if (!kinds[row.event].has_periods)
        row.period = 1;
    TALLY_CHECK(add_event_rows(builder_, kinds, rows_, diagnostics_, source_.name()));
    const SourceLine unknown{
        builder_.add_function({builder_.intern(unnamed_function({})), {}, {}, {}, 0}), {}, 0};
    builder_.place_stackless(unknown);
    return {};
  }

  ByteSource &source_;
  Diagnostics &diagnostics_;
  uint64_t line_ = 1;
  std::optional<Position> unknown_; // the first line that cannot be parsed
  StackProfileBuilder builder_;
  std::vector<Event> events_;
  std::map<std::string, uint32_t> event_ids_;
  std::vector<EventRow> rows_;

  bool has_samples_ = false;
  bool is_frame_above_ = false; // the previous line has a frame
  Sample sample_;
  std::vector<SourceLine> lines_; // scratch space
};

} // namespace

// Requires a sample that has a time or a frame, because other texts may also have lines of words
// and numbers.
bool probe(std::string_view head) {
  constexpr std::string_view perfs_header = "# captured on";
  bool has_header = false;
  while (!head.empty()) {
    const std::string_view line = next_line(head);
    has_header |= line.starts_with(perfs_header);
    if (is_blank(line) || line.starts_with('#'))
      continue;
    const auto sample = sample_line(line, false);
    if (!sample)
      return false;
    const auto frame = frame_line(next_line(head));
    return sample->time_ns || sample->frame || frame;
  }
  return has_header; // the comments fill the whole head
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  return Reader(source, diagnostics).run();
}

} // namespace tally::perf_script
