#include "symbolize/unwind/way_out.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "support/hash.h"

namespace tally::symbolize {

namespace {

// Bounds the work for one address and the memory for one file.
constexpr size_t most_read_at_once = 4096;
constexpr size_t most_nodes = size_t{1} << 18;
// A way that falls through is preferred, because a branch may lead to a call that never returns.
constexpr uint32_t cost_of_branch = 1000;

} // namespace

uint32_t WayOut::node(uint64_t address) {
  const auto [index, added] = by_address_.find_or_add(
      mix(address), static_cast<uint32_t>(nodes_.size()),
      [&](uint32_t i) { return nodes_[i].address == address; },
      [&](uint32_t i) { return mix(nodes_[i].address); });
  if (added)
    nodes_.emplace_back().address = address;
  return index;
}

uint32_t WayOut::from(uint64_t address) {
  if (nodes_.size() > most_nodes)
    return nowhere;
  const uint32_t at = node(address);
  if (!nodes_[at].is_read)
    read(at);
  return nodes_[at].leads_out() ? at : nowhere;
}

void WayOut::add_edges(uint32_t from, std::vector<Edge> &edges, std::vector<uint32_t> &unread) {
  const auto add = [&](uint64_t address, uint32_t cost) {
    const uint32_t to = node(address);
    edges.push_back({to, from, cost});
    if (!nodes_[to].is_read)
      unread.push_back(to);
  };
  const CodeStep step = nodes_[from].step;
  const uint64_t behind = nodes_[from].address + step.size;
  switch (step.kind) {
  case CodeStep::Kind::stops:
  case CodeStep::Kind::returns:
    return;
  case CodeStep::Kind::jumps:
    if (source_.begins_function(step.target))
      nodes_[from].step.kind = CodeStep::Kind::returns; // that function returns to the caller
    else
      add(step.target, 1);
    return;
  case CodeStep::Kind::branches:
    if (!source_.begins_function(step.target))
      add(step.target, cost_of_branch);
    break;
  default:
    break;
  }
  if (!source_.begins_function(behind)) // otherwise this is a call that never returns
    add(behind, 1);
}

void WayOut::read(uint32_t first) {
  std::vector<uint32_t> unread{first}, read;
  std::vector<Edge> edges;
  while (!unread.empty() && read.size() < most_read_at_once) {
    const uint32_t at = unread.back();
    unread.pop_back();
    if (std::exchange(nodes_[at].is_read, true))
      continue;
    const uint64_t address = nodes_[at].address;
    nodes_[at].step = steps_.at(source_.code(address, CodeSteps::longest), address);
    add_edges(at, edges, unread);
    read.push_back(at);
  }
  find_ways(std::move(edges), read);
}

// Dijkstra's algorithm, from the returns backward.
void WayOut::find_ways(std::vector<Edge> edges, const std::vector<uint32_t> &read) {
  std::ranges::sort(edges, {}, &Edge::to);
  using Entry = std::pair<uint32_t, uint32_t>; // cost, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const uint32_t at : read)
    if (nodes_[at].step.kind == CodeStep::Kind::returns)
      queue.emplace(nodes_[at].cost = 0, at);
  for (const Edge &edge : edges) // those to what was read before
    if (nodes_[edge.to].leads_out())
      queue.emplace(nodes_[edge.to].cost, edge.to);
  while (!queue.empty()) {
    const auto [cost, to] = queue.top();
    queue.pop();
    if (cost != nodes_[to].cost)
      continue;
    const bool skips = nodes_[to].step.has_no_effect();
    for (const Edge &edge : std::ranges::equal_range(edges, to, {}, &Edge::to)) {
      Node &from = nodes_[edge.from];
      if (cost + edge.cost >= from.cost || from.step.kind == CodeStep::Kind::returns)
        continue;
      from.cost = cost + edge.cost;
      from.next = skips ? nodes_[to].next : to;
      queue.emplace(from.cost, edge.from);
    }
  }
}

} // namespace tally::symbolize
