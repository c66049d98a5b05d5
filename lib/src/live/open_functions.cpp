#include "live/open_functions.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "live/counter_code.h"
#include "symbolize/module_file.h"
#include "symbolize/producer.h"

namespace tally::live {

OpenFunctions::OpenFunctions(const CounterLayout &layout, std::span<const LoadedModule> modules,
                             Notes notes)
    : layout_(layout), modules_(modules), notes_(std::move(notes)), symbolizer_(make_symbolizer()) {
  for (const LoadedModule &module : modules_)
    module_ids_.push_back(symbolizer_->module(module.key, findings_));
  for (size_t object = 0; object < notes_.size(); ++object)
    if (notes_[object]) {
      const CoverageGraph &graph = notes_[object]->graph;
      for (uint32_t i = 0; i < graph.functions.size(); ++i) {
        const auto id = static_cast<GraphFunctionId>(i);
        functions_.emplace(graph.strings[graph.functions[id].name], Place{object, id});
      }
    }
}

std::vector<std::vector<OpenFrame>> OpenFunctions::frames(std::span<const StoppedThread> threads,
                                                          Memory &memory) {
  Frames out(notes_.size());
  for (const StoppedThread &thread : threads)
    for (size_t depth = 0; depth < thread.pcs.size(); ++depth)
      if (add_frames(thread.pcs[depth], depth > 0, memory, out) == Found::enough)
        break;
  return out;
}

const LoadedModule *OpenFunctions::module_at(uint64_t pc) const {
  for (const LoadedModule &module : modules_)
    for (const AddressRange &segment : module.places.segments)
      if (segment.contains(pc - module.bias, 1))
        return &module;
  return nullptr;
}

std::vector<SourceFrame> OpenFunctions::source_frames(uint64_t pc) {
  std::vector<SourceFrame> frames;
  if (const LoadedModule *module = module_at(pc))
    symbolizer_->frames(module_ids_[static_cast<size_t>(module - modules_.data())],
                        pc - module->bias, frames);
  return frames;
}

// Returns the piece of code that contains a pc, of the outermost of the pc's frames: what is
// inlined there counts there. If it is not known, it is all code.
AddressRange OpenFunctions::code_around(uint64_t pc, const LoadedModule &module, size_t frames) {
  const ModuleId id = module_ids_[static_cast<size_t>(&module - modules_.data())];
  for (const InstructionRange &range : symbolizer_->code_of(id, pc - module.bias, frames - 1))
    if (range.holds(pc - module.bias))
      return {range.start + module.bias, range.end + module.bias};
  return {0, UINT64_MAX};
}

// Without the options, which Clang does not record, it assumes the worst.
OpenFunctions::Compilation OpenFunctions::how_compiled(std::string_view producer) {
  Compilation out;
  out.optimized = !producer.starts_with("GNU");
  bool atomic = false;
  while (!producer.empty()) {
    const size_t end = std::min(producer.find(' '), producer.size());
    const std::string_view word = producer.substr(0, end);
    producer.remove_prefix(std::min(end + 1, producer.size()));
    if (word.starts_with("-O"))
      out.optimized = word != "-O0" && word != "-Og";
    atomic |= word == "-fprofile-update=atomic" || word == "-fprofile-update=prefer-atomic";
  }
  out.in_registers = out.optimized && !atomic;
  return out;
}

const OpenFunctions::Compilation &OpenFunctions::compilation_at(uint64_t pc,
                                                                const LoadedModule &module) {
  const auto [at, added] = compilations_.try_emplace(pc);
  if (added)
    at->second = how_compiled(symbolize::producer_at(
        symbolize::find_files(module.key, {"/usr/lib/debug"}, findings_, mapped_),
        pc - module.bias));
  return at->second;
}

// Returns the functions with counters that a frame may be in.
std::vector<OpenFunctions::Place> OpenFunctions::places_of(const SourceFrame &frame) const {
  const auto [first, last] =
      functions_.equal_range(frame.system_name.empty() ? frame.function : frame.system_name);
  std::vector<Place> out;
  for (auto at = first; at != last; ++at)
    if (frame.function_line == 0 || frame.function_line == function_of(at->second).start_line)
      out.push_back(at->second);
  return out;
}

// Adds the functions with counters at a pc.
OpenFunctions::Found OpenFunctions::add_frames(uint64_t pc, bool in_call, Memory &memory,
                                               Frames &out) {
  const LoadedModule *const module = module_at(pc);
  const std::vector<SourceFrame> frames = source_frames(pc);
  if (!module)
    return Found::none;
  if (frames.empty())
    return add_all(*module, in_call, out) ? Found::enough : Found::none;
  std::optional<AddressRange> near;
  std::optional<std::vector<uint64_t>> operands;
  if (!in_call && (module->places.x86_64 || compilation_at(pc, *module).optimized))
    near = code_near(pc, code_around(pc, *module, frames.size()));
  if (near && module->places.x86_64)
    operands = operands_of(pc, *near, memory);
  Opened opened;
  bool found = false, by_clang = false;
  for (const SourceFrame &frame : frames) {
    const std::vector<Place> places = places_of(frame);
    for (const Place &place : places) {
      const Compilation &how = compilation_at(pc, *module);
      // With Clang, a call does not end a block. How far its code moves was not measured.
      const bool is_clang = notes_[place.object]->graph.by_clang;
      by_clang |= is_clang;
      // Code that was inlined before the counters were added belongs to the graph of its caller.
      if (found && !how.optimized && !has_line(place, frames[0].line))
        continue;
      OpenFrame open{.function = place.function,
                     .file = std::string(frames[0].file),
                     .line = frames[0].line,
                     .optimized = how.optimized || is_clang,
                     .in_registers = how.in_registers && !in_call,
                     .in_call = in_call && !is_clang,
                     // GCC may merge equal calls of different lines; LLVM then keeps neither line.
                     .has_run = in_call && (is_clang || !how.optimized)};
      if (!in_call) {
        const CounterArray *const array = arcs_of(place);
        open.optimized |= !array || !operands;
        if (array && operands)
          open.near_counters = counters_among(*operands, *array);
        const std::vector<SourceFrame> before = source_frames(pc - 1);
        open.at_line_start = before.size() != frames.size() || before[0].line != open.line ||
                             before[0].function != frames[0].function;
      }
      out[place.object].push_back(std::move(open));
      opened.emplace(place.object, place.function);
    }
    found |= !places.empty();
  }
  if (found && near)
    if (const Compilation &how = compilation_at(pc, *module); how.optimized) {
      const OpenFrame at_pc{.file = std::string(frames[0].file),
                            .line = frames[0].line,
                            .in_registers = how.in_registers};
      if (operands)
        add_counted_near(*operands, at_pc, opened, out);
      add_inlined_near(*near, at_pc, opened, out);
    }
  return !found ? Found::none : by_clang ? Found::more : Found::enough;
}

// Adds the functions whose counters the code near the pc updates. They are inlined there, even if
// the debug information attributes none of that code to them.
void OpenFunctions::add_counted_near(std::span<const uint64_t> operands, const OpenFrame &at_pc,
                                     Opened &opened, Frames &out) {
  if (by_counters_.empty())
    for (const auto &[name, place] : functions_)
      if (const CounterArray *const array = arcs_of(place))
        by_counters_.emplace(array->address, std::pair(place, array));
  for (const uint64_t operand : operands) {
    auto at = by_counters_.upper_bound(operand);
    if (at == by_counters_.begin())
      continue;
    const auto &[place, array] = std::prev(at)->second;
    if (operand - array->address < uint64_t{array->count} * 8 && operand % 8 == 0)
      add_perhaps(place, counters_among(operands, *array), at_pc, opened, out);
  }
}

// Adds the functions that are inlined near the pc. The code that updates their counters may take
// the addresses from registers, and have the line of a function that they are inlined into.
void OpenFunctions::add_inlined_near(const AddressRange &near, const OpenFrame &at_pc,
                                     Opened &opened, Frames &out) {
  std::set<std::tuple<std::string, std::string, uint32_t>> seen;
  for (uint64_t pc = near.low; pc < near.high; ++pc)
    for (const SourceFrame &frame : source_frames(pc))
      if (seen.emplace(frame.function, frame.system_name, frame.function_line).second)
        for (const Place &place : places_of(frame))
          add_perhaps(place, {}, at_pc, opened, out);
}

// Adds a function that the thread at a pc may be in, unless the thread has a frame of it there.
void OpenFunctions::add_perhaps(const Place &place, std::vector<uint32_t> near_counters,
                                const OpenFrame &at_pc, Opened &opened, Frames &out) {
  if (opened.emplace(place.object, place.function).second)
    out[place.object].push_back({.function = place.function,
                                 .file = at_pc.file,
                                 .line = at_pc.line,
                                 .near_counters = std::move(near_counters),
                                 .optimized = true,
                                 .in_registers = at_pc.in_registers,
                                 .perhaps = true});
}

bool OpenFunctions::add_all(const LoadedModule &module, bool in_call, Frames &out) const {
  const auto number = static_cast<uint32_t>(&module - modules_.data());
  bool found = false;
  for (size_t object = 0; object < notes_.size(); ++object) {
    if (layout_.objects[object].module != number || !notes_[object])
      continue;
    for (uint32_t i = 0; i < notes_[object]->graph.functions.size(); ++i)
      out[object].push_back({.function = static_cast<GraphFunctionId>(i),
                             .optimized = true,
                             .in_registers = !in_call});
    found = true;
  }
  return found;
}

const CounterArray *OpenFunctions::arcs_of(const Place &place) const {
  const GraphFunction &function = function_of(place);
  for (const CountedFunction &each : layout_.functions_of(layout_.objects[place.object]))
    if (each.key.ident == function.ident && each.key.cfg_checksum == function.cfg_checksum)
      for (const CounterArray &array : layout_.arrays_of(each))
        if (array.kind == static_cast<uint32_t>(GcovCounter::arcs))
          return &array;
  return nullptr;
}

bool OpenFunctions::has_line(const Place &place, uint32_t line) const {
  const CoverageGraph &graph = notes_[place.object]->graph;
  return std::ranges::any_of(graph.locations_of(function_of(place)), [&](const auto &location) {
    const auto lines = graph.lines_of(location);
    return std::ranges::find(lines, line) != lines.end();
  });
}

} // namespace tally::live
