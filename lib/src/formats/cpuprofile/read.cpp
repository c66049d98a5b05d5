#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/file_url.h"
#include "support/json_tree.h"

namespace tally::cpuprofile {

namespace {

// Returns whole nanoseconds; nothing if they do not fit in 62 bits.
std::optional<int64_t> nanoseconds(double us) {
  const double ns = std::round(us * 1000);
  constexpr double limit = 4.6e18;
  if (!(std::abs(ns) < limit))
    return {};
  return static_cast<int64_t>(ns);
}

struct Node {
  JsonValue value;
  uint32_t caller = none<uint32_t>; // the index of a node
  bool is_done = false;             // what follows is set
  SourceFunctionId function = none<SourceFunctionId>;
  StackId stack = none<StackId>; // none for the root
  StackId leaf = none<StackId>;  // the stack of its samples, whose line may be known
};

class Reader {
public:
  Reader(const JsonTree &tree, const std::string &source, Diagnostics &diagnostics)
      : document_(tree.root()), source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    is_tree_ = document_["head"].is_object() && document_["nodes"].is_absent();
    if (!is_tree_ && !document_["nodes"].is_list())
      return document_.error("is not a .cpuprofile: the list of nodes is missing");
    TALLY_CHECK(is_tree_ ? read_tree() : read_nodes());
    const bool has_times = !document_["samples"].first().is_absent();
    TALLY_CHECK(has_times ? read_samples() : read_hits());
    auto profile = builder_.finish();
    if (!profile) {
      profile.error().source = source_;
      return fail(std::move(profile.error()));
    }
    return Profile(std::move(*profile));
  }

private:
  Result<void> add_node(const JsonValue &value, uint32_t caller) {
    const auto id = value["id"].integer();
    if (!id)
      return value.error("a node without an id");
    if (nodes_.size() >= none<uint32_t>)
      return value.error("there are more nodes than 32 bits can count", ErrorCode::limit);
    if (!by_id_.try_emplace(*id, static_cast<uint32_t>(nodes_.size())).second)
      return value["id"].error(fmt::format("two nodes have the id {}", *id));
    Node node;
    node.value = value;
    node.caller = caller;
    nodes_.push_back(node);
    return {};
  }

  Result<void> read_nodes() {
    for (JsonValue value = document_["nodes"].first(); !value.is_absent(); value = value.next())
      TALLY_CHECK(add_node(value, none<uint32_t>));
    if (nodes_.empty())
      return document_["nodes"].error("the list of nodes is empty");
    return find_callers();
  }

  // Before 2017, nodes contain their callees.
  Result<void> read_tree() {
    TALLY_CHECK(add_node(document_["head"], none<uint32_t>));
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      for (JsonValue child = nodes_[i].value["children"].first(); !child.is_absent();
           child = child.next())
        TALLY_CHECK(add_node(child, i));
    return {};
  }

  Result<uint32_t> node_of(const JsonValue &id) const {
    const auto number = id.integer();
    if (!number)
      return id.error("expected the id of a node");
    const auto found = by_id_.find(*number);
    if (found == by_id_.end())
      return id.error(fmt::format("node {} does not exist", *number));
    return found->second;
  }

  // A node lists its callees, or, in the events of a trace, names its caller.
  Result<void> find_callers() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const JsonValue children = nodes_[i].value["children"];
      if (!children.is_null() && !children.is_list())
        return children.error("expected a list of ids as children");
      for (JsonValue child = children.first(); !child.is_absent(); child = child.next()) {
        TALLY_TRY(callee, node_of(child));
        if (nodes_[callee].caller != none<uint32_t>)
          return child.error("a node has two callers");
        nodes_[callee].caller = i;
      }
      if (const JsonValue parent = nodes_[i].value["parent"]; !parent.is_null()) {
        TALLY_TRY(caller, node_of(parent));
        if (nodes_[i].caller != none<uint32_t> && nodes_[i].caller != caller)
          return parent.error("a node has two callers");
        nodes_[i].caller = caller;
      }
    }
    return {};
  }

  // Makes the stacks of a node and all its callers.
  Result<StackId> leaf_of(uint32_t index) {
    std::vector<uint32_t> chain;
    for (uint32_t at = index; at != none<uint32_t> && !nodes_[at].is_done; at = nodes_[at].caller) {
      if (chain.size() == nodes_.size())
        return nodes_[index].value.error("a node is its own caller");
      chain.push_back(at);
    }
    for (size_t i = chain.size(); i-- > 0;)
      TALLY_CHECK(make_stacks(nodes_[chain[i]]));
    return nodes_[index].leaf;
  }

  Result<void> make_stacks(Node &node) {
    const JsonValue frame = frame_of(node);
    if (!frame.is_object())
      return node.value.error("a node without a callFrame");
    const std::string_view name = frame["functionName"].text().value_or("");
    const bool is_outermost = node.caller == none<uint32_t>;
    // Lines are counted from 1 in trees, and from 0 in lists.
    const int64_t line = frame["lineNumber"].integer().value_or(-1) - (is_tree_ ? 1 : 0);
    SourceFunction function;
    function.name = builder_.intern(name.empty() ? "(anonymous)" : name);
    // Without a line and a column, it is the file of the code.
    const bool has_place = line >= 0 || frame["columnNumber"].integer().value_or(0) >= 0;
    (has_place ? function.file : function.object) =
        builder_.intern(path_of(frame["url"].text().value_or("")));
    function.line = line >= 0 && line < UINT32_MAX ? static_cast<uint32_t>(line + 1) : 0;
    const SourceFunctionId id = builder_.add_function(function);
    node.function = id;
    node.leaf = push(node, only_line(node.value["positionTicks"]));
    if (!is_outermost || name != root_name)
      node.stack = push(node, 0);
    node.is_done = true;
    return {};
  }

  // Returns the stack of a node whose samples are at this line.
  StackId push(const Node &node, uint32_t line) {
    const StackId caller =
        node.caller == none<uint32_t> ? none<StackId> : nodes_[node.caller].stack;
    const SourceLine at{node.function, builder_.so_far().functions()[node.function].file, line};
    return builder_.push(caller, builder_.add_location(none<MappingId>, 0, std::span(&at, 1)));
  }

  // Returns the line of all samples of a node; 0 if they have several.
  static uint32_t only_line(const JsonValue &ticks) {
    const JsonValue first = ticks.is_list() ? ticks.first() : JsonValue();
    const auto line = first["line"].integer();
    return line && *line > 0 && *line <= UINT32_MAX && first.next().is_absent()
               ? static_cast<uint32_t>(*line)
               : 0;
  }

  Result<JsonValue::Column> column(std::string_view name) const {
    const JsonValue list = document_[name];
    const auto rows = list.column();
    if (!rows)
      return (list.is_absent() ? document_ : list)
          .error(fmt::format("expected a list of numbers as {}", name));
    return *rows;
  }

  Result<int64_t> time(const JsonValue &value) const {
    const auto number = value.number();
    const auto ns = nanoseconds(number.value_or(0));
    if (!number || !ns)
      return value.error(number ? "the time does not fit in 62 bits of nanoseconds"
                                : "expected a time in microseconds");
    return *ns;
  }

  // A sample lasts until the next one, and the last one until the end.
  Result<void> read_samples() {
    // Trees have times in place of their differences.
    const std::string_view times = is_tree_ ? "timestamps" : "timeDeltas";
    TALLY_TRY(samples, column("samples"));
    TALLY_TRY(deltas, column(times));
    const bool has_end = is_tree_ && deltas.size() == samples.size() + 1; // a time without a sample
    if (samples.size() != deltas.size() && !has_end)
      return document_[times].error(
          fmt::format("there are {} samples, but {} {}", samples.size(), deltas.size(), times));
    builder_.add_value_type("time", "nanoseconds");
    int64_t length = 0; // of the whole profile; 0 if it is unknown
    // In trees, both are whole seconds.
    if (!is_tree_ && document_["startTime"].number() && document_["endTime"].number()) {
      TALLY_TRY(start, time(document_["startTime"]));
      TALLY_TRY(end, time(document_["endTime"]));
      length = end - start;
    }
    int64_t now = 0, last = 0;
    std::vector<int64_t> begins; // of the samples; the last one is the end
    for (size_t i = 0; i < deltas.size(); ++i) {
      TALLY_TRY(delta, time(deltas[i]));
      if (is_tree_) { // the axis begins with the first sample; both times have 62 bits
        const int64_t before = std::exchange(last, delta);
        delta = i == 0 ? 0 : delta - before;
      }
      int64_t next = 0;
      if (__builtin_add_overflow(now, delta, &next))
        return deltas[i].error("the time does not fit in 63 bits of nanoseconds");
      now = next;
      if (i > 0 && delta < 0)
        diagnostics_.add(Severity::warning,
                         "samples that begin before the one before them are read as if they begin "
                         "with its end",
                         source_, Position::at_offset(deltas[i].offset()));
      begins.push_back(std::max(now, begins.empty() ? 0 : begins.back()));
    }
    if (!begins.empty() && !has_end)
      begins.push_back(std::max(length, begins.back()));
    int64_t idle_ns = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      TALLY_TRY(node, node_of(samples[i]));
      const int64_t duration = begins[i + 1] - begins[i];
      if (is_idle(nodes_[node])) {
        idle_ns += duration;
        continue;
      }
      if (duration == 0)
        continue;
      TALLY_TRY(leaf, leaf_of(node));
      const uint32_t row = builder_.add_sample(leaf, none<ThreadId>, none<PartId>, duration);
      builder_.add_time({static_cast<uint64_t>(begins[i + 1]), row, 0, duration});
    }
    if (idle_ns > 0)
      diagnostics_.add(Severity::note,
                       fmt::format("{:.3f} s in which nothing ran, (idle), are left out",
                                   static_cast<double>(idle_ns) / 1e9),
                       source_);
    return {};
  }

  JsonValue frame_of(const Node &node) const {
    return is_tree_ ? node.value : node.value["callFrame"];
  }
  bool is_idle(const Node &node) const {
    return frame_of(node)["functionName"].text() == idle_name;
  }

  // Without samples, the nodes have only counts.
  Result<void> read_hits() {
    builder_.add_value_type("ticks", "count");
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const JsonValue hits = nodes_[i].value["hitCount"];
      if (hits.is_null())
        continue;
      const auto count = hits.integer();
      if (!count || *count < 0)
        return hits.error("expected a whole number as hitCount");
      if (*count == 0 || is_idle(nodes_[i]))
        continue;
      TALLY_TRY(leaf, leaf_of(i));
      int64_t rest = *count;
      for (JsonValue line = nodes_[i].value["positionTicks"].first(); !line.is_absent();
           line = line.next()) {
        const auto number = line["line"].integer(), ticks = line["ticks"].integer();
        if (!number || *number <= 0 || *number > UINT32_MAX || !ticks || *ticks <= 0 ||
            *ticks > rest)
          continue;
        builder_.add_sample(push(nodes_[i], static_cast<uint32_t>(*number)), none<ThreadId>,
                            none<PartId>, *ticks);
        rest -= *ticks;
      }
      if (rest > 0)
        builder_.add_sample(leaf, none<ThreadId>, none<PartId>, rest);
    }
    return {};
  }

  JsonValue document_;
  bool is_tree_ = false; // it is in the form before 2017
  const std::string &source_;
  Diagnostics &diagnostics_;
  StackProfileBuilder builder_;
  std::vector<Node> nodes_;
  std::unordered_map<int64_t, uint32_t> by_id_;
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
