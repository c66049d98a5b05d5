#include "formats/cpuprofile/nodes.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/file_url.h"
#include "formats/json_number.h"
#include "formats/stack_depth.h"

namespace tally::cpuprofile {

namespace {

constexpr int64_t most_ns = (int64_t{1} << 62) - 1; // such that differences of two fit

// Returns the line of all samples of a node; 0 if they have several.
uint32_t only_line(const JsonValue &ticks) {
  const JsonValue first = ticks.is_list() ? ticks.first() : JsonValue();
  const auto line = first["line"].integer();
  return line && *line > 0 && *line <= UINT32_MAX && first.next().is_absent()
             ? static_cast<uint32_t>(*line)
             : 0;
}

} // namespace

Result<int64_t> time_of(const JsonValue &value) {
  const auto ns = scaled_integer(value, 1000);
  if (!ns || *ns > most_ns || *ns < -most_ns)
    return value.error(value.number() ? "the time does not fit in 62 bits of nanoseconds"
                                      : "expected a time in microseconds");
  return *ns;
}

Result<void> Nodes::add(const JsonValue &node, uint32_t caller) {
  const auto id = node["id"].integer();
  if (!id)
    return node.error("a node without an id");
  if (nodes_.size() >= none<uint32_t>)
    return node.error("there are more nodes than 32 bits can count", ErrorCode::limit);
  if (!by_id_.try_emplace(*id, static_cast<uint32_t>(nodes_.size())).second)
    return node["id"].error(fmt::format("two nodes have the id {}", *id));
  Node added;
  added.value = node;
  added.caller = caller;
  nodes_.push_back(added);
  return {};
}

Result<uint32_t> Nodes::by_id(const JsonValue &id) const {
  const auto number = id.integer();
  if (!number)
    return id.error("expected the id of a node");
  const auto found = by_id_.find(*number);
  if (found == by_id_.end())
    return id.error(fmt::format("node {} does not exist", *number));
  return found->second;
}

// A node lists its callees, or, in the events of a trace, names its caller.
Result<void> Nodes::find_callers(bool *are_missing) {
  const auto is_ignored = [&](const JsonValue &id) {
    if (!are_missing || !id.integer() || contains(id))
      return false;
    return *are_missing = true;
  };
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const JsonValue children = nodes_[i].value["children"];
    if (!children.is_null() && !children.is_list())
      return children.error("expected a list of ids as children");
    for (JsonValue child = children.first(); !child.is_absent(); child = child.next()) {
      if (is_ignored(child))
        continue;
      TALLY_TRY(callee, by_id(child));
      if (nodes_[callee].caller != none<uint32_t>)
        return child.error("a node has two callers");
      nodes_[callee].caller = i;
    }
    if (const JsonValue parent = nodes_[i].value["parent"]; !parent.is_null()) {
      if (is_ignored(parent))
        continue;
      TALLY_TRY(caller, by_id(parent));
      if (nodes_[i].caller != none<uint32_t> && nodes_[i].caller != caller)
        return parent.error("a node has two callers");
      nodes_[i].caller = caller;
    }
  }
  return {};
}

bool Nodes::is_idle(uint32_t index) const {
  return frame_of(nodes_[index])["functionName"].text() == idle_name;
}

// Makes the stacks of a node and all its callers.
Result<StackId> Nodes::leaf_of(uint32_t index) {
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

Result<StackId> Nodes::leaf_at(uint32_t index, uint32_t line) {
  TALLY_TRY(leaf, leaf_of(index));
  return line == 0 ? leaf : push(nodes_[index], line);
}

Result<void> Nodes::make_stacks(Node &node) {
  const JsonValue frame = frame_of(node);
  if (!frame.is_object())
    return node.value.error("a node without a callFrame");
  const std::string_view name = frame["functionName"].text().value_or("");
  const bool is_outermost = node.caller == none<uint32_t>;
  node.depth = is_outermost ? 1 : nodes_[node.caller].depth + 1;
  if (node.depth > most_frames)
    return node.value.error(too_deep(), ErrorCode::limit);
  // Lines are counted from 1 in trees, and from 0 in lists.
  const int64_t from = is_tree_ ? 1 : 0;
  const int64_t line = std::max<int64_t>(frame["lineNumber"].integer().value_or(-1), -1) - from;
  SourceFunction function;
  function.name = builder_.intern(name.empty() ? "(anonymous)" : name);
  // Without a line and a column, it is the file of the code.
  const bool has_place = line >= 0 || frame["columnNumber"].integer().value_or(0) >= 0;
  (has_place ? function.file : function.object) =
      builder_.intern(path_of(frame["url"].text().value_or("")));
  function.line = line >= 0 && line < UINT32_MAX ? static_cast<uint32_t>(line + 1) : 0;
  node.function = builder_.add_function(function);
  node.leaf = push(node, only_line(node.value["positionTicks"]));
  if (!is_outermost || name != root_name)
    node.stack = push(node, 0);
  node.is_done = true;
  return {};
}

StackId Nodes::push(const Node &node, uint32_t line) {
  const StackId caller = node.caller == none<uint32_t> ? none<StackId> : nodes_[node.caller].stack;
  const SourceLine at{node.function, builder_.so_far().functions()[node.function].file, line};
  return builder_.push(caller, builder_.add_location(none<MappingId>, 0, std::span(&at, 1)));
}

Result<int64_t> add_samples(Nodes &nodes, std::span<const NodeSample> samples,
                            const SampleTrack &track, StackProfileBuilder &builder) {
  std::vector<int64_t> values(builder.so_far().value_types().size());
  int64_t now = track.begin_ns, begin = track.begin_ns, idle_ns = 0;
  const auto too_late = [&] {
    return nodes[0].error("the times of the samples do not fit in 63 bits of nanoseconds");
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    const NodeSample &sample = samples[i];
    if (i == 0) {
      if (__builtin_add_overflow(now, sample.delta_ns, &now))
        return too_late();
      begin = std::max<int64_t>(0, now);
    }
    int64_t end = begin;
    if (i + 1 < samples.size()) {
      if (__builtin_add_overflow(now, samples[i + 1].delta_ns, &now))
        return too_late();
      end = std::max(begin, now);
    } else if (track.end_ns) {
      end = std::max(begin, *track.end_ns);
    }
    const int64_t duration = end - begin;
    begin = end;
    if (sample.node == none<uint32_t>)
      continue;
    if (nodes.is_idle(sample.node)) {
      idle_ns += duration;
      continue;
    }
    if (duration == 0)
      continue;
    TALLY_TRY(leaf, nodes.leaf_at(sample.node, sample.line));
    values[0] = duration;
    const uint32_t row = builder.add_sample(leaf, track.thread, none<PartId>, values);
    builder.add_time({static_cast<uint64_t>(end), row, 0, duration});
  }
  return idle_ns;
}

void note_idle(int64_t idle_ns, const std::string &source, Diagnostics &diagnostics) {
  if (idle_ns > 0)
    diagnostics.add(Severity::note,
                    fmt::format("{:.3f} s in which nothing ran, (idle), are left out",
                                static_cast<double>(idle_ns) / 1e9),
                    source);
}

void warn_of_negative_delta(const JsonValue &delta, const std::string &source,
                            Diagnostics &diagnostics) {
  diagnostics.add(
      Severity::warning,
      "samples that begin before the one before them are read as if they begin with its "
      "end",
      source, Position::at_offset(delta.offset()));
}

} // namespace tally::cpuprofile
