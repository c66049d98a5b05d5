/* Declares what the parts of the agent share. The agent allocates no memory after its start, throws
 * no exception and prints nothing.
 *
 * The start runs on the thread of the program that loads the agent, the ticker on a thread of its
 * own, the handler on any thread of the program, and the interposed functions where the program
 * calls them. The common state of these parts is in `agent` and in the table of threads, which are
 * private memory; the agent only reports to the shared memory. */
#ifndef TALLY_AGENT_AGENT_H
#define TALLY_AGENT_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agent/wire.h"

#define AGENT_EXPORT __attribute__((visibility("default")))

enum agent_clock { CLOCK_OFF = 0, CLOCK_TICKER, CLOCK_TIMER };

struct agent {
  struct tally_wire_header *shared; /* NULL: nothing is armed, or this is a child of fork() */
  char *base;                       /* the same address, for byte arithmetic */
  uint32_t slots;
  uint32_t ring_bytes;
  uint32_t stacks;
  uint64_t period_ns;
  int pid;
  int debugger; /* the debugger's process, from the name of the memory */
  int signal;
  struct sigaction old_action; /* the signal's action before the agent's */
  uint32_t clock;              /* agent_clock; the handler samples unless it is CLOCK_OFF */
  uint32_t notes;
  uint64_t lost;
  uint64_t sent;
};
extern struct agent agent;

/* ---- threads.c: one row per thread, and one ring per row ---- */

enum { MAX_THREADS = TALLY_WIRE_SLOTS, SCRATCH_BYTES = 4096 };

enum signal_in_flight {
  SIGNAL_NONE = 0,
  SIGNAL_SENT,
  SIGNAL_STALE, /* the thread ran while it blocked the signal: its address is useless */
};

struct thread {
  int tid;        /* 0 if the row is free */
  uint32_t fresh; /* a new thread under this tid: its clock began at 0 */
  /* The stack from the stack pointer up to this limit is known to be mapped, so it can be read
   * directly. The thread itself sets both members; for the first thread, the agent's start sets
   * them. The size is 0 if unknown. */
  uintptr_t stack_limit;
  uintptr_t stack_size;
  uint64_t head; /* the head of the ring; the handler writes it */
  /* Shared by ticker and handler; the weight is written only while no signal is in flight. */
  uint32_t in_flight; /* signal_in_flight */
  uint32_t weight;
  /* Used by the ticker only. */
  uint64_t last_cpu;    /* the thread's CPU time when it was last read */
  uint64_t sampled_cpu; /* the thread's CPU time when its last signal was sent */
  int64_t carry_ns;     /* CPU time not counted yet; negative if too much was counted */
  uint64_t hold_cpu;    /* no signal is sent before the thread has used this much CPU time */
  struct {
    uint64_t cpu;   /* CPU time when /proc was last asked whether it is pending */
    uint32_t count; /* how often /proc was asked whether a debugger holds the thread */
  } look;           /* at a thread with a signal in flight */
  /* Used with the timer clock only. */
  int timer;
  bool has_timer;
  uint64_t left_ns; /* while timers are suspended: time to the next signal; 0: a whole period */
};
extern struct thread threads[MAX_THREADS];

uint32_t threads_used(void);        /* the number of rows, from 0 on, that were ever used */
struct thread *thread_of(int tid);  /* NULL if there is none */
struct thread *thread_add(int tid); /* NULL if no row is free or the table is locked */
void thread_begin_now(struct thread *thread); /* its CPU time so far does not count */
void thread_release(struct thread *thread);   /* for a thread that has ended */
/* Adds the calling thread, whose stack of `size` may be read up to `limit`. */
void thread_enter(uintptr_t limit, uintptr_t size);
void thread_leave(void);
void threads_resolve(void); /* finds the real pthread_create */
/* Visits the numbers in a directory such as /proc/self/task. */
void threads_each(int directory, void (*visit)(int tid, void *context), void *context);
void threads_adopt_all(void);    /* adds all live threads, from /proc; their clocks begin now */
uint64_t thread_cpu_ns(int tid); /* ~0 if the thread has ended */

/* ---- handler.c ---- */

int handler_install(const int32_t *wanted); /* 0, or -1 if every signal is in use */
bool handler_is_ours(void);
void handler_restore(void);      /* drops pending signals, then restores the old action */
void handler_drop_pending(void); /* those of all threads; ours must be installed */
int handler_again(void);         /* installs the handler again after handler_restore() */
/* Changes to the next signal. An emulator may accept a handler for a signal that it cannot send. */
int handler_install_another(const int32_t *wanted);

/* ---- signals.c ---- */

int libc_sigaction(int number, const struct sigaction *action, struct sigaction *old);
void signals_resolve(void); /* finds libc's functions */

/* ---- exec.c ---- */

void exec_resolve(void); /* finds libc's functions */

/* ---- ring.c: the rings that the handler writes ---- */

struct ring_writer {
  struct thread *thread;
  unsigned char *data;
  uint64_t *shared_head;
  uint64_t mask;
  uint64_t at;
  uint64_t room; /* bytes available from `at` on */
};
bool ring_begin(struct ring_writer *writer, struct thread *thread);
void ring_word(struct ring_writer *writer, uint64_t word); /* does nothing if there is no room */
/* Stores the one or two pieces of the ring that hold the next `bytes`, and returns their number. */
unsigned ring_pieces(const struct ring_writer *writer, uint64_t bytes, void *piece[2],
                     uint64_t size[2]);
void ring_end(struct ring_writer *writer, uint32_t kind, uint32_t weight);
void count_lost(uint64_t ticks);

/* ---- ticker.c ---- */

int ticker_start(void); /* returns 0 or errno; the previous ticker must have ended */
/* Waits for a ticker that was asked to stop, or returns at once if there is none. Returns false
 * after half a second. */
bool ticker_wait_end(void);
void ticker_forget(void); /* in a child of fork(), which has no ticker */
/* A caller of ticker_pause() calls ticker_resume() later; no signal is sent in between. Returns
 * false if the ticker has ended. */
bool ticker_pause(void);
void ticker_resume(void);

/* ---- timer.c ---- */

int timer_begin(struct thread *thread); /* 0 or errno; does nothing if the clock is not the timer */
void timer_end(struct thread *thread);
void timers_end(void); /* for all threads; the clock is off */
/* timers_suspend() and timers_resume() enclose an exec. The first one stops the timers and restores
 * the old action, the second one undoes that. */
void timers_suspend(void);
bool timers_resume(void); /* false: sampling does not continue, or not yet */
void timers_forget(void); /* in a child of fork() */

/* ---- perf.c: the kernel's clocks, handed over ---- */

/* Returns true if the debugger has taken the clocks. Otherwise sets *error to an errno, and nothing
 * stays open. */
bool perf_offer(int *error);

/* ---- start.c ---- */

void agent_set_state(enum tally_wire_state state);
void agent_note(uint32_t note);
bool agent_is_here(void); /* armed, and not in a child that shares the memory of its parent */
/* Ends sampling for good: no signal is sent any more, and a late signal finds a handler that does
 * nothing. */
void agent_end(enum tally_wire_end why);

static inline uint64_t nanoseconds(const struct timespec *time) {
  return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

#endif
