/* Interposes the exec family. A pending signal survives an exec, but its handler does not. Such a
 * signal would terminate the new program. Once the default action is restored, a later signal would
 * terminate the old program. So the ticker or the timers are paused, and pending signals are
 * dropped, before the exec; if it fails, sampling continues. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "agent/agent.h"

static bool leave_off(void) {
  if (!agent_is_here())
    return false; /* a child, or there is nothing to suspend */
  const uint32_t clock = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE);
  if (clock == CLOCK_OFF || (clock == CLOCK_TICKER && !ticker_pause()))
    return false;
  if (clock == CLOCK_TIMER)
    timers_suspend();
  else
    handler_restore();
  __atomic_store_n(&agent.shared->end, TALLY_END_EXEC, __ATOMIC_RELEASE);
  agent_set_state(TALLY_STATE_ENDED);
  return true;
}

static void go_on(bool left_off) {
  if (!left_off)
    return;
  const int error = errno;
  const bool ticker = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) == CLOCK_TICKER;
  if (ticker)
    handler_again();
  if (ticker || timers_resume()) {
    __atomic_store_n(&agent.shared->end, TALLY_END_NOT, __ATOMIC_RELEASE);
    agent_set_state(ticker ? TALLY_STATE_TICKER : TALLY_STATE_TIMER);
  }
  if (ticker)
    ticker_resume();
  errno = error;
}

typedef int execve_function(const char *, char *const[], char *const[]);
typedef int execv_function(const char *, char *const[]);
typedef int fexecve_function(int, char *const[], char *const[]);
typedef int execveat_function(int, const char *, char *const[], char *const[], int);

static struct {
  execve_function *execve, *execvpe;
  execv_function *execv, *execvp;
  fexecve_function *fexecve;
  execveat_function *execveat;
} libc;

void exec_resolve(void) {
  libc.execve = (execve_function *)(uintptr_t)dlsym(RTLD_NEXT, "execve");
  libc.execvpe = (execve_function *)(uintptr_t)dlsym(RTLD_NEXT, "execvpe");
  libc.execv = (execv_function *)(uintptr_t)dlsym(RTLD_NEXT, "execv");
  libc.execvp = (execv_function *)(uintptr_t)dlsym(RTLD_NEXT, "execvp");
  libc.fexecve = (fexecve_function *)(uintptr_t)dlsym(RTLD_NEXT, "fexecve");
  libc.execveat = (execveat_function *)(uintptr_t)dlsym(RTLD_NEXT, "execveat");
}

/* Constructors of other libraries may run, and call exec, before the agent's constructor. */
#define REAL(name)                                                                                 \
  if (!libc.name)                                                                                  \
    exec_resolve();                                                                                \
  if (!libc.name) {                                                                                \
    errno = ENOSYS;                                                                                \
    return -1;                                                                                     \
  }

#define AROUND(call)                                                                               \
  const bool left_off = leave_off();                                                               \
  const int result = (call);                                                                       \
  go_on(left_off);                                                                                 \
  return result

AGENT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[]) {
  REAL(execve)
  AROUND(libc.execve(path, arguments, environment));
}

AGENT_EXPORT int execv(const char *path, char *const arguments[]) {
  REAL(execv)
  AROUND(libc.execv(path, arguments));
}

AGENT_EXPORT int execvp(const char *file, char *const arguments[]) {
  REAL(execvp)
  AROUND(libc.execvp(file, arguments));
}

AGENT_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[]) {
  REAL(execvpe)
  AROUND(libc.execvpe(file, arguments, environment));
}

AGENT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[]) {
  REAL(fexecve)
  AROUND(libc.fexecve(fd, arguments, environment));
}

AGENT_EXPORT int execveat(int folder, const char *path, char *const arguments[],
                          char *const environment[], int flags) {
  REAL(execveat)
  AROUND(libc.execveat(folder, path, arguments, environment, flags));
}

/* The forms with a list of arguments call those with an array, which is on the stack, as in libc.
 */
static size_t count_list(va_list list) {
  size_t count = 1;
  while (va_arg(list, char *))
    ++count;
  return count;
}

#define LIST_TO_ARRAY(first)                                                                       \
  va_list list;                                                                                    \
  va_start(list, first);                                                                           \
  const size_t count = count_list(list);                                                           \
  va_end(list);                                                                                    \
  char *arguments[count + 1];                                                                      \
  arguments[0] = (char *)(uintptr_t)(first);                                                       \
  va_start(list, first);                                                                           \
  for (size_t i = 1; i <= count; ++i)                                                              \
  arguments[i] = va_arg(list, char *)

AGENT_EXPORT int execl(const char *path, const char *first, ...) {
  LIST_TO_ARRAY(first);
  va_end(list);
  return execv(path, arguments);
}

AGENT_EXPORT int execlp(const char *file, const char *first, ...) {
  LIST_TO_ARRAY(first);
  va_end(list);
  return execvp(file, arguments);
}

AGENT_EXPORT int execle(const char *path, const char *first, ...) {
  LIST_TO_ARRAY(first);
  char *const *environment = va_arg(list, char *const *);
  va_end(list);
  return execve(path, arguments, environment);
}
