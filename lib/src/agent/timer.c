/* Implements a CPU timer for each thread. It needs no thread of the agent, and never interrupts a
 * sleeping thread; but the kernel checks these timers only at its own tick (100 to 1000 times a
 * second). */
#include <signal.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/raw.h"

#ifndef SIGEV_THREAD_ID
#define SIGEV_THREAD_ID 4
#endif

/* The kernel's sigevent; its thread member has no portable name. */
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

/* Prevents that a thread begins while another one calls exec or sets the signal's handler: a timer
 * that is armed while the action is the default terminates the program. The lock is held with all
 * signals blocked, so that no handler of the program can request it on the same thread. */
static uint32_t lock;
static uint32_t suspended; /* number of threads inside an exec */

static uint64_t take_lock(void) {
  const uint64_t all = ~UINT64_C(0);
  uint64_t before = 0;
  raw4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  /* Sleep now and then, because the holder may have a lower priority. */
  const struct timespec wait = {0, 100000};
  for (int tries = 1; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0; ++tries)
    if (tries % 64 == 0)
      raw4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &wait, NULL);
    else
      raw0(SYS_sched_yield);
  return before;
}

static void give_lock(uint64_t before) {
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  raw4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

static bool has_timer(struct thread *thread) {
  return __atomic_load_n(&thread->has_timer, __ATOMIC_ACQUIRE);
}

static struct timespec timespec_of(uint64_t ns) {
  return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static long arm(const struct thread *thread, uint64_t first_ns) {
  const struct itimerspec every = {timespec_of(agent.period_ns), timespec_of(first_ns)};
  return raw4(SYS_timer_settime, thread->timer, 0, &every, NULL);
}

/* Disarms the thread's timer, and keeps the rest of its period. A program that tries many paths for
 * its exec would otherwise begin a new period each time. */
static void disarm(struct thread *thread) {
  const struct itimerspec none = {{0, 0}, {0, 0}};
  struct itimerspec left = none;
  raw4(SYS_timer_settime, thread->timer, 0, &none, &left);
  thread->left_ns = nanoseconds(&left.it_value);
}

static int begin(struct thread *thread) {
  const int clock = (int)((~(unsigned)thread->tid << 3) | 6u);
  struct kernel_sigevent event;
  memset(&event, 0, sizeof event);
  event.signal = agent.signal;
  event.notify = SIGEV_THREAD_ID;
  event.thread = thread->tid;
  long error = raw3(SYS_timer_create, clock, &event, &thread->timer);
  if (error != 0)
    return (int)-error;
  __atomic_store_n(&thread->has_timer, true, __ATOMIC_RELEASE);
  thread->left_ns = 0;
  error = suspended == 0 ? arm(thread, agent.period_ns) : 0;
  if (error != 0)
    timer_end(thread);
  return (int)-error;
}

int timer_begin(struct thread *thread) {
  const uint64_t before = take_lock();
  const bool wanted = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) == CLOCK_TIMER;
  const int error = wanted ? begin(thread) : 0;
  give_lock(before);
  return error;
}

void timer_end(struct thread *thread) {
  if (__atomic_exchange_n(&thread->has_timer, false, __ATOMIC_ACQ_REL))
    raw1(SYS_timer_delete, thread->timer);
}

void timers_end(void) {
  const uint64_t before = take_lock();
  for (uint32_t i = 0; i < threads_used(); ++i)
    timer_end(&threads[i]);
  give_lock(before);
}

void timers_suspend(void) {
  const uint64_t before = take_lock();
  if (suspended++ == 0) {
    for (uint32_t i = 0; i < threads_used(); ++i)
      if (has_timer(&threads[i]))
        disarm(&threads[i]);
    handler_restore();
  }
  give_lock(before);
}

bool timers_resume(void) {
  const uint64_t before = take_lock();
  const bool again =
      --suspended == 0 && __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) == CLOCK_TIMER;
  if (again) {
    handler_again();
    for (uint32_t i = 0; i < threads_used(); ++i)
      if (has_timer(&threads[i]))
        arm(&threads[i], threads[i].left_ns > 0 ? threads[i].left_ns : agent.period_ns);
  }
  give_lock(before);
  return again;
}

void timers_forget(void) { lock = suspended = 0; }
