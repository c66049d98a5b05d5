/* Implements the clock that is used if the kernel refuses its own: a thread that checks which
 * threads run, and interrupts them.
 *
 * At each tick, it reads the CPU clock of each thread. If the clock has not advanced, the thread
 * sleeps and is left alone, because a system call would fail with EINTR. If the clock advances
 * between two readings, the thread runs. If it advanced until now but not between the readings, the
 * ticker may have displaced the thread, which /proc shows by state `R`. The weight of a sample is
 * the CPU time since the last one, so totals are exact however many ticks are missed.
 *
 * The thread is created by clone() instead of pthread_create(), untraced and with a table of
 * descriptors of its own, which is empty. So the program's descriptors do not change, and no
 * debugger stops for the thread. Nor does libc count the thread, so a program ends with its own
 * last thread. It has no thread-local storage of its own, so it makes system calls directly. */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>

#include "agent/agent.h"
#include "agent/raw.h"

enum { STACK_BYTES = 64 << 10 };
static unsigned char stack[STACK_BYTES] __attribute__((aligned(64)));

static const uint64_t scan_every_ns = 100000000; /* finds threads that did not register */
static const uint64_t look_every_ns = 10000000;  /* of CPU time: where a signal in flight is */

/* At a thread with a signal in flight, for whether a debugger holds it: each takes 10 µs. */
static const uint32_t most_looks = 3;
static const uint64_t step_ns = 50000; /* of CPU time: longer than a single step */

static const uint64_t overdue_periods = 4;
static bool single_cpu; /* the ticker and the program share one processor */

/* The process's CPU time that neither a sample nor the lost ticks account for. */
static int64_t unplaced_ns;
static int64_t accounted_ns;
/* The part of unplaced_ns that belonged to no live thread at the last scan; negative if too much
 * was counted. It is added to the samples of threads that run: threads that run only for moments or
 * end soon would otherwise have no samples. */
static int64_t pool_ns;
static bool any_ran; /* a thread has run between the last two ticks */

static int ticker_tid;
/* The kernel writes the task's number here, and 0 once the task has ended and no longer uses its
 * stack. */
static uint32_t task_word;
static int task_directory = -1; /* one of the ticker's own descriptors */
static uint64_t process_cpu_at_start;

/* The states of pause_word. */
enum { RUNNING = 0, PAUSE_ASKED, PAUSED, GONE };
static uint32_t pause_word;
static uint32_t pausers; /* 1 while a thread has paused the ticker; other threads that exec wait */

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
  return raw4(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout);
}

/* Reads up to `room` - 1 bytes of "/proc/self/task/TID/NAME"; returns their number, 0 on failure.
 */
static long read_task_file(int tid, const char *name, char *text, size_t room) {
  if (task_directory < 0)
    return 0;
  char path[40];
  char digits[12];
  size_t count = 0, at = 0;
  for (int left = tid; left > 0; left /= 10)
    digits[count++] = (char)('0' + left % 10);
  while (count > 0)
    path[at++] = digits[--count];
  path[at++] = '/';
  while (*name && at < sizeof path - 1)
    path[at++] = *name++;
  path[at] = 0;
  const long file = raw4(SYS_openat, task_directory, path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0)
    return 0;
  const long got = raw3(SYS_read, file, text, room - 1);
  raw1(SYS_close, file);
  text[got > 0 ? got : 0] = 0;
  return got > 0 ? got : 0;
}

/* Returns the state in proc_pid_stat(5): "TID (NAME) STATE …", where NAME may contain any
 * characters. */
static char state_of(int tid) {
  char text[512];
  const long got = read_task_file(tid, "stat", text, sizeof text);
  for (long i = got - 3; i > 0; --i)
    if (text[i] == ')')
      return text[i + 2];
  return '?';
}

/* Returns a mask of proc_pid_status(5), such as "SigPnd:\t0000000000000000", or 0 if there is none.
 */
static uint64_t mask_of(const char *text, const char *key) {
  const char *at = strstr(text, key);
  uint64_t mask = 0;
  if (!at)
    return 0;
  for (at += strlen(key); *at == ' ' || *at == '\t'; ++at) {
  }
  for (;; ++at) {
    if (*at >= '0' && *at <= '9')
      mask = mask << 4 | (uint64_t)(*at - '0');
    else if (*at >= 'a' && *at <= 'f')
      mask = mask << 4 | (uint64_t)(*at - 'a' + 10);
    else
      return mask;
  }
}

static bool has_signal(uint64_t mask, int number) { return (mask >> (number - 1) & 1) != 0; }

static int64_t due_ns(const struct thread *thread, uint64_t cpu) {
  return (int64_t)(cpu - thread->sampled_cpu) + thread->carry_ns;
}

static bool is_due(const struct thread *thread, uint64_t cpu) {
  const int64_t period = (int64_t)agent.period_ns;
  const int64_t due = due_ns(thread, cpu);
  return due >= period / 2 || (unplaced_ns >= period / 2 && due > -period);
}

static void interrupt(struct thread *thread, uint64_t cpu) {
  const int64_t due = due_ns(thread, cpu);
  const int64_t period = (int64_t)agent.period_ns;
  int64_t weight = (due + period / 2) / period;
  if (weight <= 0)
    weight = 1;
  const int64_t for_ended = pool_ns > 0 ? pool_ns / period : 0;
  weight += for_ended;
  thread->look.count = 0;
  thread->weight = weight < INT32_MAX ? (uint32_t)weight : INT32_MAX;
  __atomic_store_n(&thread->in_flight, SIGNAL_SENT, __ATOMIC_RELEASE);
  const long error = raw3(SYS_tgkill, agent.pid, thread->tid, agent.signal);
  if (error != 0) {
    /* The thread has ended, or its queue is full: its CPU time counts at the next tick. */
    __atomic_store_n(&thread->in_flight, SIGNAL_NONE, __ATOMIC_RELEASE);
    if (error == -EAGAIN)
      agent_note(TALLY_NOTE_LIMIT);
    if (error == -EINVAL && handler_install_another(agent.shared->signals) == 0)
      agent.shared->signal = agent.signal;
    return;
  }
  pool_ns -= for_ended * period;
  thread->carry_ns = due - (weight - for_ended) * period;
  unplaced_ns -= weight * period;
  accounted_ns += weight * period;
  thread->sampled_cpu = thread->look.cpu = cpu;
  __atomic_store_n(&agent.shared->signals_sent, ++agent.sent, __ATOMIC_RELAXED);
}

/* Withdraws the signals that have not arrived. Their CPU time counts for the next samples. */
static void withdraw_signals(void) {
  if (!handler_is_ours())
    return;
  handler_drop_pending();
  for (uint32_t i = 0; i < threads_used(); ++i) {
    struct thread *thread = &threads[i];
    const int64_t ns = (int64_t)(thread->weight * agent.period_ns);
    if (__atomic_exchange_n(&thread->in_flight, SIGNAL_NONE, __ATOMIC_ACQ_REL) != SIGNAL_SENT)
      continue;
    thread->carry_ns += ns;
    unplaced_ns += ns;
    accounted_ns -= ns;
  }
}

/* Returns whether a debugger holds the thread with a signal pending. LLDB steps over a breakpoint
 * before it lets a thread run on. A signal that is delivered with this step enters its handler
 * instead, and the handler returns to the breakpoint: the program would stop there again. */
static bool is_held_with_signal(const struct thread *thread) {
  char text[4096];
  if (read_task_file(thread->tid, "status", text, sizeof text) == 0)
    return false;
  const char *const state = strstr(text, "\nState:\t");
  return state && state[strlen("\nState:\t")] == 't' &&
         has_signal(mask_of(text, "SigPnd:"), agent.signal);
}

/* Handles a signal that has not arrived: the thread blocks it, is in a long system call, or does
 * not run. What it runs until the signal arrives is added to its next sample, unless it blocks the
 * signal. */
static void wait_for_handler(struct thread *thread, uint64_t cpu) {
  if (cpu - thread->look.cpu < look_every_ns)
    return;
  thread->look.cpu = cpu;
  char text[4096];
  const bool known = read_task_file(thread->tid, "status", text, sizeof text) != 0;
  uint32_t sent = SIGNAL_SENT;
  if (known && has_signal(mask_of(text, "SigBlk:"), agent.signal) &&
      __atomic_compare_exchange_n(&thread->in_flight, &sent, SIGNAL_STALE, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    count_lost(thread->weight);
    agent_note(TALLY_NOTE_BLOCKED);
  }
  if (__atomic_load_n(&thread->in_flight, __ATOMIC_ACQUIRE) == SIGNAL_STALE) {
    const uint64_t ticks = (cpu - thread->sampled_cpu) / agent.period_ns;
    count_lost(ticks);
    thread->sampled_cpu += ticks * agent.period_ns;
    accounted_ns += (int64_t)(ticks * agent.period_ns);
  }
  /* A debugger may have consumed the signal: it would then never arrive. */
  if (known && !has_signal(mask_of(text, "SigPnd:"), agent.signal) &&
      __atomic_exchange_n(&thread->in_flight, SIGNAL_NONE, __ATOMIC_ACQ_REL) == SIGNAL_SENT)
    count_lost(thread->weight);
}

/* Drops the signal in flight to a thread that has ended. */
static void forget_signal(struct thread *thread) {
  if (__atomic_exchange_n(&thread->in_flight, SIGNAL_NONE, __ATOMIC_ACQ_REL) == SIGNAL_SENT)
    count_lost(thread->weight);
}

static void look_at(struct thread *thread, uint64_t elapsed) {
  const int tid = thread->tid;
  const uint64_t cpu = thread_cpu_ns(tid);
  if (cpu == ~UINT64_C(0)) {
    forget_signal(thread);
    thread_release(thread);
    return;
  }
  if (__atomic_exchange_n(&thread->fresh, 0, __ATOMIC_ACQUIRE) || cpu < thread->last_cpu) {
    /* The number now belongs to another thread. */
    forget_signal(thread);
    thread->last_cpu = thread->sampled_cpu = thread->hold_cpu = 0;
    thread->carry_ns = 0;
  }
  const uint64_t ran = cpu - thread->last_cpu;
  thread->last_cpu = cpu;
  any_ran |= ran != 0;
  if (__atomic_load_n(&thread->in_flight, __ATOMIC_ACQUIRE)) {
    if (thread->look.count++ < most_looks && is_held_with_signal(thread))
      withdraw_signals();
    else
      wait_for_handler(thread, cpu);
    return;
  }
  if (ran == 0 || !is_due(thread, cpu) || cpu < thread->hold_cpu)
    return;
  const uint64_t again = thread_cpu_ns(tid);
  if (again != ~UINT64_C(0) && again > cpu) {
    interrupt(thread, again);
    return;
  }
  /* The thread does not run. A thread that the scheduler removed from a processor, or that has just
   * woken, is at an address where this happens, such as the end of a system call. Samples there
   * would count such addresses too often. A thread that ran until now was displaced by the ticker,
   * at a random address. On a single processor no thread runs beside the ticker, so an overdue
   * thread is sampled wherever it is. */
  const bool displaced = 4 * ran > 3 * elapsed;
  const bool overdue = single_cpu && cpu - thread->sampled_cpu > overdue_periods * agent.period_ns;
  if ((displaced || overdue) && state_of(tid) == 'R')
    interrupt(thread, cpu);
}

/* Keeps signals from the threads' first moments after a stop, for the same reason as
 * is_held_with_signal(): a debugger may step them over breakpoints then. Call this when no thread
 * has run since the last tick. */
static void hold_if_stopped(void) {
  const uint32_t rows = threads_used();
  bool asked = false;
  for (uint32_t i = 0; i < rows; ++i) {
    const int tid = __atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE);
    if (tid == 0)
      continue;
    if (!asked && state_of(tid) != 't')
      return;
    asked = true;
    threads[i].hold_cpu = threads[i].last_cpu + step_ns;
  }
}

struct scan {
  int others; /* live threads other than the ticker */
};

static void visit(int tid, void *context) {
  struct scan *scan = context;
  if (tid == ticker_tid)
    return;
  scan->others += 1;
  if (thread_of(tid))
    return;
  struct thread *thread = thread_add(tid);
  if (!thread)
    return;
  /* While there were more threads than rows, the time of those without one counted for others. */
  if ((agent.notes & TALLY_NOTE_CROWDED) != 0)
    thread_begin_now(thread);
  else
    thread->fresh = 1;
}

/* Returns false if every other thread has ended, so that the process waits only for the ticker. */
static bool scan_threads(void) {
  struct scan scan = {0};
  if (task_directory < 0)
    return true;
  threads_each(task_directory, visit, &scan);
  if (scan.others <= 1) {
    const char state = state_of(agent.pid);
    if (state == 'Z' || state == 'X')
      return false;
  }
  char text[4096];
  if (read_task_file(agent.pid, "status", text, sizeof text) != 0 &&
      has_signal(mask_of(text, "SigCgt:"), SIGPROF))
    agent_note(TALLY_NOTE_SIGPROF);
  return true;
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  return raw2(SYS_clock_gettime, clock, &now) == 0 ? nanoseconds(&now) : 0;
}

/* Updates the accounts. `due` is the sum over all live threads. A scan also finds threads that did
 * not register. */
static void account(int64_t due, bool scanned) {
  const uint64_t cpu =
      clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID) - process_cpu_at_start;
  unplaced_ns = (int64_t)cpu - accounted_ns;
  if (scanned)
    pool_ns = (agent.notes & TALLY_NOTE_CROWDED) == 0 ? unplaced_ns - due : 0;
  __atomic_store_n(&agent.shared->cpu_ns, cpu, __ATOMIC_RELAXED);
  __atomic_store_n(&agent.shared->unplaced_ns, unplaced_ns > 0 ? (uint64_t)unplaced_ns : 0,
                   __ATOMIC_RELAXED);
}

static void sleep_until(uint64_t when_ns) {
  const struct timespec when = {(time_t)(when_ns / 1000000000u), (long)(when_ns % 1000000000u)};
  raw4(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

/* Pauses while an exec is in progress: no signal is sent until the exec has failed. If the exec
 * succeeds, the ticker is gone. */
static void pause_if_asked(void) {
  if (__atomic_load_n(&pause_word, __ATOMIC_ACQUIRE) != PAUSE_ASKED)
    return;
  __atomic_store_n(&pause_word, PAUSED, __ATOMIC_RELEASE);
  futex(&pause_word, FUTEX_WAKE, INT32_MAX, NULL);
  while (__atomic_load_n(&pause_word, __ATOMIC_ACQUIRE) == PAUSED)
    futex(&pause_word, FUTEX_WAIT, PAUSED, NULL);
}

static enum tally_wire_end tick_until_stopped(void) {
  uint64_t base = clock_ns(CLOCK_MONOTONIC);
  uint64_t next_scan = base, last = base;
  uint32_t random = (uint32_t)base | 1;
  for (;;) {
    pause_if_asked();
    if (__atomic_load_n(&agent.shared->command, __ATOMIC_ACQUIRE) == TALLY_COMMAND_STOP)
      return TALLY_END_STOPPED;
    if (!handler_is_ours())
      return TALLY_END_SIGNAL;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const bool scanned = now >= next_scan;
    if (scanned) {
      if (!scan_threads())
        return TALLY_END_NOT;
      if (raw2(SYS_kill, agent.debugger, 0) == -ESRCH)
        return TALLY_END_STOPPED; /* nobody is left to send a command */
      next_scan = now + scan_every_ns;
    }
    const uint32_t rows = threads_used();
    int64_t due = 0;
    const bool ran_before = any_ran;
    any_ran = false;
    for (uint32_t i = 0; i < rows; ++i)
      if (__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE) != 0) {
        look_at(&threads[i], now - last);
        if (__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE) != 0)
          due += due_ns(&threads[i], threads[i].last_cpu);
      }
    last = now;
    if (ran_before && !any_ran)
      hold_if_stopped();
    account(due, scanned);
    /* Late ticks are not repeated, because the weights account for them. */
    base += agent.period_ns;
    if (base < now)
      base = now;
    /* A jitter of a quarter of the period to either side keeps programs from running in step with
     * the ticker. */
    random = random * 1664525u + 1013904223u;
    const uint64_t jitter = agent.period_ns / 2 * (random >> 16) >> 16;
    sleep_until(base + jitter);
  }
}

/* On Linux 6.12 and later (sched_setattr(2)), a thread that asks for short slices gets a processor
 * sooner, at no cost to others. On other kernels this only confirms a default. */
static void ask_for_short_slices(void) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes;
  if (raw4(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  attributes.runtime_ns = 100000;
  raw3(SYS_sched_setattr, 0, &attributes, 0);
}

static void count_cpus(void) {
  unsigned long mask[128] = {0};
  const long bytes = raw3(SYS_sched_getaffinity, 0, sizeof mask, mask);
  int cpus = 0;
  for (long i = 0; i < bytes / (long)sizeof *mask; ++i)
    cpus += __builtin_popcountl(mask[i]);
  single_cpu = cpus == 1;
}

static bool files_shared; /* the ticker must make the copy of the descriptors itself */

static int ticker(void *ready) {
  raw2(SYS_prctl, PR_SET_NAME, "tally-ticker");
  ask_for_short_slices();
  count_cpus();
  ticker_tid = (int)raw0(SYS_gettid);
  if (!*(bool *)ready && (!files_shared || raw2(SYS_unshare, CLONE_FILES, 0) == 0)) {
    raw3(SYS_close_range, 0, ~0u, 0);
    task_directory =
        (int)raw4(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  }
  if (task_directory < 0)
    agent_note(TALLY_NOTE_BLIND);
  __atomic_store_n((bool *)ready, true, __ATOMIC_RELEASE);
  const enum tally_wire_end end = tick_until_stopped();
  __atomic_store_n(&pause_word, GONE, __ATOMIC_RELEASE);
  futex(&pause_word, FUTEX_WAKE, INT32_MAX, NULL);
  agent_end(end);
  return 0;
}

int ticker_start(void) {
  process_cpu_at_start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  pause_word = RUNNING;
  pool_ns = unplaced_ns = accounted_ns = 0;
  task_directory = -1;
  ticker_tid = 0;
  files_shared = false;
  /* The ticker gets a copy of the descriptors and closes it at once, so that descriptors that the
   * ticker opens are never among the program's. If the kernel cannot close all of them with one
   * call, the ticker shares the program's descriptors and opens none. */
  const bool own_files = raw3(SYS_close_range, ~0u, ~0u, 0) == 0;
  int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_UNTRACED |
              CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  if (!own_files)
    flags |= CLONE_FILES;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  static bool ready; /* static, because the new thread reads it */
  ready = !own_files;
  int tid = clone(ticker, stack + STACK_BYTES, flags, &ready, &task_word, NULL, &task_word);
  if (tid < 0 && errno == EINVAL) { /* an emulator takes only the flags of pthread_create() */
    files_shared = own_files;
    flags = (flags | CLONE_FILES) & ~CLONE_UNTRACED;
    tid = clone(ticker, stack + STACK_BYTES, flags, &ready, &task_word, NULL, &task_word);
  }
  const int error = tid < 0 ? errno : 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (error != 0)
    return error;
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
    raw0(SYS_sched_yield);
  return 0;
}

bool ticker_wait_end(void) {
  const struct timespec wait = {0, 10000000};
  for (int tries = 0; tries < 50; ++tries) {
    const uint32_t task = __atomic_load_n(&task_word, __ATOMIC_ACQUIRE);
    if (task == 0)
      return true;
    raw4(SYS_futex, &task_word, FUTEX_WAIT, task, &wait); /* the kernel's wake-up is not private */
  }
  return false;
}

void ticker_forget(void) {
  task_word = 0;
  pausers = 0;
}

bool ticker_pause(void) {
  const struct timespec while_waiting = {0, 10000000};
  while (__atomic_exchange_n(&pausers, 1, __ATOMIC_ACQUIRE) != 0)
    raw0(SYS_sched_yield);
  uint32_t running = RUNNING;
  __atomic_compare_exchange_n(&pause_word, &running, PAUSE_ASKED, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  for (;;) {
    const uint32_t now = __atomic_load_n(&pause_word, __ATOMIC_ACQUIRE);
    if (now == PAUSED)
      return true;
    if (now == GONE) {
      __atomic_store_n(&pausers, 0, __ATOMIC_RELEASE);
      return false;
    }
    futex(&pause_word, FUTEX_WAIT, now, &while_waiting);
  }
}

void ticker_resume(void) {
  __atomic_store_n(&pause_word, RUNNING, __ATOMIC_RELEASE);
  futex(&pause_word, FUTEX_WAKE, 1, NULL);
  __atomic_store_n(&pausers, 0, __ATOMIC_RELEASE);
}
