// The shared memory that an agent inside a program writes, as seen by the debugger. Its content is
// not trusted: every record is copied before it is examined, and no count in it determines a size.
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

// Removes the next record from `words` and stores it in `record`. Returns false if there is none,
// or if the words that follow are damaged; in the latter case `words` becomes empty and `bad` is
// incremented.
bool next_agent_record(std::span<const uint64_t> &words, AgentRecord &record, uint64_t &bad);

// Returns the three signals that the agent tries, in this order. Two of them are probably unused:
// libc and programs take real-time signals from the low end, and emulators take the last one.
std::vector<int> agent_signals();

class AgentMemory {
public:
  // Creates the memory. The number of slots and the size of the rings are sufficient for what
  // threads write between two reads of the reader.
  static Result<AgentMemory> make(const SamplerOptions &options);
  // Replaces the memory by a new one under the same descriptor number, thus under the same name.
  Result<void> renew();

  AgentMemory() = default;
  AgentMemory(AgentMemory &&other) noexcept { *this = std::move(other); }
  AgentMemory &operator=(AgentMemory &&other) noexcept;
  ~AgentMemory() { release(); }

  // Returns the environment variable that names the memory: "TALLY_AGENT=/proc/PID/fd/N".
  std::string variable() const;
  tally_wire_header &header() { return *static_cast<tally_wire_header *>(map_); }
  const tally_wire_header &header() const { return *static_cast<const tally_wire_header *>(map_); }
  uint64_t bytes() const { return bytes_; }
  uint32_t ring_bytes() const { return ring_bytes_; }
  void release();

  // Calls handle(record) for each record written since the last call, one thread after the other.
  // Returns the largest number of bytes that were waiting in one ring.
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
  std::vector<uint64_t> tails_; // how far each slot's ring was read
  std::vector<uint64_t> copy_;  // the unread bytes of one ring
};

} // namespace tally
