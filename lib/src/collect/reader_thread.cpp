#include "collect/reader_thread.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tally {

Result<void> ReaderThread::start(const char *name, std::function<void()> body) {
  body_ = std::move(body);
  name_ = name;
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake_.get() < 0)
    return fail_errno(errno, "cannot create the descriptor that wakes the reader of the samples");
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(&thread_, nullptr, &ReaderThread::run, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return fail_errno(error, "cannot create the thread that reads the samples");
  runs_ = true;
  return {};
}

void *ReaderThread::run(void *self) {
  const auto *thread = static_cast<const ReaderThread *>(self);
  ::pthread_setname_np(::pthread_self(), thread->name_);
  thread->body_();
  return nullptr;
}

void ReaderThread::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ReaderThread::join() {
  if (!runs_)
    return;
  wake();
  ::pthread_join(thread_, nullptr);
  runs_ = false;
}

} // namespace tally
