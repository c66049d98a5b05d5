#include "coverage_collect/source_based.h"

#include <algorithm>
#include <elf.h>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include <tally/file_io.h>

#include "coverage/llvm_coverage.h"
#include "coverage_collect/counter_paths.h"

namespace tally {

namespace {

Result<llvm::ReadProfile> read_profile(const std::string &path) {
  TALLY_TRY(source, ByteSource::open(path));
  TALLY_TRY(bytes, source->rest());
  llvm::ReadProfile out;
  out.path = path;
  out.is_indexed = llvm::is_indexed_profile(bytes);
  TALLY_TRY(profile, out.is_indexed ? llvm::read_indexed_profile(bytes, path)
                                    : llvm::read_raw_profile(bytes, path));
  out.profile = std::move(profile);
  return out;
}

// Returns whether the file is a program or a shared library.
bool is_linked(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(EI_NIDENT + sizeof(Elf64_Half), '\0');
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size())) ||
      !head.starts_with(ELFMAG))
    return false;
  const bool is_big_endian = head[EI_DATA] == ELFDATA2MSB;
  const auto type = static_cast<unsigned char>(head[EI_NIDENT + (is_big_endian ? 1 : 0)]);
  return type == ET_EXEC || type == ET_DYN;
}

// Returns the objects in directories that one of the profiles may belong to.
Result<std::vector<llvm::CoverageObject>> objects_below(const std::vector<std::string> &folders,
                                                        const std::set<std::string> &build_ids,
                                                        Diagnostics &diagnostics) {
  std::vector<llvm::CoverageObject> out;
  for (const std::string &folder : folders) {
    TALLY_TRY(files, files_below(
                         folder, [](std::string_view) { return true; }, diagnostics));
    for (const std::string &path : files) {
      if (!is_linked(path))
        continue;
      Diagnostics findings;
      for (llvm::CoverageObject &object : llvm::CoverageObject::read(path, findings))
        if (build_ids.empty() || object.build_id().empty() ||
            build_ids.contains(object.build_id())) {
          diagnostics.append(findings);
          out.push_back(std::move(object));
        }
    }
  }
  return out;
}

} // namespace

bool is_source_profile(std::string_view head) {
  return llvm::is_raw_profile(head) || llvm::is_indexed_profile(head);
}

bool is_object_file(std::string_view head) {
  return head.starts_with(ELFMAG) || head.starts_with("!<arch>\n");
}

Result<SourceBasedCoverage>
collect_source_based(const SourceBasedInputs &inputs,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     MergePolicy policy, Diagnostics &diagnostics) {
  std::vector<llvm::ReadProfile> profiles;
  std::set<std::string> build_ids;
  bool all_have_ids = true;
  for (const std::string &path : inputs.profiles) {
    // A program that is killed while it writes leaves a truncated profile.
    auto profile = read_profile(path);
    if (!profile) {
      const Error &error = profile.error();
      if (policy == MergePolicy::strict || (profiles.empty() && &path == &inputs.profiles.back()))
        return fail(error);
      diagnostics.add(Severity::warning, error.message + ": the profile is left out", error.source,
                      error.where);
      continue;
    }
    for (const llvm::ProfileImage &image : profile->profile.images) {
      build_ids.insert(image.build_ids.begin(), image.build_ids.end());
      all_have_ids &= !image.build_ids.empty();
    }
    profiles.push_back(std::move(*profile));
  }
  std::vector<llvm::CoverageObject> objects;
  for (const std::string &path : inputs.objects) {
    std::vector<llvm::CoverageObject> read = llvm::CoverageObject::read(path, diagnostics);
    if (read.empty())
      diagnostics.add(Severity::warning,
                      "has no mapping of coverage: was it compiled with -fcoverage-mapping?", path);
    std::ranges::move(read, std::back_inserter(objects));
  }
  TALLY_TRY(more, objects_below(inputs.folders, all_have_ids ? build_ids : std::set<std::string>(),
                                diagnostics));
  std::ranges::move(more, std::back_inserter(objects));
  if (objects.empty())
    return fail(ErrorCode::no_data,
                "no program or library with a mapping of coverage belongs to this profile: name it "
                "by --object",
                inputs.profiles.front());
  for (const llvm::CoverageObject &object : objects)
    build_ids.erase(object.build_id());
  const bool all_known = std::ranges::none_of(
      objects, [](const llvm::CoverageObject &object) { return object.build_id().empty(); });
  if (all_known)
    for (const std::string &id : build_ids)
      diagnostics.add(
          Severity::warning,
          fmt::format("the object with the build id {} is missing: name it by --object", id),
          inputs.profiles.front(), {}, "missing object");
  SourceBasedCoverage out;
  out.coverage = llvm::coverage_of(objects, std::move(profiles), path_of, diagnostics);
  for (const llvm::CoverageObject &object : objects)
    out.objects.push_back(object.name());
  return out;
}

} // namespace tally
