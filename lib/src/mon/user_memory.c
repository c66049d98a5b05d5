#include "user_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The smallest page size of Linux; larger pages are probed more than once. */
enum { page_bytes = 4096 };
static const uint64_t most_probed = (uint64_t)16 << 20;

static uintptr_t word_of(uintptr_t address) { return address & ~(uintptr_t)3; }

/* Makes the kernel add 0 to the word atomically, which fails with EFAULT if the page is read-only,
 * absent or truncated. Unlike process_vm_writev(), this requires no permission to trace the own
 * process, and cannot undo what another thread counts meanwhile. If a seccomp filter refuses
 * futex(), memory counts as writable; such a filter would break every threaded program anyway. */
int mon_word_writable(uintptr_t address) {
  static uint32_t nobody_waits;
  const long add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0);
  const long result = syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0L,
                              word_of(address), add_nothing);
  return result >= 0 || errno != EFAULT;
}

/* Makes the kernel read the word. If the word has the expected value, the kernel waits for 0
 * seconds. */
static int word_readable(uintptr_t address) {
  static const struct timespec no_time = {0, 0};
  const long result = syscall(SYS_futex, word_of(address), FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
                              UINT32_MAX, &no_time, NULL, 0);
  return result >= 0 || errno != EFAULT;
}

static int probe_pages(uintptr_t start, uint64_t bytes, int (*good)(uintptr_t)) {
  const uintptr_t last = start + (bytes - 1);
  uintptr_t page = start;
  for (;;) {
    if (!good(page))
      return 0;
    page = (page | (page_bytes - 1)) + 1;
    if (page > last || page == 0)
      return 1;
  }
}

/* Returns whether the memory is mapped writable, according to /proc/self/maps, or -1 if that file
 * cannot be opened. Probing each page with mon_word_writable() would allocate the pages of a large
 * sparse buffer. */
static int mapped_writable(uintptr_t start, uint64_t bytes) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  uintptr_t next = start; /* writable up to this address */
  if (maps == NULL)
    return -1;
  while (next - start < bytes && fgets(line, sizeof line, maps) != NULL) {
    uint64_t low, high;
    char rights[5];
    /* A line that is too long is read in pieces. Only its first piece matches this format. */
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &low, &high, rights) == 3 && low <= next &&
        next < high && rights[1] == 'w')
      next = (uintptr_t)high;
  }
  fclose(maps);
  return next - start >= bytes;
}

static int wraps(uintptr_t start, uint64_t bytes) { return bytes - 1 > UINTPTR_MAX - start; }

int mon_space_writable(uintptr_t start, uint64_t bytes) {
  if (bytes == 0)
    return 1;
  if (wraps(start, bytes) || !mon_word_writable(start) || !mon_word_writable(start + (bytes - 1)))
    return 0;
  if (bytes > most_probed) {
    const int known = mapped_writable(start, bytes);
    if (known >= 0)
      return known;
  }
  return probe_pages(start, bytes, mon_word_writable);
}

int mon_space_readable(uintptr_t start, uint64_t bytes) {
  if (bytes == 0)
    return 1;
  return !wraps(start, bytes) && probe_pages(start, bytes, word_readable);
}
