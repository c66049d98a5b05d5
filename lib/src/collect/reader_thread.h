// The thread in the debugger's process that reads samples, and what may go wrong in it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include <pthread.h>

#include <tally/result.h>

#include "support/unique_fd.h"

namespace tally {

// Every signal is blocked in it: a debugger's signals must find the debugger's own threads.
class ReaderThread {
public:
  // `body` ends by itself when its owner wants it to. Errors: no descriptor, no thread.
  Result<void> start(const char *name, std::function<void()> body);
  bool runs() const { return runs_; }

  int wake_fd() const { return wake_.get(); } // readable once wake() was called
  void wake();
  void join(); // wakes it first; does nothing when it does not run
  void close() { wake_.reset(); }

private:
  static void *run(void *self);

  std::function<void()> body_;
  const char *name_ = "";
  UniqueFd wake_;
  pthread_t thread_{};
  bool runs_ = false;
};

// Why the reader stopped.
class ReaderProblem {
public:
  ReaderProblem() { text_.reserve(room); }
  bool empty() const { return text_.empty(); }
  const std::string &text() const { return text_; }

  // Calls what may throw (memory), and notes that.
  template <class Work> void guarded(Work &&work) {
    try {
      work();
    } catch (const std::exception &error) {
      note(error.what());
    } catch (...) {
      note("unknown exception");
    }
  }
  // Within the room that was reserved: where memory has run out, another exception would end the
  // debugger.
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
