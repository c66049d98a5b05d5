/* The clocks that cause ticks. Each thread has a clock, which measures its CPU time and sends it a
 * real-time signal.
 *
 * A target (counting.h) is published, and every thread is given a clock. When the target is
 * removed, no handler uses it any more. Callers must hold mon_lock unless a comment says
 * otherwise. */
#ifndef TALLY_MON_CLOCKS_H
#define TALLY_MON_CLOCKS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <tally/mon.h>

#include "counting.h"

extern pthread_mutex_t mon_lock;
/* mon_enter() takes the lock, and mon_leave() releases it. Cancellation is disabled in between,
 * because a thread that is cancelled there, for example in close(), would hold the lock forever.
 * Returns the argument for mon_leave(). */
int mon_enter(void);
void mon_leave(int entered);

/* These settings take effect at the next mon_clocks_start(). */
struct mon_settings {
  uint32_t rate_hz;
  uint32_t clock; /* tally_mon_clock */
};

/* Returns NULL if profiling is off. May be called without the lock to check whether profiling is
 * on. */
const struct mon_target *mon_target_in_force(void);

/* Returns 0, or -1 and errno if the calling thread could not get a clock; profiling is off then. */
int mon_clocks_start(const struct mon_target *target, const struct mon_settings *settings);
/* Turns profiling off; no handler uses the target afterwards. */
void mon_clocks_stop(void);
/* mon_clocks_pause() stops the ticks but keeps the target and its statistics, and
 * mon_clocks_resume() starts them again. Both return 0, or -1 and errno. */
int mon_clocks_pause(void);
int mon_clocks_resume(void);

/* Fills in the status of the current or the last profiling, except `size` and `scale_warning`. */
void mon_clocks_status(struct tally_profil_status *status);
/* Returns the rate by which gprof must divide ticks. */
uint32_t mon_clocks_effective_rate(void);

/* The following functions are for threads.c and exec.c, and affect the calling thread.
 * mon_clocks_running() does not need the lock. */
int mon_clocks_running(void);
void mon_clocks_begin_thread(void);
void mon_clocks_end_thread(void);
/* Ends the clock of the calling thread and removes its pending tick, which would otherwise survive
 * exec. */
void mon_clocks_quiet_thread(void);
/* Resets the state in a forked child, which inherits the descriptors of its parent's clocks but no
 * clocks. */
void mon_clocks_after_fork(void);

/* Returns the process that owns the profiling. The caller may be another process: a vfork() child,
 * which shares its memory, or one that a bare clone() created. */
pid_t mon_owner(void);

#endif
