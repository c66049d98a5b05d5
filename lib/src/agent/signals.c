/* Interposes sigaction() and similar functions. When a program sets the handler of the agent's
 * signal, for example because it resets all signals to their defaults, the agent gives the signal
 * up first. If the program makes the system call directly, the ticker detects that at its next
 * tick. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "agent/agent.h"

static void give_up_signal(int number) {
  if (!agent_is_here() || number != agent.signal)
    return;
  const int error = errno;
  const uint32_t clock = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE);
  if (clock == CLOCK_TIMER || (clock == CLOCK_TICKER && ticker_pause())) {
    agent_end(TALLY_END_SIGNAL);
    if (clock == CLOCK_TIMER)
      timers_end(); /* first, because the default action would terminate the program */
    handler_restore();
    if (clock == CLOCK_TICKER)
      ticker_resume(); /* the ticker sees that sampling has ended, and exits */
  }
  errno = error;
}

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef void handler_function(int);
typedef handler_function *signal_function(int, handler_function *);

typedef int wait_function(const sigset_t *, int *);
typedef int waitinfo_function(const sigset_t *, siginfo_t *);
typedef int timedwait_function(const sigset_t *, siginfo_t *, const struct timespec *);
typedef int pending_function(sigset_t *);
typedef int signalfd_function(int, const sigset_t *, int);

static struct {
  sigaction_function *sigaction;
  signal_function *signal, *sysv_signal, *sigset;
  wait_function *sigwait;
  waitinfo_function *sigwaitinfo;
  timedwait_function *sigtimedwait;
  pending_function *sigpending;
  signalfd_function *signalfd;
} libc;

void signals_resolve(void) {
  libc.sigaction = (sigaction_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigaction");
  libc.signal = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "signal");
  libc.sysv_signal = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "__sysv_signal");
  libc.sigset = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigset");
  libc.sigwait = (wait_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigwait");
  libc.sigwaitinfo = (waitinfo_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigwaitinfo");
  libc.sigtimedwait = (timedwait_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigtimedwait");
  libc.sigpending = (pending_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigpending");
  libc.signalfd = (signalfd_function *)(uintptr_t)dlsym(RTLD_NEXT, "signalfd");
}

/* Constructors of other libraries may run before the agent's constructor. */
#define REAL(name, failure)                                                                        \
  if (!libc.name)                                                                                  \
    signals_resolve();                                                                             \
  if (!libc.name) {                                                                                \
    errno = ENOSYS;                                                                                \
    return failure;                                                                                \
  }

int libc_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  REAL(sigaction, -1)
  return libc.sigaction(number, action, old);
}

AGENT_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  if (action) {
    give_up_signal(number);
  } else if (old && agent_is_here() && number == agent.signal &&
             __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) != CLOCK_OFF) {
    *old = agent.old_action; /* a query returns what it would return without the agent */
    return 0;
  }
  return libc_sigaction(number, action, old);
}

AGENT_EXPORT handler_function *signal(int number, handler_function *handler) {
  REAL(signal, SIG_ERR)
  give_up_signal(number);
  return libc.signal(number, handler);
}

/* The function that signal() stands for if a macro requests the semantics of System V. */
AGENT_EXPORT handler_function *__sysv_signal(int number, handler_function *handler);
AGENT_EXPORT handler_function *__sysv_signal(int number, handler_function *handler) {
  REAL(sysv_signal, SIG_ERR)
  give_up_signal(number);
  return libc.sysv_signal(number, handler);
}

AGENT_EXPORT handler_function *sigset(int number, handler_function *handler) {
  REAL(sigset, SIG_ERR)
  give_up_signal(number);
  return libc.sigset(number, handler);
}

/* ---- waiting for signals by their number ---- */

/* Returns `set` without the agent's signal: a thread that blocks all signals and waits for any of
 * them must not receive the agent's signal. The signal is removed only from a set that contains its
 * neighbours, too, because a program that names the signal alone means a signal of its own. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy) {
  const int number = agent.signal;
  if (!set || !agent_is_here() || __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) == CLOCK_OFF ||
      sigismember(set, number) != 1 || sigismember(set, number - 1) != 1 ||
      sigismember(set, number + 1) != 1)
    return set;
  *copy = *set;
  sigdelset(copy, number);
  return copy;
}

AGENT_EXPORT int sigwait(const sigset_t *set, int *number) {
  sigset_t copy;
  if (!libc.sigwait)
    signals_resolve();
  return libc.sigwait ? libc.sigwait(without_ours(set, &copy), number) : ENOSYS;
}

AGENT_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info) {
  sigset_t copy;
  REAL(sigwaitinfo, -1)
  return libc.sigwaitinfo(without_ours(set, &copy), info);
}

AGENT_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most) {
  sigset_t copy;
  REAL(sigtimedwait, -1)
  return libc.sigtimedwait(without_ours(set, &copy), info, most);
}

AGENT_EXPORT int signalfd(int descriptor, const sigset_t *set, int flags) {
  sigset_t copy;
  REAL(signalfd, -1)
  return libc.signalfd(descriptor, without_ours(set, &copy), flags);
}

AGENT_EXPORT int sigpending(sigset_t *set) {
  REAL(sigpending, -1)
  const int result = libc.sigpending(set);
  if (result == 0 && agent_is_here() &&
      __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) != CLOCK_OFF)
    sigdelset(set, agent.signal);
  return result;
}
