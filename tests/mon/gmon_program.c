/* gmon_program monstartup|monitor|large|gone FILE: a program without -pg whose gmon.out gprof
 * reads.
 *
 * monstartup, monitor: `counted` runs while profiling is on, `not_counted` while it is paused.
 * large: made-up counts: 200000 ticks in `counted` and 100000 in `not_counted`, in one bin each.
 * gone: monitor()'s buffer becomes read-only, then is unmapped, first in part and then entirely. */
#include "cases.h"
#include "mon/gmon.h"

/* No bin is that of two functions. */
__attribute__((noinline, aligned(64))) static void counted(void) {
  for (int i = 0; i < 100; ++i)
    __asm__ volatile("" : : "r"(i));
}
__attribute__((noinline, aligned(64))) static void not_counted(void) {
  for (int i = 0; i < 200; ++i)
    __asm__ volatile("" : : "r"(i));
}

__attribute__((aligned(64))) static void run_for(double seconds, void (*function)(void)) {
  const double end = cpu_seconds() + seconds;
  while (cpu_seconds() < end)
    for (int i = 0; i < 10000; ++i)
      function();
}

static void run_both(void) {
  const uint64_t before = status_now().ticks;
  CHECK(status_now().on == 3);
  run_for(0.5, counted);
  CHECK(moncontrol(0) == 1 && moncontrol(0) == 0);
  run_for(0.2, not_counted);
  CHECK(moncontrol(1) == 0 && moncontrol(1) == 1);
  run_for(0.5, counted);
  CHECK(status_now().ticks > before);
}

static void write_large(const char *path) {
  const uint64_t low = (uintptr_t)counted & ~(uintptr_t)3;
  const uint64_t other = (uintptr_t)not_counted & ~(uintptr_t)3;
  uint32_t words[1024] = {0};
  struct mon_bins bins = {low, 1024, 2, words, NULL};
  CHECK(other > low && (other - low) / 4 + 1 < 1024);
  words[1] = 200000;
  words[(other - low) / 4 + 1] = 100000;
  CHECK(mon_gmon_write(path, &bins, 100) == 0);
}

/* Makes the buffer inaccessible while profiling is on, and leaves the output to exit(). */
static void lose_buffer(const char *path, uint64_t low) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 4 * page;
  char *const shorts = pages(bytes);
  /* Profile enough code to use every page of the buffer. */
  CHECK(monitor(low, low + 2 * bytes, (HISTCOUNTER *)(void *)shorts, bytes / 2, 0) == 0);
  CHECK(mprotect(shorts, bytes, PROT_READ) == 0);
  CHECK(tally_mon_write(path) == 0);
  CHECK(unlink(path) == 0);
  CHECK(mprotect(shorts + 2 * page, page, PROT_NONE) == 0);
  CHECK_FAILS(tally_mon_write(path), EFAULT);
  CHECK(access(path, F_OK) != 0);
  CHECK(munmap(shorts, bytes) == 0);
  CHECK_FAILS(tally_mon_write(path), EFAULT);
  printf("not lost\n");
}

int main(int argc, char **argv) {
  static HISTCOUNTER shorts[1 << 16];
  uint64_t low = 0, high = 0;
  CHECK(argc == 3 && mon_main_text(&low, &high));
  if (strcmp(argv[1], "large") == 0) {
    write_large(argv[2]);
    return 0;
  }
  if (strcmp(argv[1], "gone") == 0) {
    lose_buffer(argv[2], low);
    return 0;
  }
  CHECK_FAILS(tally_mon_write(argv[2]), ENODATA);
  if (strcmp(argv[1], "monitor") == 0) {
    CHECK_FAILS(monitor(low, low, shorts, 100, 0), EINVAL);
    CHECK_FAILS(monitor(low, high, NULL, 100, 0), EFAULT);
    CHECK(monitor(low, high, shorts, sizeof shorts / sizeof *shorts, 0) == 0);
    CHECK_FAILS(monitor(low, high, shorts, 100, 0), EBUSY);
  } else {
    monstartup(low, high);
    monstartup(low, high);
  }
  /* profil() uses the same clock. Turning on while on, and off in another form, have no effect. */
  CHECK(tally_profil(shorts, 2, 0, 2) == 0 && tally_profil(shorts, 2, 0, 0) == 0);
  run_both();
  CHECK(tally_mon_write(argv[2]) == 0);
  if (strcmp(argv[1], "monitor") == 0) {
    CHECK(monitor(0, 0, NULL, 0, 0) == 0);
    CHECK(status_now().on == 0);
  }
  return 0;
}
