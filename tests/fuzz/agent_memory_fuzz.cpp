// Writes to the memory of an agent as any program that is sampled can, and reads it meanwhile. The
// reader ends, counts no more ticks than there can have been, and what was counted is a valid
// profile.
#include <algorithm>
#include <cstring>

#include "../support/agent_view.h"
#include "collect/agent_memory.h"
#include "collect/agent_sink.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::agent_memory_fuzz {

namespace {

// The steps of the program. All numbers are in the order of this machine.
enum : uint8_t {
  words_of_ring,  // slot, count (16 bits), words: appends them to the slot's ring
  word_of_header, // offset / 8 (16 bits), word
  head_of_slot,   // slot, word
  drain,
  steps
};

struct Input {
  const uint8_t *data;
  size_t size;

  template <class T> T take() {
    T value{};
    const size_t some = std::min(size, sizeof value);
    std::memcpy(&value, data, some);
    data += some;
    size -= some;
    return value;
  }
};

SamplerOptions options_of(uint8_t how) {
  SamplerOptions options;
  options.stacks = how & 1 ? StackMode::fp : StackMode::none;
  if (how & 2) {
    options.stacks = StackMode::dwarf;
    options.unwinder = make_unwinder({});
  }
  return options;
}

void write(AgentView &view, uint8_t step, Input &input, uint32_t slots, uint32_t ring_bytes) {
  view.header().slots = slots; // where the program finds its own rings
  view.header().ring_bytes = ring_bytes;
  if (step == words_of_ring) {
    const uint32_t slot = input.take<uint8_t>() % slots;
    const std::span<uint64_t> ring = view.ring(slot);
    uint64_t &head = view.slot(slot).head;
    for (uint32_t left = input.take<uint16_t>(); left != 0 && input.size != 0; --left) {
      ring[head / sizeof(uint64_t) % ring.size()] = input.take<uint64_t>();
      head += sizeof(uint64_t);
    }
  } else if (step == word_of_header) {
    const size_t at = input.take<uint16_t>() % (sizeof(tally_wire_header) / sizeof(uint64_t));
    reinterpret_cast<uint64_t *>(&view.header())[at] = input.take<uint64_t>();
  } else if (step == head_of_slot) {
    const uint32_t slot = input.take<uint8_t>() % slots;
    view.slot(slot).head = input.take<uint64_t>();
  }
}

} // namespace

FUZZ_TARGET(agent_memory) {
  Input input{data, size};
  const SamplerOptions options = options_of(input.take<uint8_t>());
  auto memory = AgentMemory::make(options);
  require(memory.has_value(), "a memory");
  AgentView view(memory->variable());
  const uint32_t slots = view.header().slots;
  AgentSink sink(1, 1'000'000, options, [] { return false; });
  sink.collector().map({0x1000, 0x2000, 0, 1, 1, "/proc/self/exe"});
  sink.collector().map({0x5000, 0x6000, 0, 1, 2, "/nowhere"});
  while (input.size != 0) {
    const auto step = static_cast<uint8_t>(input.take<uint8_t>() % steps);
    write(view, step, input, slots, memory->ring_bytes());
    if (step != drain && input.size != 0)
      continue;
    const bool was_overwritten = memory->is_overwritten();
    sink.begin_round();
    memory->drain([&](const AgentRecord &record) {
      require(!was_overwritten, "nothing is read after a lie");
      return sink.handle(record);
    });
    require(sink.ticks() + sink.outside() <= memory->most_ticks(), "no more ticks than time");
  }
  const auto profile = sink.collector().snapshot("now", 0, 1);
  require(profile.has_value(), "a profile");
  require(validate(*profile).has_value(), "a valid profile");
  return 0;
}

} // namespace tally::agent_memory_fuzz
