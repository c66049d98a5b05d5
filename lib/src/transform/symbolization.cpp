
#include "transform/symbolization.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "model/jit_code.h"
#include "model/kernel_code.h"
#include "support/path.h"
#include "support/sort.h"
#include "transform/split_functions.h"

namespace tally {

namespace {

// The number of addresses to look up between two checks of the clock.
constexpr size_t batch = 64;

} // namespace

Symbolization::Symbolization(StackProfile profile, Symbolizer &symbolizer, Diagnostics &diagnostics,
                             Processes processes)
    : builder_(std::move(profile)), symbolizer_(symbolizer), diagnostics_(diagnostics),
      processes_(processes) {
  const StackProfile &p = builder_.so_far();
  for (uint32_t i = 0; i < p.location_count(); ++i) {
    order_.push_back(static_cast<LocationId>(i));
    found_.push({});
  }
  std::ranges::sort(order_, [&](LocationId a, LocationId b) {
    const Location at_a = p.location(a), at_b = p.location(b);
    return std::tie(at_a.mapping, at_a.address, a) < std::tie(at_b.mapping, at_b.address, b);
  });
}

void Symbolization::find_modules() {
  const StackProfile &p = builder_.so_far();
  const int pid =
      processes_ == Processes::here && p.threads().size() > 0 ? p.threads()[ThreadId{0}].pid : 0;
  bool is_one_process = true;
  for (const Thread &thread : p.threads())
    is_one_process &= thread.pid == p.threads()[ThreadId{0}].pid;
  for (uint32_t i = 0; i < p.mappings().size(); ++i) {
    const auto id = static_cast<MappingId>(i);
    Mapping mapping = p.mappings()[id];
    if (p.strings[mapping.path] == kernel_object) {
      // The kernel's functions are named on demand, and only those of the running kernel.
      modules_.push_back(none<ModuleId>);
      mapping.has_bias = processes_ == Processes::here;
      builder_.replace_mapping(id, mapping);
      continue;
    }
    const ModuleId module = symbolizer_.module(
        {std::string(p.strings[mapping.path]), std::string(p.strings[mapping.build_id]),
         mapping.device, mapping.inode,
         // Whose memory without a file it is, is not known.
         is_one_process || !is_anonymous_memory(p.strings[mapping.path]) ? pid : 0},
        diagnostics_);
    modules_.push_back(module);
    if (const auto link = symbolizer_.link_address(module, mapping.file_offset)) {
      mapping.bias = mapping.start - *link;
      mapping.has_bias = true;
    }
    if (p.strings[mapping.build_id].empty())
      mapping.build_id = builder_.intern(symbolizer_.build_id(module));
    if (symbolizer_.kind(module) != ModuleKind::file)
      mapping.path = builder_.intern(jit_object);
    builder_.replace_mapping(id, mapping);
  }
}

// Returns the modules whose code has no names yet, those that most samples were taken in first. Of
// modules with equal numbers, those with more addresses in the stacks come first.
std::vector<ModuleId> Symbolization::modules_by_samples() const {
  const StackProfile &p = builder_.so_far();
  struct Need {
    uint64_t samples = 0, addresses = 0;
    ModuleId module{};
  };
  std::map<ModuleId, Need> needs;
  const auto need_of = [&](LocationId id) -> Need * {
    const Location at = p.location(id);
    if (at.mapping == none<MappingId> || !at.lines.empty())
      return nullptr;
    const ModuleId module = modules_[index_of(at.mapping)];
    Need &need = needs[module];
    need.module = module;
    return &need;
  };
  for (const LocationId id : order_)
    if (Need *const need = need_of(id))
      ++need->addresses;
  for (size_t row = 0; row < p.sample_count(); ++row) {
    const Sample sample = p.sample(row);
    if (sample.stack == none<StackId> || sample.values.empty())
      continue;
    if (Need *const need = need_of(p.stack_location(sample.stack)))
      need->samples += static_cast<uint64_t>(std::max<int64_t>(sample.values[0], 0));
  }
  std::vector<Need> sorted;
  sorted.reserve(needs.size());
  for (const auto &[module, need] : needs)
    sorted.push_back(need);
  sort_stably(sorted, std::greater(),
              [](const Need &need) { return std::pair(need.samples, need.addresses); });
  std::vector<ModuleId> modules;
  modules.reserve(sorted.size());
  for (const Need &need : sorted)
    modules.push_back(need.module);
  return modules;
}

bool Symbolization::step(std::chrono::milliseconds budget) {
  const auto deadline = std::chrono::steady_clock::now() + budget;
  if (modules_.empty()) {
    find_modules();
    symbolizer_.begin_fetching(modules_by_samples(), diagnostics_);
    fetching_.emplace();
  }
  while (fetching_) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    fetching_ = symbolizer_.continue_fetching(std::max(left, left.zero()), diagnostics_);
    if (fetching_ && std::chrono::steady_clock::now() >= deadline)
      return false;
  }
  while (next_ < order_.size()) {
    const size_t stop = std::min(next_ + batch, order_.size());
    for (; next_ < stop; ++next_)
      look_up(order_[next_]);
    if (std::chrono::steady_clock::now() >= deadline)
      break;
  }
  if (next_ == order_.size())
    symbolizer_.take_diagnostics(diagnostics_);
  return next_ == order_.size();
}

void Symbolization::look_up(LocationId id) {
  const Location at = builder_.so_far().location(id);
  if (!at.lines.empty()) { // a profile that already has names keeps them
    const auto first = static_cast<uint32_t>(lines_.size());
    lines_.insert(lines_.end(), at.lines.begin(), at.lines.end());
    found_[id] = {first, static_cast<uint32_t>(lines_.size())};
    return;
  }
  if (at.mapping == none<MappingId>)
    return;
  const Mapping &mapping = builder_.so_far().mappings()[at.mapping];
  const ModuleId module = modules_[index_of(at.mapping)];
  if (!mapping.has_bias && symbolizer_.kind(module) != ModuleKind::perf_map)
    return;
  frames_.clear();
  symbolizer_.frames(module, at.address - mapping.bias, frames_);
  const auto first = static_cast<uint32_t>(lines_.size());
  for (const SourceFrame &frame : frames_) {
    if (frame.function.empty())
      continue;
    const SourceFunctionId function = builder_.add_function(
        {builder_.intern(frame.function), builder_.intern(frame.system_name),
         builder_.intern(frame.function_file), mapping.path, frame.function_line});
    lines_.push_back({function, builder_.intern(frame.file), frame.line});
  }
  found_[id] = {first, static_cast<uint32_t>(lines_.size())};
}

// Returns whether a debugger may be asked about a location. A debugger knows the code that is at an
// address now. If mappings replaced each other there (a library was unloaded, or the program called
// exec), the answer may be about another mapping.
bool Symbolization::may_be_asked(LocationId id) const {
  if (found_[id].first != found_[id].last)
    return false;
  const StackProfile &p = builder_.so_far();
  const Location at = p.location(id);
  const auto holding =
      std::count_if(p.mappings().begin(), p.mappings().end(), [&](const Mapping &m) {
        return at.address >= m.start && at.address < m.limit;
      });
  return holding == (at.mapping == none<MappingId> ? 0 : 1);
}

std::vector<uint64_t> Symbolization::unnamed() const {
  std::vector<uint64_t> addresses;
  for (LocationId id : order_)
    if (may_be_asked(id))
      addresses.push_back(builder_.so_far().location(id).address);
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

// LLDB names functions without a symbol by a number, which differs between modules and versions.
static bool is_made_up(std::string_view name) { return name.starts_with("___lldb_unnamed_symbol"); }

void Symbolization::set_names(uint64_t address, std::span<const Named> frames) {
  if (unnamed_.empty()) {
    for (LocationId id : order_)
      if (may_be_asked(id))
        unnamed_.emplace_back(builder_.so_far().location(id).address, id);
    std::ranges::sort(unnamed_);
  }
  for (auto next = std::ranges::lower_bound(unnamed_, std::pair(address, LocationId{}));
       next != unnamed_.end() && next->first == address; ++next) {
    const LocationId id = next->second;
    const Location at = builder_.so_far().location(id);
    if (found_[id].first != found_[id].last)
      continue;
    // finish() names such a function "module+0xoffset", which is the same when no debugger is
    // available.
    if (at.mapping != none<MappingId> && builder_.so_far().mappings()[at.mapping].has_bias &&
        std::ranges::all_of(frames, [](const Named &frame) { return is_made_up(frame.function); }))
      continue;
    const StringId object =
        at.mapping == none<MappingId> ? StringId{} : builder_.so_far().mappings()[at.mapping].path;
    const auto first = static_cast<uint32_t>(lines_.size());
    for (const Named &frame : frames) {
      const StringId file = builder_.intern(frame.file);
      lines_.push_back(
          {builder_.add_function({builder_.intern(frame.function), {}, file, object, 0}), file,
           frame.line});
    }
    found_[id] = {first, static_cast<uint32_t>(lines_.size())};
  }
}

void Symbolization::add_fallback_line(LocationId id) {
  const Location at = builder_.so_far().location(id);
  std::string name;
  StringId object{};
  if (at.mapping == none<MappingId>) {
    name = fmt::format("{:#x}", at.address);
  } else {
    const Mapping &mapping = builder_.so_far().mappings()[at.mapping];
    uint64_t offset = at.address - mapping.start + mapping.file_offset;
    if (mapping.has_bias) {
      offset = at.address - mapping.bias;
      if (const auto start = symbolizer_.function_start(modules_[index_of(at.mapping)], offset)) {
        offset = *start;
        // The function may be longer than the symbol at which it begins.
        std::vector<SourceFrame> there;
        symbolizer_.frames(modules_[index_of(at.mapping)], offset, there);
        if (!there.empty())
          name = there.back().function;
      }
    }
    object = mapping.path;
    const std::string_view module = base_name(builder_.string(object));
    // Code that was made at run time, and named by no compiler: its functions are not known.
    if (name.empty() && !module.empty() && is_anonymous_memory(builder_.string(object)))
      name = "[unnamed code]";
    if (name.empty())
      name = module.empty() ? fmt::format("{:#x}", at.address)
                            : fmt::format("{}+{:#x}", module, offset);
  }
  const auto first = static_cast<uint32_t>(lines_.size());
  lines_.push_back({builder_.add_function({builder_.intern(name), {}, {}, object, 0}), {}, 0});
  found_[id] = {first, first + 1};
}

Result<StackProfile> Symbolization::finish() {
  while (!step(std::chrono::seconds(1)))
    ;
  for (LocationId id : order_)
    if (found_[id].first == found_[id].last)
      add_fallback_line(id);
  std::vector<std::span<const SourceLine>> lines;
  for (const Range &range : found_)
    lines.push_back(std::span(lines_).subspan(range.first, range.last - range.first));
  builder_.replace_lines(lines);
  const SourceLine unknown{
      builder_.add_function({builder_.intern("[unknown]"), {}, {}, {}, 0}), {}, 0};
  builder_.place_stackless(unknown);
  TALLY_TRY(named, builder_.finish());
  if (const std::vector<bool> pieces = find_pieces(named); !pieces.empty())
    return join_split_functions(named, pieces);
  return named;
}

// Returns for each location whether the outermost function's code there is a piece of the function
// that the compiler moved out of it, or nothing if there is none. Asks the symbol table only where
// a function of the program seems to call itself: the symbols of a library take a tenth of a
// second, for which a debugger would miss the beginning of the next process.
std::vector<bool> Symbolization::find_pieces(const StackProfile &named) const {
  std::vector<bool> is_known(named.location_count()), pieces;
  const auto look_at = [&](LocationId id) {
    if (is_known[index_of(id)])
      return;
    is_known[index_of(id)] = true;
    const Location at = named.location(id);
    if (at.mapping == none<MappingId> || !named.mappings()[at.mapping].has_bias ||
        named.mappings()[at.mapping].path != named.mappings()[MappingId{0}].path)
      return;
    if (symbolizer_
            .symbol_name(modules_[index_of(at.mapping)],
                         at.address - named.mappings()[at.mapping].bias)
            .find(".part.") == std::string_view::npos)
      return;
    pieces.resize(named.location_count());
    pieces[index_of(id)] = true;
  };
  for (uint32_t i = 0; i < named.stack_count(); ++i)
    if (const auto stack = static_cast<StackId>(i); repeats_function(named, stack)) {
      look_at(named.stack_location(stack));
      look_at(named.stack_location(named.stack_caller(stack)));
    }
  return pieces;
}

} // namespace tally
