// Threads that hold processors, so that what ran there stands still for a moment.
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

// The calling thread is allowed on one processor only, as long as this lives and the kernel
// permits.
class OnProcessor {
public:
  explicit OnProcessor(std::optional<int> processor);
  OnProcessor(const OnProcessor &) = delete;
  OnProcessor &operator=(const OnProcessor &) = delete;
  ~OnProcessor();
  bool is_there() const; // the kernel permitted it, and the processor is not offline

private:
  int processor_ = -1;
  cpu_set_t before_{};
  bool moved_ = false;
};

// A thread of short time slices gets a processor sooner: of 100 sleeps on a busy machine 85 ended
// on time without it, 98 with it. Kernels before 6.12 accept the slice and do not use it.
void ask_for_short_slices();

// How often the calling thread lost its processor without waiting for anything.
uint64_t times_preempted();

// Sleeps until CLOCK_MONOTONIC is at_ns. False: the calling thread got its processor back late.
bool sleep_on_time(uint64_t at_ns);

// One thread for each processor. It sleeps there, so that the processor's own timer interrupts what
// runs, and then keeps the processor until it is released, or for three milliseconds. The threads
// last as long as this; they take no lock. All functions are for one thread, which may be the last
// of several owners.
class ProcessorHolders {
public:
  static constexpr size_t most = 64;

  ProcessorHolders() = default;
  ProcessorHolders(const ProcessorHolders &) = delete;
  ProcessorHolders &operator=(const ProcessorHolders &) = delete;
  ~ProcessorHolders(); // ends the threads

  // The first `most` of the processors, all at one time, which is some 100 µs ahead. The caller is
  // still allowed on all of its processors, which new threads inherit.
  void take(std::span<const int> processors, uint64_t at_ns);
  // To be called when that time has come. True: all of them are held, and were taken on time.
  bool hold() const;
  bool holds() const; // no holder has lost its processor since
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
  uint32_t taken_ = 0; // holders that were woken for this round
  bool failed_ = false;
  std::atomic<uint64_t> at_ns_{0};
  std::atomic<uint32_t> arrived_{0}, left_{0};
  std::atomic<bool> late_{false}, lost_{false}, released_{true}, ends_{false};
};

} // namespace tally
