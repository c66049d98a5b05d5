/* The clocks that tick: one a thread, on its CPU time, by a real-time signal.
 *
 * A target (counting.h) is published, and every thread is given a clock; taking it back ends with
 * no handler looking at it any more. All but what says otherwise is called with mon_lock held. */
#ifndef TALLY_MON_CLOCKS_H
#define TALLY_MON_CLOCKS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <tally/mon.h>

#include "counting.h"

extern pthread_mutex_t mon_lock;
/* Takes the lock and gives it back. A thread that is cancelled in between, as close() may be, would
 * hold it for ever: it is cancelled afterwards. Returns what mon_leave() needs. */
int mon_enter(void);
void mon_leave(int entered);

/* In force from the next mon_clocks_start() on. */
struct mon_settings {
  uint32_t rate_hz;
  uint32_t clock; /* tally_mon_clock */
};

/* NULL: off. May be read without the lock for whether something is on. */
const struct mon_target *mon_target_in_force(void);

/* 0, or -1 and errno: the calling thread could have no clock, nothing is on. */
int mon_clocks_start(const struct mon_target *target, const struct mon_settings *settings);
/* Afterwards nobody looks at the target. */
void mon_clocks_stop(void);
/* Keeps the target and its statistics. 0, or -1 and errno. */
int mon_clocks_pause(void);
int mon_clocks_resume(void);

/* Also after the end. `size` and `scale_warning` are not touched. */
void mon_clocks_status(struct tally_profil_status *status);
/* What gprof is to divide ticks by. */
uint32_t mon_clocks_effective_rate(void);

/* For threads.c and exec.c: of the calling thread. The first has no lock to be held. */
int mon_clocks_running(void);
void mon_clocks_begin_thread(void);
void mon_clocks_end_thread(void);
/* Ends the clock of the calling thread and eats its pending tick, which would survive exec. */
void mon_clocks_quiet_thread(void);
/* In a forked child: it has no clocks, but its parent's descriptors. */
void mon_clocks_after_fork(void);

/* Of the process that owns what is on; others share its memory (vfork) or came by a bare clone. */
pid_t mon_owner(void);

#endif
