#include "live/functions_not_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "support/demangle.h"
#include "support/hash.h"
#include "support/path.h"
#include "support/sort.h"
#include "symbolize/module_file.h"

namespace tally::live {

namespace {

// Returns the name of the function that a symbol belongs to, as the notes state it: GCC gives a
// copy that it specializes the name of the function with a suffix. Returns nothing for a part of a
// function that is not its beginning.
std::optional<std::string> function_of_symbol(std::string_view symbol) {
  const size_t dot = std::min(symbol.find('.', 1), symbol.size());
  const std::string_view suffix = symbol.substr(dot);
  if (suffix.find(".cold") != suffix.npos || suffix.find(".part") != suffix.npos)
    return std::nullopt;
  return base_object_variant(symbol.substr(0, dot));
}

// The functions of a module's symbol table.
class ModuleSymbols {
public:
  explicit ModuleSymbols(const LoadedModule &module) : bias_(module.bias) {
    Diagnostics ignored;
    symbolize::MappedFiles mapped;
    const symbolize::ModuleFiles files =
        symbolize::find_files(module.key, {"/usr/lib/debug"}, ignored, mapped);
    for (const auto &file : {files.open_debug(), files.open_main()})
      if (file && entries_.empty())
        file->visit_function_symbols([this](std::string_view name, uint64_t low, uint64_t size) {
          auto function = function_of_symbol(name);
          if (!function)
            return;
          std::vector<uint64_t> &entries = entries_[std::move(*function)];
          if (std::ranges::find(entries, low) == entries.end())
            entries.push_back(low);
          ends_.emplace(low, low + size);
        });
  }

  // Returns the link-time addresses of the entries of a function.
  std::span<const uint64_t> entries_of(std::string_view name) const {
    const auto at = entries_.find(base_object_variant(name));
    return at == entries_.end() ? std::span<const uint64_t>() : at->second;
  }
  // Notes that a thread is at a run-time address, if it is one of the module.
  void add_pc(uint64_t pc) {
    const auto after = ends_.upper_bound(pc - bias_);
    if (after != ends_.begin() && pc - bias_ < std::prev(after)->second)
      open_.push_back(std::prev(after)->first);
  }
  bool is_open(uint64_t entry) const { return std::ranges::find(open_, entry) != open_.end(); }

private:
  uint64_t bias_;
  SeededMap<std::string, std::vector<uint64_t>> entries_; // by name
  std::map<uint64_t, uint64_t> ends_;                     // of functions, by their entries
  std::vector<uint64_t> open_; // entries of the functions that threads are in
};

class IdleSearch {
public:
  IdleSearch(const CounterLayout &layout, std::span<const LoadedModule> modules, const Notes &notes,
             const CounterSnapshot &snapshot, std::span<const StoppedThread> threads,
             std::string_view place)
      : layout_(layout), modules_(modules), notes_(notes), snapshot_(snapshot), threads_(threads),
        place_(place), symbols_(modules.size()), symbolizer_(make_symbolizer()) {}

  std::optional<FunctionsNotRun> run() {
    for (size_t i = 0; i < layout_.objects.size(); ++i)
      if (notes_[i])
        add_object(layout_.objects[i], notes_[i]->graph);
    if (!found_place_)
      return std::nullopt;
    sort_stably(out_.addresses);
    out_.addresses.erase(std::unique(out_.addresses.begin(), out_.addresses.end()),
                         out_.addresses.end());
    return std::move(out_);
  }

private:
  void add_object(const CountedModuleObject &object, const CoverageGraph &graph) {
    const bool in_module = !place_.empty() && ends_with_path(path_of(object), place_);
    SeededMap<uint64_t, const GraphFunction *> functions;
    for (const GraphFunction &function : graph.functions)
      functions.emplace(key_of(function.ident, function.cfg_checksum), &function);
    SeededMap<StringId, bool> in_file; // whether the functions of a file are meant
    for (const CountedFunction &counted : layout_.functions_of(object)) {
      if (counted.elsewhere)
        continue;
      const auto at = functions.find(key_of(counted.key.ident, counted.key.cfg_checksum));
      if (at == functions.end() || at->second->artificial)
        continue;
      const GraphFunction &function = *at->second;
      const auto [meant, added] = in_file.try_emplace(function.file, in_module);
      if (added && !in_module)
        meant->second = is_meant(graph, function.file);
      if (!meant->second)
        continue;
      found_place_ = true;
      if (has_not_run(counted))
        add_function(object, graph, function);
    }
  }

  bool is_meant(const CoverageGraph &graph, StringId file) const {
    const std::filesystem::path folder(graph.strings[graph.working_directory]);
    const std::string path = (folder / graph.strings[file]).lexically_normal().string();
    return place_.empty() ? !path.starts_with("/usr/") : ends_with_path(path, place_);
  }

  bool has_not_run(const CountedFunction &function) const {
    bool has_counters = false;
    for (const CounterArray &array : layout_.arrays_of(function)) {
      if (array.kind != static_cast<uint32_t>(GcovCounter::arcs) || array.count == 0)
        continue;
      has_counters = true;
      const std::string_view bytes = snapshot_.bytes_of(array);
      if (bytes.find_first_not_of('\0') != bytes.npos)
        return false;
    }
    return has_counters;
  }

  void add_function(const CountedModuleObject &object, const CoverageGraph &graph,
                    const GraphFunction &function) {
    const ModuleSymbols &symbols = symbols_of(object.module);
    const std::span<const uint64_t> entries = symbols.entries_of(graph.strings[function.name]);
    std::vector<uint64_t> mine;
    for (const uint64_t entry : entries)
      if (entries.size() == 1 ? !declared_elsewhere(object.module, entry, graph, function)
                              : declared_there(object.module, entry, graph, function))
        mine.push_back(entry);
    if (std::ranges::any_of(mine, [&](uint64_t entry) { return symbols.is_open(entry); }))
      return;
    ++out_.all;
    out_.with_code += !mine.empty();
    for (const uint64_t entry : mine)
      out_.addresses.push_back(entry + modules_[object.module].bias);
  }

  // Returns whether the code at a link-time address is of the function that the notes describe.
  bool declared_there(uint32_t module, uint64_t entry, const CoverageGraph &graph,
                      const GraphFunction &function) {
    const auto frame = frame_at(module, entry);
    return frame && frame->function_line == function.start_line &&
           base_name(frame->function_file) == base_name(graph.strings[function.file]);
  }
  // Returns whether the debug information shows that it is of another file. A static function that
  // is inlined everywhere has no code, and another file may have a function of its name.
  bool declared_elsewhere(uint32_t module, uint64_t entry, const CoverageGraph &graph,
                          const GraphFunction &function) {
    const auto frame = frame_at(module, entry);
    return frame && !frame->function_file.empty() &&
           base_name(frame->function_file) != base_name(graph.strings[function.file]);
  }
  // Returns the function, not inlined, whose code is at a link-time address.
  std::optional<SourceFrame> frame_at(uint32_t module, uint64_t entry) {
    std::vector<SourceFrame> frames;
    symbolizer_->frames(symbolizer_->module(modules_[module].key, findings_), entry, frames);
    return frames.empty() ? std::nullopt : std::optional(frames.back());
  }

  const ModuleSymbols &symbols_of(uint32_t module) {
    std::optional<ModuleSymbols> &symbols = symbols_[module];
    if (!symbols) {
      symbols.emplace(modules_[module]);
      for (const StoppedThread &thread : threads_)
        for (const uint64_t pc : thread.pcs)
          symbols->add_pc(pc);
    }
    return *symbols;
  }

  std::string_view path_of(const CountedModuleObject &object) const {
    return modules_[object.module].key.path;
  }
  static uint64_t key_of(uint32_t ident, uint32_t checksum) {
    return uint64_t{ident} << 32 | checksum;
  }

  const CounterLayout &layout_;
  std::span<const LoadedModule> modules_;
  const Notes &notes_;
  const CounterSnapshot &snapshot_;
  std::span<const StoppedThread> threads_;
  std::string_view place_;
  std::vector<std::optional<ModuleSymbols>> symbols_; // by module, when needed
  std::unique_ptr<Symbolizer> symbolizer_;
  Diagnostics findings_; // of the symbolizer
  bool found_place_ = false;
  FunctionsNotRun out_;
};

} // namespace

std::optional<FunctionsNotRun>
functions_not_run(const CounterLayout &layout, std::span<const LoadedModule> modules,
                  const Notes &notes, const CounterSnapshot &snapshot,
                  std::span<const StoppedThread> threads, std::string_view place) {
  return IdleSearch(layout, modules, notes, snapshot, threads, place).run();
}

} // namespace tally::live
