#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/cost_profile.h"
#include "support/hash.h"
#include "support/id_table.h"
#include "transform/event_units.h"
#include "transform/stack_walk.h"

namespace tally {

namespace {

// The source location that a cost is booked on: one line of one function, at one address.
struct CostLocation {
  SourceFunctionId function;
  StringId file;
  CostPosition position;
  friend bool operator==(const CostLocation &, const CostLocation &) = default;
};

struct Arc {
  uint32_t from; // index of the caller's CostLocation
  SourceFunctionId callee;
  friend bool operator==(const Arc &, const Arc &) = default;
};

uint64_t hash_of(const CostLocation &p) {
  const uint64_t h = combine(index_of(p.function), index_of(p.file));
  return combine(combine(h, p.position.address), p.position.line);
}

uint64_t hash_of(const Arc &a) { return mix((uint64_t{a.from} << 32) | index_of(a.callee)); }

// Unified rows, each with `width` costs.
template <class Row> class Rows {
public:
  explicit Rows(size_t width) : width_(width) {}
  uint32_t id_of(const Row &row) {
    const auto [id, added] = table_.find_or_add(
        hash_of(row), static_cast<uint32_t>(rows_.size()),
        [&](uint32_t i) { return rows_[i] == row; }, [&](uint32_t i) { return hash_of(rows_[i]); });
    if (added) {
      rows_.push_back(row);
      costs_.resize(costs_.size() + width_, 0);
    }
    return id;
  }
  void add(uint32_t id, std::span<const uint64_t> costs) {
    for (size_t v = 0; v < width_; ++v)
      // Cannot overflow: added at most once per stack, so it is at most the total.
      costs_[id * width_ + v] += costs[v];
  }
  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }
  const Row &operator[](uint32_t id) const { return rows_[id]; }
  std::span<const uint64_t> costs(uint32_t id) const {
    return std::span(costs_).subspan(id * width_, width_);
  }
  bool is_zero(uint32_t id) const {
    return std::ranges::all_of(costs(id), [](uint64_t value) { return value == 0; });
  }
  void clear_costs() { std::ranges::fill(costs_, 0); }

private:
  size_t width_;
  IdTable table_;
  std::vector<Row> rows_;
  std::vector<uint64_t> costs_;
};

class Aggregator {
public:
  Aggregator(const StackProfile &stacks, AggregateOptions options)
      : stacks_(stacks), options_(options), width_(stacks.value_types().size()), locations_(width_),
        arcs_(width_), known_(stacks.functions()) {
    add_unknown();
    find_functions();
    find_locations();
  }

  Result<CostProfile> run();

private:
  void add_unknown();
  void find_functions();
  void find_locations();
  Result<void> add_stackless(StackFilter filter);
  Result<void> add_part(StackFilter filter, const CostPart &part);
  void write_part(CostPartId part);
  CostFunctionId function_of(SourceFunctionId id);
  // Returns the link-time address if the mapping's bias is known, otherwise the run-time address.
  uint64_t address_of(const Location &at) const;
  StringId object_of(const Location &at) const;

  struct Visitor;
  const StackProfile &stacks_;
  AggregateOptions options_;
  size_t width_;
  Rows<CostLocation> locations_;
  Rows<Arc> arcs_;
  // The ids in locations_ of the lines of each location. first_line_ holds, by LocationId, the
  // index of the location's first line.
  std::vector<uint32_t> lines_of_location_;
  std::vector<uint32_t> first_line_;
  // The profile's functions, then one per object for code without a name.
  Column<SourceFunctionId, SourceFunction> known_;
  SeededMap<uint32_t, SourceFunctionId> unknown_; // by object
  CostProfileBuilder out_;
  Column<SourceFunctionId, CostFunctionId> functions_;
  // The representative of the functions that become one.
  Column<SourceFunctionId, SourceFunctionId> same_;
  std::vector<uint64_t> inclusive_; // rows of width_, by CostFunctionId
};

uint64_t Aggregator::address_of(const Location &at) const {
  if (at.mapping == none<MappingId>)
    return at.address;
  const Mapping &mapping = stacks_.mappings()[at.mapping];
  return mapping.has_bias ? at.address - mapping.bias : at.address;
}

StringId Aggregator::object_of(const Location &at) const {
  return at.mapping == none<MappingId> ? StringId{} : stacks_.mappings()[at.mapping].path;
}

// Adds one unknown function for each object that has locations without a name, and one for samples
// without a stack, so that no cost is lost.
void Aggregator::add_unknown() {
  const auto add = [&](StringId object) {
    if (const auto [at, added] = unknown_.try_emplace(index_of(object)); added)
      at->second = known_.push({{}, {}, {}, object, 0});
  };
  for (uint32_t i = 0; i < stacks_.location_count(); ++i)
    if (const Location at = stacks_.location(static_cast<LocationId>(i)); at.lines.empty())
      add(object_of(at));
  for (size_t row = 0; row < stacks_.sample_count(); ++row)
    if (stacks_.sample(row).stack == none<StackId>)
      return add({});
}

// Maps each function to its cost function, and to the representative of the functions that share
// it. Cost functions are distinguished by name, file and object only; the line of declaration and
// the linkage name (a constructor has two) are ignored.
void Aggregator::find_functions() {
  const auto &all = known_;
  // The function with the smallest line, by CostFunctionId. The order of the ids is arbitrary.
  SeededMap<uint32_t, SourceFunctionId> first;
  for (uint32_t i = 0; i < all.size(); ++i) {
    const auto id = static_cast<SourceFunctionId>(i);
    functions_.push(function_of(id));
    SourceFunctionId &best = first.try_emplace(index_of(functions_[id]), id).first->second;
    if (all[id].line < all[best].line)
      best = id;
  }
  for (CostFunctionId function : functions_)
    same_.push(first.at(index_of(function)));
}

void Aggregator::find_locations() {
  bool addresses = false;
  for (uint32_t i = 0; i < stacks_.location_count(); ++i) {
    const Location at = stacks_.location(static_cast<LocationId>(i));
    first_line_.push_back(static_cast<uint32_t>(lines_of_location_.size()));
    addresses |= at.address != 0;
    for (const SourceLine &line : at.lines) {
      // Cost profiles have a single unknown file, so "???" becomes the empty name.
      const StringId file = stacks_.strings[line.file] == "???" ? StringId{} : line.file;
      lines_of_location_.push_back(
          locations_.id_of({same_[line.function], file, {address_of(at), line.line}}));
    }
    if (at.lines.empty())
      lines_of_location_.push_back(
          locations_.id_of({same_[unknown_.at(index_of(object_of(at)))], {}, {address_of(at), 0}}));
  }
  first_line_.push_back(static_cast<uint32_t>(lines_of_location_.size()));
  out_.set_positions(addresses, true);
}

CostFunctionId Aggregator::function_of(SourceFunctionId id) {
  const SourceFunction &f = known_[id];
  const auto text = [&](StringId string) { return stacks_.strings[string]; };
  return out_.add_function(text(f.name), out_.add_file(text(f.file)),
                           out_.add_object(text(f.object)));
}

struct Aggregator::Visitor {
  Aggregator &self;
  const StackWeights &weights;
  OnPath functions{}, arcs{};
  std::vector<uint32_t> entered_arcs{}; // of all nodes on the path, outermost first
  std::vector<size_t> marks{};          // by depth: size of entered_arcs when the node was entered

  std::span<const uint32_t> locations_of(StackId node) const {
    const uint32_t at = index_of(self.stacks_.stack_location(node));
    const uint32_t first = self.first_line_[at];
    return std::span(self.lines_of_location_).subspan(first, self.first_line_[at + 1] - first);
  }

  void add_arc(uint32_t from, uint32_t to, std::span<const uint64_t> total) {
    const uint32_t arc = self.arcs_.id_of({from, self.locations_[to].function});
    if (arcs.enter(arc))
      self.arcs_.add(arc, total);
    entered_arcs.push_back(arc);
  }

  void enter(StackId node) {
    const auto locations = locations_of(node);
    const auto total = weights.total(node);
    marks.push_back(entered_arcs.size());
    self.locations_.add(locations.front(), weights.self(node));
    for (uint32_t location : locations) {
      const uint32_t function = index_of(self.functions_[self.locations_[location].function]);
      if (functions.enter(function))
        for (size_t v = 0; v < self.width_; ++v)
          self.inclusive_[function * self.width_ + v] += total[v];
    }
    if (const StackId caller = self.stacks_.stack_caller(node); caller != none<StackId>)
      add_arc(locations_of(caller).front(), locations.back(), total);
    // An inlined function counts as called by its caller.
    for (size_t i = locations.size() - 1; i > 0; --i)
      add_arc(locations[i], locations[i - 1], total);
  }

  void leave(StackId node) {
    for (uint32_t location : locations_of(node))
      functions.leave(index_of(self.functions_[self.locations_[location].function]));
    for (; entered_arcs.size() > marks.back(); entered_arcs.pop_back())
      arcs.leave(entered_arcs.back());
    marks.pop_back();
  }
};

Result<void> Aggregator::add_part(StackFilter filter, const CostPart &part) {
  TALLY_TRY(weights, StackWeights::of(stacks_, filter));
  locations_.clear_costs();
  arcs_.clear_costs();
  walk_stacks(stacks_, weights, Visitor{*this, weights});
  TALLY_CHECK(add_stackless(filter));
  write_part(out_.add_part(part));
  return {};
}

Result<void> Aggregator::add_stackless(StackFilter filter) {
  std::vector<uint64_t> costs(width_, 0);
  for (size_t row = 0; row < stacks_.sample_count(); ++row) {
    const Sample sample = stacks_.sample(row);
    if (sample.stack != none<StackId> ||
        (filter.part != none<PartId> && sample.part != filter.part))
      continue;
    for (size_t v = 0; v < width_; ++v) {
      if (sample.values[v] < 0)
        return fail(ErrorCode::invalid_input, "a sample has a negative value");
      // Cannot overflow: validate() has checked the sum.
      costs[v] += static_cast<uint64_t>(sample.values[v]);
    }
  }
  if (std::ranges::all_of(costs, [](uint64_t value) { return value == 0; }))
    return {};
  const SourceFunctionId unknown = same_[unknown_.at(0)];
  locations_.add(locations_.id_of({unknown, {}, {}}), costs);
  for (size_t v = 0; v < width_; ++v)
    inclusive_[index_of(functions_[unknown]) * width_ + v] += costs[v];
  return {};
}

void Aggregator::write_part(CostPartId part) {
  // Rows of one function and file are adjacent, in an order that depends on names alone.
  struct Key {
    std::string_view object, file, function, line_file;
    CostPosition position;
    std::string_view callee, callee_file, callee_object;
    uint32_t id;
    bool is_arc;
  };
  const auto text = [&](StringId string) { return stacks_.strings[string]; };
  const auto key_of = [&](uint32_t location_id, uint32_t id, const Arc *arc) {
    const CostLocation &location = locations_[location_id];
    const SourceFunction &f = known_[location.function];
    Key key{text(f.object),
            text(f.file),
            text(f.name),
            text(location.file),
            location.position,
            {},
            {},
            {},
            id,
            arc != nullptr};
    if (arc) {
      const SourceFunction &callee = known_[arc->callee];
      key.callee = text(callee.name);
      key.callee_file = text(callee.file);
      key.callee_object = text(callee.object);
    }
    return key;
  };
  std::vector<Key> keys;
  SeededSet<uint32_t> with_line; // files
  for (uint32_t i = 0; i < locations_.size(); ++i)
    if (!locations_.is_zero(i)) {
      keys.push_back(key_of(i, i, nullptr));
      if (locations_[i].position.line != 0)
        with_line.insert(index_of(locations_[i].file));
    }
  for (uint32_t i = 0; i < arcs_.size(); ++i)
    if (!arcs_.is_zero(i)) {
      const uint32_t from = arcs_[i].from;
      keys.push_back(key_of(from, i, &arcs_[i]));
      if (options_.line_in_each_file && locations_[from].position.line != 0 &&
          locations_.is_zero(from) && with_line.insert(index_of(locations_[from].file)).second)
        keys.push_back(key_of(from, from, nullptr));
    }
  std::ranges::sort(keys, [](const Key &a, const Key &b) {
    // Lines of the function's own file precede those of other files, so that the first line needs
    // no `fe=`.
    const bool a_other = a.line_file != a.file, b_other = b.line_file != b.file;
    return std::tie(a.object, a.file, a.function, a_other, a.line_file, a.position, a.is_arc,
                    a.callee, a.callee_file, a.callee_object,
                    a.id) < std::tie(b.object, b.file, b.function, b_other, b.line_file, b.position,
                                     b.is_arc, b.callee, b.callee_file, b.callee_object, b.id);
  });
  for (const Key &key : keys) {
    const uint32_t location_id = key.is_arc ? arcs_[key.id].from : key.id;
    const CostLocation &location = locations_[location_id];
    out_.begin_block(part, functions_[location.function], out_.add_file(key.line_file));
    if (!key.is_arc) {
      out_.add_cost(location.position, locations_.costs(key.id));
      continue;
    }
    const SourceFunctionId callee = arcs_[key.id].callee;
    const auto costs = arcs_.costs(key.id);
    out_.add_call({location.position, functions_[callee], {0, known_[callee].line}, costs.front()},
                  costs);
  }
}

Result<CostProfile> Aggregator::run() {
  if (width_ == 0)
    return fail(ErrorCode::no_data, "the profile has no events");
  const auto text = [&](StringId string) { return stacks_.strings[string]; };
  for (const ValueType &type : stacks_.value_types())
    out_.add_event(text(type.type), long_event_name(text(type.type), text(type.unit)));
  inclusive_.assign(functions_.size() * width_, 0);

  CostPart part;
  part.command = out_.intern(text(stacks_.command));
  part.pid = stacks_.threads().size() > 0 ? stacks_.threads()[ThreadId{0}].pid : 0;
  if (const auto &parts = stacks_.parts(); parts.size() > 0) {
    const bool one = options_.only_part != none<PartId>;
    const Part &first = parts[one ? options_.only_part : PartId{0}];
    const Part &last = one ? first : parts[static_cast<PartId>(parts.size() - 1)];
    part.number = one ? first.number : 1;
    part.trigger = out_.intern(text(last.trigger));
    part.time_range =
        out_.intern(fmt::format("{:.6f} s - {:.6f} s", static_cast<double>(first.begin_ns) * 1e-9,
                                static_cast<double>(last.end_ns) * 1e-9));
  }
  part.descriptions.emplace_back(
      out_.intern("Calls"),
      out_.intern("calls= is the number of samples whose stack holds the call: sampling does not "
                  "count calls"));
  TALLY_CHECK(add_part({none<ThreadId>, options_.only_part}, part));
  for (CostFunctionId id : functions_)
    out_.set_inclusive(id, std::span(inclusive_).subspan(index_of(id) * width_, width_));
  return out_.finish();
}

} // namespace

Result<CostProfile> aggregate(const StackProfile &stacks, AggregateOptions options) {
  return Aggregator(stacks, options).run();
}

} // namespace tally
