#include "clocks.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "thread_clock.h"

pthread_mutex_t mon_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned char mon_unaligned_lock;

/* The target that handlers use. A handler increments in_handlers before it loads `active`.
 * Therefore, when publish() has removed the target and then sees that no handler runs, no handler
 * can use the old target any more. */
static _Atomic(const struct mon_target *) active;
static atomic_uint in_handlers;

/* State of the current profiling, or of the last one. */
static struct {
  /* NULL if profiling is off. While profiling is paused, `active` is NULL but `target` is not. */
  const struct mon_target *target;
  struct mon_settings settings;
  pid_t owner;
  enum mon_form form;
  uint32_t clock; /* the kind of clock of the thread that turned profiling on */
  uint64_t cpu_before_ns;
  uint64_t cpu_since_ns; /* CPU time of the process when ticks began; valid while running */
} run;
static atomic_uint_fast64_t ticks, outside, saturated, lost, missed;

static int tick_signal;
static struct mon_thread_clock *clocks;
static size_t clock_count, clock_room;
static uint32_t unclocked;

static pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }

static uint64_t process_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* --- the handler ------------------------------------------------------------------------------ */

static uint64_t interrupted_pc(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__i386__)
  return (uint32_t)context->uc_mcontext.gregs[REG_EIP];
#elif defined(__aarch64__) || defined(__loongarch__)
  return (uint64_t)context->uc_mcontext.pc;
#elif defined(__riscv)
  return (uint64_t)context->uc_mcontext.__gregs[REG_PC];
#elif defined(__arm__)
  return (uint32_t)context->uc_mcontext.arm_pc;
#elif defined(__powerpc64__)
  return (uint64_t)context->uc_mcontext.gp_regs[32]; /* PT_NIP */
#elif defined(__s390x__)
  return (uint64_t)context->uc_mcontext.psw.addr;
#else
#error "say where this machine keeps the program counter"
#endif
}

static void count(atomic_uint_fast64_t *what, uint64_t by) {
  atomic_fetch_add_explicit(what, by, memory_order_relaxed);
}

static void on_tick(int number, siginfo_t *info, void *context) {
  const int saved = errno;
  const struct mon_target *target;
  (void)number;
  atomic_fetch_add(&in_handlers, 1);
  target = atomic_load(&active);
  if (target != NULL && mon_tick_kind(info) != TALLY_MON_CLOCK_AUTO) {
    count(&ticks, 1);
    count(&missed, mon_tick_missed(info));
    switch (mon_count(target, interrupted_pc(context), 1)) {
    case MON_OUTSIDE:
      count(&outside, 1);
      break;
    case MON_SATURATED:
      count(&saturated, 1);
      break;
    case MON_LOST:
      count(&lost, 1);
      break;
    case MON_COUNTED:
      break;
    }
    mon_tick_again(info);
  }
  atomic_fetch_sub(&in_handlers, 1);
  errno = saved;
}

static void publish(const struct mon_target *target) {
  atomic_store(&active, target);
  if (target == NULL)
    while (atomic_load(&in_handlers) != 0)
      sched_yield();
}

/* Installs the handler of the tick signal. Takes the first signal without a handler, from near the
 * highest real-time signal down. Programs seldom use these signals, but emulators use the very
 * highest. The signal is never released, because a tick may be pending in a thread that blocks it
 * for long. */
static int take_signal(void) {
  struct sigaction action, old;
  int number;
  if (tick_signal != 0)
    return 0;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  /* Block all signals, so that no handler of the program interrupts this handler. Otherwise a
   * program that turns profiling off in its own handler could wait for itself. */
  sigfillset(&action.sa_mask);
  for (number = SIGRTMAX - 3; number > SIGRTMIN; --number)
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
        sigaction(number, &action, NULL) == 0) {
      tick_signal = number;
      return 0;
    }
  errno = EAGAIN;
  return -1;
}

/* --- threads ---------------------------------------------------------------------------------- */

static struct mon_thread_clock *clock_of(pid_t tid) {
  for (size_t i = 0; i < clock_count; ++i)
    if (clocks[i].tid == tid)
      return &clocks[i];
  return NULL;
}

static void remove_clock(struct mon_thread_clock *clock) {
  mon_thread_clock_disarm(clock);
  *clock = clocks[--clock_count];
}

/* Removes the clocks of threads that have ended. Threads that only the scan found do not report
 * their end. */
static void remove_dead(void) {
  for (size_t i = clock_count; i-- > 0;)
    if (syscall(SYS_tgkill, run.owner, clocks[i].tid, 0) != 0 && errno == ESRCH)
      remove_clock(&clocks[i]);
}

/* Starts the clock of a thread. Returns 0 or an errno value. */
static int arm(pid_t tid, uint32_t kind) {
  struct mon_thread_clock fresh;
  int error;
  if (clock_count == clock_room) {
    const size_t room = clock_room == 0 ? 16 : 2 * clock_room;
    struct mon_thread_clock *grown;
    remove_dead();
    grown = realloc(clocks, room * sizeof *clocks);
    if (grown == NULL)
      return ENOMEM;
    clocks = grown;
    clock_room = room;
  }
  error = mon_thread_clock_arm(&fresh, tid, kind, run.settings.rate_hz, tick_signal);
  if (error == 0)
    clocks[clock_count++] = fresh;
  return error;
}

/* Gives a thread the same kind of clock as the first thread, or a timer if no perf descriptor is
 * available. */
static void arm_further(pid_t tid) {
  int error = arm(tid, run.clock);
  if (error != 0 && error != ESRCH && run.clock == TALLY_MON_CLOCK_PERF)
    error = arm(tid, TALLY_MON_CLOCK_TIMER);
  unclocked += error != 0 && error != ESRCH;
}

/* Gives clocks to all existing threads. Threads that are created meanwhile see that profiling is on
 * and start their own clocks. */
static void arm_all_others(void) {
  DIR *tasks = opendir("/proc/self/task");
  const struct dirent *task;
  if (tasks == NULL)
    return;
  while ((task = readdir(tasks)) != NULL) {
    const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
    if (tid > 0 && clock_of(tid) == NULL)
      arm_further(tid);
  }
  closedir(tasks);
}

static int begin_ticks(void) {
  int error;
  if (take_signal() != 0)
    return -1;
  error = arm(own_tid(), run.settings.clock);
  if (error != 0) {
    errno = error;
    return -1;
  }
  run.clock = clocks[clock_count - 1].kind;
  run.cpu_since_ns = process_cpu_ns();
  publish(run.target);
  arm_all_others();
  return 0;
}

static void end_ticks(void) {
  if (atomic_load(&active) == NULL)
    return;
  publish(NULL);
  while (clock_count > 0)
    remove_clock(&clocks[clock_count - 1]);
  run.cpu_before_ns += process_cpu_ns() - run.cpu_since_ns;
}

/* --- what others call ------------------------------------------------------------------------- */

int mon_enter(void) {
  int cancel_state;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  pthread_mutex_lock(&mon_lock);
  return cancel_state;
}

void mon_leave(int entered) {
  pthread_mutex_unlock(&mon_lock);
  pthread_setcancelstate(entered, NULL);
}

const struct mon_target *mon_target_in_force(void) { return run.target; }
pid_t mon_owner(void) { return run.owner; }
int mon_clocks_running(void) { return atomic_load(&active) != NULL; }

static void reset_counts(void) {
  atomic_store(&ticks, 0);
  atomic_store(&outside, 0);
  atomic_store(&saturated, 0);
  atomic_store(&lost, 0);
  atomic_store(&missed, 0);
}

int mon_clocks_start(const struct mon_target *target, const struct mon_settings *settings) {
  memset(&run, 0, sizeof run);
  run.settings = *settings;
  run.owner = getpid();
  run.target = target;
  run.form = target->form;
  unclocked = 0;
  reset_counts();
  if (begin_ticks() != 0) {
    run.target = NULL;
    run.form = MON_OFF;
    return -1;
  }
  return 0;
}

void mon_clocks_stop(void) {
  end_ticks();
  run.target = NULL;
  run.form = MON_OFF;
}

int mon_clocks_pause(void) {
  end_ticks();
  return 0;
}

int mon_clocks_resume(void) { return begin_ticks(); }

void mon_clocks_status(struct tally_profil_status *status) {
  uint64_t cpu_ns = run.cpu_before_ns;
  if (mon_clocks_running()) {
    remove_dead();
    cpu_ns += process_cpu_ns() - run.cpu_since_ns;
  }
  status->on = run.form;
  status->clock = run.clock;
  status->requested_hz = run.settings.rate_hz;
  status->threads = (uint32_t)clock_count;
  status->unclocked = unclocked;
  status->signal = (uint32_t)tick_signal;
  status->cpu_ns = cpu_ns;
  status->ticks = atomic_load(&ticks);
  status->outside = atomic_load(&outside);
  status->saturated = atomic_load(&saturated);
  status->lost = atomic_load(&lost);
  status->missed = atomic_load(&missed);
  status->delivered_hz =
      cpu_ns == 0 ? 0 : (uint32_t)((double)status->ticks * 1e9 / (double)cpu_ns + 0.5);
}

uint32_t mon_clocks_effective_rate(void) {
  const double seen = (double)atomic_load(&ticks), passed = (double)atomic_load(&missed);
  const double rate = run.settings.rate_hz;
  const uint32_t effective = seen == 0 ? 0 : (uint32_t)(rate * seen / (seen + passed) + 0.5);
  return effective != 0 ? effective : run.settings.rate_hz;
}

void mon_clocks_begin_thread(void) {
  const pid_t tid = own_tid();
  struct mon_thread_clock *old = clock_of(tid);
  /* An existing clock belongs to an ended thread with the same tid, or the scan has just created
   * it. */
  if (old != NULL)
    remove_clock(old);
  arm_further(tid);
}

void mon_clocks_end_thread(void) {
  struct mon_thread_clock *clock = clock_of(own_tid());
  if (clock != NULL)
    remove_clock(clock);
}

void mon_clocks_quiet_thread(void) {
  static const struct timespec no_time = {0, 0};
  sigset_t ticks_only, before;
  sigemptyset(&ticks_only);
  sigaddset(&ticks_only, tick_signal);
  pthread_sigmask(SIG_BLOCK, &ticks_only, &before);
  mon_clocks_end_thread();
  while (sigtimedwait(&ticks_only, NULL, &no_time) > 0)
    ;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void mon_clocks_after_fork(void) {
  /* Threads that ran a handler or held the lock do not exist in the child. */
  atomic_store(&in_handlers, 0);
  __atomic_clear(&mon_unaligned_lock, __ATOMIC_RELEASE);
  while (clock_count > 0)
    mon_thread_clock_forget(&clocks[--clock_count]);
  unclocked = 0;
  if (run.target == NULL)
    return;
  run.owner = getpid();
  run.cpu_before_ns = 0;
  run.cpu_since_ns = process_cpu_ns();
  reset_counts();
  if (atomic_load(&active) != NULL)
    arm_further(own_tid());
}
