// Assigns the counters of a counters file to the functions of its notes.
#include <algorithm>

#include <fmt/format.h>

#include "formats/gcov.h"
#include "support/hash.h"

namespace tally {

namespace {

class Matching {
public:
  Matching(const GcovNotes &notes, const GcovData &data, std::string_view source,
           Diagnostics &diagnostics)
      : graph_(notes.graph), notes_(notes), data_(data), source_(source),
        diagnostics_(diagnostics) {}

  CoverageCounters run() {
    out_.of.resize(graph_.functions.size());
    if (notes_.header.stamp != data_.header.stamp) {
      find("the stamp differs from that of the notes, which are of another compilation: counted as "
           "not run");
      out_.none = true;
      return std::move(out_);
    }
    std::optional<GraphFunctionId> function;
    bool has_functions = false;
    uint32_t matched = 0; // the number of functions that match
    for (const GcovRecord &record : data_.records) {
      if (record.tag == gcov_tag_function) {
        const auto key = data_.function_of(record);
        function = key ? function_of(*key) : std::nullopt;
        has_functions |= key.has_value();
        matched += function.has_value();
        if (stopped_)
          break;
      } else if (record.tag == gcov_tag_counters && function) {
        if (!add(*function, record)) {
          matched -= !out_.of[index_of(*function)].present;
          break;
        }
      } else if (record.tag == counter_tag(GcovCounter::conditions) && function &&
                 notes_.header.version >= GcovVersion::v14) {
        if (!add_conditions(*function, record))
          break;
      }
    }
    out_.unknown = has_functions && matched == 0;
    if (out_.unknown && !stopped_)
      find("the notes have none of the functions of the counters: counted as not run");
    return std::move(out_);
  }

private:
  void find(std::string message) {
    diagnostics_.add(Severity::warning, std::move(message), std::string(source_));
  }

  // Returns the function with that key, or none if the notes lack it or its checksums differ.
  // Functions usually have the same order in both files, so the function after the previous match
  // is tried first.
  std::optional<GraphFunctionId> function_of(const GcovFunctionKey &key) {
    std::optional<GraphFunctionId> id;
    const auto ident_at = [&](uint32_t index) {
      return graph_.functions[static_cast<GraphFunctionId>(index)].ident;
    };
    if (next_ < graph_.functions.size() && ident_at(next_) == key.ident) {
      id = static_cast<GraphFunctionId>(next_);
    } else {
      if (by_ident_.empty())
        for (uint32_t i = 0; i < graph_.functions.size(); ++i)
          by_ident_.try_emplace(ident_at(i), i);
      const auto at = by_ident_.find(key.ident);
      if (at == by_ident_.end()) {
        diagnostics_.add(
            Severity::warning,
            fmt::format("counters of function {}, which is not in the notes", key.ident),
            std::string(source_), {}, "unknown function");
        return {};
      }
      id = static_cast<GraphFunctionId>(at->second);
    }
    next_ = index_of(*id) + 1;
    const GraphFunction &function = graph_.functions[*id];
    if (function.lineno_checksum != key.lineno_checksum ||
        function.cfg_checksum != key.cfg_checksum)
      mismatch(*id, "checksum");
    return stopped_ ? std::nullopt : id;
  }

  void mismatch(GraphFunctionId id, std::string_view what) {
    stopped_ = true;
    find(fmt::format("the {} of function {} differs from that in the notes: the rest of the file "
                     "is not counted",
                     what, graph_.strings[graph_.functions[id].name]));
  }

  bool add(GraphFunctionId id, const GcovRecord &record) {
    CoverageCounters::Range &range = out_.of[index_of(id)];
    uint32_t expected = range.last - range.first;
    if (!range.present)
      for (const GraphArc &arc : graph_.arcs_of(graph_.functions[id]))
        expected += !(arc.flags & arc_on_tree);
    if (record.last - record.first != expected) {
      mismatch(id, "number of counters");
      return false;
    }
    if (!range.present) {
      range = {static_cast<uint32_t>(out_.values.size()), 0, true};
      if (record.zeros)
        out_.values.resize(out_.values.size() + expected, 0);
      else
        out_.values.insert(out_.values.end(), data_.values_of(record).begin(),
                           data_.values_of(record).end());
      range.last = static_cast<uint32_t>(out_.values.size());
      return true;
    }
    if (record.zeros)
      return true;
    const auto values = data_.values_of(record);
    for (uint32_t i = 0; i < expected; ++i)
      if (__builtin_add_overflow(out_.values[range.first + i], values[i],
                                 &out_.values[range.first + i]))
        find(fmt::format("the counters of function {} do not fit in 64 bits",
                         graph_.strings[graph_.functions[id].name]));
    return true;
  }

  // Adds two counters for each condition: the terms that decided it when it was true, and the terms
  // that decided it when it was false.
  bool add_conditions(GraphFunctionId id, const GcovRecord &record) {
    const GraphFunction &function = graph_.functions[id];
    const uint32_t expected = function.last_condition - function.first_condition;
    if (record.last - record.first != 2 * uint64_t{expected}) {
      mismatch(id, "number of conditions");
      return false;
    }
    if (record.zeros)
      return true;
    out_.conditions.resize(graph_.conditions.size());
    const auto values = data_.values_of(record);
    for (uint32_t i = 0; i < expected; ++i) {
      const uint32_t at = function.first_condition + i, terms = graph_.conditions[at].terms;
      const uint64_t known = terms == 0 ? 0 : UINT64_MAX >> (64 - terms);
      out_.conditions[at].when_true |= static_cast<uint64_t>(values[size_t{2} * i]) & known;
      out_.conditions[at].when_false |= static_cast<uint64_t>(values[size_t{2} * i + 1]) & known;
    }
    return true;
  }

  const CoverageGraph &graph_;
  const GcovNotes &notes_;
  const GcovData &data_;
  std::string_view source_;
  Diagnostics &diagnostics_;
  CoverageCounters out_;
  uint32_t next_ = 0;
  bool stopped_ = false;
  SeededMap<uint32_t, uint32_t> by_ident_;
};

} // namespace

CoverageCounters match_counters(const GcovNotes &notes, const GcovData *data,
                                std::string_view source, Diagnostics &diagnostics) {
  if (data)
    return Matching(notes, *data, source, diagnostics).run();
  CoverageCounters none;
  none.none = true;
  none.of.resize(notes.graph.functions.size());
  return none;
}

} // namespace tally
