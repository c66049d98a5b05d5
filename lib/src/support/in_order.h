// Runs many tasks in several threads and consumes their results in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

namespace tally {

// The results do not depend on the number of threads. The calling thread works, too.
class InOrder {
public:
  InOrder(size_t count, unsigned threads) : count_(count), threads_(threads) {}

  // Calls worker(i) for each i below `count` in one of the threads; each thread gets a worker of
  // its own from `make`. Calls take(i) after worker(i), one at a time and in ascending order, until
  // take() returns false. Finally calls worker.finish() for each worker, one at a time. Calls
  // `done` in the calling thread with the number of results taken so far. An exception in any
  // thread ends all of them and is rethrown to the caller.
  //
  // No thread runs far ahead of take(), because waiting results occupy memory.
  template <class Worker, class Take>
  void run(const std::function<Worker()> &make, const Take &take,
           const std::function<void(size_t)> &done) {
    const auto loop = [&](bool reports) {
      try {
        Worker worker = make();
        for (size_t i = next_++; i < count_; i = next_++) {
          if (!wait_for(i))
            break;
          worker(i);
          take_ready(i, take);
          if (reports)
            done(taken_);
        }
        const std::scoped_lock lock(mutex_);
        worker.finish();
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_)
          failure_ = std::current_exception();
        end();
      }
    };
    {
      std::vector<std::jthread> others;
      try {
        for (unsigned i = 1; i < std::min<size_t>(threads_, count_); ++i)
          others.emplace_back([&] { loop(false); });
      } catch (const std::system_error &) {
        // The system allows no more threads; those that exist do all the work.
      }
      loop(true);
    }
    if (failure_)
      std::rethrow_exception(failure_);
  }

private:
  static constexpr size_t most_ahead = 64;

  void end() {
    ended_ = true;
    next_ = count_;
    changed_.notify_all();
  }
  bool wait_for(size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || i < taken_ + most_ahead; });
    return !ended_;
  }
  template <class Take> void take_ready(size_t i, const Take &take) {
    std::unique_lock lock(mutex_);
    ready_.insert(i);
    if (taking_) // the thread that takes now will also take this result in its turn
      return;
    taking_ = true;
    while (!ended_ && !ready_.empty() && *ready_.begin() == taken_) {
      ready_.erase(ready_.begin());
      lock.unlock();
      const bool go_on = take(taken_);
      lock.lock();
      ++taken_;
      changed_.notify_all();
      if (!go_on)
        end();
    }
    taking_ = false;
  }

  const size_t count_;
  const unsigned threads_;
  std::atomic<size_t> next_ = 0, taken_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<size_t> ready_;
  bool taking_ = false, ended_ = false;
  std::exception_ptr failure_;
};

} // namespace tally
