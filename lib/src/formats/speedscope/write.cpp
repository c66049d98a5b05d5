#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <tally/version.h>

#include "formats/sample_times.h"
#include "formats/speedscope/speedscope.h"
#include "formats/stack_depth.h"
#include "support/checked.h"
#include "support/json_text.h"
#include "support/text_sink.h"
#include "transform/frame_tree.h"

namespace tally::speedscope {

namespace {

// The unit of weights. A weight is the first value times `factor`.
struct Unit {
  std::string_view name;
  int64_t factor = 1;
};

Result<Unit> unit_of(const StackProfile &profile, size_t value) {
  if (profile.period_ns > INT64_MAX)
    return fail(ErrorCode::overflow, "the clock's period does not fit in 63 bits");
  if (profile.period_ns > 0 && value == 0)
    return Unit{"nanoseconds", static_cast<int64_t>(profile.period_ns)};
  const std::string_view unit = profile.strings[profile.value_types()[value].unit];
  const auto *found = std::ranges::find(weight_units, unit, &WeightUnit::name);
  return Unit{found == weight_units.end() ? "none" : found->name};
}

// One value of the samples of one thread. Each is a pair of the leaf's node and
// the weight.
struct ThreadSamples {
  size_t value = 0; // its index
  Unit unit;
  ThreadId thread = none<ThreadId>; // none for samples whose thread is unknown
  // First those whose time is known, in the order of time; then the others, in
  // that of the tree.
  std::vector<std::pair<uint32_t, int64_t>> leaves;
  int64_t total = 0;
};

// Adds up neighbours with equal stacks, from the index `begin` on.
void unite(std::vector<std::pair<uint32_t, int64_t>> &leaves, size_t begin) {
  size_t kept = begin;
  for (size_t i = begin + 1; i < leaves.size(); ++i) {
    if (leaves[i].first == leaves[kept].first)
      leaves[kept].second += leaves[i].second;
    else
      leaves[++kept] = leaves[i];
  }
  leaves.resize(std::min(leaves.size(), kept + 1));
}

Result<std::vector<ThreadSamples>> samples_of(const StackProfile &profile,
                                              const std::vector<ThreadTimes> &times,
                                              const FrameTree &tree, size_t value) {
  TALLY_TRY(unit, unit_of(profile, value));
  std::vector<ThreadSamples> threads;
  for (const ThreadTimes &thread : times) {
    ThreadSamples out{value, unit, thread.thread, {}, 0};
    const auto add = [&](const std::vector<TimedValue> &samples) -> Result<void> {
      for (const TimedValue &sample : samples) {
        if (sample.value != value)
          continue;
        int64_t weight = 0;
        if (__builtin_mul_overflow(sample.amount, unit.factor, &weight) ||
            !checked_add(out.total, weight))
          return fail(ErrorCode::overflow, "the time of a thread in nanoseconds does not fit in 63 "
                                           "bits");
        out.leaves.emplace_back(tree.leaf(profile.sample(sample.row).stack), weight);
      }
      return {};
    };
    TALLY_CHECK(add(thread.timed));
    unite(out.leaves, 0);
    const size_t timed = out.leaves.size();
    TALLY_CHECK(add(thread.untimed));
    // In the order of the tree, stacks with the same outer frames are adjacent.
    std::sort(out.leaves.begin() + static_cast<std::ptrdiff_t>(timed), out.leaves.end());
    unite(out.leaves, timed);
    if (!out.leaves.empty())
      threads.push_back(std::move(out));
  }
  return threads;
}

Result<void> check_frames(const std::vector<ThreadSamples> &threads, const FrameTree &tree) {
  std::vector<uint32_t> depths; // by node; callers precede their callees
  depths.reserve(tree.size());
  for (uint32_t node = 0; node < tree.size(); ++node)
    depths.push_back(tree[node].parent == none<uint32_t> ? 1 : depths[tree[node].parent] + 1);
  uint64_t frames = 0;
  for (const ThreadSamples &thread : threads)
    for (const auto &[node, weight] : thread.leaves)
      frames += depths[node];
  return check_written_frames(frames);
}

class Writer {
public:
  Writer(const StackProfile &profile, const FrameTree &tree, std::string &out)
      : profile_(profile), tree_(tree), to_(out) {}

  void write(const std::vector<ThreadSamples> &threads) {
    to_.put("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
            "\"exporter\":\"tally " TALLY_VERSION "\",\n");
    if (const std::string_view command = profile_.strings[profile_.command]; !command.empty()) {
      to_.put("\"name\":");
      text(command);
      to_.put(",\n");
    }
    to_.put("\"activeProfileIndex\":");
    // The first value that has samples is shown first.
    const auto others = std::ranges::find_if(threads, [&](const ThreadSamples &thread) {
      return thread.value != threads.front().value;
    });
    const auto busiest =
        std::ranges::max_element(threads.begin(), others, {}, &ThreadSamples::total);
    to_.put(static_cast<uint64_t>(busiest - threads.begin()));
    own_values();
    to_.put(",\n\"shared\":{\"frames\":[");
    for (size_t i = 0; i < tree_.frames().size(); ++i) {
      to_.put(i == 0 ? "\n" : ",\n");
      frame(tree_.frames()[i]);
    }
    to_.put("]},\n\"profiles\":[");
    for (size_t i = 0; i < threads.size(); ++i) {
      to_.put(i == 0 ? "\n" : ",\n");
      thread(threads[i]);
    }
    to_.put("]}\n");
    to_.flush();
  }

  bool changed() const { return changed_; }

private:
  void text(std::string_view raw) { to_.put(json_text(raw, changed_)); }

  // Writes what lets us read the file without a loss.
  void own_values() {
    own_key_of(",\n");
    to_.put("{\"periodNs\":");
    to_.put(profile_.period_ns);
    to_.put(",\"values\":[");
    for (const ValueType &type : profile_.value_types()) {
      to_.put(&type == profile_.value_types().data() ? "{\"type\":" : ",{\"type\":");
      text(profile_.strings[type.type]);
      to_.put(",\"unit\":");
      text(profile_.strings[type.unit]);
      to_.put('}');
    }
    to_.put("]}");
  }
  void own_thread(const ThreadSamples &samples) {
    own_key_of(",");
    to_.put("{\"value\":");
    to_.put(uint64_t{samples.value});
    if (samples.thread != none<ThreadId>) {
      const Thread &thread = profile_.threads()[samples.thread];
      to_.put(",\"pid\":");
      to_.put_signed(thread.pid);
      to_.put(",\"tid\":");
      to_.put_signed(thread.tid);
      to_.put(",\"name\":");
      text(profile_.strings[thread.name]);
      if (const std::string_view process = profile_.strings[thread.process]; !process.empty()) {
        to_.put(",\"process\":");
        text(process);
      }
    }
    to_.put('}');
  }
  void own_key_of(std::string_view before) {
    to_.put(before);
    to_.put('"');
    to_.put(own_key);
    to_.put("\":");
  }

  void frame(const TreeFrame &frame) {
    to_.put("{\"name\":");
    text(frame.name);
    // Without debug information, write the object as the file, because
    // speedscope colours by file.
    if (const std::string_view file = frame.file.empty() ? frame.object : frame.file;
        !file.empty()) {
      to_.put(",\"file\":");
      text(file);
    }
    if (!frame.file.empty() && frame.line > 0) {
      to_.put(",\"line\":");
      to_.put(uint64_t{frame.line});
    }
    if (!frame.object.empty()) {
      // An empty object says that the file is the object.
      to_.put(",\"object\":");
      text(frame.file.empty() ? std::string_view() : frame.object);
    }
    to_.put('}');
  }

  void thread(const ThreadSamples &thread) {
    to_.put("{\"type\":\"sampled\",\"name\":");
    text(name_of(thread));
    to_.put(",\"unit\":\"");
    to_.put(thread.unit.name);
    to_.put("\",\"startValue\":0,\"endValue\":");
    to_.put_signed(thread.total);
    own_thread(thread);
    to_.put(",\n\"samples\":[");
    std::vector<uint32_t> stack;
    for (size_t i = 0; i < thread.leaves.size(); ++i) {
      stack.clear();
      for (uint32_t node = thread.leaves[i].first; node != none<uint32_t>;
           node = tree_[node].parent)
        stack.push_back(tree_[node].frame);
      to_.put(i == 0 ? "\n[" : ",\n[");
      for (size_t at = stack.size(); at-- > 0;) {
        to_.put(uint64_t{stack[at]});
        if (at > 0)
          to_.put(',');
      }
      to_.put(']');
    }
    to_.put("],\n\"weights\":[");
    for (size_t i = 0; i < thread.leaves.size(); ++i) {
      if (i > 0)
        to_.put(',');
      to_.put_signed(thread.leaves[i].second);
    }
    to_.put("]}");
  }

  std::string name_of(const ThreadSamples &samples) const {
    if (profile_.value_types().size() == 1)
      return name_of(samples.thread);
    const StringId type = profile_.value_types()[samples.value].type;
    return fmt::format("{}: {}", profile_.strings[type], name_of(samples.thread));
  }
  std::string name_of(ThreadId id) const {
    const bool is_named =
        id != none<ThreadId> && !profile_.strings[profile_.threads()[id].name].empty();
    const std::string title = thread_title(profile_, id);
    return is_named ? fmt::format("{} ({})", title, profile_.threads()[id].tid) : title;
  }

  const StackProfile &profile_;
  const FrameTree &tree_;
  TextSink to_;
  bool changed_ = false;
};

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &) {
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  TALLY_TRY(tree, FrameTree::of(profile));
  TALLY_TRY(times, times_of_threads(profile));
  std::vector<ThreadSamples> threads;
  for (size_t value = 0; value < profile.value_types().size(); ++value) {
    TALLY_TRY(of_value, samples_of(profile, times, tree, value));
    std::ranges::move(of_value, std::back_inserter(threads));
  }
  if (threads.empty())
    return fail(ErrorCode::no_data, "holds no samples: every count is 0");
  TALLY_CHECK(check_frames(threads, tree));
  Written out;
  Writer writer(profile, tree, out.bytes);
  writer.write(threads);
  if (profile.has_places())
    out.lost.emplace_back("addresses, and all lines except those of functions");
  if (!profile.times().empty())
    out.lost.emplace_back("the times of samples (their order is written)");
  if (profile.parts().size() > 1)
    out.lost.emplace_back("the parts (their sum is written)");
  if (writer.changed())
    out.lost.emplace_back("bytes in names that are not valid UTF-8 (written as U+FFFD)");
  return out;
}

} // namespace tally::speedscope
