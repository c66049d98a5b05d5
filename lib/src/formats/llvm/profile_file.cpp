#include "formats/llvm/profile_file.h"

#include <algorithm>
#include <iterator>

#include "formats/llvm/coverage_mapping.h"
#include "formats/llvm/indexed_writer.h"

namespace tally::llvm {

ProfileFile::ProfileFile(SourceProfile profile, std::string bytes, std::string name)
    : read_(std::move(profile)), bytes_(read_.is_indexed ? std::move(bytes) : std::string()),
      name_(std::move(name)) {}

Result<std::string> ProfileFile::bytes() const {
  if (is_summed_)
    return write_indexed_profile(sum_.profile());
  if (!read_.is_indexed)
    return fail(ErrorCode::unsupported,
                "raw profiles are only read: `tally merge` writes an indexed one", name_);
  return bytes_;
}

std::vector<std::string> ProfileFile::lost() const {
  return is_summed_ ? sum_.lost() : std::vector<std::string>();
}

Result<void> ProfileFile::sum() {
  if (is_summed_)
    return {};
  if (auto added = sum_.add(read_); !added) {
    added.error().source = name_;
    return added;
  }
  is_summed_ = true;
  read_ = {};
  bytes_.clear();
  return {};
}

Result<void> ProfileFile::unite() { return read_.is_indexed ? Result<void>() : sum(); }

Result<void> ProfileFile::add(const CounterFile &other) {
  const auto *profile = dynamic_cast<const ProfileFile *>(&other);
  if (!profile)
    return fail(ErrorCode::invalid_input, "is not a profile of source-based coverage");
  TALLY_CHECK(sum());
  return sum_.add(profile->is_summed_ ? profile->sum_.profile() : profile->read_);
}

Result<void> ProfileFile::zero() {
  if (!is_summed_ && !read_.is_indexed)
    return fail(ErrorCode::unsupported,
                "raw profiles are not written: remove the file to reset the counters", name_);
  TALLY_CHECK(sum());
  sum_.zero();
  return {};
}

Result<void> ProfileFile::correlate(std::span<const std::string> objects,
                                    Diagnostics &diagnostics) {
  if (std::ranges::none_of(read_.images, &ProfileImage::is_correlated))
    return {};
  std::vector<CoverageObject> all;
  for (const std::string &path : objects)
    std::ranges::move(CoverageObject::read(path, diagnostics), std::back_inserter(all));
  for (ProfileImage &image : read_.images) {
    if (!image.is_correlated)
      continue;
    const auto object = std::ranges::find_if(all, [&](const CoverageObject &each) {
      return each.correlates(image) &&
             (image.build_ids.empty() || each.build_id().empty() ||
              std::ranges::find(image.build_ids, each.build_id()) != image.build_ids.end());
    });
    if (object == all.end())
      return fail(ErrorCode::invalid_input,
                  "has counters without names, and no object has their names", name_);
    TALLY_TRY(records, object->correlate(image));
    image.records = std::move(records);
    image.is_correlated = false;
    for (const MappingRecord &record : object->records())
      if (const std::string_view function = object->name_of(record); !function.empty())
        image.names.try_emplace(record.name_hash, function);
  }
  return {};
}

namespace {

using ProfileReader = Result<SourceProfile>(std::string_view, const std::string &, ProfileDetail);

Result<std::unique_ptr<CounterFile>> read_profile_file(ByteSource &source, ProfileReader &read) {
  TALLY_TRY(bytes, source.rest());
  if (bytes.empty())
    return fail(ErrorCode::no_data, "is empty", source.name());
  TALLY_TRY(profile, read(bytes, source.name(), ProfileDetail::everything));
  return std::make_unique<ProfileFile>(std::move(profile), std::move(bytes), source.name());
}

} // namespace

Result<std::unique_ptr<CounterFile>> read_raw_file(ByteSource &source, Diagnostics &) {
  return read_profile_file(source, read_raw_profile);
}

Result<std::unique_ptr<CounterFile>> read_indexed_file(ByteSource &source, Diagnostics &) {
  return read_profile_file(source, read_indexed_profile);
}

} // namespace tally::llvm
