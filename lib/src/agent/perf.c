/* Opens the kernel's own clocks in the program, because the debugger is not allowed to open them,
 * and hands them over. When the debugger has taken the descriptors, the agent closes its own, and
 * no part of the agent runs any more. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/raw.h"

/* A copy of what the debugger wrote, so that the values cannot change between check and use. */
static struct {
  uint32_t attr_bytes, cpus, variants, ring_bytes, least_bytes;
  struct perf_event_attr owner, clock[TALLY_WIRE_VARIANTS];
  int32_t cpu[TALLY_WIRE_CPUS];
} wanted;

static int fds[TALLY_WIRE_FDS];
static uint32_t count;
static int owner_of[TALLY_WIRE_CPUS];
static void *ring_of[TALLY_WIRE_CPUS]; /* mapped here until the debugger has mapped it */
static uint32_t ring_bytes;
static long page_bytes;
static uint32_t variant;

static int open_event(struct perf_event_attr *attr, int tid, int cpu, int output) {
  const long flags =
      PERF_FLAG_FD_CLOEXEC | (output >= 0 ? PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP : 0);
  return (int)raw6(SYS_perf_event_open, (long)attr, tid, cpu, output, flags, 0);
}

static void keep(int fd, uint32_t cpu_index) {
  agent.shared->fd[count] = fd;
  agent.shared->fd_cpu[count] = (int32_t)cpu_index;
  fds[count++] = fd;
}

static int open_thread(int tid) {
  for (uint32_t i = 0; i < wanted.cpus; ++i) {
    if (count + 2 > TALLY_WIRE_FDS)
      return EMFILE;
    if (owner_of[i] < 0) {
      owner_of[i] = open_event(&wanted.owner, tid, wanted.cpu[i], -1);
      if (owner_of[i] == -ENODEV)
        continue; /* the processor went offline */
      if (owner_of[i] < 0)
        return -owner_of[i];
      keep(owner_of[i], i);
      /* A clock can write only into a ring that exists. */
      void *ring = mmap(NULL, (size_t)page_bytes + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        owner_of[i], 0);
      if (ring == MAP_FAILED)
        return errno == EPERM ? ENOMEM : errno;
      ring_of[i] = ring;
    }
    int fd;
    for (;;) {
      struct perf_event_attr attr = wanted.clock[variant];
      attr.sample_period += 2 * (uint64_t)i;
      fd = open_event(&attr, tid, wanted.cpu[i], owner_of[i]);
      if ((fd != -EACCES && fd != -EINVAL && fd != -EPERM) || variant + 1 >= wanted.variants)
        break;
      ++variant;
    }
    if (fd == -ESRCH)
      return 0;
    if (fd == -ENODEV)
      continue;
    if (fd < 0)
      return -fd;
    keep(fd, i);
  }
  return 0;
}

static void close_all(void) {
  for (uint32_t i = 0; i < wanted.cpus; ++i) {
    if (ring_of[i])
      munmap(ring_of[i], (size_t)page_bytes + ring_bytes);
    ring_of[i] = NULL;
    owner_of[i] = -1;
  }
  while (count > 0)
    raw1(SYS_close, fds[--count]);
}

static int open_all(void) {
  for (uint32_t i = 0; i < threads_used(); ++i) {
    const int tid = threads[i].tid;
    if (tid == 0)
      continue;
    const int error = open_thread(tid);
    if (error != 0)
      return error;
  }
  return count == 0 ? ENODEV : 0;
}

/* Waits for the debugger's answer, which is final. */
static uint32_t wait_for_answer(uint32_t wait_ms) {
  uint32_t *word = &agent.shared->handover;
  struct timespec begin, now, left = {0, 50000000};
  raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &begin);
  for (;;) {
    uint32_t answer = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (answer != TALLY_HANDOVER_OPEN)
      return answer;
    raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    if (nanoseconds(&now) - nanoseconds(&begin) >= (uint64_t)wait_ms * 1000000u &&
        __atomic_compare_exchange_n(word, &answer, TALLY_HANDOVER_WITHDRAWN, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return TALLY_HANDOVER_WITHDRAWN;
    raw4(SYS_futex, word, FUTEX_WAIT, TALLY_HANDOVER_OPEN, &left);
  }
}

bool perf_offer(int *error) {
  struct tally_wire_header *shared = agent.shared;
  const uint32_t wait_ms = shared->handover_ms;
  wanted.attr_bytes = shared->attr_bytes;
  wanted.cpus = shared->cpus;
  wanted.variants = shared->variants;
  *error = 0;
  if (wait_ms == 0 || wanted.attr_bytes == 0 || wanted.attr_bytes > sizeof wanted.owner ||
      wanted.attr_bytes > TALLY_WIRE_ATTR_BYTES || wanted.cpus > TALLY_WIRE_CPUS ||
      wanted.variants == 0 || wanted.variants > TALLY_WIRE_VARIANTS)
    return false;
  memcpy(&wanted.owner, shared->owner_attr, wanted.attr_bytes);
  for (uint32_t i = 0; i < wanted.variants; ++i)
    memcpy(&wanted.clock[i], shared->clock_attr[i], wanted.attr_bytes);
  memcpy(wanted.cpu, shared->cpu, sizeof wanted.cpu);
  wanted.ring_bytes = shared->clock_ring_bytes;
  wanted.least_bytes = shared->least_clock_ring_bytes;
  if (wanted.least_bytes < 4096 || wanted.ring_bytes > 1u << 28)
    return false;
  page_bytes = sysconf(_SC_PAGESIZE);
  count = variant = 0;
  close_all();
  for (ring_bytes = wanted.ring_bytes;; ring_bytes /= 2) {
    *error = open_all();
    if (*error == 0)
      break;
    close_all();
    if (*error != ENOMEM || ring_bytes / 2 < wanted.least_bytes)
      return false;
  }
  shared->mapped_bytes = ring_bytes;
  shared->fds = count;
  shared->variant = variant;
  agent_set_state(TALLY_STATE_OFFERED);
  const bool taken = wait_for_answer(wait_ms) == TALLY_HANDOVER_TAKEN;
  close_all();
  if (!taken)
    *error = EPERM;
  return taken;
}
