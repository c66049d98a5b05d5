/* The framework of C tests. Each case runs in its own process, because profil() affects the whole
 * process.
 *
 * main() of a test is RUN_CASES(table). Without arguments it runs every case and prints TAP; with
 * the name of a case it runs only that case, in this process. TALLY_TEST_CLOCK (perf, timer)
 * selects the clock. */
#ifndef CASES_H
#define CASES_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tally/mon.h>

#include "../support/emulated.h"
#include "../support/sanitized.h"

enum { SKIPPED = 77 };

/* Whether a sanitizer is built in, which is slower and may have its own thread. */
enum { SANITIZED = TALLY_SANITIZED };

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);    \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

#define CHECK_FAILS(call, error)                                                                   \
  do {                                                                                             \
    errno = 0;                                                                                     \
    CHECK((call) == -1);                                                                           \
    CHECK(errno == (error));                                                                       \
  } while (0)

/* An emulator has a thread of its own, which the kernel counts. */
static inline uint32_t emulators_threads(void) { return tally_is_emulated() ? 1 : 0; }

struct test_case {
  const char *name;
  void (*run)(void);
};

/* --- code at known addresses ------------------------------------------------------------------ */

/* The only function in its section, whose bounds the linker defines. */
__attribute__((section("tally_spin"), noinline, no_instrument_function))
__attribute__((no_sanitize("thread", "address", "undefined"))) static uint64_t
spin_here(uint64_t steps) {
  uint64_t value = 1;
  for (; steps != 0; --steps) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    __asm__ volatile("" : "+r"(value));
  }
  return value;
}
extern char __start_tally_spin[], __stop_tally_spin[];

static inline uintptr_t spin_low(void) { return (uintptr_t)__start_tally_spin; }
static inline uintptr_t spin_high(void) { return (uintptr_t)__stop_tally_spin; }

static inline double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void spin_seconds(double seconds) {
  const double end = cpu_seconds() + seconds;
  do
    spin_here(20000);
  while (cpu_seconds() < end);
}

static inline struct tally_profil_status status_now(void) {
  struct tally_profil_status status;
  memset(&status, 0, sizeof status);
  status.size = sizeof status;
  CHECK(tally_profil_status(&status) == 0);
  return status;
}

/* Spins until `count` more ticks have come. The time limit is CPU time, so that a busy machine
 * delays the test but does not break it. */
static inline void spin_ticks(uint64_t count) {
  const uint64_t end = status_now().ticks + count;
  const double late = cpu_seconds() + 60;
  while (status_now().ticks < end) {
    spin_here(20000);
    CHECK(cpu_seconds() < late);
  }
}

/* --- the clock under test --------------------------------------------------------------------- */

static inline void skip(const char *why) {
  printf("# SKIP %s\n", why);
  fflush(stdout);
  exit(SKIPPED);
}

static inline struct tally_profil_options options_of(uint32_t rate_hz) {
  const char *const clock = getenv("TALLY_TEST_CLOCK");
  struct tally_profil_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.rate_hz = rate_hz;
  if (clock != NULL && strcmp(clock, "perf") == 0)
    options.clock = TALLY_MON_CLOCK_PERF;
  if (clock != NULL && strcmp(clock, "timer") == 0)
    options.clock = TALLY_MON_CLOCK_TIMER;
  return options;
}

/* Sets the rate. Skips the case if the kernel refuses the clock. */
static inline void set_rate(uint32_t rate_hz) {
  const struct tally_profil_options options = options_of(rate_hz);
  CHECK(tally_profil_options(&options) == 0);
  if (tally_profil(NULL, 0, 0, 0xFFFF) != 0)
    skip(strerror(errno));
  CHECK(tally_profil(NULL, 0, 0, 0) == 0);
}

static inline uint64_t sum_of(const unsigned short *buffer, size_t shorts) {
  uint64_t sum = 0;
  for (size_t i = 0; i < shorts; ++i)
    sum += buffer[i];
  return sum;
}

static inline void *pages(size_t bytes) {
  void *const made =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(made != MAP_FAILED);
  return made;
}

/* --- running ---------------------------------------------------------------------------------- */

static inline int status_of(pid_t child) {
  int status;
  while (waitpid(child, &status, 0) < 0)
    CHECK(errno == EINTR);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int run_cases(const struct test_case *cases, size_t count, int argc, char **argv) {
  int failed = 0;
  if (argc > 1) {
    for (size_t i = 0; i < count; ++i)
      if (strcmp(argv[1], cases[i].name) == 0) {
        cases[i].run();
        return 0;
      }
    fprintf(stderr, "no case %s\n", argv[1]);
    return 2;
  }
  printf("1..%zu\n", count);
  for (size_t i = 0; i < count; ++i) {
    pid_t child;
    int status;
    fflush(stdout);
    child = fork();
    if (child == 0) {
      execl("/proc/self/exe", argv[0], cases[i].name, (char *)NULL);
      _exit(126);
    }
    status = status_of(child);
    failed |= status != 0 && status != SKIPPED;
    printf("%s %zu - %s%s\n", status == 0 || status == SKIPPED ? "ok" : "not ok", i + 1,
           cases[i].name, status == SKIPPED ? " # SKIP for the reason above" : "");
    if (status != 0 && status != SKIPPED)
      printf("# status %d\n", status);
  }
  return failed;
}

#define RUN_CASES(table)                                                                           \
  int main(int argc, char **argv) {                                                                \
    return run_cases(table, sizeof(table) / sizeof *(table), argc, argv);                          \
  }

#endif
