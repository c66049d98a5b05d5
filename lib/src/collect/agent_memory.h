// The shared memory that an agent inside a program writes, as seen by the debugger. Its content is
// not trusted: every record is copied before it is examined, no count in it determines a size, and
// no more is read than an agent can have written in the time that has passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/wire.h"
#include "collect/perf_events.h"
#include "collect/sampler.h"
#include "support/result.h"
#include "support/unique_fd.h"

namespace tally {

struct AgentRecord {
  uint32_t kind = 0; // tally_wire_kind
  int32_t tid = 0;
  uint32_t weight = 0; // ticks; not 0
  uint64_t at_ns = 0;  // by CLOCK_MONOTONIC
  std::span<const uint64_t> words;
};

// Removes the next record from `words` and stores it in `record`. Returns false if no agent writes
// such words, or if there are none.
bool next_agent_record(std::span<const uint64_t> &words, AgentRecord &record);

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

  // The words of the header. The program can write them at any time, so that each reading may
  // differ from the one before it.
  template <class T> T load(T tally_wire_header::*word) const {
    return __atomic_load_n(&(header()->*word), __ATOMIC_ACQUIRE);
  }
  template <class T, size_t N> T load(T (tally_wire_header::*words)[N], size_t index) const {
    return index < N ? __atomic_load_n(&(header()->*words)[index], __ATOMIC_ACQUIRE) : T{};
  }
  template <class T> void store(T tally_wire_header::*word, T value) {
    __atomic_store_n(&(header()->*word), value, __ATOMIC_RELEASE);
  }
  // Stores the value if the word has the expected one. Returns whether it had.
  template <class T> bool store_if(T tally_wire_header::*word, T expected, T value) {
    return __atomic_compare_exchange_n(&(header()->*word), &expected, value, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  // Returns the word's address for futex(2), which reads it in the kernel.
  uint32_t *futex(uint32_t tally_wire_header::*word) { return &(header()->*word); }
  void wake(uint32_t tally_wire_header::*word);

  uint64_t bytes() const { return bytes_; }
  uint32_t ring_bytes() const { return ring_bytes_; }
  void release();

  // Calls handle(record) for each record written since the last call, one thread after the other.
  // handle() returns whether an agent writes such a record. Returns the largest number of bytes
  // that were waiting in one ring.
  template <class Handle> size_t drain(Handle &&handle) {
    size_t most = 0;
    const uint64_t most_ticks_now = most_ticks();
    for (uint32_t slot = 0; slot < slots_ && !overwritten_; ++slot) {
      std::span<const uint64_t> words = take(slot);
      most = std::max(most, words.size_bytes());
      while (!words.empty() && !overwritten_) {
        AgentRecord record;
        overwritten_ = !next_agent_record(words, record) ||
                       (ticks_ += record.weight) > most_ticks_now || !handle(record);
      }
    }
    return most;
  }
  // Returns whether drain() found what no agent writes: the program has overwritten the memory. No
  // further record is read then.
  bool is_overwritten() const { return overwritten_; }
  // Returns the largest number of ticks that the threads of the program can have had so far.
  uint64_t most_ticks() const;

private:
  tally_wire_header *header() const { return static_cast<tally_wire_header *>(map_); }
  std::span<const uint64_t> take(uint32_t slot);
  Result<void> make_anew();

  SamplerOptions options_;
  UniqueFd fd_;
  void *map_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t made_ns_ = 0; // by CLOCK_MONOTONIC
  uint32_t slots_ = 0;
  uint32_t ring_bytes_ = 0;
  uint64_t processors_ = 0;
  uint64_t ticks_ = 0; // of all records so far
  bool overwritten_ = false;
  std::vector<uint64_t> tails_; // how far each slot's ring was read
  std::vector<uint64_t> copy_;  // the unread bytes of one ring
};

} // namespace tally
