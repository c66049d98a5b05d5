/* Tests profil() together with threads, fork, exec, signals, and memory that is unmapped. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <threads.h>

#include "cases.h"

enum { HIGHEST_HZ = 10000 };
static unsigned short buffer[4096];

static void on(void) { CHECK(profil(buffer, sizeof buffer, 0, 2) == 0); }
static void off(void) { CHECK(profil(buffer, sizeof buffer, 0, 0) == 0); }

/* --- threads ---------------------------------------------------------------------------------- */

static int finished;
static void finish(void) { __atomic_store_n(&finished, 1, __ATOMIC_RELEASE); }

static void *nothing(void *unused) { return unused; }

static void *spin_until_finished(void *unused) {
  while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE))
    spin_here(20000);
  return unused;
}

static int spin_until_finished_thrd(void *unused) {
  spin_until_finished(unused);
  return 0;
}

/* Returns the CPU time of one thread, in seconds. The process's would include other threads. */
static double thread_cpu(pthread_t thread) {
  clockid_t clock;
  struct timespec now;
  CHECK(pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &now) == 0);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void threads_count(void) {
  pthread_t early[4], late[3];
  thrd_t late_thrd;
  uint64_t before;
  uint32_t others; /* a sanitizer's, which starts with the first thread, and this thread */
  set_rate(250);
  CHECK(pthread_create(&late[0], NULL, nothing, NULL) == 0);
  pthread_join(late[0], NULL);
  on();
  others = status_now().threads;
  off();
  for (int i = 0; i < 4; ++i)
    CHECK(pthread_create(&early[i], NULL, spin_until_finished, NULL) == 0);
  on();
  CHECK(status_now().threads == others + 4);
  for (int i = 0; i < 3; ++i)
    CHECK(pthread_create(&late[i], NULL, spin_until_finished, NULL) == 0);
  /* ThreadSanitizer does not know this function, and fails because of its threads. */
  if (!SANITIZED)
    CHECK(thrd_create(&late_thrd, spin_until_finished_thrd, NULL) == thrd_success);
  /* This thread sleeps, so that all ticks are the others'. Wait until each of those has had CPU
   * time, however few processors there are. */
  for (int ready = 0; !ready;) {
    usleep(20000);
    ready = 1;
    for (int i = 0; i < 3; ++i)
      ready &= thread_cpu(early[i]) > 0.1 && thread_cpu(late[i]) > 0.1;
  }
  CHECK(status_now().threads == others + 7 + !SANITIZED && status_now().unclocked == 0);
  before = status_now().ticks;
  finish();
  for (int i = 0; i < 4; ++i)
    pthread_join(early[i], NULL);
  for (int i = 0; i < 3; ++i)
    pthread_join(late[i], NULL);
  if (!SANITIZED)
    thrd_join(late_thrd, NULL);
  CHECK(before > 30);
  /* The four threads that pthread_create() made earlier are tracked as well: none is left. */
  CHECK(status_now().threads == others);
  off();
  CHECK(buffer[0] == status_now().ticks - status_now().saturated);
}

/* Each thread gets a tick per period, not the process: two threads have twice the ticks of one. */
static void a_late_thread_has_a_clock(void) {
  pthread_t thread;
  double cpu;
  set_rate(100);
  on();
  CHECK(pthread_create(&thread, NULL, spin_until_finished, NULL) == 0);
  do
    usleep(20000);
  while ((cpu = thread_cpu(thread)) < 1);
  finish();
  pthread_join(thread, NULL);
  off();
  /* About a hundred are due; the bounds exclude both no clock and two. */
  CHECK((double)status_now().ticks > 50 * cpu && (double)status_now().ticks < 150 * cpu + 20);
}

static void *leave(void *unused) {
  spin_here(1000000);
  pthread_exit(unused);
}

static int highest_descriptor(void) {
  DIR *const folder = opendir("/proc/self/fd");
  const struct dirent *entry;
  int highest = -1;
  CHECK(folder != NULL);
  while ((entry = readdir(folder)) != NULL)
    if (atoi(entry->d_name) > highest && atoi(entry->d_name) != dirfd(folder))
      highest = atoi(entry->d_name);
  closedir(folder);
  return highest;
}

static void threads_come_and_go(void) {
  const int before = highest_descriptor();
  pthread_t threads[4];
  uint32_t others;
  set_rate(HIGHEST_HZ);
  on();
  others = status_now().threads;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 4; ++i)
      CHECK(pthread_create(&threads[i], NULL, i % 2 ? nothing : leave, NULL) == 0);
    if (round % 10 == 0) {
      off();
      on();
    }
    for (int i = 0; i < 4; ++i)
      pthread_join(threads[i], NULL);
  }
  CHECK(status_now().threads <= others + SANITIZED && status_now().unclocked == 0);
  off();
  CHECK(status_now().threads == 0);
  CHECK(highest_descriptor() == before);
}

/* --- fork ------------------------------------------------------------------------------------- */

static void fork_goes_on_in_both(void) {
  unsigned short before, own;
  pid_t child;
  set_rate(1000);
  on();
  spin_ticks(10);
  off();
  before = buffer[0];
  on();
  child = fork();
  if (child == 0) {
    CHECK(status_now().on == 1 && status_now().ticks < 10);
    spin_ticks(20);
    off();
    CHECK(buffer[0] >= before + 20);
    _exit(42);
  }
  /* The child's ticks are not counted here. */
  CHECK(status_of(child) == 42);
  spin_ticks(20);
  off();
  own = (unsigned short)(buffer[0] - before);
  CHECK(own == status_now().ticks);
}

static void fork_shares_shared_memory(void) {
  uint64_t *const theirs =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  unsigned short *const shared =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child;
  CHECK(theirs != MAP_FAILED && shared != MAP_FAILED);
  set_rate(HIGHEST_HZ);
  CHECK(profil(shared, 4096, 0, 2) == 0);
  child = fork();
  spin_ticks(100);
  CHECK(profil(shared, 4096, 0, 0) == 0);
  if (child == 0) {
    *theirs = status_now().ticks;
    _exit(0);
  }
  CHECK(status_of(child) == 0);
  CHECK(shared[0] == *theirs + status_now().ticks);
}

/* --- exec ------------------------------------------------------------------------------------- */

/* Runs in the new program. It accepts any signal that is still pending, and checks that there is no
 * descriptor of the library. */
static void exec_target(void) {
  sigset_t all;
  struct sigaction action;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  CHECK(status_now().on == 0);
  CHECK(sigaction(SIGRTMAX - 3, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
  CHECK(highest_descriptor() == atoi(getenv("TALLY_TEST_HIGHEST")));
  exit(42);
}

static char *const target_argv[] = {(char *)"process", (char *)"exec_target", NULL};
static const char self[] = "/proc/self/exe";

static void remember_descriptors(void) {
  char text[16];
  snprintf(text, sizeof text, "%d", highest_descriptor());
  setenv("TALLY_TEST_HIGHEST", text, 1);
}

enum { EXEC_WAYS = 8 }; /* the last one is fexecve() */

static void exec_by(int way) {
  switch (way % EXEC_WAYS) {
  case 0:
    execl(self, "process", "exec_target", (char *)NULL);
    break;
  case 1:
    execle(self, "process", "exec_target", (char *)NULL, environ);
    break;
  case 2:
    execlp(self, "process", "exec_target", (char *)NULL);
    break;
  case 3:
    execv(self, target_argv);
    break;
  case 4:
    execve(self, target_argv, environ);
    break;
  case 5:
    execvp(self, target_argv);
    break;
  case 6:
    execvpe(self, target_argv, environ);
    break;
  default:
    fexecve(open(self, O_RDONLY | O_CLOEXEC), target_argv, environ);
  }
}

static void *exec_from_here(void *way) {
  spin_here(200000);
  exec_by(*(int *)way);
  return NULL;
}

static void exec_turns_off(void) {
  remember_descriptors();
  set_rate(HIGHEST_HZ);
  for (int round = 0; round < (SANITIZED ? 24 : 200); ++round) {
    /* qemu-user opens the program by its name, after exec has closed the descriptor. */
    if (tally_is_emulated() && round % EXEC_WAYS == EXEC_WAYS - 1)
      continue;
    const pid_t child = fork();
    if (child == 0) {
      pthread_t thread;
      on();
      /* Cover threads that spin meanwhile, an exec by another than the first thread, and ticks that
       * are pending because every signal is blocked. */
      if (round % 3 == 1)
        pthread_create(&thread, NULL, spin_until_finished, NULL);
      if (round % 3 == 2) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
      }
      spin_here(20000 + 5000 * (uint64_t)round);
      if (round % 6 == 1) {
        pthread_create(&thread, NULL, exec_from_here, &round);
        pthread_join(thread, NULL);
      }
      exec_by(round);
      _exit(1);
    }
    CHECK(status_of(child) == 42);
  }
}

static void a_failed_exec_changes_nothing(void) {
  sigset_t before, after;
  set_rate(1000);
  on();
  sigprocmask(SIG_BLOCK, NULL, &before);
  CHECK_FAILS(execl("/nowhere/at/all", "nobody", (char *)NULL), ENOENT);
  CHECK_FAILS(execvp("no-such-program-anywhere", target_argv), ENOENT);
  sigprocmask(SIG_BLOCK, NULL, &after);
  for (int number = 1; number <= SIGRTMAX; ++number)
    CHECK(sigismember(&before, number) == sigismember(&after, number));
  spin_ticks(10);
  CHECK(status_now().threads == 1 + emulators_threads());
}

static void vfork_leaves_the_parent_alone(void) {
  remember_descriptors();
  set_rate(1000);
  on();
  for (int i = 0; i < 20; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execl(self, "process", "exec_target", (char *)NULL);
      _exit(1);
    }
    CHECK(status_of(child) == 42);
  }
  CHECK(status_now().threads == 1 + emulators_threads());
  spin_ticks(10);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void block_all_and_spin(rlim_t queue) {
  const struct rlimit limit = {queue, queue};
  sigset_t all, before;
  set_rate(HIGHEST_HZ);
  CHECK(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
  sigfillset(&all);
  if (tally_profil(buffer, sizeof buffer, 0, 2) != 0)
    skip("perf is not used if the signal queue is short");
  sigprocmask(SIG_BLOCK, &all, &before);
  spin_seconds(1);
  sigprocmask(SIG_SETMASK, &before, NULL);
  spin_ticks(20);
}

static void blocked_signals(void) { block_all_and_spin(2000); }
static void blocked_signals_short_queue(void) { block_all_and_spin(50); }

static void no_queue_at_all(void) {
  const struct rlimit limit = {0, 0};
  CHECK(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
  errno = 0;
  if (profil(buffer, sizeof buffer, 0, 2) != 0)
    CHECK(errno == EAGAIN && status_now().on == 0);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int unused) {
  (void)unused;
  ++alarms;
}

static void sigprof_is_the_programs(void) {
  const struct itimerval period = {{0, 10000}, {0, 10000}};
  struct itimerval now;
  struct sigaction action;
  set_rate(1000);
  signal(SIGPROF, on_alarm);
  CHECK(setitimer(ITIMER_PROF, &period, NULL) == 0);
  on();
  spin_ticks(50);
  while (alarms < 5) /* ThreadSanitizer delivers a signal at the next call that it knows */
    spin_seconds(0.001);
  CHECK(getitimer(ITIMER_PROF, &now) == 0 && now.it_interval.tv_usec == 10000);
  CHECK(sigaction(SIGPROF, NULL, &action) == 0 && action.sa_handler == on_alarm);
  off();
}

static void a_signal_that_is_taken(void) {
  signal(SIGRTMAX - 3, on_alarm);
  set_rate(1000);
  on();
  spin_ticks(10);
  CHECK(alarms == 0 && status_now().signal != (uint32_t)(SIGRTMAX - 3));
}

static void own_alternate_stack(void) {
  const size_t bytes = 64 << 10;
  const stack_t stack = {.ss_sp = pages(bytes), .ss_size = bytes};
  set_rate(1000);
  CHECK(sigaltstack(&stack, NULL) == 0);
  on();
  spin_ticks(20);
  off();
  CHECK(buffer[0] == status_now().ticks && status_now().outside == 0);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void unmapped_buffer(void) {
  char *const page = pages(4096);
  set_rate(1000);
  CHECK(profil((unsigned short *)(void *)page, 4096, 0, 2) == 0);
  spin_ticks(5);
  CHECK(mprotect(page, 4096, PROT_READ) == 0);
  spin_ticks(5);
  CHECK(status_now().lost >= 4);
  CHECK(munmap(page, 4096) == 0);
  spin_ticks(5);
  CHECK(status_now().lost >= 9);
  CHECK(profil((unsigned short *)(void *)page, 4096, 0, 0) == 0);
}

static void truncated_file(void) {
  FILE *const file = tmpfile();
  CHECK(file != NULL && ftruncate(fileno(file), 4096) == 0);
  char *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  CHECK(page != MAP_FAILED);
  set_rate(1000);
  CHECK(profil((unsigned short *)(void *)page, 4096, 0, 2) == 0);
  spin_ticks(5);
  CHECK(ftruncate(fileno(file), 0) == 0);
  spin_ticks(5);
  CHECK(status_now().lost >= 4);
}

/* For gmon_test.py: prints which clock is used if none is requested. */
static void print_clock(void) {
  struct tally_profil_options options = options_of(1000);
  options.clock = TALLY_MON_CLOCK_AUTO;
  CHECK(tally_profil_options(&options) == 0);
  on();
  spin_ticks(100);
  printf("%s: %u Hz of %u\n", status_now().clock == TALLY_MON_CLOCK_PERF ? "perf" : "timer",
         status_now().delivered_hz, status_now().requested_hz);
  off();
}

static const struct test_case cases[] = {
    {"threads_count", threads_count},
    {"a_late_thread_has_a_clock", a_late_thread_has_a_clock},
    {"threads_come_and_go", threads_come_and_go},
    {"fork_goes_on_in_both", fork_goes_on_in_both},
    {"fork_shares_shared_memory", fork_shares_shared_memory},
    {"exec_turns_off", exec_turns_off},
    {"a_failed_exec_changes_nothing", a_failed_exec_changes_nothing},
    {"vfork_leaves_the_parent_alone", vfork_leaves_the_parent_alone},
    {"blocked_signals", blocked_signals},
    {"blocked_signals_short_queue", blocked_signals_short_queue},
    {"no_queue_at_all", no_queue_at_all},
    {"sigprof_is_the_programs", sigprof_is_the_programs},
    {"a_signal_that_is_taken", a_signal_that_is_taken},
    {"own_alternate_stack", own_alternate_stack},
    {"unmapped_buffer", unmapped_buffer},
    {"truncated_file", truncated_file},
};

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "exec_target") == 0)
    exec_target();
  if (argc > 1 && strcmp(argv[1], "print_clock") == 0) {
    print_clock();
    return 0;
  }
  return run_cases(cases, sizeof cases / sizeof *cases, argc, argv);
}
