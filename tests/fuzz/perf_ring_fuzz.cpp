// Reads arbitrary bytes as the kernel's rings, with the layouts that the samplers ask for. Reading
// ends, the tails reach the heads, and what was counted is a valid profile.
#include <array>
#include <cstring>
#include <vector>

#include "collect/perf_ring.h"
#include "collect/sample_sink.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::perf_ring_fuzz {

namespace {

constexpr size_t ring_bytes = 4096;
constexpr uint64_t always =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

struct Ring {
  perf_event_mmap_page page{};
  alignas(8) std::array<std::byte, ring_bytes> data{};
};

} // namespace

// The first byte chooses the layout, the next two where the rings begin; the rest is shared by two
// rings.
FUZZ_TARGET(perf_ring) {
  if (size < 3)
    return 0;
  const unsigned how = data[0];
  PerfLayout layout{.sample_type = always, .sample_id_all = true};
  SamplerOptions options;
  options.stacks = StackMode::none;
  if (how & 1) {
    layout.sample_type |= PERF_SAMPLE_CALLCHAIN;
    options.stacks = StackMode::fp;
  }
  if (how & 2) {
    layout.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    layout.regs_user = 0xff0fff; // those of x86-64 with a number of DWARF
    options.stacks = StackMode::dwarf;
    options.unwinder = make_unwinder({});
  }
  options.children = (how & 4) != 0;
  SampleSink sink(100, 1'000'000, options, layout);
  sink.collector().map({0x1000, 0x2000, 0, 1, 1, "/proc/self/exe"});

  std::array<Ring, 2> rings;
  std::vector<PerfRing> readers;
  const uint8_t *from = data + 3;
  size_t left = size - 3;
  for (size_t i = 0; i < rings.size(); ++i) {
    const size_t some = std::min(i == 0 ? left / 2 : left, ring_bytes) / 8 * 8;
    const size_t begin = size_t{data[1 + i]} * 8;
    for (size_t k = 0; k < some; ++k)
      rings[i].data[(begin + k) % ring_bytes] = static_cast<std::byte>(from[k]);
    rings[i].page.data_tail = begin;
    rings[i].page.data_head = begin + some;
    from += some;
    left -= some;
    readers.emplace_back(&rings[i].page, std::span(rings[i].data));
  }
  PerfMerge merge;
  for (const uint64_t newest : {uint64_t{1000}, PerfMerge::everything})
    merge.run(readers, layout, newest, [&](const PerfRecord &record) { sink.handle(record); });
  require(!merge.held_back(), "all records were read");
  for (const Ring &ring : rings)
    require(ring.page.data_tail == ring.page.data_head, "the kernel has its space again");
  sink.finish(2'000'000'000);
  const auto profile = sink.collector().snapshot("now", 0, 1);
  require(profile.has_value(), "a profile");
  require(validate(*profile).has_value(), "a valid profile");
  return 0;
}

} // namespace tally::perf_ring_fuzz
