/* sigaction() and its kin on the way in: a program that sets our signal's handler, be it because it
 * resets them all to the default, must find nothing on its way. What is done by a direct system
 * call the ticker finds at its next tick. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "agent/agent.h"

static void give_up_signal(int number) {
  if (!agent_is_here() || number != agent.signal)
    return;
  const int error = errno;
  const uint32_t clock = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE);
  if (clock == CLOCK_TIMER || (clock == CLOCK_TICKER && ticker_pause())) {
    agent_end(TALLY_END_SIGNAL);
    if (clock == CLOCK_TIMER)
      timers_end(); /* before: the default would kill */
    handler_restore();
    if (clock == CLOCK_TICKER)
      ticker_resume(); /* it sees the end, and leaves */
  }
  errno = error;
}

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef void handler_function(int);
typedef handler_function *signal_function(int, handler_function *);

static struct {
  sigaction_function *sigaction;
  signal_function *signal, *sysv_signal, *sigset;
} libc;

void signals_resolve(void) {
  libc.sigaction = (sigaction_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigaction");
  libc.signal = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "signal");
  libc.sysv_signal = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "__sysv_signal");
  libc.sigset = (signal_function *)(uintptr_t)dlsym(RTLD_NEXT, "sigset");
}

/* Other libraries' constructors may run before ours. */
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
    *old = agent.old_action; /* who only asks sees what he would without us */
    return 0;
  }
  return libc_sigaction(number, action, old);
}

AGENT_EXPORT handler_function *signal(int number, handler_function *handler) {
  REAL(signal, SIG_ERR)
  give_up_signal(number);
  return libc.signal(number, handler);
}

/* What signal() is where a program asks for System V's or BSD's by a macro. */
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
