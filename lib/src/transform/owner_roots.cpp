#include "transform/owner_roots.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "support/sort.h"
#include "transform/stack_copier.h"

namespace tally {

namespace {

// Returns the owners of the threads if those are processes: one for each name, and for each process
// without a name. Each is represented by its first thread.
std::vector<uint32_t> process_owners(const StackProfile &profile) {
  std::map<std::pair<StringId, int32_t>, uint32_t> first;
  std::vector<uint32_t> out;
  for (const Thread &thread : profile.threads()) {
    const bool is_named = !profile.strings[thread.process].empty();
    out.push_back(first
                      .try_emplace({thread.process, is_named ? 0 : thread.pid},
                                   static_cast<uint32_t>(out.size()))
                      .first->second);
  }
  return out;
}

std::string owner_name(const StackProfile &profile, SampleOwner owner, uint32_t id) {
  if (id == none<uint32_t>)
    return owner == SampleOwner::thread    ? "[no thread]"
           : owner == SampleOwner::process ? "[no process]"
                                           : "[no part]";
  uint64_t number = 0;
  std::string_view text;
  if (owner == SampleOwner::part) {
    const Part &part = profile.parts()[static_cast<PartId>(id)];
    number = part.number;
    text = profile.strings[part.trigger];
  } else {
    const Thread &thread = profile.threads()[static_cast<ThreadId>(id)];
    const bool is_process = owner == SampleOwner::process;
    number = static_cast<uint64_t>(is_process ? thread.pid : thread.tid);
    text = profile.strings[is_process ? thread.process : thread.name];
    if (is_process && !text.empty())
      return std::string(text);
  }
  return text.empty() ? fmt::format("{}", number) : fmt::format("{} {}", number, text);
}

} // namespace

bool names_processes(const StackProfile &profile) {
  return std::ranges::any_of(profile.threads(), [&](const Thread &thread) {
    return !profile.strings[thread.process].empty();
  });
}

bool has_named_processes(const StackProfile &profile) {
  std::set<int32_t> pids;
  for (const Thread &thread : profile.threads())
    pids.insert(thread.pid);
  return pids.size() > 1 && names_processes(profile);
}

Result<StackProfile> under_owners(const StackProfile &profile, SampleOwner owner) {
  const std::vector<uint32_t> processes =
      owner == SampleOwner::process ? process_owners(profile) : std::vector<uint32_t>();
  const auto owner_of = [&](size_t row) {
    const Sample sample = profile.sample(row);
    if (owner == SampleOwner::part)
      return index_of(sample.part);
    return owner == SampleOwner::thread || sample.thread == none<ThreadId>
               ? index_of(sample.thread)
               : processes[index_of(sample.thread)];
  };
  // Sorted by owner, because StackCopier handles one root at a time.
  std::vector<size_t> rows(profile.sample_count());
  std::iota(rows.begin(), rows.end(), size_t{0});
  sort_stably(rows, {}, owner_of);

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
