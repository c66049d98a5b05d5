/* inside MODE [SECONDS=0.3]
 *
 * Does what a library inside a program must survive. All modes spin for SECONDS in `inside_spin` at
 * some time, and exit with status 0 unless stated otherwise. N follows SECONDS.
 * environment  prints `own NAME=VALUE` and `child NAME=VALUE` for LD_PRELOAD and TALLY_AGENT, if
 *              they are set, and `getenv VALUE` for LD_PRELOAD
 * errno        sets errno to a value, and prints `changed N`: how often it had another afterwards
 * blocked      runs a thread that blocks every signal, in `blocked_spin`, and one that does not
 * waits        blocks every signal, waits for any a thousand times, for a moment each, and prints
 *              `foreign N`, how many arrived or were pending
 * altstack     spins in a handler on an alternate stack that is just large enough
 * coroutine    spins on stacks from malloc and at the edge of a mapping, by swapcontext()
 * last         lets the first thread exit; the last one spins and prints `last one out`
 * taken        sets a handler for SIGRTMAX-3 after SECONDS, then spins as long again
 * resets       sets every signal to its default after SECONDS, then spins as long again
 * asks         prints `handled N`, the number of signals with a handler
 * threads      prints `threads N` and `descriptors N` from /proc
 * clones       spins in a thread that clone() made, in `clone_spin`
 * fails        calls an exec that fails, a hundred times, then spins
 * searches N   with two threads in `inside_spin`, calls N execs that fail, then executes itself to
 *              print `end of the search`
 * chain N      executes itself N times, and spins each time; prints `end of the chain`
 * child        lets a forked child spin in `child_spin`, then execute `true`; exits with its status
 * killed [N]   spins, then kills itself with signal N (default: SIGKILL)
 * leaves       spins, then calls _exit(7)
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "spin.h"

extern char **environ;

static double seconds = 0.15;

__attribute__((noinline, noclone)) static void inside_spin(double time) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, time);
}

__attribute__((noinline, noclone)) static void child_spin(void) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, seconds);
}

static void print_environment(const char *who) {
  for (char **at = environ; *at; ++at)
    if (strncmp(*at, "LD_PRELOAD=", 11) == 0 || strncmp(*at, "TALLY_AGENT=", 12) == 0)
      printf("%s %s\n", who, *at);
  fflush(stdout);
}

static int environment(char *self) {
  inside_spin(seconds);
  print_environment("own");
  const char *value = getenv("LD_PRELOAD");
  printf("getenv %s\n", value ? value : "nothing");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", self, "print", (char *)NULL);
    _exit(1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status;
}

static int keep_errno(void) {
  int changed = 0;
  const double end = spin_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (spin_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
    errno = 4711;
    SPIN_STEPS(100000);
    changed += errno != 4711;
  }
  inside_spin(0.05);
  printf("changed %d\n", changed);
  return 0;
}

__attribute__((noinline, noclone)) static void *blocked_spin(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, seconds);
  return unused;
}

static int blocked(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, blocked_spin, NULL);
  inside_spin(seconds);
  return pthread_join(thread, NULL);
}

static int waits(void) {
  sigset_t all, pending;
  int foreign = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (int i = 0; i < 1000; ++i) {
    const struct timespec moment = {0, 100000};
    inside_spin(seconds / 1000);
    foreign += sigpending(&pending) != 0 || sigisemptyset(&pending) != 1;
    foreign += sigtimedwait(&all, NULL, &moment) > 0;
  }
  printf("foreign %d\n", foreign);
  return 0;
}

static void spin_on_alternate(int number) {
  (void)number;
  inside_spin(seconds);
}

static int altstack(void) {
  const long size = sysconf(_SC_MINSIGSTKSZ) * 2 + 4096;
  const stack_t stack = {.ss_sp = malloc((size_t)size), .ss_size = (size_t)size, .ss_flags = 0};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = spin_on_alternate;
  action.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
    return 1;
  return raise(SIGUSR1);
}

static ucontext_t main_context, coroutine_context;

static void run_coroutine(void) { inside_spin(seconds / 2); }

static int on_stack(void *stack, size_t size) {
  if (getcontext(&coroutine_context) != 0)
    return 1;
  coroutine_context.uc_stack.ss_sp = stack;
  coroutine_context.uc_stack.ss_size = size;
  coroutine_context.uc_link = &main_context;
  makecontext(&coroutine_context, run_coroutine, 0);
  return swapcontext(&main_context, &coroutine_context);
}

static int coroutine(void) {
  const size_t size = 64 << 10;
  char *heap = malloc(size);
  /* Nothing is mapped behind it, so that reading beyond its end is a fault. */
  char *edge = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(edge + size, size);
  const int failed = on_stack(heap, size) != 0 || on_stack(edge, size) != 0;
  free(heap);
  return failed;
}

static void *last_thread(void *unused) {
  inside_spin(seconds);
  puts("last one out");
  return unused;
}

static void last(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, last_thread, NULL);
  pthread_exit(NULL);
}

static void nothing(int number) { (void)number; }

static int taken(void) {
  inside_spin(seconds);
  signal(SIGRTMAX - 3, nothing);
  inside_spin(seconds);
  return 0;
}

static int resets(void) {
  inside_spin(seconds);
  for (int number = 1; number < NSIG; ++number)
    signal(number, SIG_DFL);
  inside_spin(seconds);
  return 0;
}

static int asks(void) {
  int handled = 0;
  inside_spin(seconds);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    handled += sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
               action.sa_handler != SIG_IGN;
  }
  printf("handled %d\n", handled);
  return 0;
}

static int count_entries(const char *path) {
  DIR *dir = opendir(path);
  int found = 0;
  while (dir && readdir(dir))
    ++found;
  if (dir)
    closedir(dir);
  return found - 2;
}

static int clone_ended;

__attribute__((noinline, noclone)) static void clone_spin(void) {
  for (int i = 0; i < (int)(seconds * 10000); ++i)
    SPIN_STEPS(100000);
}

static int clone_main(void *unused) {
  (void)unused;
  clone_spin();
  __atomic_store_n(&clone_ended, 1, __ATOMIC_RELEASE);
  syscall(SYS_exit, 0);
  return 0;
}

static int clones(void) {
  static char stack[64 << 10] __attribute__((aligned(16)));
  const int flags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(clone_main, stack + sizeof stack, flags, NULL) < 0)
    return 1;
  inside_spin(seconds);
  while (!__atomic_load_n(&clone_ended, __ATOMIC_ACQUIRE))
    usleep(1000);
  return 0;
}

static int fails(void) {
  char *const nobody[] = {NULL};
  for (int i = 0; i < 100; ++i) {
    inside_spin(0.002);
    if (execv("/nonexistent", nobody) == 0 || errno != ENOENT)
      return 1;
  }
  inside_spin(seconds);
  return 0;
}

static void *spin_on(void *unused) {
  inside_spin(1e9);
  return unused;
}

static int searches(char *self, int count) {
  pthread_t thread;
  for (int i = 0; i < 2; ++i)
    pthread_create(&thread, NULL, spin_on, NULL);
  inside_spin(seconds);
  for (int i = 0; i < count; ++i)
    if (execlp("no-such-program", "no-such-program", (char *)NULL) == 0 || errno != ENOENT)
      return 1;
  inside_spin(seconds);
  execl("/proc/self/exe", self, "found", (char *)NULL);
  return 1;
}

static int chain(char *self, int left) {
  inside_spin(seconds);
  if (left == 0) {
    puts("end of the chain");
    return 0;
  }
  char number[16], time[16];
  snprintf(number, sizeof number, "%d", left - 1);
  snprintf(time, sizeof time, "%g", seconds);
  execl("/proc/self/exe", self, "chain", time, number, (char *)NULL);
  return 1;
}

static int child(void) {
  inside_spin(seconds);
  const pid_t pid = fork();
  if (pid == 0) {
    child_spin();
    execlp("true", "true", (char *)NULL);
    _exit(1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (argc > 2)
    seconds = atof(argv[2]);
  if (strcmp(mode, "environment") == 0)
    return environment(argv[0]);
  if (strcmp(mode, "print") == 0)
    print_environment("child");
  else if (strcmp(mode, "errno") == 0)
    return keep_errno();
  else if (strcmp(mode, "blocked") == 0)
    return blocked();
  else if (strcmp(mode, "waits") == 0)
    return waits();
  else if (strcmp(mode, "altstack") == 0)
    return altstack();
  else if (strcmp(mode, "coroutine") == 0)
    return coroutine();
  else if (strcmp(mode, "last") == 0)
    last();
  else if (strcmp(mode, "taken") == 0)
    return taken();
  else if (strcmp(mode, "resets") == 0)
    return resets();
  else if (strcmp(mode, "asks") == 0)
    return asks();
  else if (strcmp(mode, "threads") == 0) {
    inside_spin(seconds);
    printf("threads %d\n", count_entries("/proc/self/task"));
    printf("descriptors %d\n", count_entries("/proc/self/fd") - 1);
  } else if (strcmp(mode, "clones") == 0)
    return clones();
  else if (strcmp(mode, "fails") == 0)
    return fails();
  else if (strcmp(mode, "searches") == 0)
    return searches(argv[0], argc > 3 ? atoi(argv[3]) : 0);
  else if (strcmp(mode, "found") == 0)
    return puts("end of the search") < 0;
  else if (strcmp(mode, "chain") == 0)
    return chain(argv[0], argc > 3 ? atoi(argv[3]) : 0);
  else if (strcmp(mode, "child") == 0)
    return child();
  else if (strcmp(mode, "killed") == 0) {
    inside_spin(seconds);
    kill(getpid(), argc > 3 ? atoi(argv[3]) : SIGKILL);
  } else if (strcmp(mode, "leaves") == 0) {
    inside_spin(seconds);
    _exit(7);
  } else
    return 100;
  return 0;
}
