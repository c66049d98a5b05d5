#include <tally/named_profile.h>

#include <chrono>

#include <tally/unwinder.h>

namespace tally {

Result<StackProfile> name_all(StackProfile raw, Symbolization::Processes processes,
                              Diagnostics &diagnostics, const NamingProgress &progress) {
  const auto symbolizer = make_symbolizer();
  Symbolization names(std::move(raw), *symbolizer, diagnostics, processes);
  while (!names.step(std::chrono::milliseconds(500)))
    if (progress)
      progress(names.done(), names.total());
  symbolizer->save_cache();
  return names.finish();
}

Result<ReadFile> read_named_file(const std::string &path, Diagnostics &diagnostics,
                                 const Format *from, const ReadOptions &options,
                                 const NamingProgress &progress) {
  const auto unwinder = make_unwinder();
  TALLY_TRY(file, read_file(path, diagnostics, from, options, unwinder.get()));
  if (file.format->read_addresses) {
    auto &profile = std::get<Profile>(file.content);
    TALLY_TRY(named, name_all(std::move(std::get<StackProfile>(profile)),
                              Symbolization::Processes::gone, diagnostics, progress));
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

Result<NamedProfile> read_named_profile(const std::string &path, Diagnostics &diagnostics,
                                        const std::string &program) {
  TALLY_TRY(file, read_named_file(path, diagnostics));
  NamedProfile out;
  ProgramNames names;
  if (auto *pcs = std::get_if<PcProfile>(&file.content)) {
    out.pcs = *pcs;
    if (program.empty())
      warn_of_no_names(path, "they are of no program that is known here", diagnostics);
    else
      names = ProgramNames(program, diagnostics);
  }
  TALLY_TRY(read, profile_of(path, std::move(file), names.get()));
  out.profile = std::move(read.profile);
  out.format = read.format;
  return out;
}

} // namespace tally
