/* Handles one tick: finds the counter and increments it. This runs in a signal handler, so nothing
 * here allocates, waits for another thread's progress, or calls anything but the probe of
 * memory. */
#ifndef TALLY_MON_COUNTING_H
#define TALLY_MON_COUNTING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "profil_index.h"
#include "user_memory.h"

enum mon_form { MON_OFF = 0, MON_SHORTS = 1, MON_RANGES = 2, MON_BINS = 3 };

struct mon_range {
  struct tally_profil_map map;
  unsigned char *shorts; /* may be unaligned */
};

/* Equal bins, for gmon.out. */
struct mon_bins {
  uint64_t low;
  uint64_t count;
  unsigned shift;  /* a bin has 1 << shift bytes */
  uint32_t *words; /* our own counters, or NULL if `shorts` are used */
  unsigned char *shorts;
};

/* What is counted, and where. It does not change while profiling is on. */
struct mon_target {
  enum mon_form form;
  struct mon_bins bins;
  size_t range_count;
  struct mon_range ranges[]; /* sorted by their ends; none of the ranges is off */
};

enum mon_outcome { MON_COUNTED, MON_SATURATED, MON_OUTSIDE, MON_LOST };

/* Protects shorts that no instruction can increment atomically. Handlers run with all signals
 * blocked, so the holder is always another thread. */
extern unsigned char mon_unaligned_lock;

static inline enum mon_outcome mon_increment_unaligned(unsigned char *at) {
  enum mon_outcome outcome = MON_SATURATED;
  unsigned short value;
  while (__atomic_test_and_set(&mon_unaligned_lock, __ATOMIC_ACQUIRE))
    ;
  memcpy(&value, at, sizeof value);
  if (value != UINT16_MAX) {
    ++value;
    memcpy(at, &value, sizeof value);
    outcome = MON_COUNTED;
  }
  __atomic_clear(&mon_unaligned_lock, __ATOMIC_RELEASE);
  return outcome;
}

static inline enum mon_outcome mon_increment_short(unsigned char *at) {
  unsigned short *counter = (unsigned short *)(void *)at;
  unsigned short value;
  if (((uintptr_t)at & 1) != 0)
    return mon_increment_unaligned(at);
  value = __atomic_load_n(counter, __ATOMIC_RELAXED);
  do {
    if (value == UINT16_MAX)
      return MON_SATURATED;
  } while (!__atomic_compare_exchange_n(counter, &value, (unsigned short)(value + 1), 1,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return MON_COUNTED;
}

static inline enum mon_outcome mon_increment_word(uint32_t *counter) {
  uint32_t value = __atomic_load_n(counter, __ATOMIC_RELAXED);
  do {
    if (value == UINT32_MAX)
      return MON_SATURATED;
  } while (!__atomic_compare_exchange_n(counter, &value, value + 1, 1, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return MON_COUNTED;
}

/* Returns whether the short can be written. The program may have unmapped its buffer or made it
 * read-only, and a tick must not terminate it then. */
static inline int mon_short_writable(const unsigned char *at) {
  const uintptr_t first = (uintptr_t)at;
  return mon_word_writable(first) && ((first & 3) != 3 || mon_word_writable(first + 1));
}

static inline enum mon_outcome mon_count_short(unsigned char *at, int probe) {
  if (probe && !mon_short_writable(at))
    return MON_LOST;
  return mon_increment_short(at);
}

/* Returns the first range that holds pc, or NULL if there is none. */
static inline const struct mon_range *mon_range_of(const struct mon_target *target, uint64_t pc) {
  size_t least = 0, most = target->range_count;
  while (least < most) {
    const size_t middle = least + (most - least) / 2;
    const uint64_t high = target->ranges[middle].map.high;
    if (high != 0 && high <= pc)
      least = middle + 1;
    else
      most = middle;
  }
  /* Only the ends are sorted: a later range may begin at a lower address. */
  for (; least < target->range_count; ++least)
    if (target->ranges[least].map.low <= pc)
      return &target->ranges[least];
  return NULL;
}

static inline enum mon_outcome mon_count(const struct mon_target *target, uint64_t pc, int probe) {
  if (target->form == MON_BINS) {
    const struct mon_bins *bins = &target->bins;
    const uint64_t bin = (pc - bins->low) >> bins->shift;
    if (pc < bins->low || bin >= bins->count)
      return MON_OUTSIDE;
    return bins->words != NULL ? mon_increment_word(bins->words + bin)
                               : mon_count_short(bins->shorts + 2 * bin, probe);
  }
  /* With one range no search is necessary: tally_profil_index_on() checks its bounds. */
  const struct mon_range *range =
      target->range_count == 1 ? target->ranges : mon_range_of(target, pc);
  const uint64_t index =
      range == NULL ? TALLY_PROFIL_OUTSIDE : tally_profil_index_on(&range->map, pc);
  if (index == TALLY_PROFIL_OUTSIDE)
    return MON_OUTSIDE;
  return mon_count_short(range->shorts + 2 * index, probe);
}

#endif
