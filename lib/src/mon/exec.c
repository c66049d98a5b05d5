/* exec turns profiling off. The kernel ends the clocks of the old program, but not a tick that is
 * pending in the calling thread; that tick would terminate the new program, which has no handler
 * for it. Therefore these functions are interposed before libc's exec functions, and remove the
 * calling thread's clock and tick first; the ticks of other threads end with these threads. A
 * program that calls the system call directly is not protected in this way (but perf clocks do not
 * tick during a system call). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "clocks.h"

typedef int exec_path(const char *, char *const *, char *const *);
typedef int exec_fd(int, char *const *, char *const *);
typedef int exec_at(int, const char *, char *const *, char *const *, int);

static struct {
  exec_path *execve;
  exec_path *execvpe;
  exec_fd *fexecve;
  exec_at *execveat;
} libc;

/* Looks up libc's functions in advance: dlsym() must not be called where exec may be, in a child of
 * vfork() or in a signal handler. */
__attribute__((constructor)) static void find_libc(void) {
  libc.execve = (exec_path *)dlsym(RTLD_NEXT, "execve");
  libc.execvpe = (exec_path *)dlsym(RTLD_NEXT, "execvpe");
  libc.fexecve = (exec_fd *)dlsym(RTLD_NEXT, "fexecve");
  libc.execveat = (exec_at *)dlsym(RTLD_NEXT, "execveat");
}

/* Tries to take the lock for a limited time, because a handler that interrupts our own code may
 * call exec. If another thread holds the lock, it will release it soon. */
static int try_lock(void) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (pthread_mutex_trylock(&mon_lock) == 0)
      return 1;
    sched_yield();
  }
  return 0;
}

/* Tries to take the lock, with cancellation disabled as in mon_enter(). Returns 0 if it fails. */
static int try_enter(int *cancel_state) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
  if (try_lock())
    return 1;
  pthread_setcancelstate(*cancel_state, NULL);
  return 0;
}

/* Returns whether this thread's clock was removed and must be restored if exec fails. A child of
 * vfork() shares the memory of its parent, whose clocks must continue. */
static int quiet(void) {
  int entered;
  if (libc.execve == NULL)
    find_libc();
  if (!mon_clocks_running() || getpid() != mon_owner() || !try_enter(&entered))
    return 0;
  mon_clocks_quiet_thread();
  mon_leave(entered);
  return 1;
}

static int failed(int was_running, int result) {
  const int error = errno;
  int entered;
  if (was_running && try_enter(&entered)) {
    if (mon_clocks_running())
      mon_clocks_begin_thread();
    mon_leave(entered);
  }
  errno = error;
  return result;
}

TALLY_MON_API int execve(const char *path, char *const argv[], char *const env[]) {
  const int was_running = quiet();
  return failed(was_running, libc.execve(path, argv, env));
}

TALLY_MON_API int execvpe(const char *file, char *const argv[], char *const env[]) {
  const int was_running = quiet();
  return failed(was_running, libc.execvpe(file, argv, env));
}

TALLY_MON_API int fexecve(int fd, char *const argv[], char *const env[]) {
  const int was_running = quiet();
  return failed(was_running, libc.fexecve(fd, argv, env));
}

TALLY_MON_API int execveat(int folder, const char *path, char *const argv[], char *const env[],
                           int flags) {
  const int was_running = quiet();
  return failed(was_running, libc.execveat(folder, path, argv, env, flags));
}

TALLY_MON_API int execv(const char *path, char *const argv[]) {
  return execve(path, argv, environ);
}

TALLY_MON_API int execvp(const char *file, char *const argv[]) {
  return execvpe(file, argv, environ);
}

/* Collects the arguments, with their NULL, in an array `argv` on the stack, because exec must not
 * allocate. */
#define COLLECT_ARGUMENTS(first)                                                                   \
  va_list arguments;                                                                               \
  size_t count = 1;                                                                                \
  va_start(arguments, first);                                                                      \
  while (va_arg(arguments, const char *) != NULL)                                                  \
    ++count;                                                                                       \
  va_end(arguments);                                                                               \
  char *argv[count + 1];                                                                           \
  va_start(arguments, first);                                                                      \
  argv[0] = (char *)(uintptr_t)(first);                                                            \
  for (size_t i = 1; i <= count; ++i)                                                              \
  argv[i] = va_arg(arguments, char *)

TALLY_MON_API int execl(const char *path, const char *first, ...) {
  COLLECT_ARGUMENTS(first);
  va_end(arguments);
  return execve(path, argv, environ);
}

TALLY_MON_API int execlp(const char *file, const char *first, ...) {
  COLLECT_ARGUMENTS(first);
  va_end(arguments);
  return execvpe(file, argv, environ);
}

TALLY_MON_API int execle(const char *path, const char *first, ...) {
  COLLECT_ARGUMENTS(first);
  char *const *const env = va_arg(arguments, char *const *);
  va_end(arguments);
  return execve(path, argv, env);
}
