#include "join/profile_files.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/path.h"

namespace tally {

Result<ProgramNames> program_names(const std::string &program, Diagnostics &diagnostics) {
  if (program.empty())
    return ProgramNames();
  std::error_code fault;
  const std::string path = std::filesystem::canonical(program, fault).string();
  if (fault || ::access(path.c_str(), R_OK) != 0)
    return fail_errno(fault ? fault.value() : errno, "cannot read", program);
  return ProgramNames(path, diagnostics);
}

Result<ProgramNames> names_of_pcs(const std::string &path, const std::string &program,
                                  std::string_view remedy, Diagnostics &diagnostics) {
  TALLY_TRY(names, program_names(program, diagnostics));
  if (!names.get())
    warn_of_no_names(path, remedy, diagnostics);
  return names;
}

Result<NamedProfile> named_profile_with(const std::string &path, ReadFile file,
                                        const std::string &program, std::string_view remedy,
                                        Diagnostics &diagnostics, bool keeps_coverage) {
  if (!std::holds_alternative<PcProfile>(file.content))
    return named_profile_of(path, std::move(file), {}, keeps_coverage);
  TALLY_TRY(names, names_of_pcs(path, program, remedy, diagnostics));
  return named_profile_of(path, std::move(file), std::move(names));
}

Result<void> check_costs(const Profile &profile, const std::string &path) {
  const auto *costs = std::get_if<CostProfile>(&profile);
  if (costs && costs->cost_count() == 0 && costs->call_count() == 0)
    return fail(ErrorCode::no_data, "holds no costs", path);
  return {};
}

namespace {

// Calls `change` with the profile of either kind.
template <class Given, class Change> Result<Profile> changed(Given &profile, const Change &change) {
  return std::visit(
      [&](auto &each) -> Result<Profile> {
        TALLY_TRY(made, change(each));
        return Profile(std::move(made));
      },
      profile);
}

Result<Profile> filtered(const Profile &profile, const SampleFilter &wanted,
                         const std::string &path) {
  return about(path,
               changed(profile, [&](const auto &each) { return filter_samples(each, wanted); }));
}

} // namespace

Result<Profile> select_from(Profile &&profile, const Selection &wanted, const std::string &path) {
  const SampleFilter first =
      wanted.unfolds_kernel ? wanted.samples.without_patterns() : wanted.samples;
  if (!first.takes_all()) {
    TALLY_TRY(some, filtered(profile, first, path));
    profile = std::move(some);
  }
  if (wanted.unfolds_kernel) {
    TALLY_TRY(unfolded,
              changed(profile, [](auto &each) { return unfold_kernel(std::move(each)); }));
    profile = std::move(unfolded);
    if (!wanted.samples.takes_all_frames())
      return filtered(profile, wanted.samples.only_patterns(), path);
  }
  return std::move(profile);
}

Result<Profile> select_from(const Profile &profile, const Selection &wanted,
                            const std::string &path) {
  const SampleFilter first =
      wanted.unfolds_kernel ? wanted.samples.without_patterns() : wanted.samples;
  if (first.takes_all())
    return select_from(Profile(profile), wanted, path);
  TALLY_TRY(some, filtered(profile, first, path));
  if (!wanted.unfolds_kernel)
    return some;
  return select_from(std::move(some), {wanted.samples.only_patterns(), true}, path);
}

bool is_empty_beside_threads(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 &&
         ::access((path + "-01").c_str(), R_OK) == 0;
}

Result<ReadFiles> read_files(std::span<const std::string> paths, bool one_format,
                             const FileReader &read,
                             const std::function<void(const Error &)> &skipped) {
  ReadFiles all;
  for (const std::string &path : paths) {
    auto file = read(path);
    if (!file && paths.size() > 1 && is_empty_beside_threads(path)) {
      skipped(file.error());
      continue;
    }
    if (!file)
      return fail(file.error());
    if (!all.format)
      all.format = file->format;
    if (one_format && &sum_format_of(*file->format) != &sum_format_of(*all.format))
      return fail(ErrorCode::invalid_input,
                  fmt::format("is {}, but {} is {}: only files of one format are merged",
                              file->format->name, paths[0], all.format->name),
                  path);
    all.files.push_back(std::move(*file));
    all.paths.push_back(path);
  }
  if (all.files.empty())
    return fail(ErrorCode::no_data, "all files are empty");
  return all;
}

Result<Content> sum_of(ReadFiles all, const std::string &program, Diagnostics &diagnostics) {
  TALLY_TRY(names, program_names(program, diagnostics));
  return merge_files(std::move(all.files), all.paths, diagnostics, names.get());
}

Result<Content> content_to_convert(ReadFiles all, const Format &to, const std::string &program,
                                   Diagnostics &diagnostics) {
  for (size_t i = 0; i < all.files.size(); ++i)
    if (std::holds_alternative<std::unique_ptr<CounterFile>>(all.files[i].content) &&
        all.files[i].format != &to && &sum_format_of(*all.files[i].format) != &to)
      return fail(profile_of(all.paths[i], std::move(all.files[i])).error());
  const bool is_read_only = !all.files[0].format->sum_format.empty();
  if (all.files.size() == 1 && !is_read_only)
    return std::move(all.files[0].content);
  return sum_of(std::move(all), program, diagnostics);
}

bool needs_names(const Content &content, const Format &to) {
  return std::holds_alternative<PcProfile>(content) && !to.write_pcs;
}

Result<void> check_output_name(const std::string &path, const Format &format) {
  const size_t size = unpacked_name(path).size();
  if (size < path.size() && !(format.gzip != Gzip::never && path.ends_with(".gz")))
    return fail(ErrorCode::invalid_argument,
                fmt::format("output is not compressed: remove {} from the name, or write to - and "
                            "compress that",
                            path.substr(size)),
                path);
  const Format *const named = format_by_file_name(path);
  if (named && named != &format && &sum_format_of(*named) == &format)
    return fail(ErrorCode::invalid_argument,
                fmt::format("is the name of a {} file, which cannot be written: the result is {} "
                            "({})",
                            named->name, format.name, format.file_names.front()),
                path);
  return {};
}

} // namespace tally
