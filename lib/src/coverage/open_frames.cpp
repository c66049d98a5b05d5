#include "coverage/open_frames.h"

#include <algorithm>
#include <limits>

#include "support/path.h"

namespace tally {

namespace {

class Choices {
public:
  Choices(const CoverageGraph &graph, const GraphFunction &function, const OpenFrame &frame)
      : graph_(graph), function_(function), frame_(frame),
        last_of_line_(function.block_count, absent), lines_(function.block_count, 0) {
    find_lines();
  }

  std::vector<OpenBlock> run(bool all) {
    if (all || (frame_.line == 0 && !frame_.in_call)) {
      add_none();
      for (uint32_t block = 0; block < function_.block_count; ++block)
        add(block);
      return std::move(out_);
    }
    bool none_possible = !frame_.in_call && is_at_the_edge_;
    std::vector<uint32_t> of_line;
    for (uint32_t block = 0; block < function_.block_count; ++block)
      if (last_of_line_[block] != absent)
        of_line.push_back(block);
    for (const uint32_t block : of_line)
      none_possible |= frame_.in_call ? is_in_counted_call(block) : leads_to_exit(block);
    if (none_possible || of_line.empty())
      add_none();
    for (const uint32_t block : of_line)
      if (!is_in_counted_call(block))
        add(block);
    if (frame_.in_call)
      return std::move(out_);
    // The code that counts an arc may have the line of either of its blocks.
    for (const GraphArc &arc : graph_.arcs_of(function_))
      if (!(arc.flags & arc_fake)) {
        if (last_of_line_[arc.source] != absent)
          add(arc.destination);
        if (last_of_line_[arc.destination] != absent)
          add(arc.source);
      }
    add_near_counters();
    return std::move(out_);
  }

private:
  static constexpr uint32_t absent = UINT32_MAX;

  void find_lines() {
    uint32_t first = UINT32_MAX, last = 0;
    for (const GraphLocation &location : graph_.locations_of(function_)) {
      const bool same_file = base_name(graph_.strings[location.file]) == base_name(frame_.file);
      for (const uint32_t line : graph_.lines_of(location)) {
        const uint32_t index = lines_[location.block]++;
        if (!same_file)
          continue;
        first = std::min(first, line);
        last = std::max(last, line);
        if (line == frame_.line)
          last_of_line_[location.block] = index;
      }
    }
    is_at_the_edge_ = frame_.line == 0 || frame_.line <= std::max(first, function_.start_line) ||
                      frame_.line >= last;
  }
  bool leads_to_exit(uint32_t block) const {
    return std::ranges::any_of(graph_.arcs_of(function_), [&](const GraphArc &arc) {
      return arc.source == block && arc.destination == function_.exit_block &&
             !(arc.flags & arc_fake);
    });
  }
  // GCC ends a block after a call, and adds a fake arc to the exit. The count of this arc contains
  // the calls that have not returned, so that nothing is missing. A call of a function that GCC
  // knows to return, such as memset(), does not end the block.
  bool is_in_counted_call(uint32_t block) const {
    return frame_.in_call && last_of_line_[block] + 1 == lines_[block] &&
           std::ranges::any_of(graph_.arcs_of(function_), [&](const GraphArc &arc) {
             return arc.source == block && (arc.flags & arc_fake);
           });
  }

  void add_near_counters() {
    uint32_t counter = 0;
    for (const GraphArc &arc : graph_.arcs_of(function_)) {
      if (arc.flags & arc_on_tree)
        continue;
      if (std::ranges::find(frame_.near_counters, counter) != frame_.near_counters.end()) {
        add(arc.source);
        add(arc.destination);
      }
      ++counter;
    }
  }

  void add_none() { out_.push_back({}); }
  void add(uint32_t block) {
    if (block == 0 || block == function_.exit_block ||
        std::ranges::any_of(out_, [&](const OpenBlock &each) { return each.block == block; }))
      return;
    OpenBlock choice{block, 0, absent};
    if (const uint32_t at = last_of_line_[block]; at != absent) {
      choice.first_perhaps = at;
      choice.first_not_begun = frame_.at_line_start ? at : at + 1;
    }
    out_.push_back(choice);
  }

  const CoverageGraph &graph_;
  const GraphFunction &function_;
  const OpenFrame &frame_;
  std::vector<uint32_t> last_of_line_; // by block: the last index of the pc's line in its lines
  std::vector<uint32_t> lines_;        // by block: the number of its lines
  bool is_at_the_edge_ = false;        // the pc's line is the first or the last of the function
  std::vector<OpenBlock> out_;
};

} // namespace

std::vector<OpenBlock> open_blocks(const CoverageGraph &graph, const GraphFunction &function,
                                   const OpenFrame &frame, bool all) {
  return Choices(graph, function, frame).run(all);
}

} // namespace tally
