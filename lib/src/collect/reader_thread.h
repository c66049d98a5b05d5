// The thread in the debugger's process that reads samples, and the record of an error in it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include <pthread.h>

#include "support/exception_text.h"
#include "support/result.h"
#include "support/unique_fd.h"

namespace tally {

// The shortest time in milliseconds that a reader sleeps when its ring fills up fast.
constexpr int shortest_wait_ms = 5;

// Runs a thread in which every signal is blocked, because signals to the debugger must reach the
// debugger's own threads.
class ReaderThread {
public:
  // Starts the thread. `body` must return when the owner wants the thread to end. Returns an error
  // if the descriptor or the thread cannot be created.
  Result<void> start(const char *name, std::function<void()> body);
  bool runs() const { return runs_; }

  int wake_fd() const { return wake_.get(); } // readable after a call of wake()
  void wake();
  void join(); // wakes the thread first; does nothing if it does not run
  void close() { wake_.reset(); }

private:
  static void *run(void *self);

  std::function<void()> body_;
  const char *name_ = "";
  UniqueFd wake_;
  pthread_t thread_{};
  bool runs_ = false;
};

// Records why the reader stopped.
class ReaderProblem {
public:
  ReaderProblem() { text_.reserve(room); }
  bool empty() const { return text_.empty(); }
  const std::string &text() const { return text_; }

  // Calls work(), which may throw (for lack of memory), and records the exception.
  template <class Work> void guarded(Work &&work) {
    try {
      work();
    } catch (const std::exception &error) {
      note(exception_text(error));
    } catch (...) {
      note("unknown exception");
    }
  }
  // Records the reason in memory that was reserved beforehand: if memory has run out, a further
  // exception would terminate the debugger.
  void note(std::string_view what) noexcept {
    text_ = begin;
    text_ += what.substr(0, room - begin.size());
  }

private:
  static constexpr std::string_view begin = "the reader of the samples stopped: ";
  static constexpr size_t room = 256;
  std::string text_;
};

} // namespace tally
