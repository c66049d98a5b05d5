// Merges files that were read, and converts one kind of content to another for writing.
#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "formats/dot/draw.h"
#include "formats/formats.h"
#include "support/gzip.h"
#include "transform/coverage_costs.h"
#include "transform/merge.h"
#include "transform/pc_costs.h"

namespace tally {

void warn_of_no_names(const std::string &path, std::string_view remedy, Diagnostics &diagnostics) {
  diagnostics.add(Severity::warning, fmt::format("holds addresses without names: {}", remedy),
                  path);
}

Result<ReadProfile> profile_of(const std::string &path, ReadFile file, const PcNames *names) {
  if (auto *profile = std::get_if<Profile>(&file.content))
    return ReadProfile{std::move(*profile), file.format};
  if (const auto *coverage = std::get_if<Coverage>(&file.content)) {
    TALLY_TRY(costs, costs_of(*coverage));
    return ReadProfile{std::move(costs), file.format};
  }
  if (const auto *pcs = std::get_if<PcProfile>(&file.content)) {
    TALLY_TRY(costs, costs_of(*pcs, names));
    return ReadProfile{std::move(costs), file.format};
  }
  return fail(ErrorCode::invalid_input,
              fmt::format("has the format {}, which holds coverage and not a profile ({})",
                          file.format->name,
                          file.format->name.starts_with("gcov")
                              ? "`tally coverage` and `tally gcov` show it"
                              : "`tally coverage` shows it"),
              path == "-" ? "<stdin>" : path);
}

Result<Profile> merge_profiles(std::vector<Profile> profiles, std::span<const std::string> names) {
  if (profiles.empty())
    return fail(ErrorCode::invalid_argument, "nothing to merge");
  std::vector<const CostProfile *> costs;
  for (const Profile &profile : profiles)
    if (const auto *cost = std::get_if<CostProfile>(&profile))
      costs.push_back(cost);
  if (costs.size() == profiles.size()) {
    TALLY_TRY(sum, merge_costs(costs, names));
    return Profile(std::move(sum));
  }
  if (!costs.empty())
    return fail(ErrorCode::invalid_input,
                "some profiles hold stacks, others only calls: they cannot be added up");
  StackProfileBuilder sum(std::move(std::get<StackProfile>(profiles[0])));
  for (size_t i = 1; i < profiles.size(); ++i)
    if (auto added = append_stacks(sum, std::get<StackProfile>(profiles[i])); !added) {
      if (added.error().source.empty() && i < names.size())
        added.error().source = names[i];
      return fail(added.error());
    }
  TALLY_TRY(all, sum.finish());
  return Profile(std::move(all));
}

namespace {

Result<Content> sum_of_counters(std::vector<ReadFile> files, std::span<const std::string> names) {
  auto &sum = std::get<std::unique_ptr<CounterFile>>(files[0].content);
  TALLY_CHECK(sum->unite());
  for (size_t i = 1; i < files.size(); ++i)
    if (auto added = sum->add(*std::get<std::unique_ptr<CounterFile>>(files[i].content)); !added) {
      if (added.error().source.empty() && i < names.size())
        added.error().source = names[i];
      return fail(added.error());
    }
  return std::move(sum);
}

Result<Content> sum_of_coverage(std::vector<ReadFile> files, Diagnostics &diagnostics) {
  CoverageSum sum(MergePolicy::lenient, diagnostics);
  for (ReadFile &file : files)
    TALLY_CHECK(sum.add(std::move(std::get<Coverage>(file.content))));
  return Content(sum.finish());
}

Result<Content> sum_of_pcs(const std::vector<ReadFile> &files, std::span<const std::string> names) {
  std::vector<const PcProfile *> profiles;
  profiles.reserve(files.size());
  for (const ReadFile &file : files)
    profiles.push_back(&std::get<PcProfile>(file.content));
  TALLY_TRY(sum, merge_pcs(profiles, names));
  return Content(std::move(sum));
}

} // namespace

Result<Content> merge_files(std::vector<ReadFile> files, std::span<const std::string> names,
                            Diagnostics &diagnostics, const PcNames *program) {
  const auto all_are = [&]<class T>(std::type_identity<T>) {
    return std::ranges::all_of(
        files, [](const ReadFile &file) { return std::holds_alternative<T>(file.content); });
  };
  if (!files.empty() && all_are(std::type_identity<std::unique_ptr<CounterFile>>()))
    return sum_of_counters(std::move(files), names);
  if (!files.empty() && all_are(std::type_identity<Coverage>()))
    return sum_of_coverage(std::move(files), diagnostics);
  if (!files.empty() && all_are(std::type_identity<PcProfile>()))
    return sum_of_pcs(files, names);
  std::vector<Profile> profiles;
  for (size_t i = 0; i < files.size(); ++i) {
    TALLY_TRY(read, profile_of(i < names.size() ? names[i] : "", std::move(files[i]), program));
    profiles.push_back(std::move(read.profile));
  }
  TALLY_TRY(sum, merge_profiles(std::move(profiles), names));
  return Content(std::move(sum));
}

namespace {

// Writes the costs of `stacks`, or of one part of them, and adds what this conversion loses to
// `lost`. If `only_part` is none, writes all parts.
Result<Written> write_as_costs(const StackProfile &stacks, const Format &format,
                               const WriteOptions &options, PartId only_part) {
  TALLY_TRY(costs, aggregate(stacks, {.only_part = only_part, .line_in_each_file = true}));
  TALLY_TRY(written, format.write_costs(costs, options));
  written.lost.push_back("whole stacks (calls from function to function are written)");
  if (stacks.threads().size() > 1)
    written.lost.push_back("the thread of each sample");
  return written;
}

// Adds what the conversion loses to the list of losses, before what the format itself cannot hold.
Result<Written> with_lost(std::vector<std::string> lost, Result<Written> written) {
  if (written)
    written->lost.insert(written->lost.begin(), lost.begin(), lost.end());
  return written;
}

template <class AnyProfile>
Result<Written> write_as_pcs(const AnyProfile &profile, const Format &format,
                             const WriteOptions &options) {
  TALLY_TRY(pcs, to_pc_profile(profile));
  return with_lost(std::move(pcs.lost), format.write_pcs(pcs.profile, options));
}

Result<Written> not_for_profiles(const Format &format) {
  return fail(ErrorCode::unsupported,
              fmt::format("the format {} {}", format.name,
                          format.write_coverage ? "holds coverage, but this is a profile"
                                                : "can be read, but not written"));
}

// Writes counts of addresses. If the format holds functions, writes the costs of the functions.
Result<Written> write_pcs(const PcProfile &pcs, const Format &format, const WriteOptions &options) {
  if (format.write_pcs)
    return format.write_pcs(pcs, options);
  TALLY_TRY(costs, costs_of(pcs, options.names));
  std::vector<std::string> lost{"addresses and the length of a tick"};
  if (!pcs.arcs().empty() && format.write_costs)
    lost.emplace_back("unmeasured costs of calls (written as 0)");
  if (!pcs.blocks().empty())
    lost.push_back(fmt::format("counts of {} basic blocks", pcs.blocks().size()));
  return with_lost(std::move(lost), write_profile(costs, format, options));
}

} // namespace

Result<Written> write_profile(const StackProfile &profile, const Format &format,
                              const WriteOptions &options) {
  if (format.write_pcs)
    return write_as_pcs(profile, format, options);
  if (format.write_stacks)
    return format.write_stacks(profile, options);
  if (!format.write_costs)
    return not_for_profiles(format);
  TALLY_TRY(written, write_as_costs(profile, format, options, none<PartId>));
  if (profile.parts().size() > 1)
    written.lost.push_back("the parts (their sum is written; --parts keeps them)");
  return written;
}

Result<Written> write_profile(const CostProfile &profile, const Format &format,
                              const WriteOptions &options) {
  if (format.write_pcs)
    return write_as_pcs(profile, format, options);
  if (format.write_stacks)
    return fail(ErrorCode::unsupported,
                fmt::format("the format {} holds stacks, and this profile has only calls: an "
                            "inclusive call is not a stack",
                            format.name));
  return format.write_costs ? format.write_costs(profile, options) : not_for_profiles(format);
}

Result<Written> write_profile(const Profile &profile, const Format &format,
                              const WriteOptions &options) {
  return std::visit([&](const auto &each) { return write_profile(each, format, options); },
                    profile);
}

Result<Written> write_coverage(const Coverage &coverage, const Format &format,
                               const WriteOptions &options) {
  if (format.write_coverage)
    return format.write_coverage(coverage, options);
  if (!format.write_costs || !format.holds_lines)
    return fail(ErrorCode::unsupported,
                fmt::format("the format {} does not hold coverage", format.name));
  TALLY_TRY(costs, costs_of(coverage));
  TALLY_TRY(written, format.write_costs(costs, options));
  if (totals_of(coverage).branches > 0)
    written.lost.push_back("branches (the counts of lines and functions are written)");
  return written;
}

Result<Written> write_content(const Content &content, const Format &format,
                              const WriteOptions &options) {
  if (const auto *profile = std::get_if<Profile>(&content))
    return write_profile(*profile, format, options);
  if (const auto *coverage = std::get_if<Coverage>(&content))
    return write_coverage(*coverage, format, options);
  if (const auto *pcs = std::get_if<PcProfile>(&content))
    return write_pcs(*pcs, format, options);
  if (!format.read_counters)
    return fail(ErrorCode::unsupported,
                fmt::format("counters cannot be written as {}: `tally coverage` converts them to "
                            "lines",
                            format.name));
  const CounterFile &counters = *std::get<std::unique_ptr<CounterFile>>(content);
  TALLY_TRY(bytes, counters.bytes());
  if (!format.writes_counters())
    return fail(ErrorCode::unsupported, fmt::format("the format {} is only read: write {}",
                                                    format.name, format.sum_format));
  return Written{std::move(bytes), counters.lost()};
}

Result<void> write_file(const std::string &path, const Format &format, const Written &written,
                        OutputName name) {
  if (dot::is_drawn(format, path)) {
    auto picture = dot::png_of(written.bytes);
    if (!picture) {
      picture.error().source = path;
      return fail(std::move(picture.error()));
    }
    TALLY_CHECK(write_file(path, *picture, name));
    return {};
  }
  if (format.gzip != Gzip::by_name || !path.ends_with(".gz")) {
    TALLY_CHECK(write_file(path, written.bytes, name));
    return {};
  }
  TALLY_TRY(packed, gzip_packed(written.bytes));
  TALLY_CHECK(write_file(path, packed, name));
  return {};
}

Result<std::vector<Written>> write_parts(const StackProfile &profile, const Format &format,
                                         const WriteOptions &options) {
  if (!format.write_costs || !format.holds_lines)
    return fail(ErrorCode::unsupported,
                fmt::format("the format {} does not support one file for each part", format.name),
                "--parts");
  if (profile.parts().size() == 0)
    return fail(ErrorCode::no_data, "the profile is not divided into parts", "--parts");
  std::vector<Written> files;
  for (uint32_t i = 0; i < profile.parts().size(); ++i) {
    TALLY_TRY(written, write_as_costs(profile, format, options, static_cast<PartId>(i)));
    files.push_back(std::move(written));
  }
  return files;
}

} // namespace tally
