/* One thread's clock: a perf descriptor or a POSIX timer. */
#ifndef TALLY_MON_THREAD_CLOCK_H
#define TALLY_MON_THREAD_CLOCK_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <tally/mon.h>

struct mon_thread_clock {
  pid_t tid;
  uint32_t kind; /* tally_mon_clock; AUTO: it has none, or none any more */
  int fd;
  timer_t timer;
};

/* 0, or an errno value. clock->kind says what it became. kind AUTO: perf, or else a timer. */
int mon_thread_clock_arm(struct mon_thread_clock *clock, pid_t tid, uint32_t kind, uint32_t rate_hz,
                         int signal);
void mon_thread_clock_disarm(struct mon_thread_clock *clock);
/* In a forked child, to whom the timers did not come along. */
void mon_thread_clock_forget(struct mon_thread_clock *clock);

/* Of a signal that arrived: whether one of ours sent it, and which kind. Async-signal-safe, as the
 * next one. */
uint32_t mon_tick_kind(const siginfo_t *info);
/* Lets a perf clock tick once more. */
void mon_tick_again(const siginfo_t *info);
/* Periods that a timer passed over. */
uint64_t mon_tick_missed(const siginfo_t *info);

#endif
