/* The agent's own parts. It allocates nothing after its start, and nothing of it throws or prints.
 *
 * Who runs what: the start runs on the program's thread that loads the agent; the ticker on a
 * thread of its own; the handler on any thread of the program; the interposed functions where the
 * program calls them. What they share is in `agent` and in the table of threads, in private memory:
 * the shared memory is only told. */
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
  char *base;                       /* the same, in bytes */
  uint32_t slots;
  uint32_t ring_bytes;
  uint32_t stacks;
  uint64_t period_ns;
  int pid;
  int debugger; /* its process, as the memory's name has it */
  int signal;
  struct sigaction old_action; /* of the signal, before us */
  uint32_t clock;              /* agent_clock; the handler samples while it is not off */
  uint32_t notes;
  uint64_t lost;
  uint64_t sent;
};
extern struct agent agent;

/* ---- threads.c: one row a thread, and one ring a row ---- */

enum { MAX_THREADS = TALLY_WIRE_SLOTS, SCRATCH_BYTES = 4096 };

enum signal_in_flight {
  SIGNAL_NONE = 0,
  SIGNAL_SENT,
  SIGNAL_STALE, /* the thread ran on with it pending: the place says nothing any more */
};

struct thread {
  int tid;        /* 0: the row is free */
  uint32_t fresh; /* a new thread under this tid: its clock began at 0 */
  /* The stack that is known to be mapped from the stack pointer to its end, for plain reads. Set by
   * the thread itself; size 0: not known. */
  uintptr_t stack_limit;
  uintptr_t stack_size;
  uint64_t head; /* of the ring; the handler's */
  /* Between ticker and handler; the weight is written while nothing is in flight. */
  uint32_t in_flight; /* signal_in_flight */
  uint32_t weight;
  /* The ticker's. */
  uint64_t last_cpu;    /* when its clock was last looked at */
  uint64_t sampled_cpu; /* when its last signal was sent */
  int64_t carry_ns;     /* CPU time not yet counted; what was counted too much, negative */
  uint64_t look_cpu;    /* in flight: when /proc was last asked whether the signal is pending */
  /* clock timer */
  int timer;
  bool has_timer;
  uint64_t left_ns; /* until its next signal, while timers are suspended; 0: a whole period */
};
extern struct thread threads[MAX_THREADS];

uint32_t threads_used(void);                /* rows from 0 that were ever taken */
struct thread *thread_of(int tid);          /* NULL: none */
struct thread *thread_add(int tid);         /* takes a row; NULL: none free, or the table is busy */
void thread_release(struct thread *thread); /* the thread has ended */
/* The calling thread, whose stack of `size` may be read up to `limit`. */
void thread_enter(uintptr_t limit, uintptr_t size);
void thread_leave(void);
void threads_resolve(void); /* finds the real pthread_create */
/* The numbers in a folder such as /proc/self/task. */
void threads_each(int directory, void (*visit)(int tid, void *context), void *context);
void threads_adopt_all(void);    /* those that live, from /proc; the clocks begin now */
uint64_t thread_cpu_ns(int tid); /* ~0: it has ended */

/* ---- handler.c ---- */

int handler_install(const int32_t *wanted); /* 0, or -1: every signal is taken */
bool handler_is_ours(void);
void handler_restore(void); /* forgets what is pending, then the old disposition */
int handler_again(void);    /* after a restore */

/* ---- signals.c ---- */

int libc_sigaction(int number, const struct sigaction *action, struct sigaction *old);
void signals_resolve(void); /* finds the real ones */

/* ---- exec.c ---- */

void exec_resolve(void); /* finds the real ones */

/* ---- ring.c: the rings that the handler fills ---- */

struct ring_writer {
  struct thread *thread;
  unsigned char *data;
  uint64_t *shared_head;
  uint64_t mask;
  uint64_t at;
  uint64_t room; /* bytes from `at` on */
};
bool ring_begin(struct ring_writer *writer, struct thread *thread);
void ring_word(struct ring_writer *writer, uint64_t word); /* nothing when there is no room */
/* One or two pieces of the ring for `bytes` from here on. */
unsigned ring_pieces(const struct ring_writer *writer, uint64_t bytes, void *piece[2],
                     uint64_t size[2]);
void ring_end(struct ring_writer *writer, uint32_t kind, uint32_t weight);
void count_lost(uint64_t ticks);

/* ---- ticker.c ---- */

int ticker_start(void); /* 0 or errno; not before the one of before has ended */
/* For a ticker that was told to stop, or was never there. False: not within half a second. */
bool ticker_wait_end(void);
void ticker_forget(void); /* in a child of fork(), which has none */
/* The caller's: no signal is sent between these two. False: the ticker has ended. */
bool ticker_pause(void);
void ticker_resume(void);

/* ---- timer.c ---- */

int timer_begin(struct thread *thread); /* 0 or errno; nothing when timers are not the clock */
void timer_end(struct thread *thread);
void timers_end(void); /* of all threads; the clock is off */
/* Around an exec: the timers stand still and the old disposition is back, then all goes on. */
void timers_suspend(void);
bool timers_resume(void); /* false: sampling does not go on, or not yet */
void timers_forget(void); /* in a child of fork() */

/* ---- perf.c: the kernel's clocks, handed over ---- */

/* True: the debugger has taken them. False: errno in *error, nothing is left open. */
bool perf_offer(int *error);

/* ---- start.c ---- */

void agent_tell(enum tally_wire_state state);
void agent_note(uint32_t note);
bool agent_is_here(void); /* armed, and this is its process, not a child that shares its memory */
/* For good: nothing is sent any more, late signals find a handler that does nothing. */
void agent_end(enum tally_wire_end why);

static inline uint64_t nanoseconds(const struct timespec *time) {
  return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

#endif
