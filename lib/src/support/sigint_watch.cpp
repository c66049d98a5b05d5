#include "support/sigint_watch.h"

#include <atomic>
#include <csignal>

namespace tally {

namespace {

std::atomic<bool> pressed{false}; // since watching began
std::atomic<bool> sigint_seen{false};
bool watching = false;
struct sigaction theirs; // written before the handler can run

void handle(int number, siginfo_t *info, void *context) {
  if (!pressed.exchange(true, std::memory_order_relaxed)) {
    sigint_seen.store(true, std::memory_order_relaxed);
    return;
  }
  // The user pressed Ctrl-C again, because our reaction takes too long.
  if ((theirs.sa_flags & SA_SIGINFO) != 0)
    theirs.sa_sigaction(number, info, context);
  else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN)
    theirs.sa_handler(number);
}

bool is_ours(const struct sigaction &action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
}

} // namespace

void watch_sigint(bool on) {
  if (on == watching)
    return;
  struct sigaction now {};
  if (::sigaction(SIGINT, nullptr, &now) != 0)
    return;
  if (!on) {
    watching = false;
    if (is_ours(now))
      ::sigaction(SIGINT, &theirs, nullptr);
    return;
  }
  // Without a previous handler, the signal ends the debugger or is ignored. Our handler could do
  // neither.
  if ((now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
    return;
  sigint_seen.store(false, std::memory_order_relaxed);
  pressed.store(false, std::memory_order_relaxed);
  theirs = now;
  struct sigaction ours = now;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = handle;
  watching = ::sigaction(SIGINT, &ours, nullptr) == 0;
}

bool take_sigint() { return sigint_seen.exchange(false, std::memory_order_relaxed); }

InterruptibleWork::InterruptibleWork() : installed_(!watching) {
  if (installed_)
    watch_sigint(true);
}

InterruptibleWork::~InterruptibleWork() {
  if (installed_)
    watch_sigint(false);
}

} // namespace tally
