#include "report/function_alias.h"

#include <set>
#include <vector>

#include "report/code_addresses.h"
#include "report/names.h"

namespace tally {

namespace {

// Returns the name of a symbol as Fortran and Ada, and GDB, spell it: "m::work" for gfortran's
// "__m_MOD_work", "p.work" for GNAT's "p__work". Returns "" for other symbols, and for "p__work",
// which may be of C, if `is_ada` is not known from a dot.
std::string spelled(std::string_view symbol, bool is_ada) {
  constexpr std::string_view module = "_MOD_", separator = "__";
  if (const size_t at = symbol.find(module); symbol.starts_with(separator) && at != symbol.npos)
    return std::string(symbol.substr(separator.size(), at - separator.size())) +
           "::" + std::string(symbol.substr(at + module.size()));
  std::string out(symbol);
  if (!is_ada || out.starts_with('_'))
    return {};
  size_t at = out.find(separator);
  if (at == out.npos)
    return {};
  for (; at != out.npos; at = out.find(separator, at))
    out.replace(at, separator.size(), ".");
  return out;
}

// Returns whether `name` is the whole name or its last component.
bool ends_in_name(std::string_view whole, std::string_view name) {
  if (!whole.ends_with(name))
    return false;
  const std::string_view before = whole.substr(0, whole.size() - name.size());
  return before.empty() || before.ends_with("::") || before.ends_with('.');
}

// Returns the function of the profile that has the symbol `alias`, or nothing if there is none.
// `modules` are the profile's modules, and `functions` the names of its functions. Fails with
// invalid_argument if several functions have this symbol.
Result<std::optional<std::string>> find_alias(std::string_view alias,
                                              const std::set<ModuleId> &modules,
                                              const std::set<std::string_view> &functions,
                                              Symbolizer &symbolizer) {
  std::set<std::string_view> found;
  std::vector<SourceFrame> frames;
  for (const ModuleId module : modules)
    for (const uint64_t address : symbolizer.addresses_of(module, alias)) {
      frames.clear();
      symbolizer.frames(module, address, frames);
      if (!frames.empty())
        if (const auto at = functions.find(frames.back().function); at != functions.end())
          found.insert(*at);
    }
  if (found.empty())
    for (const std::string_view function : functions)
      if (ends_in_name(spelled(function, alias.find('.') != alias.npos), alias))
        found.insert(function);
  if (found.empty())
    return std::nullopt;
  if (found.size() > 1)
    return several_functions(alias, found);
  return std::string(*found.begin());
}

} // namespace

Result<std::optional<std::string>> function_of_alias(const StackProfile &profile,
                                                     std::string_view alias, Symbolizer &symbolizer,
                                                     int pid) {
  Diagnostics already_reported;
  const CodeAddresses addresses(profile, symbolizer, already_reported, pid);
  const std::set<ModuleId> modules(addresses.modules().begin(), addresses.modules().end());
  std::set<std::string_view> functions;
  for (const SourceFunction &function : profile.functions())
    functions.insert(profile.strings[function.name]);
  return find_alias(alias, modules, functions, symbolizer);
}

Result<std::optional<std::string>> function_of_alias(const CostProfile &profile,
                                                     std::string_view alias, Symbolizer &symbolizer,
                                                     int pid) {
  Diagnostics already_reported;
  std::set<ModuleId> modules;
  for (const StringId path : profile.objects())
    if (!profile.strings[path].empty())
      modules.insert(
          symbolizer.module({std::string(profile.strings[path]), {}, 0, 0, pid}, already_reported));
  std::set<std::string_view> functions;
  for (const CostFunction &function : profile.functions())
    functions.insert(profile.strings[function.name]);
  return find_alias(alias, modules, functions, symbolizer);
}

} // namespace tally
