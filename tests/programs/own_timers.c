/* own_timers [TIMES=100]
 *
 * Has its own timers: SIGALRM every 5 ms of real time and SIGPROF every 5 ms of CPU time, until
 * TIMES of both have come. Prints how often its handlers were called and how often another signal
 * interrupted it, `alarms N`, `profs N`, `others N`; whether TIMES signals SIGALRM came sooner than
 * the timer sends them, `early 0` or `early 1`; the number of descriptors that were open at its
 * start, `descriptors N`; how many it may open, `limit N`; and the signals that were blocked or
 * ignored, `masked HEX`. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "spin.h"

static volatile sig_atomic_t counts[NSIG];
/* The count at which a signal is ignored while its timer is set; 0: none. */
static volatile sig_atomic_t most[NSIG];

/* Counts a signal. A timer may expire once more before main() disarms it; that signal is not
 * counted. */
static void count(int number) {
  if (most[number] == 0 || counts[number] < most[number])
    counts[number] += 1;
}

/* Disarms a timer. The kernel delivers what is still pending before setitimer() returns, so that
 * any later signal is one that the program did not ask for. */
static void end_timer(int timer, int number) {
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(timer, &never, NULL);
  most[number] = 0;
}

static long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_descriptors(void) {
  DIR *dir = opendir("/proc/self/fd");
  int found = -1; /* the directory's own descriptor */
  while (dir && readdir(dir))
    ++found;
  if (dir)
    closedir(dir);
  return found - 2;
}

static unsigned long long masked(void) {
  unsigned long long all = 0;
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (sigismember(&blocked, number) == 1 ||
        (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN))
      all |= 1ULL << number;
  }
  return all;
}

int main(int argc, char **argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 100;
  const int descriptors = open_descriptors();
  const unsigned long long signals = masked();
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);

  const int others[] = {SIGUSR1, SIGUSR2, SIGIO, SIGVTALRM, SIGURG, SIGCHLD, SIGTRAP, SIGINT};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    sigaction(others[i], &action, NULL);
  const struct itimerval every = {{0, 5000}, {0, 5000}};
  most[SIGALRM] = most[SIGPROF] = times;
  const long long begin_ms = now_ms();
  long long alarm_ms = 0;
  setitimer(ITIMER_REAL, &every, NULL);
  setitimer(ITIMER_PROF, &every, NULL);
  while (counts[SIGALRM] < times || counts[SIGPROF] < times) {
    if (most[SIGALRM] != 0 && counts[SIGALRM] >= times) {
      alarm_ms = now_ms() - begin_ms;
      end_timer(ITIMER_REAL, SIGALRM);
    }
    if (most[SIGPROF] != 0 && counts[SIGPROF] >= times)
      end_timer(ITIMER_PROF, SIGPROF);
    SPIN_STEPS(1000);
  }
  if (most[SIGALRM] != 0)
    alarm_ms = now_ms() - begin_ms;
  end_timer(ITIMER_REAL, SIGALRM);
  end_timer(ITIMER_PROF, SIGPROF);
  int interrupted = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    interrupted += counts[others[i]];
  printf("alarms %d\nprofs %d\nothers %d\nearly %d\ndescriptors %d\nlimit %llu\n"
         "masked %llx\n",
         (int)counts[SIGALRM], (int)counts[SIGPROF], interrupted, alarm_ms <= 5 * (times - 1),
         descriptors, (unsigned long long)limit.rlim_cur, signals);
  return 0;
}
