// Finds how a function goes on to its return, from any of its instructions. Code without unwind
// data, such as hand-written code, shows its caller in this way. The words that the function pops
// on its way lie between the stack pointer and the return address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/id_table.h"
#include "symbolize/unwind/code_step.h"

namespace tally::symbolize {

class WayOut {
public:
  struct Source {
    // Returns the bytes of code from an address on; fewer at the end of the code.
    std::function<std::string(uint64_t address, size_t size)> code;
    // Returns whether a function is known to begin at an address.
    std::function<bool(uint64_t address)> begins_function;
  };
  explicit WayOut(Source source) : source_(std::move(source)) {}

  // Calls `each` with each step from an address to the return, which is the last one, except for
  // most of those without effect. `budget` limits the steps, and is reduced by them. Returns false
  // if no way leads to a return, or if the budget is spent.
  template <class Each> bool follow(uint64_t address, uint32_t &budget, Each each) {
    for (uint32_t at = from(address); at != nowhere && budget != 0; at = nodes_[at].next) {
      --budget;
      each(nodes_[at].step);
      if (nodes_[at].step.kind == CodeStep::Kind::returns)
        return true;
    }
    return false;
  }

private:
  static constexpr uint32_t nowhere = UINT32_MAX;
  struct Node {
    CodeStep step;
    uint64_t address = 0;
    uint32_t next = nowhere;    // the next step on the way, unless this one returns
    uint32_t cost = UINT32_MAX; // of the way; the greatest one means that there is none
    bool is_read = false;
    bool leads_out() const { return cost != UINT32_MAX; }
  };
  struct Edge {
    uint32_t to = 0, from = 0, cost = 0;
  };

  uint32_t from(uint64_t address);
  uint32_t node(uint64_t address);
  void read(uint32_t first);
  void add_edges(uint32_t from, std::vector<Edge> &edges, std::vector<uint32_t> &unread);
  void find_ways(std::vector<Edge> edges, const std::vector<uint32_t> &read);
  bool is_private(uint64_t target);
  std::string_view code_at(uint64_t address);

  Source source_;
  CodeSteps steps_;
  struct {
    uint64_t at = 0;
    std::string code;
  } piece_; // what was read last
  IdTable by_address_;
  std::vector<Node> nodes_;
};

} // namespace tally::symbolize
