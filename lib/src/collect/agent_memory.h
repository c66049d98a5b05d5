// The memory that an agent inside a program writes, seen from outside. Whatever it holds is a
// stranger's word: every record is copied before it is looked at, no count in it sizes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include <tally/result.h>
#include <tally/sampler.h>

#include "agent/wire.h"
#include "collect/perf_events.h"
#include "support/unique_fd.h"

namespace tally {

struct AgentRecord {
  uint32_t kind = 0; // tally_wire_kind
  int32_t tid = 0;
  uint32_t weight = 0; // ticks; not 0
  uint64_t at_ns = 0;  // by CLOCK_MONOTONIC
  std::span<const uint64_t> words;
};

// Takes the next record off `words`. False: there is none, or what follows is damaged; then `words`
// is empty and `bad` counted up.
bool next_agent_record(std::span<const uint64_t> &words, AgentRecord &record, uint64_t &bad);

// Two signals in three are likely to be nobody's: not the real-time ones that libc and programs
// take from below, nor the last, which emulators take.
std::vector<int> agent_signals();

class AgentMemory {
public:
  // Slots and the size of rings by what they must hold between two looks of the reader.
  static Result<AgentMemory> make(const SamplerOptions &options);
  // Another memory under the same descriptor's number, so under the same name.
  Result<void> renew();

  AgentMemory() = default;
  AgentMemory(AgentMemory &&other) noexcept { *this = std::move(other); }
  AgentMemory &operator=(AgentMemory &&other) noexcept;
  ~AgentMemory() { release(); }

  // "TALLY_AGENT=/proc/PID/fd/N"
  std::string variable() const;
  tally_wire_header &header() { return *static_cast<tally_wire_header *>(map_); }
  const tally_wire_header &header() const { return *static_cast<const tally_wire_header *>(map_); }
  uint64_t bytes() const { return bytes_; }
  uint32_t ring_bytes() const { return ring_bytes_; }
  void release();

  // Calls handle(record) for what was written since the last call, thread by thread. Returns the
  // largest share of a ring that was waiting, in bytes.
  template <class Handle> size_t drain(Handle &&handle) {
    size_t most = 0;
    for (uint32_t slot = 0; slot < slots_; ++slot) {
      std::span<const uint64_t> words = take(slot);
      most = std::max(most, words.size_bytes());
      AgentRecord record;
      while (next_agent_record(words, record, bad_))
        handle(record);
    }
    return most;
  }
  uint64_t bad_records() const { return bad_; }

private:
  std::span<const uint64_t> take(uint32_t slot);
  Result<void> make_anew();

  SamplerOptions options_;
  UniqueFd fd_;
  void *map_ = nullptr;
  uint64_t bytes_ = 0;
  uint32_t slots_ = 0;
  uint32_t ring_bytes_ = 0;
  uint64_t bad_ = 0;
  std::vector<uint64_t> tails_; // what was read, a slot each
  std::vector<uint64_t> copy_;  // of one ring's news
};

} // namespace tally
