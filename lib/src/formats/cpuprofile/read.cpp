#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/nodes.h"
#include "formats/finished.h"

namespace tally::cpuprofile {

namespace {

class Reader {
public:
  Reader(const JsonTree &tree, const std::string &source, Diagnostics &diagnostics)
      : document_(tree.root()), source_(source), diagnostics_(diagnostics),
        is_tree_(document_["head"].is_object() && document_["nodes"].is_absent()) {}

  Result<Profile> run() {
    if (!is_tree_ && !document_["nodes"].is_list())
      return document_.error("is not a .cpuprofile: the list of nodes is missing");
    TALLY_CHECK(is_tree_ ? read_tree() : read_nodes());
    const bool has_times = !document_["samples"].first().is_absent();
    TALLY_CHECK(has_times ? read_samples() : read_hits());
    return finished(builder_.finish(), source_);
  }

private:
  Result<void> read_nodes() {
    for (JsonValue value = document_["nodes"].first(); !value.is_absent(); value = value.next())
      TALLY_CHECK(nodes_.add(value));
    if (nodes_.size() == 0)
      return document_["nodes"].error("the list of nodes is empty");
    return nodes_.find_callers();
  }

  // Before 2017, nodes contain their callees.
  Result<void> read_tree() {
    TALLY_CHECK(nodes_.add(document_["head"]));
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      for (JsonValue child = nodes_[i]["children"].first(); !child.is_absent();
           child = child.next())
        TALLY_CHECK(nodes_.add(child, i));
    return {};
  }

  Result<JsonValue::Column> column(std::string_view name) const {
    const JsonValue list = document_[name];
    const auto rows = list.column();
    if (!rows)
      return (list.is_absent() ? document_ : list)
          .error(fmt::format("expected a list of numbers as {}", name));
    return *rows;
  }

  // A sample lasts until the next one, and the last one until the end.
  Result<void> read_samples() {
    // Trees have times in place of their differences.
    const std::string_view times = is_tree_ ? "timestamps" : "timeDeltas";
    TALLY_TRY(ids, column("samples"));
    TALLY_TRY(deltas, column(times));
    const bool has_end = is_tree_ && deltas.size() == ids.size() + 1; // a time without a sample
    if (ids.size() != deltas.size() && !has_end)
      return document_[times].error(
          fmt::format("there are {} samples, but {} {}", ids.size(), deltas.size(), times));
    builder_.add_value_type("time", "nanoseconds");
    std::vector<NodeSample> samples;
    samples.reserve(ids.size());
    int64_t first = 0, last = 0; // times, in trees
    for (size_t i = 0; i < ids.size(); ++i) {
      TALLY_TRY(node, nodes_.by_id(ids[i]));
      TALLY_TRY(delta, time_of(deltas[i]));
      if (is_tree_) { // the axis begins with the first sample; both times have 62 bits
        first = i == 0 ? delta : first;
        const int64_t before = std::exchange(last, delta);
        delta = i == 0 ? 0 : delta - before;
      }
      if (i > 0 && delta < 0)
        warn_of_negative_delta(deltas[i], source_, diagnostics_);
      samples.push_back({node, 0, delta});
    }
    SampleTrack track;
    if (has_end) {
      TALLY_TRY(end, time_of(deltas[ids.size()]));
      track.end_ns = end - first;
    } else if (!is_tree_ && document_["startTime"].number() && document_["endTime"].number()) {
      // In trees, both are whole seconds.
      TALLY_TRY(start, time_of(document_["startTime"]));
      TALLY_TRY(end, time_of(document_["endTime"]));
      track.end_ns = end - start;
    }
    TALLY_TRY(idle_ns, add_samples(nodes_, samples, track, builder_));
    note_idle(idle_ns, source_, diagnostics_);
    return {};
  }

  // Without samples, the nodes have only counts.
  Result<void> read_hits() {
    builder_.add_value_type("ticks", "count");
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const JsonValue hits = nodes_[i]["hitCount"];
      if (hits.is_null())
        continue;
      const auto count = hits.integer();
      if (!count || *count < 0)
        return hits.error("expected a whole number as hitCount");
      if (*count == 0 || nodes_.is_idle(i))
        continue;
      TALLY_CHECK(read_lines(i, *count));
    }
    return {};
  }

  // Adds the counts of a node, of which those of lines are parts.
  Result<void> read_lines(uint32_t node, int64_t rest) {
    for (JsonValue line = nodes_[node]["positionTicks"].first(); !line.is_absent();
         line = line.next()) {
      const auto number = line["line"].integer(), ticks = line["ticks"].integer();
      if (!number || *number <= 0 || *number > UINT32_MAX || !ticks || *ticks <= 0 || *ticks > rest)
        continue;
      TALLY_TRY(leaf, nodes_.leaf_at(node, static_cast<uint32_t>(*number)));
      builder_.add_sample(leaf, none<ThreadId>, none<PartId>, *ticks);
      rest -= *ticks;
    }
    TALLY_TRY(leaf, nodes_.leaf_of(node));
    if (rest > 0)
      builder_.add_sample(leaf, none<ThreadId>, none<PartId>, rest);
    return {};
  }

  JsonValue document_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  bool is_tree_; // it is in the form before 2017
  StackProfileBuilder builder_;
  Nodes nodes_{builder_, is_tree_};
};

} // namespace

bool probe(std::string_view head) {
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == head.npos || head[begin] != '{')
    return false;
  const auto has = [&](std::string_view key) { return head.find(key) != head.npos; };
  // A trace of Chrome and its profile of the heap have call frames, too.
  return (has("\"callFrame\"") || has("\"head\"")) && has("\"functionName\"") &&
         !has("\"traceEvents\"") && !has("\"selfSize\"");
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  TALLY_TRY(tree, JsonTree::parse(text, source.name()));
  return Reader(tree, source.name(), diagnostics).run();
}

} // namespace tally::cpuprofile
