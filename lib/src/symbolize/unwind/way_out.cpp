#include "symbolize/unwind/way_out.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>

#include "support/hash.h"

namespace tally::symbolize {

namespace {

// Bounds the memory and the work for one file: half a second, once.
constexpr size_t most_nodes = size_t{1} << 18;
// A way that falls through is preferred, because a branch may lead to a call that never returns.
constexpr uint32_t cost_of_branch = 1'000;
// The last call of a function never returns. What fills the room up to the next one shows it.
constexpr uint32_t cost_of_filling = 1'000'000;
constexpr uint32_t cost_of_unlikely_return = 100'000;
constexpr uint64_t function_alignment = 16;

// Returns whether compilers fill room with what begins there: `int3`, `nop`, and longer forms of it
// (Intel's manual, volume 2, "NOP").
bool is_filling(std::string_view code) {
  using namespace std::string_view_literals;
  while (code.starts_with('\x66') || code.starts_with('\x2e'))
    code.remove_prefix(1);
  return code.starts_with('\x90') || code.starts_with('\xcc') || code.starts_with("\x0f\x1f"sv);
}

} // namespace

uint32_t WayOut::node(uint64_t address) {
  if (nodes_.size() == nodes_.capacity()) // so that nothing fails between the table and the node
    nodes_.reserve(std::max<size_t>(1024, nodes_.size() * 2));
  const auto [index, added] = by_address_.find_or_add(
      mix(address), static_cast<uint32_t>(nodes_.size()),
      [&](uint32_t i) { return nodes_[i].address == address; },
      [&](uint32_t i) { return mix(nodes_[i].address); });
  if (added)
    nodes_.emplace_back().address = address;
  return index;
}

uint32_t WayOut::from(uint64_t address) {
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
    break;
  case CodeStep::Kind::jumps:
    if (source_.begins_function(step.target))
      nodes_[from].step.kind = CodeStep::Kind::returns; // that function returns to the caller
    else
      add(step.target, 1);
    break;
  case CodeStep::Kind::calls:
    if (step.target != 0 && is_private(step.target))
      nodes_[from].step.forgets = 0;
    if (!source_.begins_function(behind)) // otherwise the call never returns
      add(behind,
          behind % function_alignment != 0 && is_filling(code_at(behind)) ? cost_of_filling : 1);
    break;
  case CodeStep::Kind::branches:
    add(step.target, cost_of_branch);
    add(behind, 1);
    break;
  default:
    add(behind, 1);
    break;
  }
}

// Hand-written code keeps values in any register while it calls parts of itself, such as its stack
// pointer in x264. Those have neither a symbol nor unwind data.
bool WayOut::is_private(uint64_t target) {
  return !code_at(target).empty() && !source_.begins_function(target);
}

// Code is read in pieces, because each reading is a system call.
std::string_view WayOut::code_at(uint64_t address) {
  constexpr size_t piece = 4096;
  const uint64_t offset = address - piece_.at;
  if (offset >= piece_.code.size() || piece_.code.size() - offset < CodeSteps::longest)
    piece_ = {address, source_.code(address, piece)};
  return std::string_view(piece_.code).substr(address - piece_.at, CodeSteps::longest);
}

void WayOut::read(uint32_t first) {
  std::vector<uint32_t> unread{first}, read;
  std::vector<Edge> edges;
  while (!unread.empty() && nodes_.size() < most_nodes) {
    const uint32_t at = unread.back();
    unread.pop_back();
    if (nodes_[at].is_read)
      continue;
    const uint64_t address = nodes_[at].address;
    nodes_[at].step = steps_.at(code_at(address), address);
    nodes_[at].is_read = true;
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
      queue.emplace(nodes_[at].cost = nodes_[at].step.is_likely ? 0 : cost_of_unlikely_return, at);
  for (const Edge &edge : edges) // those to what was read before
    if (nodes_[edge.to].leads_out())
      queue.emplace(nodes_[edge.to].cost, edge.to);
  while (!queue.empty()) {
    const auto [cost, to] = queue.top();
    queue.pop();
    if (cost != nodes_[to].cost)
      continue;
    const bool skips = nodes_[to].step.has_no_effect();
    for (auto edge = std::ranges::lower_bound(edges, to, {}, &Edge::to);
         edge != edges.end() && edge->to == to; ++edge) {
      Node &from = nodes_[edge->from];
      if (cost + edge->cost >= from.cost)
        continue;
      from.cost = cost + edge->cost;
      from.next = skips ? nodes_[to].next : to;
      queue.emplace(from.cost, edge->from);
    }
  }
}

} // namespace tally::symbolize
