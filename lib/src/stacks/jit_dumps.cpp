#include "stacks/jit_dumps.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/clock.h"

namespace tally {

void JitDumps::open(int pid, const CodeRange &mapping) {
  constexpr size_t most_dumps = 16; // a process has one
  if (file_systems_.may_not_answer(pid, mapping.device, mapping.path))
    return;
  for (const std::string &path :
       {fmt::format("/proc/{}/root{}", pid, mapping.path), mapping.path}) {
    auto file = JitDump::open(path, JitDump::Names::skipped);
    if (!file || (mapping.inode != 0 ? file->inode() != mapping.inode : file->pid() != pid))
      continue;
    const auto known = std::ranges::find_if(dumps_, [&](const Dump &dump) {
      return dump.file.inode() == file->inode() && dump.file.device() == file->device();
    });
    if (known == dumps_.end() && dumps_.size() < most_dumps)
      dumps_.push_back({std::move(*file), mapping, 0, {}});
    return;
  }
}

void JitDumps::advance_all(uint64_t time, AddressSpace &space) {
  for (Dump &dump : dumps_) {
    // The file has nothing newer than its last reading.
    if (time > dump.read_at) {
      dump.read_at = now_ns();
      dump.file.read([&](JitCode code) { dump.pending.push_back(std::move(code)); });
    }
    while (!dump.pending.empty() &&
           (dump.pending.front().time <= time || !dump.file.is_monotonic())) {
      const JitCode &code = dump.pending.front();
      CodeRange range = dump.mapping;
      range.start = code.address;
      range.limit = code.address + code.size;
      range.file_offset = code.file_offset;
      range.is_jit = true;
      space.map_code(range);
      dump.pending.pop_front();
    }
  }
}

} // namespace tally
