#include "random_profile.h"

#include <algorithm>
#include <cstdlib>

namespace tally {

namespace {

std::string random_name(Random &random, bool strange) {
  if (!strange)
    return std::string(1, static_cast<char>('a' + pick(random, 5)));
  static const std::vector<std::string> names{"main",
                                              "(1)",
                                              "(12) x",
                                              "a\nb",
                                              "operator()<int, char>(int)",
                                              "",
                                              "\xff\xfe",
                                              "na\xc3\xafve",
                                              "semi;colon",
                                              "???",
                                              "f'2",
                                              "x\r",
                                              "fn=(3) trap",
                                              "+3 5",
                                              "calls=1 2",
                                              "* 7",
                                              "(anonymous namespace)::f",
                                              "#hash",
                                              "events: x",
                                              "tab\there",
                                              "trailing \t ",
                                              "\x01 bell",
                                              "a;b;c",
                                              " "};
  return names[pick(random, names.size())];
}

template <class Id> Id any(Random &random, const std::vector<Id> &ids) {
  return ids[pick(random, ids.size())];
}

} // namespace

RandomShape random_shape(Random &random) {
  RandomShape shape;
  shape.functions = static_cast<uint32_t>(1 + pick(random, 8));
  shape.locations = static_cast<uint32_t>(1 + pick(random, 14));
  shape.samples = static_cast<uint32_t>(pick(random, 40));
  shape.depth = static_cast<uint32_t>(1 + pick(random, 12));
  shape.value_types = static_cast<uint32_t>(1 + pick(random, 3));
  shape.largest_value = pick(random, 4) == 0 ? int64_t{1} << 40 : 6;
  return shape;
}

StackProfile random_profile(Random &random, const RandomShape &shape) {
  Random tables(shape.tables_seed ? shape.tables_seed : random());
  StackProfileBuilder builder;
  for (uint32_t i = 0; i < shape.value_types; ++i)
    builder.add_value_type("event" + std::to_string(i), "count");
  const auto name = [&] { return builder.intern(random_name(tables, shape.strange_names)); };

  std::vector<MappingId> mappings{none<MappingId>};
  for (uint64_t i = pick(tables, 4); i > 0; --i) {
    Mapping mapping;
    mapping.start = i << 20;
    mapping.limit = mapping.start + 0x1000;
    mapping.path = builder.intern("/lib/" + std::to_string(i));
    mapping.has_bias = pick(tables, 2) == 0;
    mapping.bias = mapping.has_bias ? mapping.start - 0x400 : 0;
    mappings.push_back(builder.add_mapping(mapping));
  }
  std::vector<SourceFunctionId> functions;
  for (uint32_t i = 0; i < shape.functions; ++i)
    functions.push_back(
        builder.add_function({name(), builder.intern(std::to_string(pick(tables, 2))), name(),
                              name(), static_cast<uint32_t>(pick(tables, 3))}));
  std::vector<LocationId> locations;
  for (uint32_t i = 0; i < shape.locations; ++i) {
    const MappingId mapping = any(tables, mappings);
    const uint64_t base = mapping == none<MappingId> ? pick(tables, 2) * 0x10
                                                     : builder.so_far().mappings()[mapping].start;
    std::vector<SourceLine> lines;
    for (uint64_t n = 1 + pick(tables, 3); n > 0; --n)
      lines.push_back({any(tables, functions), name(), static_cast<uint32_t>(pick(tables, 4))});
    locations.push_back(builder.add_location(mapping, base + pick(tables, 8), lines));
  }
  std::vector<ThreadId> threads{none<ThreadId>};
  for (uint64_t i = pick(random, 3); i > 0; --i)
    threads.push_back(builder.add_thread(7, static_cast<int32_t>(i), "thread"));
  std::vector<PartId> parts{none<PartId>};
  uint32_t number = 0;
  for (uint64_t i = pick(random, 4); i > 0; --i) {
    Part part;
    part.number = number += static_cast<uint32_t>(1 + pick(random, 2));
    part.begin_ns = number * 100;
    part.end_ns = part.begin_ns + 50;
    parts.push_back(builder.add_part(part));
    if (parts.front() == none<PartId>)
      parts.erase(parts.begin()); // all samples belong to a part, or none does
  }
  std::vector<int64_t> values(shape.value_types);
  for (uint32_t i = 0; i < shape.samples; ++i) {
    StackId stack = none<StackId>;
    for (uint64_t depth = 1 + pick(random, shape.depth); depth > 0; --depth)
      stack = builder.push(stack, any(random, locations));
    for (int64_t &value : values)
      value = static_cast<int64_t>(pick(random, static_cast<uint64_t>(shape.largest_value) + 1));
    builder.add_sample(stack, any(random, threads), any(random, parts), values);
  }
  auto profile = builder.finish();
  if (!profile)
    std::abort(); // a bug in this file
  return std::move(*profile);
}

CostProfile random_costs(Random &random, const CostShape &shape) {
  CostProfileBuilder builder;
  for (const std::string &event : shape.events)
    builder.add_event(event);
  builder.set_positions(shape.addresses, shape.lines);
  std::vector<CostFunctionId> functions;
  std::vector<FileId> files;
  for (int i = 0; i < 4; ++i)
    files.push_back(builder.add_file(i == 0 ? "" : "f" + std::to_string(i)));
  for (int i = 0; i < 6; ++i)
    functions.push_back(builder.add_function(
        "n" + std::to_string(pick(random, 4)), files[pick(random, 4)],
        builder.add_object(pick(random, 3) == 0 ? "" : "o" + std::to_string(pick(random, 2)))));
  std::vector<CostPartId> parts;
  for (uint64_t i = 1 + pick(random, 3); i > 0; --i) {
    CostPart part;
    part.number = static_cast<uint32_t>(parts.size() + 1);
    if (shape.headers) {
      const auto any_of = [&](std::initializer_list<std::string_view> words) {
        return builder.intern(*(words.begin() + pick(random, words.size())));
      };
      part.command = any_of({"./a", "./a", "./b", ""});
      part.trigger = any_of({"end", "end", "call"});
      part.pid = static_cast<int32_t>(pick(random, 3));
      part.thread = static_cast<int32_t>(pick(random, 3));
      for (uint64_t n = pick(random, 4); n > 0; --n)
        part.descriptions.emplace_back(any_of({"I1 cache", "D1 cache", "Note"}),
                                       any_of({"32 KB", ""}));
      for (uint64_t n = pick(random, 3) == 0 ? shape.events.size() : 0; n > 0; --n)
        part.summary.push_back(pick(random, 1000));
    }
    parts.push_back(builder.add_part(part));
  }
  const auto position = [&] {
    return CostPosition{shape.addresses ? 0x400000 + pick(random, 3000000) : 0,
                        shape.lines ? static_cast<uint32_t>(pick(random, 200)) : 0};
  };
  Costs costs(shape.events.size());
  const auto fill = [&] {
    for (uint64_t &cost : costs)
      cost = pick(random, 4) == 0 ? 0 : pick(random, pick(random, 3) == 0 ? uint64_t{1} << 50 : 9);
  };
  for (uint64_t blocks = pick(random, 12); blocks > 0; --blocks) {
    builder.begin_block(parts[pick(random, parts.size())], functions[pick(random, 6)],
                        files[pick(random, 4)]);
    for (uint64_t rows = pick(random, 6); rows > 0; --rows) {
      fill();
      switch (pick(random, 4)) {
      case 0:
        builder.add_call({position(), functions[pick(random, 6)], position(), pick(random, 5)},
                         costs);
        break;
      case 1:
        builder.add_jump({position(), position(), files[pick(random, 4)],
                          functions[pick(random, 6)], pick(random, 2) == 0, 5, 3});
        break;
      default:
        builder.add_cost(position(), costs);
        break;
      }
    }
  }
  if (shape.headers)
    builder.set_creator(pick(random, 3) == 0 ? "callgrind-3.19" : "other");
  return std::move(*builder.finish());
}

CostShape random_cost_shape(Random &random) {
  CostShape shape;
  shape.addresses = pick(random, 2) == 0;
  shape.lines = !shape.addresses || pick(random, 2) == 0;
  shape.headers = true;
  return shape;
}

std::vector<std::string> random_events(Random &random) {
  std::vector<std::string> events{"Ir", "Dr", "ticks", "own"};
  std::ranges::shuffle(events, random);
  events.resize(1 + pick(random, events.size()));
  return events;
}

std::vector<Frame> frames_of(const StackProfile &profile, StackId stack) {
  // Cost profiles have one unknown object and one unknown file, in any spelling.
  const auto text = [&](StringId id) { return std::string(profile.strings[id]); };
  const auto known = [&](StringId id) { return text(id) == "???" ? std::string() : text(id); };
  std::vector<Frame> frames;
  for (; stack != none<StackId>; stack = profile.stack_caller(stack)) {
    const Location at = profile.location(profile.stack_location(stack));
    const Mapping *mapping =
        at.mapping == none<MappingId> ? nullptr : &profile.mappings()[at.mapping];
    const uint64_t bias = mapping && mapping->has_bias ? mapping->bias : 0;
    for (const SourceLine &line : at.lines) {
      const SourceFunction &f = profile.functions()[line.function];
      frames.push_back({{known(f.object), known(f.file), text(f.name)},
                        known(line.file),
                        at.address - bias,
                        line.line});
    }
  }
  return frames;
}

Counted count_samples(const StackProfile &profile, PartId only) {
  Counted out;
  bool addresses = false;
  for (uint32_t i = 0; i < profile.location_count(); ++i)
    addresses |= profile.location(static_cast<LocationId>(i)).address != 0;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    if (only != none<PartId> && sample.part != only)
      continue;
    const Costs costs(sample.values.begin(), sample.values.end());
    if (std::ranges::all_of(costs, [](uint64_t cost) { return cost == 0; }))
      continue;
    std::vector<LocationKey> locations;
    for (const Frame &frame : frames_of(profile, sample.stack))
      locations.emplace_back(frame.function, frame.file, addresses ? frame.address : 0, frame.line);
    add_to(out.self[locations.front()], costs);
    std::set<FunctionKey> functions;
    std::set<ArcKey> arcs;
    for (size_t i = 0; i < locations.size(); ++i) {
      functions.insert(std::get<0>(locations[i]));
      if (i > 0)
        arcs.emplace(locations[i], std::get<0>(locations[i - 1]));
    }
    for (const FunctionKey &function : functions)
      add_to(out.inclusive[function], costs);
    for (const ArcKey &arc : arcs) {
      auto &[calls, sum] = out.arcs[arc];
      calls += costs.front();
      add_to(sum, costs);
    }
  }
  return out;
}

Counted rows_of(const CostProfile &profile) {
  Counted out;
  const auto text = [&](StringId id) { return std::string(profile.strings[id]); };
  const auto key_of = [&](CostFunctionId id) {
    const CostFunction &f = profile.functions()[id];
    return FunctionKey{text(profile.objects()[f.object]), text(profile.files()[f.file]),
                       text(f.name)};
  };
  Costs costs(profile.events().size());
  const auto is_zero = [&] {
    return std::ranges::all_of(costs, [](uint64_t cost) { return cost == 0; });
  };
  for (const CostBlock &block : profile.blocks()) {
    const auto location_of = [&](CostPosition at) {
      return LocationKey{key_of(block.function), text(profile.files()[block.file]), at.address,
                         at.line};
    };
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      profile.costs().get(i, costs);
      if (!is_zero())
        add_to(out.self[location_of(profile.cost_position(i))], costs);
    }
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      const CostCall call = profile.call(i);
      CostPosition from = call.from;
      if (!profile.has_addresses)
        from.address = 0;
      profile.call_costs().get(i, costs);
      auto &[calls, sum] = out.arcs[{location_of(from), key_of(call.callee)}];
      calls += call.count;
      add_to(sum, costs);
    }
  }
  for (uint32_t i = 0; profile.has_inclusive() && i < profile.functions().size(); ++i) {
    const auto id = static_cast<CostFunctionId>(i);
    costs.assign(profile.inclusive(id).begin(), profile.inclusive(id).end());
    if (!is_zero())
      add_to(out.inclusive[key_of(id)], costs);
  }
  return out;
}

} // namespace tally
