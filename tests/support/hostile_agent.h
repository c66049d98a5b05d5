/* Plays an agent that lies, in the process that a debugger samples: it writes whatever it likes to
 * the memory that it shares with the debugger. A seed repeats the tricks, but not their timing. */
#ifndef TALLY_TESTS_HOSTILE_AGENT_H
#define TALLY_TESTS_HOSTILE_AGENT_H

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/src/agent/wire.h"

struct hostile {
  char *memory;
  struct tally_wire_header *header;
  uint64_t random; /* not 0 */
  uint32_t slots, ring_bytes;
  struct perf_event_mmap_page *page; /* of a ring of the kernel's that was handed over; or null */
};

static inline uint64_t hostile_random(struct hostile *h) {
  h->random ^= h->random << 13;
  h->random ^= h->random >> 7;
  h->random ^= h->random << 17;
  return h->random;
}

/* Returns a number that is small, at a limit, near a power of two, or any. */
static inline uint64_t hostile_number(struct hostile *h) {
  const uint64_t number = hostile_random(h);
  switch (hostile_random(h) % 4) {
  case 0:
    return number % 64;
  case 1:
    return (UINT64_C(1) << number % 64) + hostile_random(h) % 17 - 8;
  case 2:
    return number | UINT64_C(1) << 63;
  default:
    return number;
  }
}

/* Maps the memory, and claims it before the agent does. Returns 0 if `name` names none. */
static inline int hostile_begin(struct hostile *h, const char *name, uint64_t seed) {
  memset(h, 0, sizeof *h);
  h->random = seed * 2 + 1;
  const int fd = open(name, O_RDWR | O_CLOEXEC);
  const off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
  void *const map =
      size <= 0 ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0)
    close(fd);
  if (map == MAP_FAILED)
    return 0;
  h->memory = (char *)map;
  h->header = (struct tally_wire_header *)map;
  h->slots = h->header->slots;
  h->ring_bytes = h->header->ring_bytes;
  h->header->claimed_by = getpid();
  return 1;
}

static inline void hostile_state(struct hostile *h, uint32_t state) {
  __atomic_store_n(&h->header->state, state, __ATOMIC_RELEASE);
  syscall(SYS_futex, &h->header->state, FUTEX_WAKE, 1000, NULL, NULL, 0);
}

/* Hands over a descriptor: of a ring of the kernel's, or of anything. */
static inline void hostile_offer(struct hostile *h) {
  struct tally_wire_header *const header = h->header;
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.comm = attr.exclude_kernel = 1;
  int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t ring = header->least_clock_ring_bytes;
  if (fd >= 0 && hostile_random(h) % 4 != 0) {
    void *const map = mmap(NULL, page + ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
      h->page = (struct perf_event_mmap_page *)map;
  } else if (hostile_random(h) % 2 != 0) {
    fd = (int)syscall(SYS_memfd_create, "ring", 0); /* which can shrink while it is mapped */
    if (fd >= 0 && ftruncate(fd, (off_t)(page + ring)) != 0)
      fd = -1;
  }
  header->fds = hostile_random(h) % 8 != 0 ? 1 : (uint32_t)hostile_number(h);
  header->fd[0] = fd;
  header->fd_cpu[0] = hostile_random(h) % 8 != 0 ? 0 : (int32_t)hostile_number(h);
  header->variant = (uint32_t)(hostile_random(h) % 5);
  header->mapped_bytes = hostile_random(h) % 8 != 0 ? (uint32_t)ring : (uint32_t)hostile_number(h);
  header->handover = TALLY_HANDOVER_OPEN;
  hostile_state(h, TALLY_STATE_OFFERED);
}

/* Writes records to one of the rings, possible ones or not. */
static inline void hostile_records(struct hostile *h, int honest) {
  const uint32_t slot = (uint32_t)(hostile_random(h) % h->slots);
  struct tally_wire_slot *const control =
      (struct tally_wire_slot *)(h->memory + tally_wire_slots_at()) + slot;
  char *const ring = h->memory + tally_wire_rings_at(h->slots) + (uint64_t)slot * h->ring_bytes;
  struct {
    struct tally_wire_record record;
    uint64_t words[TALLY_WIRE_FRAMES];
  } all;
  const unsigned count = (unsigned)(1 + hostile_random(h) % 64);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned words = (unsigned)(1 + hostile_random(h) % TALLY_WIRE_FRAMES);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    all.record.bytes = (uint32_t)(sizeof all.record + words * sizeof all.words[0]);
    all.record.kind = honest ? (uint32_t)TALLY_RECORD_CHAIN : (uint32_t)(hostile_random(h) % 4);
    all.record.tid = honest ? getpid() : (int32_t)(hostile_random(h) % 100000);
    all.record.weight = honest ? 1 : (uint32_t)hostile_number(h);
    all.record.at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (!honest && hostile_random(h) % 4 == 0)
      all.record.at_ns = hostile_number(h);
    if (!honest && hostile_random(h) % 4 == 0)
      all.record.bytes = (uint32_t)hostile_number(h);
    for (unsigned k = 0; k < words; ++k)
      all.words[k] = hostile_random(h) % 2 ? (uint64_t)(uintptr_t)ring + k : hostile_number(h);
    const uint64_t bytes = sizeof all.record + words * sizeof all.words[0];
    for (uint64_t k = 0; k < bytes; ++k)
      ring[(control->head + k) % h->ring_bytes] = ((const char *)&all)[k];
    __atomic_store_n(&control->head, control->head + bytes, __ATOMIC_RELEASE);
  }
}

/* Changes one thing. `honest` tricks are such as an agent could play, so that the reader goes on.
 */
static inline void hostile_trick(struct hostile *h) {
  const int honest = hostile_random(h) % 64 != 0;
  uint64_t *const words = (uint64_t *)(void *)h->header;
  switch (hostile_random(h) % 8) {
  case 0:
    if (!honest)
      words[hostile_random(h) % (sizeof *h->header / sizeof *words)] = hostile_number(h);
    break;
  case 1:
    h->header->notes = (uint32_t)hostile_random(h);
    h->header->lost = hostile_number(h);
    h->header->cpu_ns = hostile_number(h);
    h->header->unplaced_ns = hostile_number(h);
    h->header->signals_sent = hostile_number(h);
    break;
  case 2:
    if (!honest)
      hostile_state(h, (uint32_t)(hostile_random(h) % 9));
    break;
  case 3:
    if (!honest)
      ((struct tally_wire_slot *)(h->memory + tally_wire_slots_at()))[hostile_random(h) % h->slots]
          .head = hostile_number(h);
    break;
  case 4:
    if (h->page) {
      /* The kernel lets nobody write to the pages behind the first. */
      ((char *)h->page)[hostile_random(h) % sizeof *h->page] = (char)hostile_random(h);
      if (hostile_random(h) % 16 == 0)
        h->page->data_tail = h->page->data_head + hostile_number(h) % 65536;
      if (!honest)
        h->page->data_head = hostile_number(h);
    }
    break;
  case 5: {
    char name[16];
    for (unsigned i = 0; i < sizeof name; ++i)
      name[i] = (char)hostile_random(h);
    name[sizeof name - 1] = 0;
    prctl(PR_SET_NAME, name);
    break;
  }
  default:
    hostile_records(h, honest);
  }
}

static inline void hostile_play(struct hostile *h, double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (hostile_random(h) % 2)
    hostile_offer(h);
  else
    hostile_state(h, TALLY_STATE_TICKER);
  do {
    for (int i = 0; i < 100; ++i)
      hostile_trick(h);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
           seconds);
}

#endif
