#include "transform/owner_roots.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "transform/stack_copier.h"

namespace tally {

namespace {

std::string owner_name(const StackProfile &profile, SampleOwner owner, uint32_t id) {
  if (id == none<uint32_t>)
    return owner == SampleOwner::thread ? "[no thread]" : "[no part]";
  uint64_t number = 0;
  std::string_view text;
  if (owner == SampleOwner::thread) {
    const Thread &thread = profile.threads()[static_cast<ThreadId>(id)];
    number = static_cast<uint64_t>(thread.tid);
    text = profile.strings[thread.name];
  } else {
    const Part &part = profile.parts()[static_cast<PartId>(id)];
    number = part.number;
    text = profile.strings[part.trigger];
  }
  return text.empty() ? fmt::format("{}", number) : fmt::format("{} {}", number, text);
}

} // namespace

Result<StackProfile> under_owners(const StackProfile &profile, SampleOwner owner) {
  const auto owner_of = [&](size_t row) {
    const Sample sample = profile.sample(row);
    return owner == SampleOwner::thread ? index_of(sample.thread) : index_of(sample.part);
  };
  // Sorted by owner, because StackCopier handles one root at a time.
  std::vector<size_t> rows(profile.sample_count());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::ranges::stable_sort(rows, {}, owner_of);

  StackProfileBuilder out = builder_like(profile);
  StackCopier copy(profile, out);
  std::vector<PartId> parts;
  for (Part part : profile.parts()) {
    part.trigger = copy.text(part.trigger);
    parts.push_back(out.add_part(part));
  }
  std::vector<uint32_t> new_rows(rows.size());
  StackId root = none<StackId>;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || owner_of(rows[i - 1]) != owner_of(rows[i])) {
      SourceFunction function;
      function.name = out.intern(owner_name(profile, owner, owner_of(rows[i])));
      const SourceLine line{out.add_function(function), {}, 0};
      root = out.push(none<StackId>, out.add_location(none<MappingId>, 0, std::span(&line, 1)));
      copy.put_under(root);
    }
    const Sample sample = profile.sample(rows[i]);
    new_rows[rows[i]] = out.add_sample(
        sample.stack == none<StackId> ? root : copy.stack(sample.stack), copy.thread(sample.thread),
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], sample.values);
  }
  for (SampleTime time : profile.times()) {
    time.row = new_rows[time.row];
    out.add_time(time);
  }
  out.set_times_from_ns(profile.times_from_ns);
  for (const Pass &pass : profile.passes)
    out.add_pass(copy.pass(pass));
  return out.finish();
}

} // namespace tally
