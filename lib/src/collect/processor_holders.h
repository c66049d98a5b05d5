// Occupies processors for a moment by threads of our own, so that the threads that ran there pause.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sched.h>

#include "collect/reader_thread.h"

namespace tally {

// Restricts the calling thread to one processor for the lifetime of the object, if the kernel
// permits that.
class OnProcessor {
public:
  explicit OnProcessor(std::optional<int> processor);
  OnProcessor(const OnProcessor &) = delete;
  OnProcessor &operator=(const OnProcessor &) = delete;
  ~OnProcessor();
  bool is_there() const; // whether the restriction is in force, and the processor is online

private:
  int processor_ = -1;
  cpu_set_t before_{};
  bool moved_ = false;
};

// Requests short time slices for the calling thread, which then gets a processor sooner: on a busy
// machine, 85 of 100 sleeps ended on time without them, and 98 with them. Kernels before 6.12
// accept the request, but ignore it.
void ask_for_short_slices();

// Returns how often the calling thread lost its processor without waiting for anything.
uint64_t times_preempted();

// Sleeps until CLOCK_MONOTONIC is at_ns. Returns false if that is less than 50 µs ahead, or if the
// calling thread got its processor back late.
bool sleep_on_time(uint64_t at_ns);

// Owns one thread, a holder, for each processor to be occupied. A holder sleeps on its processor,
// so that the timer of that processor interrupts the thread that runs there. Then the holder
// occupies the processor until release() is called, but for at most three milliseconds. The holders
// live as long as this object, and take no lock. Only one thread at a time may call these
// functions, including the destructor, which runs in the thread of the last owner.
class ProcessorHolders {
public:
  static constexpr size_t most = 64;

  ProcessorHolders() = default;
  ProcessorHolders(const ProcessorHolders &) = delete;
  ProcessorHolders &operator=(const ProcessorHolders &) = delete;
  ~ProcessorHolders(); // ends the threads

  // Begins to take the first `most` of `processors`, all at the time `at_ns`, which should be about
  // 100 µs ahead. The caller must still be allowed on all of its processors, because new threads
  // inherit its affinity.
  void take(std::span<const int> processors, uint64_t at_ns);
  // Must be called when the time `at_ns` of take() has come. Returns true if all processors are
  // held, and were taken on time.
  bool hold() const;
  bool holds() const; // true if no holder has lost its processor since take()
  void release();

private:
  struct Holder {
    ReaderThread thread;
    std::atomic<int> processor{0};
  };

  bool add_holder();
  void body(Holder &self);
  void hold_once(int processor);

  std::vector<std::unique_ptr<Holder>> holders_;
  uint32_t taken_ = 0; // the holders that were woken for this round
  bool failed_ = false;
  std::atomic<uint64_t> at_ns_{0};
  std::atomic<uint32_t> arrived_{0}, left_{0};
  std::atomic<bool> late_{false}, lost_{false}, released_{true}, ends_{false};
};

} // namespace tally
