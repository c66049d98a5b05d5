// Finds the code of a function.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/code_addresses.h"
#include "report/disassembly.h"
#include "report/names.h"
#include "support/sort.h"

namespace tally {

namespace {

// Limits the size of code whose end is unknown, so that a wrong address does not lead to megabytes
// of code.
constexpr uint64_t most_loose_bytes = 1 << 16;

bool holds(const std::vector<InstructionRange> &ranges, uint64_t address) {
  return std::ranges::any_of(ranges,
                             [&](const InstructionRange &range) { return range.holds(address); });
}

void unite(std::vector<InstructionRange> &ranges, std::span<const InstructionRange> more) {
  ranges.insert(ranges.end(), more.begin(), more.end());
  sort_stably(ranges, {}, &InstructionRange::start);
  std::vector<InstructionRange> out;
  for (const InstructionRange &range : ranges)
    if (!out.empty() && range.start <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  ranges = std::move(out);
}

// Collects the code around addresses that are known to belong to a function.
class CodeFinder {
public:
  explicit CodeFinder(Symbolizer &symbolizer) : symbolizer_(symbolizer) {}

  FunctionCode::Object &object(ModuleId module, std::string_view path) {
    const auto [at, added] = objects_.try_emplace(module);
    if (added) {
      at->second.module = module;
      at->second.path = path;
    }
    return at->second;
  }

  // Adds the code of `function` around `address`. The profile has `frames` frames for this address,
  // and `frame` is the number of the function's frame, counted from the innermost. `starts` says
  // that an instruction begins at the address. That is so for the address at which a thread was
  // stopped.
  void add(FunctionCode::Object &object, uint64_t address, bool starts, std::string_view function,
           size_t frame, size_t frames) {
    if (holds(object.ranges, address))
      return;
    std::vector<InstructionRange> found;
    if (object.module != none<ModuleId>)
      found = symbolizer_.code_of(object.module, address,
                                  frame_number(object.module, address, function, frame, frames));
    if (!holds(found, address)) {
      loose_[object.module].emplace(address, starts);
      return;
    }
    unite(object.ranges, found);
  }

  Result<FunctionCode> take(std::string_view function) {
    FunctionCode out;
    for (auto &[module, object] : objects_) {
      add_loose(object, loose_[module]);
      if (!object.ranges.empty())
        out.objects.push_back(std::move(object));
    }
    if (out.objects.empty())
      return fail(ErrorCode::unsupported, "the start of its code is not known",
                  std::string(function));
    return out;
  }

private:
  // Returns the number of the symbolizer's frame that belongs to the function. Usually it equals
  // the profile's number, but another tool may have symbolized the profile and found fewer inlined
  // functions.
  size_t frame_number(ModuleId module, uint64_t address, std::string_view function, size_t frame,
                      size_t frames) {
    frames_.clear();
    symbolizer_.frames(module, address, frames_);
    if (frames_.size() == frames)
      return frame;
    for (size_t i = frames_.size(); i-- > 0;)
      if (frames_[i].function == function || frames_[i].system_name == function)
        return i;
    return frames_.empty() ? 0 : frames_.size() - 1;
  }

  // Adds ranges for the addresses whose code is neither in debug information nor in a symbol table.
  void add_loose(FunctionCode::Object &object, const std::map<uint64_t, bool> &addresses) {
    std::vector<InstructionRange> ranges;
    for (const auto &[address, starts] : addresses) {
      if (holds(object.ranges, address))
        continue;
      if (!ranges.empty() && address - ranges.back().start < most_loose_bytes) {
        ranges.back().end = address + 1;
        continue;
      }
      // Call frame information has the starts of functions even if the object is stripped.
      std::optional<uint64_t> start;
      if (object.module != none<ModuleId>)
        start = symbolizer_.function_start(object.module, address);
      if (start && *start <= address && address - *start < most_loose_bytes)
        ranges.push_back({*start, address + 1});
      else if (starts)
        ranges.push_back({address, address + 1});
    }
    object.partly |= !ranges.empty();
    unite(object.ranges, ranges);
  }

  Symbolizer &symbolizer_;
  std::map<ModuleId, FunctionCode::Object> objects_;
  // By address: whether an instruction begins there. The bounds of this code are unknown.
  std::map<ModuleId, std::map<uint64_t, bool>> loose_;
  std::vector<SourceFrame> frames_; // scratch
};

Result<std::vector<Instruction>> instructions_of(const FunctionCode::Object &object,
                                                 Symbolizer &symbolizer, DisassemblyFlavor flavor) {
  if (object.module == none<ModuleId>)
    return fail(ErrorCode::unsupported,
                "no file contains this code: only a debugger with the process can show it");
  std::vector<Instruction> out;
  for (const InstructionRange &range : object.ranges) {
    TALLY_TRY(some, symbolizer.instructions(object.module, range, flavor));
    out.insert(out.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  }
  return out;
}

constexpr std::string_view no_addresses =
    "has no addresses, so no instruction has samples of its own; without --asm it is shown by line";

} // namespace

CodeAddresses::CodeAddresses(const StackProfile &profile, Symbolizer &symbolizer,
                             Diagnostics &diagnostics, int pid)
    : profile_(profile), symbolizer_(symbolizer) {
  for (uint32_t i = 0; i < profile.mappings().size(); ++i) {
    const Mapping &mapping = profile.mappings()[static_cast<MappingId>(i)];
    modules_.push_back(symbolizer.module({std::string(profile.strings[mapping.path]),
                                          std::string(profile.strings[mapping.build_id]),
                                          mapping.device, mapping.inode, pid},
                                         diagnostics));
  }
}

CodeAddress CodeAddresses::of(const Location &location) const {
  if (location.mapping == none<MappingId>)
    return {none<ModuleId>, location.address, {}};
  const Mapping &mapping = profile_.mappings()[location.mapping];
  const ModuleId module = modules_[index_of(location.mapping)];
  std::optional<uint64_t> link;
  if (mapping.has_bias)
    link = location.address - mapping.bias;
  else
    link = symbolizer_.link_address(module, location.address - mapping.start + mapping.file_offset);
  if (!link)
    return {none<ModuleId>, location.address, {}};
  return {module, *link, location.address - *link};
}

Result<FunctionCode> function_code(const StackProfile &profile, std::string_view function,
                                   Symbolizer &symbolizer, Diagnostics &diagnostics, int pid) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < profile.functions().size(); ++i)
    names.push_back(profile.strings[profile.functions()[static_cast<SourceFunctionId>(i)].name]);
  const FunctionMatcher matcher(function, names);
  const CodeAddresses addresses(profile, symbolizer, diagnostics, pid);
  CodeFinder finder(symbolizer);
  std::vector<bool> is_leaf(profile.location_count(), false);
  for (size_t i = 0; i < profile.sample_count(); ++i)
    if (const StackId stack = profile.sample(i).stack; stack != none<StackId>)
      is_leaf[index_of(profile.stack_location(stack))] = true;
  bool named = false, has_addresses = false;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    const Location location = profile.location(static_cast<LocationId>(i));
    // Use the outermost frame, so that a function inlined into itself is shown once.
    size_t frame = location.lines.size();
    while (frame > 0 && !matcher.matches(names[index_of(location.lines[frame - 1].function)]))
      --frame;
    if (frame == 0)
      continue;
    named = true;
    if (location.address == 0)
      continue;
    has_addresses = true;
    const CodeAddress at = addresses.of(location);
    FunctionCode::Object &object =
        finder.object(at.module, location.mapping == none<MappingId>
                                     ? std::string_view()
                                     : profile.strings[profile.mappings()[location.mapping].path]);
    if (at.bias)
      object.bias = at.bias;
    finder.add(object, at.address, is_leaf[i], names[index_of(location.lines[frame - 1].function)],
               frame - 1, location.lines.size());
  }
  if (!named)
    return no_function(function, std::move(names));
  if (!has_addresses)
    return fail(ErrorCode::unsupported, std::string(no_addresses), std::string(function));
  TALLY_TRY(out, finder.take(function));
  out.pid = pid;
  return out;
}

Result<FunctionCode> function_code(const CostProfile &profile, std::string_view function,
                                   Symbolizer &symbolizer, Diagnostics &diagnostics) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < profile.functions().size(); ++i)
    names.push_back(profile.strings[profile.functions()[static_cast<CostFunctionId>(i)].name]);
  const FunctionMatcher matcher(function, names);
  CodeFinder finder(symbolizer);
  bool named = false, has_addresses = false;
  for (const CostBlock &block : profile.blocks()) {
    const std::string_view name = names[index_of(block.function)];
    if (!matcher.matches(name))
      continue;
    named = true;
    const std::string_view path =
        profile.strings[profile.objects()[profile.functions()[block.function].object]];
    const ModuleId module = symbolizer.module({std::string(path), {}, 0, 0, 0}, diagnostics);
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i)
      if (const uint64_t address = profile.cost_position(i).address) {
        has_addresses = true;
        // The profile has no frames of inlined functions here, so the name identifies the frame.
        finder.add(finder.object(module, path), address, true, without_level(name), 0, 0);
      }
  }
  if (!named)
    return no_function(function, std::move(names));
  if (!has_addresses)
    return fail(ErrorCode::unsupported, std::string(no_addresses), std::string(function));
  return finder.take(function);
}

Result<void> check_code_size(const FunctionCode &code, std::string_view function) {
  constexpr uint64_t most_bytes = 1 << 20;
  uint64_t bytes = 0;
  for (const FunctionCode::Object &object : code.objects)
    for (const InstructionRange &range : object.ranges)
      bytes += range.end - range.start;
  if (bytes <= most_bytes)
    return {};
  return fail(ErrorCode::limit,
              fmt::format("has {} bytes of code; the maximum is {}", bytes, most_bytes),
              std::string(function));
}

Result<void> disassemble(FunctionCode &code, Symbolizer &symbolizer, DisassemblyFlavor flavor) {
  std::optional<Error> first;
  bool any = false;
  for (FunctionCode::Object &object : code.objects) {
    if (object.instructions.empty()) {
      auto read = instructions_of(object, symbolizer, flavor);
      if (read) {
        object.instructions = std::move(*read);
      } else {
        object.problem = read.error().text();
        if (!first)
          first = std::move(read.error());
      }
    }
    any |= !object.instructions.empty();
  }
  if (!any && first)
    return fail(std::move(*first));
  return {};
}

} // namespace tally
