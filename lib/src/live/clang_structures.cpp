// What Clang leaves in a program is described in FORMAT.md.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "formats/gcov/header.h"
#include "live/counter_layout.h"
#include "live/module_reader.h"
#include "support/file_budget.h"
#include "support/hash.h"
#include "support/path.h"

namespace tally::live {

namespace {

constexpr uint32_t most_clang_functions = 1 << 20; // of an object

using NotesOf = std::function<std::shared_ptr<const GcovNotes>(const std::string &data_path)>;

class ClangReader {
public:
  ClangReader(CounterLayout &layout, const LoadedModule &module, uint32_t number, Memory &memory,
              const NotesOf &notes_of, Diagnostics &diagnostics)
      : layout_(layout), module_(module), number_(number), notes_of_(notes_of),
        diagnostics_(diagnostics), budget_(module.places.file_bytes), reader_(module, memory) {}

  void run() {
    for (const ClangUnit &unit : module_.places.clang_units) {
      CountedModuleObject object;
      object.by_clang = true;
      object.module = number_;
      object.header.big_endian = module_.places.words.big_endian;
      object.address = unit.counters.begin()->second.low + module_.bias;
      object.first_function = static_cast<uint32_t>(layout_.functions.size());
      const size_t arrays = layout_.arrays.size();
      if (unit.file_info ? by_description(*unit.file_info + module_.bias, object)
                         : by_notes(unit, object)) {
        object.last_function = static_cast<uint32_t>(layout_.functions.size());
        layout_.objects.push_back(std::move(object));
      } else {
        layout_.functions.resize(object.first_function);
        layout_.arrays.resize(arrays);
      }
    }
  }

private:
  bool damaged(const std::string &what) {
    diagnostics_.add(Severity::warning, what, module_.key.path, {}, "clang structures");
    return false;
  }
  void add(const GcovFunctionKey &key, uint64_t counters, uint32_t count) {
    CountedFunction function;
    function.key = key;
    function.first_array = static_cast<uint32_t>(layout_.arrays.size());
    layout_.arrays.push_back({counters, count, static_cast<uint32_t>(GcovCounter::arcs)});
    function.last_array = static_cast<uint32_t>(layout_.arrays.size());
    layout_.functions.push_back(function);
  }

  // Reads __llvm_internal_gcov_emit_file_info.
  bool by_description(uint64_t address, CountedModuleObject &object) {
    const std::string name =
        fmt::format("the description of an object at 0x{:x} is damaged", address);
    const uint64_t pointer = reader_.pointer_size();
    auto cursor = reader_.bytes_at(address, 3 * pointer + 8 + pointer); // the number is padded
    if (!cursor)
      return damaged(name);
    const uint64_t path = reader_.take_pointer(*cursor);
    object.header.version_word = cursor->u32();
    object.header.version = static_cast<GcovVersion>(gcov::version_of(object.header.version_word));
    object.header.stamp = cursor->u32();
    const uint32_t count = cursor->u32();
    cursor->take(pointer - 4);
    const uint64_t functions = reader_.take_pointer(*cursor), arcs = reader_.take_pointer(*cursor);
    const auto text = reader_.string_at(path);
    if (static_cast<uint32_t>(object.header.version) == 0 || count > most_clang_functions ||
        !text || text->empty())
      return damaged(name);
    object.data_path = *text;
    const uint64_t arcs_size = 2 * pointer;
    if (!reader_.in_module(functions, uint64_t{count} * 12) ||
        !reader_.in_module(arcs, count * arcs_size) || !budget_.take(count * (12 + arcs_size)))
      return damaged(name);
    for (uint64_t i = 0; i < count; ++i) {
      GcovFunctionKey key;
      if (!(cursor = reader_.bytes_at(functions + 12 * i, 12)))
        return damaged(name);
      key.ident = cursor->u32();
      key.lineno_checksum = cursor->u32();
      key.cfg_checksum = cursor->u32();
      if (!(cursor = reader_.bytes_at(arcs + arcs_size * i, arcs_size)))
        return damaged(name);
      const uint32_t counters = cursor->u32();
      cursor->take(pointer - 4);
      const uint64_t values = reader_.take_pointer(*cursor);
      if (counters > 0 && !reader_.in_module(values, uint64_t{counters} * 8))
        return damaged(name);
      add(key, values, counters);
    }
    return true;
  }

  // Takes the object whose notes have the unit's source and the same numbers of counters.
  bool by_notes(const ClangUnit &unit, CountedModuleObject &object) {
    std::shared_ptr<const GcovNotes> found;
    if (!candidates_)
      find_candidates();
    for (const auto &[path, notes] : *candidates_) {
      if (taken_.contains(path) || !fits(unit, *notes))
        continue;
      if (found)
        return damaged(fmt::format("several objects of {} have as many counters, so that it is not "
                                   "known which is which",
                                   unit.source));
      found = notes;
      object.data_path = path;
    }
    if (!found)
      return damaged(fmt::format("no notes (.gcno) fit the counters of {}", unit.source));
    taken_.insert(object.data_path);
    object.header = found->header;
    auto counters = unit.counters.begin();
    for (const GraphFunction &function : found->graph.functions) {
      const uint32_t count = counters_of(found->graph, function);
      add({function.ident, function.lineno_checksum, function.cfg_checksum},
          count == 0 ? 0 : counters->second.low + module_.bias, count);
      if (count > 0)
        ++counters;
    }
    return true;
  }

  // Looks for the path that each text ends with, and for its notes. The linker does not separate
  // the path from the constants before it.
  void find_candidates() {
    candidates_.emplace();
    for (const std::string &text : module_.places.data_paths)
      for (size_t at = 0; at != text.npos; at = text.find('/', at + 1)) {
        std::string path = text.substr(at);
        if (!budget_.take(path.size()))
          return;
        if (auto notes = notes_of_(path)) {
          candidates_->emplace_back(std::move(path), std::move(notes));
          break;
        }
      }
  }

  static uint32_t counters_of(const CoverageGraph &graph, const GraphFunction &function) {
    return static_cast<uint32_t>(std::ranges::count_if(
        graph.arcs_of(function), [](const GraphArc &arc) { return !(arc.flags & arc_on_tree); }));
  }

  static bool fits(const ClangUnit &unit, const GcovNotes &notes) {
    const CoverageGraph &graph = notes.graph;
    auto counters = unit.counters.begin();
    bool has_source = false;
    for (const GraphFunction &function : graph.functions) {
      has_source |= base_name(graph.strings[function.file]) == unit.source;
      const uint64_t size = uint64_t{counters_of(graph, function)} * 8;
      if (size == 0)
        continue;
      if (counters == unit.counters.end() || counters->second.high - counters->second.low != size)
        return false;
      ++counters;
    }
    return counters == unit.counters.end() && has_source;
  }

  CounterLayout &layout_;
  const LoadedModule &module_;
  uint32_t number_;
  const NotesOf &notes_of_;
  Diagnostics &diagnostics_;
  FileBudget budget_; // of descriptions, and of paths that are tried
  // The paths of the module's files of counters, and their notes. find_candidates() sets them.
  std::optional<std::vector<std::pair<std::string, std::shared_ptr<const GcovNotes>>>> candidates_;
  SeededSet<std::string> taken_; // paths of files of counters
  ModuleReader reader_;
};

} // namespace

void add_clang_objects(CounterLayout &layout, const LoadedModule &module, uint32_t number,
                       Memory &memory, const NotesOf &notes_of, Diagnostics &diagnostics) {
  ClangReader(layout, module, number, memory, notes_of, diagnostics).run();
}

} // namespace tally::live
