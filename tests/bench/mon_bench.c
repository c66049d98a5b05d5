/* mon-bench: what one tick costs inside the program, compared with glibc's profil().
 *
 * glibc does not export its counting function, so its formula is repeated here. The cost of the
 * signal, which is the same for both, is not included. Prints one line per way: name, best and
 * worst round in nanoseconds, the best round's difference from glibc's and their ratio. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tally/mon.h>

#include "mon/counting.h"

unsigned char mon_unaligned_lock;

enum { rounds = 9, calls = 2000000, pcs = 4096, shorts = 32768 };

static uint64_t pc_of[pcs];
static unsigned short buffer[shorts + 1];
static struct mon_target *target;

static struct {
  unsigned short *samples;
  size_t count, offset;
  unsigned scale;
} glibc = {buffer, shorts, 0x400000, 0xFFFF};

__attribute__((noinline)) static void count_as_glibc(uint64_t pc) {
  size_t i = (pc - glibc.offset) / 2;
  i = i / 65536 * glibc.scale + i % 65536 * glibc.scale / 65536;
  if (i < glibc.count)
    ++glibc.samples[i];
}

/* The least cost of counting by several threads: one locked instruction. */
__attribute__((noinline)) static void count_as_glibc_atomically(uint64_t pc) {
  size_t i = (pc - glibc.offset) / 2;
  i = i / 65536 * glibc.scale + i % 65536 * glibc.scale / 65536;
  if (i < glibc.count)
    __atomic_fetch_add(&glibc.samples[i], 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void count(uint64_t pc) { mon_count(target, pc, 0); }
__attribute__((noinline)) static void probe_and_count(uint64_t pc) { mon_count(target, pc, 1); }

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double measure(const char *name, void (*function)(uint64_t), double reference) {
  double best = 1e9, worst = 0;
  for (int round = 0; round < rounds; ++round) {
    const double begin = seconds();
    double ns;
    for (int i = 0; i < calls; ++i)
      function(pc_of[i % pcs]);
    ns = (seconds() - begin) / calls * 1e9;
    best = ns < best ? ns : best;
    worst = ns > worst ? ns : worst;
    memset(buffer, 0, sizeof buffer);
  }
  printf("%-34s %7.2f %7.2f ns", name, best, worst);
  if (reference > 0)
    printf("   %+7.2f ns, %.2f times", best - reference, best / reference);
  printf("\n");
  return best;
}

static void set_ranges(size_t count_of, unsigned char *at) {
  const uint64_t low = glibc.offset, width = 65536 / count_of;
  target->form = MON_RANGES;
  target->range_count = count_of;
  for (size_t i = 0; i < count_of; ++i) {
    struct mon_range *const range = &target->ranges[i];
    memset(range, 0, sizeof *range);
    range->map.low = low + i * width;
    range->map.high = low + (i + 1) * width;
    range->map.bytes = width;
    range->map.scale = 0xFFFF;
    range->shorts = at + i * width;
  }
}

int main(void) {
  double reference;
  uint32_t *const words = calloc(65536 / 4, sizeof *words);
  target = calloc(1, sizeof *target + 256 * sizeof(struct mon_range));
  if (target == NULL || words == NULL)
    return 1;
  for (int i = 0; i < pcs; ++i)
    pc_of[i] = glibc.offset + (uint64_t)(rand() % 65536);
  reference = measure("glibc's formula", count_as_glibc, 0);
  measure("glibc's formula, atomic", count_as_glibc_atomically, reference);
  set_ranges(1, (unsigned char *)buffer);
  target->form = MON_SHORTS;
  target->ranges[0].map.high = 0;
  measure("profil, form 1", count, reference);
  set_ranges(1, (unsigned char *)buffer);
  measure("profil, form 2, 1 range", count, reference);
  set_ranges(256, (unsigned char *)buffer);
  measure("profil, form 2, 256 ranges", count, reference);
  set_ranges(1, (unsigned char *)buffer + 1);
  measure("profil, unaligned buffer", count, reference);
  target->form = MON_BINS;
  target->bins = (struct mon_bins){glibc.offset, 65536 / 4, 2, words, NULL};
  measure("monstartup", count, reference);
  set_ranges(1, (unsigned char *)buffer);
  measure("form 2, with a probe of the page", probe_and_count, reference);
  return 0;
}
