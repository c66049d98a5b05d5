/* A CPU timer for each thread: no thread of ours, no sleeping thread is ever interrupted; but the
 * kernel looks at these timers only at its own tick (100 to 1000 times a second). */
#include <string.h>

#include "agent/agent.h"
#include "agent/raw.h"

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif

/* The kernel's sigevent, whose thread has no portable name. */
struct kernel_sigevent {
  union {
    int number;
    void *pointer;
  } value;
  int signal;
  int notify;
  int thread;
  int padding[11];
};

int timer_begin(struct thread *thread) {
  const int clock = (int)((~(unsigned)thread->tid << 3) | 6u);
  struct kernel_sigevent event;
  memset(&event, 0, sizeof event);
  event.signal = agent.signal;
  event.notify = SIGEV_THREAD_ID;
  event.thread = thread->tid;
  long error = raw3(SYS_timer_create, clock, &event, &thread->timer);
  if (error != 0)
    return (int)-error;
  thread->has_timer = true;
  const struct timespec period = {(time_t)(agent.period_ns / 1000000000u),
                                  (long)(agent.period_ns % 1000000000u)};
  const struct itimerspec every = {period, period};
  error = raw4(SYS_timer_settime, thread->timer, 0, &every, NULL);
  if (error != 0)
    timer_end(thread);
  return (int)-error;
}

void timer_end(struct thread *thread) {
  thread->has_timer = false;
  raw1(SYS_timer_delete, thread->timer);
}
