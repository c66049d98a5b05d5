#include "formats/dot/dot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/own_name.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/text.h"
#include "support/xml_text.h"
#include "transform/call_graph.h"

namespace tally::dot {

namespace {

constexpr size_t longest_name = 60;

struct Call {
  uint64_t cost = 0, count = 0;
};
using Calls = std::map<std::pair<uint32_t, uint32_t>, Call>; // by caller and callee

// Returns text for a string in double quotes. Both characters that are special there are escaped.
std::string quoted(std::string_view text, bool &changed) {
  std::string out = "\"";
  for (const char c : xml_text(text, changed)) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

class Graph {
public:
  Graph(const CostProfile &profile, const CallGraph &graph)
      : profile_(profile), graph_(graph), total_(profile.totals()[0]) {}

  Result<Written> write() {
    TALLY_CHECK(add_calls());
    select_nodes();
    out_ = "digraph calls {\n"
           "graph [fontname=\"Helvetica\", ranksep=0.3, nodesep=0.15];\n"
           "node [fontname=\"Helvetica\", fontsize=11, shape=box, style=filled, "
           "margin=\"0.1,0.04\"];\n"
           "edge [fontname=\"Helvetica\", fontsize=9, color=\"#707070\"];\n";
    heading();
    const std::vector<std::string> shown = labels();
    for (size_t i = 0; i < nodes_.size(); ++i)
      put_node(nodes_[i], shown[i]);
    for (const auto &[ends, call] : calls_)
      put_call(ends.first, ends.second, call);
    out_ += "}\n";
    Written written{std::move(out_), {}};
    if (profile_.events().size() > 1)
      written.lost.emplace_back("all events but the first");
    if (hidden_ > 0)
      written.lost.push_back(fmt::format("{} below {}% of the total", counted(hidden_, "functions"),
                                         least_node * 100));
    written.lost.emplace_back("lines");
    if (changed_)
      written.lost.emplace_back(xml_text_changed);
    return written;
  }

private:
  const CostFunction &function(uint32_t node) const {
    return profile_.functions()[static_cast<CostFunctionId>(node)];
  }
  double share(uint64_t cost) const {
    return total_ == 0 ? 0 : static_cast<double>(cost) / static_cast<double>(total_);
  }
  static std::string percent(double share) { return fmt::format("{:.1f}%", share * 100); }

  Result<void> add_calls() {
    bool fits = true;
    std::vector<uint64_t> costs(profile_.events().size());
    for (const CostBlock &block : profile_.blocks())
      for (uint32_t i = block.first_call; i < block.last_call; ++i) {
        const CostCall call = profile_.call(i);
        Call &sum = calls_[{index_of(block.function), index_of(call.callee)}];
        if (profile_.has_call_costs) {
          profile_.call_costs().get(i, costs);
          fits &= checked_add(sum.cost, costs[0]);
        }
        fits &= checked_add(sum.count, call.count);
      }
    if (!fits)
      return fail(ErrorCode::overflow, "the sum of the costs of a call exceeds 64 bits");
    return {};
  }

  void select_nodes() {
    for (uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.is_used(node))
        nodes_.push_back(node);
    const size_t all = nodes_.size();
    std::erase_if(nodes_,
                  [&](uint32_t node) { return share(graph_.inclusive(node)[0]) < least_node; });
    sort_stably(nodes_, std::greater<>(), [&](uint32_t node) { return graph_.inclusive(node)[0]; });
    nodes_.resize(std::min(nodes_.size(), most_nodes));
    hidden_ = all - nodes_.size();
    shown_.assign(graph_.size(), false);
    for (const uint32_t node : nodes_)
      shown_[node] = true;
  }

  void heading() {
    const std::string_view event = profile_.strings[profile_.events()[0].name];
    out_ += fmt::format(
        "label={};\nlabelloc=t;\n",
        quoted(fmt::format("{} {} in total; functions from {}%", total_, event, least_node * 100),
               changed_));
  }

  // Returns a label for each of nodes_: the name without scopes and parameters or, if other
  // functions have the same, the first longer one that tells the function from them.
  std::vector<std::string> labels() const {
    std::vector<std::string> out(nodes_.size());
    for (int form = 0; form < 7; ++form) {
      std::map<std::string, size_t> uses;
      for (const std::string &label : out)
        ++uses[label];
      for (size_t i = 0; i < out.size(); ++i)
        if (form == 0 || uses[out[i]] > 1)
          out[i] = label_of(function(nodes_[i]), form);
    }
    return out;
  }

  std::string label_of(const CostFunction &function, int form) const {
    const std::string_view name = profile_.strings[function.name];
    const std::string_view file = profile_.strings[profile_.files()[function.file]];
    const std::string_view object = profile_.strings[profile_.objects()[function.object]];
    const std::string_view own = own_name(name), whole = without_return_type(name);
    // From the scopes to the end of the own name.
    const std::string_view qualified =
        own.data() < whole.data()
            ? name
            : whole.substr(0, static_cast<size_t>(own.data() + own.size() - whole.data()));
    std::string place(form == 3 || form == 5 ? base_name(file) : form > 3 ? file : "");
    if (form > 4 && !object.empty())
      place +=
          fmt::format("{}{}", place.empty() ? "" : ", ", form == 5 ? base_name(object) : object);
    std::string shown(form == 0 ? own : form == 2 ? whole : qualified);
    if (shown.size() > longest_name) {
      size_t end = longest_name;
      while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80)
        --end; // not within a character
      shown = shown.substr(0, end) + "…";
    }
    if (shown.empty())
      shown = "[unknown]";
    return place.empty() ? shown : fmt::format("{} ({})", shown, place);
  }

  // The colour is that of the self cost, from white to red, so that the eye finds where the time
  // went.
  void put_node(uint32_t node, const std::string &shown) {
    const std::string name(profile_.strings[function(node).name]);
    const std::string_view object = profile_.strings[profile_.objects()[function(node).object]];
    const double all = share(graph_.inclusive(node)[0]), own = share(graph_.self(node)[0]);
    std::string label = quoted(shown, changed_);
    label.pop_back();
    // \n is a line break of the label.
    label += fmt::format("\\n{} (self {})\"", percent(all), percent(own));
    out_ += fmt::format(
        "f{} [label={}, tooltip={}, fillcolor=\"0.000 {:.3f} 1.000\", fontsize={:.0f}];\n", node,
        label, quoted(object.empty() ? name : fmt::format("{} ({})", name, object), changed_),
        std::sqrt(own) * 0.8, 10 + 10 * std::sqrt(own));
  }

  void put_call(uint32_t caller, uint32_t callee, const Call &call) {
    if (!shown_[caller] || !shown_[callee])
      return;
    // A call within a cycle may contain the same cost many times, so that its share says nothing.
    if (graph_.same_component(caller, callee)) {
      out_ +=
          fmt::format("f{} -> f{} [style=dashed, label=\"{}\"];\n", caller, callee, times(call));
      return;
    }
    const double part = share(call.cost);
    if (profile_.has_call_costs && part < least_call)
      return;
    const std::string cost = profile_.has_call_costs ? percent(part) : "";
    const std::string count = times(call);
    out_ += fmt::format("f{} -> f{} [label=\"{}{}{}\", penwidth={:.2f}, weight={:.0f}];\n", caller,
                        callee, cost, cost.empty() || count.empty() ? "" : "\\n", count,
                        0.5 + 5 * part, 1 + 100 * part);
  }
  // Samples do not count calls.
  std::string times(const Call &call) const {
    return call.count == 0 || profile_.has_inclusive() ? "" : fmt::format("{}×", call.count);
  }

  const CostProfile &profile_;
  const CallGraph &graph_;
  const uint64_t total_; // of the first event
  Calls calls_;
  std::vector<uint32_t> nodes_; // that are shown, by falling cost
  std::vector<bool> shown_;
  size_t hidden_ = 0;
  std::string out_;
  bool changed_ = false;
};

} // namespace

Result<Written> write(const CostProfile &profile, const WriteOptions &) {
  if (profile.events().empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  TALLY_TRY(graph, CallGraph::of(profile));
  return Graph(profile, graph).write();
}

} // namespace tally::dot
