#include "thread_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Its address is the value of our timers' signals, which distinguishes them from the signals of
 * other timers. */
static char timer_mark;

/* If the limit of pending signals is below this, no perf clock is used. A perf clock's signal that
 * finds the queue full becomes a SIGIO, which terminates a program without a handler for it. The
 * limit applies to all processes of a user together. A timer does not have this problem, because it
 * reserves its entry in the queue when it is created. */
static const rlim_t least_queue = 1024;

/* Moves a descriptor to a number that the program is less likely to use. Returns the original one
 * if that fails. */
static int move_up(int fd) {
  struct rlimit limit;
  int moved = -1;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 64) {
    const rlim_t half = limit.rlim_cur / 2;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, half > 65536 ? 65536 : (int)half);
  }
  if (moved < 0)
    return fd;
  close(fd);
  return moved;
}

static int arm_perf(struct mon_thread_clock *clock, pid_t tid, uint32_t rate_hz, int signal) {
  struct perf_event_attr attr;
  const struct f_owner_ex owner = {F_OWNER_TID, tid};
  struct rlimit queue;
  int fd;
  if (getrlimit(RLIMIT_SIGPENDING, &queue) == 0 && queue.rlim_cur < least_queue)
    return EAGAIN;
  memset(&attr, 0, sizeof attr);
  attr.size = PERF_ATTR_SIZE_VER0;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = 1000000000U / rate_hz;
  attr.wakeup_events = 1;
  attr.disabled = 1;
  /* Unprivileged users may count only outside of the kernel. This also ensures that no tick occurs
   * between a bare execve system call and the new program, which the tick would terminate. */
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
  if (fd < 0)
    return errno;
  fd = move_up(fd);
  /* The clock ticks once, and the handler requests the next tick. Therefore ticks do not queue in a
   * thread that blocks the signal, however long it blocks the signal. */
  if (fcntl(fd, F_SETSIG, signal) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0 ||
      fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 || ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) != 0) {
    const int error = errno;
    close(fd);
    return error;
  }
  clock->kind = TALLY_MON_CLOCK_PERF;
  clock->fd = fd;
  return 0;
}

/* Returns the kernel's number for the CPU clock of a thread, as linux/posix-timers.h defines it:
 * CPUCLOCK_SCHED with the flag for a single thread. pthread_getcpuclockid() returns the same for a
 * pthread_t. */
static clockid_t cpu_clock_of(pid_t tid) { return (clockid_t)(~(unsigned)tid << 3 | 6U); }

static int arm_timer(struct mon_thread_clock *clock, pid_t tid, uint32_t rate_hz, int signal) {
  struct sigevent event;
  struct itimerspec period;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = &timer_mark;
  event.sigev_notify_thread_id = tid;
  if (timer_create(cpu_clock_of(tid), &event, &clock->timer) != 0)
    return errno;
  period.it_interval.tv_sec = rate_hz == 1;
  period.it_interval.tv_nsec = rate_hz == 1 ? 0 : (long)(1000000000U / rate_hz);
  period.it_value = period.it_interval;
  if (timer_settime(clock->timer, 0, &period, NULL) != 0) {
    const int error = errno;
    timer_delete(clock->timer);
    return error;
  }
  clock->kind = TALLY_MON_CLOCK_TIMER;
  return 0;
}

int mon_thread_clock_arm(struct mon_thread_clock *clock, pid_t tid, uint32_t kind, uint32_t rate_hz,
                         int signal) {
  clock->tid = tid;
  clock->kind = TALLY_MON_CLOCK_AUTO;
  if (kind != TALLY_MON_CLOCK_TIMER) {
    const int error = arm_perf(clock, tid, rate_hz, signal);
    if (error == 0 || kind == TALLY_MON_CLOCK_PERF)
      return error;
  }
  return arm_timer(clock, tid, rate_hz, signal);
}

void mon_thread_clock_disarm(struct mon_thread_clock *clock) {
  if (clock->kind == TALLY_MON_CLOCK_TIMER)
    timer_delete(clock->timer);
  mon_thread_clock_forget(clock);
}

void mon_thread_clock_forget(struct mon_thread_clock *clock) {
  if (clock->kind == TALLY_MON_CLOCK_PERF)
    close(clock->fd);
  clock->kind = TALLY_MON_CLOCK_AUTO;
}

uint32_t mon_tick_kind(const siginfo_t *info) {
  /* After its only permitted overflow, an event reports a hang-up. */
  if (info->si_code == POLL_HUP || info->si_code == POLL_IN)
    return TALLY_MON_CLOCK_PERF;
  if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &timer_mark)
    return TALLY_MON_CLOCK_TIMER;
  return TALLY_MON_CLOCK_AUTO;
}

void mon_tick_again(const siginfo_t *info) {
  if (mon_tick_kind(info) == TALLY_MON_CLOCK_PERF)
    ioctl(info->si_fd, PERF_EVENT_IOC_REFRESH, 1);
}

uint64_t mon_tick_missed(const siginfo_t *info) {
  return info->si_code == SI_TIMER && info->si_overrun > 0 ? (uint64_t)info->si_overrun : 0;
}
