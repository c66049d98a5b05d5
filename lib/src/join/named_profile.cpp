#include "join/named_profile.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/kernel_code.h"
#include "model/unwinder.h"
#include "support/sigint_watch.h"
#include "symbolize/kernel_symbols.h"

namespace tally {

using namespace std::chrono_literals;

Result<StackProfile> name_all(StackProfile raw, Symbolization::Processes processes,
                              Diagnostics &diagnostics, const Naming &naming) {
  const auto own = naming.symbolizer ? nullptr : make_symbolizer();
  Symbolizer &symbolizer = naming.symbolizer ? *naming.symbolizer : *own;
  Symbolization names(std::move(raw), symbolizer, diagnostics, processes);
  // While files are fetched, Ctrl-C is looked for between the steps.
  std::chrono::milliseconds budget = 100ms;
  if (naming.fetched && !naming.fetched(nullptr))
    symbolizer.stop_fetching();
  while (!names.step(budget)) {
    if (const auto &fetching = names.fetching()) {
      if (naming.fetched && !naming.fetched(&*fetching)) {
        symbolizer.stop_fetching();
        names.skip_fetching();
      }
      continue;
    }
    budget = 500ms;
    if (naming.looked_up)
      naming.looked_up(names.done(), names.total());
  }
  symbolizer.save_cache();
  return names.finish();
}

Result<ReadFile> read_named_file(const std::string &path, Diagnostics &diagnostics,
                                 const Format *from, const ReadOptions &options,
                                 const Naming &naming) {
  const auto unwinder = make_unwinder(SymbolizerOptions().debug_directories, naming.sources);
  TALLY_TRY(file, read_file(path, diagnostics, from, options, unwinder.get()));
  if (file.format->read_addresses) {
    auto &profile = std::get<Profile>(file.content);
    TALLY_TRY(named, name_all(std::move(std::get<StackProfile>(profile)),
                              Symbolization::Processes::gone, diagnostics, naming));
    profile = std::move(named);
  }
  return file;
}

ProgramNames::ProgramNames(const std::string &program, Diagnostics &diagnostics)
    : symbolizer_(make_symbolizer()) {
  names_ = {symbolizer_.get(),
            symbolizer_->module(
                {.path = program, .build_id = {}, .device = 0, .inode = 0, .pid = 0}, diagnostics),
            program};
}

namespace {

template <class Profile> bool has_kernel_time(const Profile &profile) {
  return std::ranges::any_of(profile.functions(), [&](const auto &function) {
    return profile.strings[function.name] == kernel_function;
  });
}

bool is_of_this_kernel(const StackProfile &profile, const Mapping &mapping,
                       const symbolize::KernelSymbols &symbols) {
  // Symbolization sets the bias only if it saw the process in this kernel.
  return mapping.has_bias || symbols.are_of(profile.strings[mapping.build_id], mapping.inode);
}

Error no_kernel_addresses(std::string_view why) {
  return {ErrorCode::unsupported, fmt::format("the kernel's functions cannot be named: {}", why),
          "--kernel"};
}

} // namespace

Result<StackProfile> unfold_kernel(StackProfile profile) {
  if (!has_kernel_time(profile))
    return profile;
  TALLY_TRY(symbols, symbolize::KernelSymbols::read());
  StackProfileBuilder builder(std::move(profile));
  const StackProfile &p = builder.so_far();
  std::vector<bool> known; // by MappingId: whether it holds code of this kernel
  for (const Mapping &mapping : p.mappings())
    known.push_back(p.strings[mapping.path] == kernel_object &&
                    is_of_this_kernel(p, mapping, symbols));
  if (std::ranges::find(known, true) == known.end())
    return fail(no_kernel_addresses("the profile is not known to be from the running kernel"));
  std::vector<std::vector<SourceLine>> lines(p.location_count());
  for (uint32_t i = 0; i < p.location_count(); ++i) {
    const Location at = p.location(static_cast<LocationId>(i));
    lines[i].assign(at.lines.begin(), at.lines.end());
    if (at.mapping == none<MappingId> || !known[index_of(at.mapping)] || lines[i].size() != 1 ||
        at.address == somewhere_in_kernel)
      continue;
    if (const symbolize::KernelSymbol *symbol = symbols.at(at.address)) {
      const std::string_view object = symbol->module.empty() ? kernel_object : symbol->module;
      const SourceFunctionId function =
          builder.add_function({builder.intern(symbol->name), {}, {}, builder.intern(object), 0});
      lines[i].insert(lines[i].begin(), SourceLine{function, {}, 0});
    }
  }
  const std::vector<std::span<const SourceLine>> views(lines.begin(), lines.end());
  builder.replace_lines(views);
  return builder.finish();
}

Result<CostProfile> unfold_kernel(CostProfile profile) {
  if (has_kernel_time(profile))
    return fail(no_kernel_addresses("a profile of costs does not contain their addresses"));
  return profile;
}

Result<NamedProfile> named_profile_of(const std::string &path, ReadFile file, ProgramNames names,
                                      bool keeps_coverage) {
  NamedProfile out;
  if (const auto *pcs = std::get_if<PcProfile>(&file.content))
    out.counted.emplace(*pcs);
  else if (const auto *coverage = std::get_if<Coverage>(&file.content); coverage && keeps_coverage)
    out.counted.emplace(*coverage);
  TALLY_TRY(read, profile_of(path, std::move(file), names.get()));
  out.profile = std::move(read.profile);
  out.format = read.format;
  out.names = std::move(names);
  return out;
}

Result<NamedProfile> read_named_profile(const std::string &path, Diagnostics &diagnostics,
                                        const std::string &program) {
  const auto read = [&] {
    InterruptibleWork work;
    ReadOptions reading;
    reading.cancelled = [&work] { return work.is_interrupted(); };
    return read_named_file(path, diagnostics, nullptr, reading);
  };
  TALLY_TRY(file, read());
  ProgramNames names;
  if (std::holds_alternative<PcProfile>(file.content)) {
    if (program.empty())
      warn_of_no_names(path, "their program is not known here", diagnostics);
    else
      names = ProgramNames(program, diagnostics);
  }
  return named_profile_of(path, std::move(file), std::move(names));
}

Result<Written> write_named_profile(const NamedProfile &profile, const Format &format,
                                    WriteOptions options) {
  options.names = profile.names.get();
  return profile.counted ? write_content(*profile.counted, format, options)
                         : write_profile(profile.profile, format, options);
}

} // namespace tally
