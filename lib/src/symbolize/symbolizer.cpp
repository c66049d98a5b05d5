
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "model/jit_code.h"
#include "model/symbolizer.h"
#include "support/demangle.h"
#include "symbolize/jit_table.h"
#include "symbolize/module_fetch.h"
#include "symbolize/module_table.h"

namespace tally {

namespace symbolize {

std::string demangle(std::string_view linkage_name) { return demangled(linkage_name); }

namespace {

class ElfSymbolizer final : public Symbolizer {
public:
  explicit ElfSymbolizer(SymbolizerOptions options) : options_(std::move(options)) {}

  ModuleId module(const ModuleKey &key, Diagnostics &diagnostics) override {
    try {
      if (const auto jit = jit_module(key))
        return *jit;
      // A file is the same for all processes that map it. A file that could not be opened for one
      // process may be opened for another.
      const Key shared{key.path, key.build_id, key.device, key.inode,
                       key.inode || !key.build_id.empty() ? 0 : key.pid};
      if (auto found = ids_.find(shared);
          found != ids_.end() && modules_[index_of(found->second)]->usable())
        return found->second;
      const Key exact{key.path, key.build_id, key.device, key.inode, key.pid};
      if (auto found = ids_.find(exact); found != ids_.end())
        return found->second;
      modules_.push_back(std::make_unique<ModuleTable>(
          find_files(key, options_.debug_directories, diagnostics, mapped_, options_.sources),
          options_, pool_));
      const auto id = static_cast<ModuleId>(modules_.size() - 1);
      ids_[exact] = id;
      if (modules_.back()->usable())
        ids_[shared] = id;
      return id;
    } catch (...) {
      return none<ModuleId>; // this ID is unknown, so addresses have no names
    }
  }

  std::optional<uint64_t> link_address(ModuleId module, uint64_t file_offset) override {
    if (JitTable *jit = jit_of(module))
      return jit->kind() == ModuleKind::jit_dump ? std::optional(file_offset) : std::nullopt;
    ModuleTable *table = table_of(module);
    return table ? table->link_address(file_offset) : std::nullopt;
  }

  void frames(ModuleId module, uint64_t link_address, std::vector<SourceFrame> &out) override {
    const size_t before = out.size();
    try {
      if (JitTable *jit = jit_of(module))
        jit->frames(link_address, out);
      else if (ModuleTable *table = table_of(module); table && table->usable())
        table->frames(link_address, out);
    } catch (...) {
      out.resize(before);
    }
  }

  std::optional<uint64_t> function_start(ModuleId module, uint64_t link_address) override {
    try {
      ModuleTable *table = table_of(module);
      return table && table->usable() ? table->function_start(link_address) : std::nullopt;
    } catch (...) {
      return std::nullopt;
    }
  }

  std::string_view symbol_name(ModuleId module, uint64_t link_address) override {
    try {
      ModuleTable *table = table_of(module);
      return table && table->usable() ? table->symbol_name(link_address) : std::string_view();
    } catch (...) {
      return {};
    }
  }

  std::vector<FunctionExtent> functions(ModuleId module) override {
    try {
      ModuleTable *table = table_of(module);
      return table && table->usable() ? table->functions() : std::vector<FunctionExtent>();
    } catch (...) {
      return {};
    }
  }

  std::vector<uint64_t> addresses_of(ModuleId module, std::string_view symbol) override {
    try {
      ModuleTable *table = table_of(module);
      return table && table->usable() ? table->addresses_of(symbol) : std::vector<uint64_t>();
    } catch (...) {
      return {};
    }
  }

  std::vector<InstructionRange> code_of(ModuleId module, uint64_t link_address,
                                        size_t frame) override {
    try {
      ModuleTable *table = table_of(module);
      return table && table->usable() ? table->code_of(link_address, frame)
                                      : std::vector<InstructionRange>();
    } catch (...) {
      return {};
    }
  }

  Result<std::vector<Instruction>> instructions(ModuleId module, InstructionRange range,
                                                DisassemblyFlavor flavor) override {
    ModuleTable *table = table_of(module);
    return table && table->usable() ? table->instructions(range, flavor)
                                    : Symbolizer::instructions(module, range, flavor);
  }

  std::string_view build_id(ModuleId module) override {
    ModuleTable *table = table_of(module);
    return table ? table->build_id() : std::string_view();
  }

  ModuleKind kind(ModuleId module) override {
    const JitTable *jit = jit_of(module);
    return jit ? jit->kind() : ModuleKind::file;
  }

  void save_cache() override {
    for (const auto &module : modules_) {
      try {
        module->save();
      } catch (...) {
        // Nothing is lost: a later run builds the tables again.
      }
    }
  }

  void take_diagnostics(Diagnostics &diagnostics) override {
    for (const auto &module : modules_)
      module->take_diagnostics(diagnostics);
  }

  void begin_fetching(std::span<const ModuleId> modules, Diagnostics &diagnostics) override {
    if (!options_.debuginfod)
      return;
    if (!fetch_)
      fetch_ = std::make_unique<ModuleFetch>(options_.debug_directories);
    fetch_->begin(modules, modules_, diagnostics);
  }

  std::optional<FetchProgress> continue_fetching(std::chrono::milliseconds budget,
                                                 Diagnostics &diagnostics) override {
    return fetch_ ? fetch_->wait(budget, modules_, diagnostics) : std::nullopt;
  }

  void stop_fetching() override {
    if (fetch_)
      fetch_->stop();
  }

private:
  // The numbers of code that a JIT compiler made follow those of all files.
  static constexpr uint32_t first_jit = 1U << 31;

  // Returns the code that the key names, with what has been added to its file since the last call.
  std::optional<ModuleId> jit_module(const ModuleKey &key) {
    if (!is_jit_dump(key.path) && !is_anonymous_memory(key.path))
      return std::nullopt;
    const std::pair name{key.pid, is_jit_dump(key.path) || is_perf_map(key.path) ? key.path : ""};
    const auto known = jit_ids_.find(name);
    if (known != jit_ids_.end()) {
      jits_[known->second]->refresh();
      return static_cast<ModuleId>(first_jit + known->second);
    }
    auto table = JitTable::find(key, pool_, mapped_.file_systems());
    if (!table)
      return std::nullopt;
    jits_.push_back(std::move(table));
    const size_t index = jits_.size() - 1;
    jit_ids_[name] = index;
    return static_cast<ModuleId>(first_jit + index);
  }

  JitTable *jit_of(ModuleId id) {
    const uint64_t index = index_of(id);
    return index >= first_jit && index - first_jit < jits_.size() ? jits_[index - first_jit].get()
                                                                  : nullptr;
  }

  using Key = std::tuple<std::string, std::string, uint64_t, uint64_t, int>;

  ModuleTable *table_of(ModuleId id) {
    return index_of(id) < modules_.size() ? modules_[index_of(id)].get() : nullptr;
  }

  SymbolizerOptions options_;
  MappedFiles mapped_;
  StringPool pool_;
  std::vector<std::unique_ptr<ModuleTable>> modules_;
  std::map<Key, ModuleId> ids_;
  std::vector<std::unique_ptr<JitTable>> jits_;
  std::map<std::pair<int, std::string>, size_t> jit_ids_; // by pid and path
  std::unique_ptr<ModuleFetch> fetch_;                    // null if nothing was to be fetched
};

} // namespace
} // namespace symbolize

std::unique_ptr<Symbolizer> make_symbolizer(SymbolizerOptions options) {
  return std::make_unique<symbolize::ElfSymbolizer>(std::move(options));
}

} // namespace tally
