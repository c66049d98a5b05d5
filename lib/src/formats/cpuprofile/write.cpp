#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/file_url.h"
#include "formats/sample_times.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/json_text.h"
#include "support/sort.h"
#include "support/text.h"
#include "support/text_sink.h"
#include "transform/frame_tree.h"

namespace tally::cpuprofile {

namespace {

constexpr uint64_t microsecond = 1'000;

// A sample of long duration is repeated, because VS Code before 2021 gives a sample the duration
// of one beside it.
constexpr uint64_t most_repeats = 100;

// Neither this nor the time of all samples after it exceeds 63 bits.
constexpr uint64_t latest_begin_ns = uint64_t{1} << 62;

// The samples of the thread that is written.
struct Chosen {
  ThreadTimes times;
  size_t other_threads = 0;
  std::vector<ValueRole> roles; // with the nanoseconds of one unit; 0 for values that are left out
  std::vector<std::string_view> lost_values;
  bool is_time = false; // otherwise a unit is written as a microsecond
};

using Duration = std::optional<uint64_t>; // nothing if it does not fit in 63 bits

Duration duration_of(const TimedValue &sample, const std::vector<ValueRole> &roles) {
  int64_t out = 0;
  if (__builtin_mul_overflow(sample.amount, roles[sample.value].unit_ns, &out))
    return {};
  return static_cast<uint64_t>(out);
}

// Returns the nanoseconds for which a thread ran, and those of all its samples.
Result<std::pair<int64_t, int64_t>> weight_of(const ThreadTimes &thread,
                                              const std::vector<ValueRole> &roles) {
  std::pair<int64_t, int64_t> out{0, 0};
  for (const auto *samples : {&thread.timed, &thread.untimed})
    for (const TimedValue &sample : *samples) {
      const Duration duration = duration_of(sample, roles);
      // The axis may be this much longer than the time of the samples.
      if (!duration || !checked_add(out.second, static_cast<int64_t>(*duration)) ||
          out.second > std::numeric_limits<int64_t>::max() / 2)
        return fail(ErrorCode::overflow, "the time of a thread in nanoseconds does not fit in 62 "
                                         "bits");
      if (roles[sample.value].measure == Measure::running)
        out.first += static_cast<int64_t>(*duration);
    }
  return out;
}

Result<Chosen> choose(const StackProfile &profile) {
  Chosen out;
  TALLY_TRY(roles, roles_of_values(profile));
  out.roles = std::move(roles);
  out.is_time = std::ranges::any_of(
      out.roles, [](const ValueRole &role) { return role.measure != Measure::other; });
  for (size_t i = 0; i < out.roles.size(); ++i) {
    ValueRole &role = out.roles[i];
    if (!out.is_time && i == 0) {
      role = {Measure::running, static_cast<int64_t>(microsecond)};
    } else if (role.measure == Measure::other) {
      role.unit_ns = 0;
      out.lost_values.push_back(profile.strings[profile.value_types()[i].type]);
    }
  }
  TALLY_TRY(threads, times_of_threads(profile));
  std::pair<int64_t, int64_t> most{-1, -1};
  size_t with_samples = 0;
  for (ThreadTimes &thread : threads) {
    for (auto *samples : {&thread.timed, &thread.untimed})
      std::erase_if(*samples,
                    [&](const TimedValue &sample) { return out.roles[sample.value].unit_ns == 0; });
    if (thread.timed.empty() && thread.untimed.empty())
      continue;
    ++with_samples;
    TALLY_TRY(weight, weight_of(thread, out.roles));
    if (weight > most) {
      most = weight;
      out.times = std::move(thread);
    }
  }
  if (with_samples == 0)
    return fail(ErrorCode::no_data, "holds no samples: every count is 0");
  out.other_threads = with_samples - 1;
  return out;
}

// A stretch of the axis.
struct Stretch {
  uint32_t node = 0; // of the tree; none while nothing ran
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t line = 0;
};

// Returns the samples as stretches of the axis that follow each other. What has no time comes
// first, in the order of its stacks. A stretch is as long as its sample says, so it begins late if
// the one before has not ended.
std::vector<Stretch> stretches_of(const StackProfile &profile, const FrameTree &tree,
                                  const Chosen &chosen, uint64_t step_ns) {
  std::vector<Stretch> out;
  uint64_t now = 0;
  const auto add = [&](const TimedValue &sample) {
    const StackId stack = profile.sample(sample.row).stack;
    uint32_t line = 0;
    if (stack != none<StackId>)
      if (const auto lines = profile.location(profile.stack_location(stack)).lines;
          !lines.empty() && (lines[0].file == profile.functions()[lines[0].function].file ||
                             lines[0].file == StringId{}))
        line = lines[0].line;
    const uint64_t end = now + *duration_of(sample, chosen.roles);
    out.push_back({tree.leaf(stack), now, end, line});
    now = end;
  };
  std::vector<TimedValue> untimed = chosen.times.untimed;
  sort_stably(untimed, {}, [&](const TimedValue &sample) {
    return std::pair(tree.leaf(profile.sample(sample.row).stack), sample.row);
  });
  for (const TimedValue &sample : untimed)
    add(sample);
  for (const TimedValue &sample : chosen.times.timed) {
    const bool is_interval = chosen.roles[sample.value].measure != Measure::running;
    const uint64_t length = is_interval ? 0 : *duration_of(sample, chosen.roles);
    const uint64_t begin = std::min(sample.at_ns - std::min(sample.at_ns, length), latest_begin_ns);
    // Ticks come a little early or late.
    if (begin > now && begin - now > step_ns / 2) {
      out.push_back({none<uint32_t>, now, begin, 0});
      now = begin;
    }
    add(sample);
  }
  return out;
}

class Writer {
public:
  Writer(const FrameTree &tree, std::string &out) : tree_(tree), to_(out) {}

  Result<void> write(const std::vector<Stretch> &stretches, uint64_t step_ns) {
    repeat(stretches, step_ns);
    number_nodes();
    to_.put("{\"nodes\":[\n");
    nodes();
    to_.put("],\n\"startTime\":0,\"endTime\":");
    to_.put(stretches.back().end_ns / microsecond);
    to_.put(",\n\"samples\":[");
    for (const Piece &piece : pieces_) {
      to_.put(id_of(piece.node));
      to_.put(',');
    }
    // A sample lasts until the next one, and the last one until the end.
    to_.put("1],\n\"timeDeltas\":[");
    uint64_t before = 0;
    for (const Piece &piece : pieces_) {
      to_.put(piece.begin_us - before);
      to_.put(',');
      before = piece.begin_us;
    }
    to_.put(stretches.back().end_ns / microsecond - before);
    to_.put("]}\n");
    to_.flush();
    return {};
  }

  bool changed() const { return changed_; }
  bool rounded() const { return rounded_; }

private:
  struct Piece {
    uint32_t node = 0;
    uint64_t begin_us = 0;
  };
  struct Hits {
    uint64_t all = 0;
    std::map<uint32_t, uint64_t> lines;
  };

  void text(std::string_view raw) { to_.put(json_text(raw, changed_)); }

  // Divides stretches into pieces of the same length.
  void repeat(const std::vector<Stretch> &stretches, uint64_t step_ns) {
    for (const Stretch &stretch : stretches) {
      const uint64_t length = stretch.end_ns - stretch.begin_ns;
      const uint64_t count =
          std::clamp<uint64_t>((length + step_ns / 2) / step_ns, 1, most_repeats);
      rounded_ |= stretch.end_ns % microsecond != 0;
      for (uint64_t i = 0; i < count; ++i)
        pieces_.push_back({stretch.node, (stretch.begin_ns + length / count * i) / microsecond});
      Hits &hits = hits_[stretch.node];
      hits.all += count;
      if (stretch.line != 0)
        hits.lines[stretch.line] += count;
    }
  }

  // Numbers the nodes of all samples and their callers from 2, breadth first: older versions of VS
  // Code expect a node at the index id - 1. Number 1 is the root.
  void number_nodes() {
    std::vector<bool> used(tree_.size());
    for (const auto &[node, hits] : hits_)
      if (node != none<uint32_t>)
        used[node] = true;
    for (uint32_t node = tree_.size(); node-- > 0;) { // callers precede their callees
      if (!used[node])
        continue;
      order_.push_back(node);
      if (tree_[node].parent != none<uint32_t>)
        used[tree_[node].parent] = true;
    }
    std::ranges::reverse(order_);
    sort_stably(order_, {}, [&](uint32_t node) { return tree_[node].depth; });
    ids_.assign(tree_.size(), 0);
    uint64_t next = hits_.contains(none<uint32_t>) ? 3 : 2;
    for (const uint32_t node : order_)
      ids_[node] = next++;
  }
  // The node in which nothing runs is the first below the root.
  uint64_t id_of(uint32_t node) const { return node == none<uint32_t> ? 2 : ids_[node]; }

  void nodes() {
    // The ids of a node's callees follow each other.
    std::vector<std::pair<uint64_t, uint64_t>> callees(tree_.size()); // first and count
    uint64_t outermost = hits_.contains(none<uint32_t>) ? 1 : 0;
    for (const uint32_t node : order_) {
      const uint32_t caller = tree_[node].parent;
      if (caller == none<uint32_t>) {
        ++outermost;
        continue;
      }
      auto &[first, count] = callees[caller];
      if (count++ == 0)
        first = ids_[node];
    }
    special(1, root_name, 0, outermost);
    if (hits_.contains(none<uint32_t>)) {
      to_.put(",\n");
      special(2, idle_name, hits_.at(none<uint32_t>).all, 0);
    }
    for (const uint32_t node : order_) {
      to_.put(",\n");
      const TreeFrame &frame = tree_.frames()[tree_[node].frame];
      // Without debug information, the object is written as the file.
      const bool has_file = !frame.file.empty();
      call_frame(ids_[node], frame.name, url_of(has_file ? frame.file : frame.object),
                 has_file && frame.line > 0 ? int64_t{frame.line} - 1 : -1, has_file ? 0 : -1);
      const auto found = hits_.find(node);
      const auto &[first, count] = callees[node];
      rest_of_node(found == hits_.end() ? Hits() : found->second, first, count);
    }
  }

  void special(uint64_t id, std::string_view name, uint64_t hits, uint64_t callees) {
    call_frame(id, name, "", -1, -1);
    rest_of_node({hits, {}}, 2, callees);
  }

  void call_frame(uint64_t id, std::string_view name, const std::string &url, int64_t line,
                  int64_t column) {
    to_.put("{\"id\":");
    to_.put(id);
    to_.put(",\"callFrame\":{\"functionName\":");
    text(name);
    to_.put(",\"scriptId\":\"");
    to_.put(url.empty() ? 0 : scripts_.try_emplace(url, scripts_.size() + 1).first->second);
    to_.put("\",\"url\":");
    text(url);
    to_.put(",\"lineNumber\":");
    to_.put_signed(line);
    to_.put(",\"columnNumber\":");
    to_.put_signed(column);
    to_.put('}');
  }

  void rest_of_node(const Hits &hits, uint64_t first, uint64_t callees) {
    to_.put(",\"hitCount\":");
    to_.put(hits.all);
    if (callees > 0) {
      to_.put(",\"children\":[");
      for (uint64_t i = 0; i < callees; ++i) {
        if (i > 0)
          to_.put(',');
        to_.put(first + i);
      }
      to_.put(']');
    }
    if (!hits.lines.empty()) {
      to_.put(",\"positionTicks\":[");
      for (const auto &[line, ticks] : hits.lines) {
        to_.put(line == hits.lines.begin()->first ? "{\"line\":" : ",{\"line\":");
        to_.put(uint64_t{line});
        to_.put(",\"ticks\":");
        to_.put(ticks);
        to_.put('}');
      }
      to_.put(']');
    }
    to_.put('}');
  }

  const FrameTree &tree_;
  TextSink to_;
  std::vector<Piece> pieces_;
  SeededMap<uint32_t, Hits> hits_;
  std::vector<uint32_t> order_; // the nodes that are written
  std::vector<uint64_t> ids_;   // by node
  SeededMap<std::string, uint64_t> scripts_;
  bool changed_ = false, rounded_ = false;
};

void add_losses(const StackProfile &profile, const FrameTree &tree, const Chosen &chosen,
                std::vector<std::string> &lost) {
  if (chosen.other_threads > 0)
    lost.push_back(fmt::format("{} of {} threads (the one that ran longest is written: {})",
                               chosen.other_threads, chosen.other_threads + 1,
                               thread_title(profile, chosen.times.thread)));
  if (!chosen.lost_values.empty())
    lost.push_back(fmt::format("{} (a file has one value)", joined_text(chosen.lost_values, ", ")));
  if (!chosen.is_time)
    lost.push_back(fmt::format("the unit of {} (one is written as a microsecond)",
                               profile.strings[profile.value_types()[0].type]));
  const auto is_waiting = [&](const TimedValue &sample) {
    return chosen.roles[sample.value].measure != Measure::running;
  };
  if (std::ranges::any_of(chosen.times.timed, is_waiting) ||
      std::ranges::any_of(chosen.times.untimed, is_waiting))
    lost.emplace_back("which time the thread ran, waited or was queued (all of it is written)");
  if (profile.times().empty())
    lost.emplace_back("the times of samples, which are not known (samples are placed one after "
                      "another)");
  if (profile.has_places())
    lost.emplace_back("addresses, and the lines of callers");
  if (std::ranges::any_of(tree.frames(), [](const TreeFrame &frame) {
        return !frame.file.empty() && !frame.object.empty();
      }))
    lost.emplace_back("objects of functions whose source is known");
  if (profile.parts().size() > 1)
    lost.emplace_back("the parts (their sum is written)");
}

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &) {
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  TALLY_TRY(chosen, choose(profile));
  TALLY_TRY(tree, FrameTree::of(profile));
  constexpr uint64_t millisecond = 1'000'000;
  const uint64_t step_ns = !chosen.is_time          ? microsecond
                           : profile.period_ns == 0 ? millisecond
                                                    : profile.period_ns;
  const std::vector<Stretch> stretches = stretches_of(profile, tree, chosen, step_ns);
  Written out;
  Writer writer(tree, out.bytes);
  TALLY_CHECK(writer.write(stretches, step_ns));
  add_losses(profile, tree, chosen, out.lost);
  if (writer.rounded())
    out.lost.emplace_back("fractions of microseconds (times are rounded)");
  if (writer.changed())
    out.lost.emplace_back("bytes in names that are not valid UTF-8 (written as U+FFFD)");
  return out;
}

} // namespace tally::cpuprofile
