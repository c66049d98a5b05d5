/* While profiling is on, gives each new thread a clock when it begins, and continues to profile
 * forked children.
 *
 * pthread_create() and thrd_create() are interposed before libc's. A thread that a bare clone()
 * system call creates is found only by the scan at the next call that turns profiling on. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "clocks.h"

typedef int create_pthread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int create_thrd(thrd_t *, thrd_start_t, void *);

/* Arguments of a new thread, which frees them. */
struct beginning {
  void *(*start)(void *);
  thrd_start_t start_thrd;
  void *argument;
};

static pthread_key_t ending;
static int have_ending;

static void end_thread(void *unused) {
  const int entered = mon_enter();
  (void)unused;
  mon_clocks_end_thread();
  mon_leave(entered);
}

static void begin_thread(void) {
  int entered;
  /* Registers the thread for end_thread(), because its clock would otherwise outlive it. Does so
   * even if profiling is off, because it may be turned on later. */
  if (have_ending)
    pthread_setspecific(ending, &ending);
  if (!mon_clocks_running())
    return;
  entered = mon_enter();
  if (mon_clocks_running())
    mon_clocks_begin_thread();
  mon_leave(entered);
}

static void *run_pthread(void *argument) {
  const struct beginning beginning = *(struct beginning *)argument;
  free(argument);
  begin_thread();
  return beginning.start(beginning.argument);
}

static int run_thrd(void *argument) {
  const struct beginning beginning = *(struct beginning *)argument;
  free(argument);
  begin_thread();
  return beginning.start_thrd(beginning.argument);
}

static struct beginning *new_beginning(struct beginning of) {
  struct beginning *const made = malloc(sizeof *made);
  if (made != NULL)
    *made = of;
  return made;
}

TALLY_MON_API int pthread_create(pthread_t *restrict thread,
                                 const pthread_attr_t *restrict attributes, void *(*start)(void *),
                                 void *restrict argument) {
  create_pthread *const next = (create_pthread *)dlsym(RTLD_NEXT, "pthread_create");
  struct beginning *const beginning = new_beginning((struct beginning){start, NULL, argument});
  int error;
  if (beginning == NULL || next == NULL) {
    free(beginning);
    return EAGAIN;
  }
  error = next(thread, attributes, run_pthread, beginning);
  if (error != 0)
    free(beginning);
  return error;
}

TALLY_MON_API int thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
  create_thrd *const next = (create_thrd *)dlsym(RTLD_NEXT, "thrd_create");
  struct beginning *const beginning = new_beginning((struct beginning){NULL, start, argument});
  int result;
  if (beginning == NULL || next == NULL) {
    free(beginning);
    return thrd_nomem;
  }
  result = next(thread, run_thrd, beginning);
  if (result != thrd_success)
    free(beginning);
  return result;
}

static void before_fork(void) { pthread_mutex_lock(&mon_lock); }
static void parent_after_fork(void) { pthread_mutex_unlock(&mon_lock); }
static void child_after_fork(void) {
  mon_clocks_after_fork();
  pthread_mutex_unlock(&mon_lock);
}

__attribute__((constructor)) static void prepare(void) {
  have_ending = pthread_key_create(&ending, end_thread) == 0;
  pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}
