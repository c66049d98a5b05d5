/* monitor(), monstartup() and moncontrol(): they count in equal bins and write a GNU gmon.out. */
#include "gmon.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profil.h"

/* The profiling that monitor() or monstartup() has turned on, even if it is off again. */
static struct {
  struct mon_target *target; /* NULL if there was no such call */
  size_t mapped_bytes;       /* size of our own counters */
  int is_open;               /* the file must be written at exit */
} session;

/* Bins have at least four bytes, as in glibc. gprof works in units of two bytes and loses the
 * counts of bins that are smaller than a unit. */
enum { least_shift = 2 };

static int fail(int error) {
  errno = error;
  return -1;
}

static int in_session(void) {
  return session.target != NULL && mon_target_in_force() == session.target;
}

static void forget_session(void) {
  if (in_session())
    mon_clocks_stop();
  if (session.mapped_bytes != 0)
    munmap(session.target->bins.words, session.mapped_bytes);
  free(session.target);
  memset(&session, 0, sizeof session);
}

static int begin(const struct mon_bins *bins, size_t mapped_bytes) {
  const struct mon_settings settings = mon_profil_settings();
  forget_session();
  session.target = calloc(1, sizeof *session.target);
  if (session.target == NULL)
    return fail(ENOMEM);
  session.target->form = MON_BINS;
  session.target->bins = *bins;
  session.mapped_bytes = mapped_bytes;
  if (mon_clocks_start(session.target, &settings) != 0) {
    const int error = errno;
    session.mapped_bytes = 0; /* the caller frees them */
    forget_session();
    return fail(error);
  }
  session.is_open = 1;
  return 0;
}

/* Returns bins of 1 << shift bytes that cover [low, high) and begin at a multiple of their size. */
static struct mon_bins bins_of(uint64_t low, uint64_t high, unsigned shift) {
  struct mon_bins bins;
  memset(&bins, 0, sizeof bins);
  bins.shift = shift;
  bins.low = low >> shift << shift;
  bins.count = ((high - 1 - bins.low) >> shift) + 1;
  return bins;
}

static int start_own(uint64_t low, uint64_t high) {
  struct mon_bins bins;
  void *counters;
  size_t bytes;
  if (mon_target_in_force() != NULL)
    return 0;
  if (low >= high)
    return fail(EINVAL);
  bins = bins_of(low, high, least_shift);
  if (bins.count > SIZE_MAX / 8)
    return fail(ENOMEM);
  /* Pages without counts take no memory. */
  bytes = (size_t)bins.count * sizeof *bins.words;
  counters =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (counters == MAP_FAILED)
    return -1;
  bins.words = counters;
  if (begin(&bins, bytes) != 0) {
    const int error = errno;
    munmap(counters, bytes);
    return fail(error);
  }
  return 0;
}

static int start_in(uint64_t low, uint64_t high, HISTCOUNTER *buffer, size_t shorts) {
  struct mon_bins bins;
  unsigned shift = least_shift;
  if (mon_target_in_force() != NULL)
    return fail(EBUSY);
  if (low >= high || shorts == 0)
    return fail(EINVAL);
  if (shorts > SIZE_MAX / 2 || !mon_space_writable((uintptr_t)buffer, 2 * (uint64_t)shorts))
    return fail(EFAULT);
  do
    bins = bins_of(low, high, shift++);
  while (bins.count > shorts);
  bins.shorts = (unsigned char *)buffer;
  return begin(&bins, 0);
}

static int write_now(const char *path) {
  const struct mon_bins *bins;
  if (session.target == NULL)
    return fail(ENODATA);
  bins = &session.target->bins;
  /* The caller's buffer may no longer exist, especially at exit, where a fault would also lose
   * output that the program has not flushed yet. A buffer that is read-only can still be written to
   * the file. */
  if (bins->words == NULL && !mon_space_readable((uintptr_t)bins->shorts, 2 * bins->count))
    return fail(EFAULT);
  return mon_gmon_write(path, bins, mon_clocks_effective_rate());
}

static int end_and_write(void) {
  int result;
  if (!session.is_open)
    return 0;
  if (in_session())
    mon_clocks_stop();
  result = write_now(NULL);
  session.is_open = 0;
  return result;
}

/* --- the interface ---------------------------------------------------------------------------- */

void monstartup(unsigned long low_pc, unsigned long high_pc) {
  const int entered = mon_enter();
  start_own(low_pc, high_pc);
  mon_leave(entered);
}

int monitor(unsigned long low_pc, unsigned long high_pc, HISTCOUNTER *buffer, size_t shorts,
            int functions) {
  const int entered = mon_enter();
  int result;
  (void)functions;
  result = low_pc == 0 ? end_and_write() : start_in(low_pc, high_pc, buffer, shorts);
  mon_leave(entered);
  return result;
}

int moncontrol(int mode) {
  const int entered = mon_enter();
  int before = -1, result = 0;
  if (in_session()) {
    before = mon_clocks_running();
    if (mode == 0 && before)
      mon_clocks_pause();
    else if (mode != 0 && !before)
      result = mon_clocks_resume();
  }
  mon_leave(entered);
  if (before < 0) {
    /* A program built with -pg has libc's profile, which libc's function controls. */
    void (*const next)(int) = (void (*)(int))dlsym(RTLD_NEXT, "moncontrol");
    if (next != NULL)
      next(mode);
    return 0;
  }
  return result == 0 ? before : -1;
}

int tally_mon_write(const char *path) {
  const int entered = mon_enter();
  const int result = write_now(path);
  mon_leave(entered);
  return result;
}

/* --- begin and end of the program ------------------------------------------------------------- */

/* Clears our own counters in a forked child, because its file would contain its parent's counts a
 * second time. Also cancels the child's file if it would replace the file of its parent. */
static void child_after_fork(void) {
  if (session.target == NULL)
    return;
  if (session.mapped_bytes != 0)
    madvise(session.target->bins.words, session.mapped_bytes, MADV_DONTNEED);
  else
    session.is_open = 0; /* writing the caller's buffer is up to the caller */
  session.is_open &= mon_gmon_name_has_pid();
}

__attribute__((constructor)) static void start_by_environment(void) {
  const char *const wanted = secure_getenv("TALLY_MON");
  const char *const rate = secure_getenv("TALLY_MON_HZ");
  struct tally_profil_options options;
  uint64_t low, high;
  pthread_atfork(NULL, NULL, child_after_fork);
  if (wanted == NULL || *wanted == '\0' || strcmp(wanted, "0") == 0)
    return;
  if (!mon_gmon_name_has_pid())
    unsetenv("TALLY_MON");
  if (rate != NULL) {
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.rate_hz = (uint32_t)strtoul(rate, NULL, 10);
    tally_profil_options(&options);
  }
  if (mon_main_text(&low, &high))
    monstartup(low, high);
}

__attribute__((destructor)) static void end_by_exit(void) {
  int entered;
  /* Do nothing in a child of a bare clone(): the file belongs to its parent, and the lock may be
   * held forever. */
  if (!session.is_open || mon_owner() != getpid())
    return;
  entered = mon_enter();
  if (end_and_write() != 0)
    mon_gmon_complain();
  mon_leave(entered);
}
