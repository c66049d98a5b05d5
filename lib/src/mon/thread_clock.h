/* The clock of one thread: a perf descriptor or a POSIX timer. */
#ifndef TALLY_MON_THREAD_CLOCK_H
#define TALLY_MON_THREAD_CLOCK_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <tally/mon.h>

struct mon_thread_clock {
  pid_t tid;
  uint32_t kind; /* tally_mon_clock; AUTO if there is no clock any more */
  int fd;
  timer_t timer;
};

/* Creates the clock of thread `tid`. AUTO selects perf, or a timer if perf fails. Returns 0 or an
 * errno value; clock->kind is the kind that was created. */
int mon_thread_clock_arm(struct mon_thread_clock *clock, pid_t tid, uint32_t kind, uint32_t rate_hz,
                         int signal);
void mon_thread_clock_disarm(struct mon_thread_clock *clock);
/* Closes the descriptor in a forked child, which does not inherit timers. */
void mon_thread_clock_forget(struct mon_thread_clock *clock);

/* Returns the kind of the clock that sent a signal, or AUTO if the signal is not from our clocks.
 * This function and the next are async-signal-safe. */
uint32_t mon_tick_kind(const siginfo_t *info);
/* Lets a perf clock tick once more. */
void mon_tick_again(const siginfo_t *info);
/* Returns the number of periods that a timer has missed. */
uint64_t mon_tick_missed(const siginfo_t *info);

#endif
