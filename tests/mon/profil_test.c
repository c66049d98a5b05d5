/* Tests profil(): which short it counts in, what it refuses, and what has no effect. */
#include <limits.h>

#include "cases.h"
#include "mon/profil_index.h"

static unsigned short buffer[4096], other[4096];

static int is_on(void) { return (int)status_now().on; }

/* --- counting --------------------------------------------------------------------------------- */

/* Checks that every tick is in a short for some pc of spin_here(), or outside the buffer. */
static void check_counts(const unsigned short *shorts, struct tally_profil_map map) {
  const struct tally_profil_status status = status_now();
  uint64_t sum = 0;
  for (size_t i = 0; i < map.bytes / 2; ++i) {
    int reachable = 0;
    for (uint64_t pc = spin_low(); pc < spin_high(); ++pc)
      reachable |= tally_profil_index(&map, pc) == i;
    CHECK(shorts[i] == 0 || reachable);
    sum += shorts[i];
  }
  CHECK(sum > 0);
  CHECK(sum == status.ticks - status.outside - status.saturated - status.lost);
  CHECK(status.lost == 0 && status.saturated == 0);
}

static void counts_by_scale(void) {
  static const unsigned scales[] = {0xFFFF, 0x7FFF, 0x1FFFF, 0x1234, 3};
  const size_t bytes = 2 * ((spin_high() - spin_low()) / 2 + 1);
  CHECK(bytes <= sizeof buffer);
  set_rate(1000);
  for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
    /* The buffer ends where the function does, so that the functions it calls are outside. */
    struct tally_profil_map map = {spin_low(), 0, 0, scales[i], TALLY_PROFIL_AIX, 0, 0};
    map.bytes = bytes * (scales[i] & 0xFFFF) / 0x10000 / 2 * 2 + 2;
    memset(buffer, 0, sizeof buffer);
    CHECK(profil(buffer, map.bytes, spin_low(), scales[i]) == 0);
    CHECK(is_on() == 1);
    spin_ticks(40);
    CHECK(profil(buffer, map.bytes, spin_low(), 0) == 0);
    CHECK(is_on() == 0);
    if (scales[i] != 3) /* its only short reaches far beyond the function */
      check_counts(buffer, map);
    CHECK(sum_of(buffer + map.bytes / 2, 4096 - map.bytes / 2) == 0);
  }
}

static void core_clock(void) {
  set_rate(1000);
  CHECK(profil(buffer, sizeof buffer, 0, 2) == 0);
  spin_ticks(20);
  CHECK(profil(buffer, sizeof buffer, 0, 1) == 0);
  CHECK(buffer[0] == status_now().ticks && status_now().outside == 0);
  CHECK(sum_of(buffer, 4096) == buffer[0]);
}

static void below_the_offset(void) {
  set_rate(1000);
  CHECK(profil(buffer, sizeof buffer, UINTPTR_MAX - 4096, 0xFFFF) == 0);
  spin_ticks(20);
  CHECK(profil(buffer, sizeof buffer, 0, 0) == 0);
  CHECK(sum_of(buffer, 4096) == 0 && status_now().outside == status_now().ticks);
}

static void sizes(void) {
  static const size_t none[] = {0, 1};
  set_rate(1000);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(profil(buffer, none[i], 0, 2) == 0);
    CHECK(is_on() == 1);
    spin_ticks(5);
    CHECK(profil(buffer, none[i], 0, 0) == 0 && is_on() == 0);
    CHECK(sum_of(buffer, 4096) == 0);
  }
  CHECK(profil(buffer, 3, 0, 2) == 0);
  spin_ticks(5);
  CHECK(profil(buffer, 3, 0, 0) == 0);
  CHECK(buffer[0] >= 5 && buffer[1] == 0);
}

static void stays_at_the_top(void) {
  set_rate(1000);
  buffer[0] = USHRT_MAX - 2;
  CHECK(profil(buffer, 4, 0, 2) == 0);
  spin_ticks(20);
  CHECK(profil(buffer, 4, 0, 0) == 0);
  CHECK(buffer[0] == USHRT_MAX && buffer[1] == 0);
  CHECK(status_now().saturated == status_now().ticks - 2);
}

static void unaligned(void) {
  unsigned char bytes[sizeof buffer + 1];
  const size_t size = 2 * ((spin_high() - spin_low()) / 2 + 1);
  const struct tally_profil_map map = {spin_low(), 0, size, 0xFFFF, TALLY_PROFIL_AIX, 0, 0};
  set_rate(1000);
  memset(bytes, 0, sizeof bytes);
  unsigned short *const shorts =
      (unsigned short *)(void *)(((uintptr_t)bytes & 1) ? bytes : bytes + 1);
  CHECK(profil(shorts, size, spin_low(), 0xFFFF) == 0);
  spin_ticks(40);
  CHECK(profil(shorts, size, spin_low(), 0) == 0);
  memcpy(buffer, shorts, size);
  check_counts(buffer, map);
}

static void nothing_after_off(void) {
  uint64_t sum;
  set_rate(1000);
  CHECK(profil(buffer, sizeof buffer, 0, 2) == 0);
  spin_ticks(10);
  CHECK(profil(buffer, sizeof buffer, 0, 0) == 0);
  sum = sum_of(buffer, 4096);
  spin_seconds(0.1);
  CHECK(sum_of(buffer, 4096) == sum);
  CHECK(status_now().threads == 0);
}

/* --- form 2 ----------------------------------------------------------------------------------- */

static struct prof range(uintptr_t low, uintptr_t high, void *at, int bytes, unsigned scale) {
  const struct prof made = {(char *)low, (char *)high, at, bytes, scale};
  return made;
}

static void ranges_count(void) {
  const int bytes = (int)(2 * ((spin_high() - spin_low()) / 2 + 1));
  struct tally_profil_map map = {
      spin_low(), spin_high(), (uint64_t)bytes, 0xFFFF, TALLY_PROFIL_AIX, 0, 0};
  struct prof ranges[5];
  memset(ranges, 0, sizeof ranges);
  set_rate(1000);
  /* A range without any pc, one that is off, the tested one, and one that overlaps it: the first
   * one wins. */
  ranges[0] = range(4096, 8192, other, 64, 0xFFFF);
  ranges[1] = range(spin_low(), spin_high() - 1, other, 64, 1);
  ranges[2] = range(spin_low(), spin_high(), buffer, bytes, 0xFFFF);
  ranges[3] = range(spin_low(), spin_high() + 1, other, 64, 0xFFFF);
  CHECK(profil(ranges, -1, 0, 0) == 0);
  CHECK(is_on() == 2);
  spin_ticks(40);
  ranges[0].p_high = NULL;
  CHECK(profil(ranges, (size_t)-1, 0, 0) == 0);
  CHECK(is_on() == 0);
  check_counts(buffer, map);
  CHECK(sum_of(other, 4096) == 0);
}

static void computed_scales(void) {
  const size_t span = spin_high() - spin_low();
  /* Includes odd ranges and sizes, a buffer larger than the range, and one short for everything. */
  const int sizes_tried[] = {2, 3, 7, 16, (int)span, (int)span * 3};
  set_rate(1000);
  for (size_t i = 0; i < sizeof sizes_tried / sizeof *sizes_tried; ++i) {
    const int bytes = sizes_tried[i];
    const uintptr_t low = spin_low() - (i & 1), high = spin_high() + (i & 2);
    struct tally_profil_map map = {low, high, (uint64_t)bytes, 0, TALLY_PROFIL_AIX, 1, 1};
    struct prof ranges[2];
    memset(ranges, 0, sizeof ranges);
    memset(buffer, 0, sizeof buffer);
    map.scale = tally_profil_fit(low, high, (uint64_t)bytes);
    ranges[0] = range(low, high, buffer, bytes, (unsigned)-1);
    CHECK(profil(ranges, UINT_MAX, 0, 0) == 0);
    spin_ticks(20);
    ranges[0].p_high = NULL;
    CHECK(profil(ranges, UINT_MAX, 0, 0) == 0);
    check_counts(buffer, map);
    CHECK(sum_of(buffer + bytes / 2, (size_t)(4096 - bytes / 2)) == 0);
  }
}

static void ranges_refused(void) {
  char *const page = pages(3 * 4096);
  const uintptr_t hole = (uintptr_t)page + 4096;
  struct prof ranges[4], *at_the_end = (struct prof *)(void *)(hole - sizeof(struct prof));
  memset(ranges, 0, sizeof ranges);
  set_rate(100);
  CHECK(munmap((void *)hole, 4096) == 0);
  CHECK_FAILS(profil((struct prof *)NULL, -1, 0, 0), EFAULT);
  CHECK_FAILS(profil((struct prof *)hole, -1, 0, 0), EFAULT);
  /* The array has no end. */
  *at_the_end = range(1, 2, buffer, 2, 0xFFFF);
  CHECK_FAILS(profil(at_the_end, -1, 0, 0), EFAULT);
  /* A buffer that is not mapped, one of negative size, and two with a hole between them. */
  ranges[0] = range(4096, 8192, (void *)hole, 2, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EFAULT);
  ranges[0] = range(4096, 8192, buffer, -2, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EFAULT);
  ranges[0] = range(4096, 8192, page, 64, 0xFFFF);
  ranges[1] = range(8192, 9000, page + 8192, 64, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EFAULT);
  ranges[1].p_scale = 0;
  CHECK(profil(ranges, -1, 0, 0) == 0);
  ranges[0].p_high = NULL;
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 0);
  /* The ends must ascend, and a range must not be empty. */
  ranges[0] = range(4096, 8192, buffer, 64, 0xFFFF);
  ranges[1] = range(1000, 4096, buffer, 64, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EINVAL);
  ranges[1] = range(4096, 8192, buffer, 64, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EINVAL);
  ranges[1] = range(9000, 9000, buffer, 64, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EINVAL);
  ranges[1] = range(9001, 9000, buffer, 64, 0);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EINVAL);
  /* EFAULT takes precedence. */
  ranges[2] = range(9100, 9200, (void *)hole, 2, 0xFFFF);
  CHECK_FAILS(profil(ranges, -1, 0, 0), EFAULT);
  CHECK(is_on() == 0);
}

/* --- refusals, and calls without effect ------------------------------------------------------- */

static void shorts_refused(void) {
  char *const page = pages(2 * 4096);
  static const unsigned short constant[64] = {1};
  set_rate(100);
  CHECK(mprotect(page + 4096, 4096, PROT_READ) == 0);
  CHECK_FAILS(profil((unsigned short *)8, 100, 0, 0xFFFF), EFAULT);
  CHECK_FAILS(profil((void *)NULL, 100, 0, 0xFFFF), EFAULT);
  CHECK_FAILS(profil((unsigned short *)(uintptr_t)constant, sizeof constant, 0, 2), EFAULT);
  CHECK_FAILS(profil((unsigned short *)(void *)(page + 4000), 200, 0, 2), EFAULT);
  CHECK_FAILS(profil((unsigned short *)(void *)page, SIZE_MAX - 4096, 0, 2), EFAULT);
  CHECK_FAILS(profil((unsigned short *)(UINTPTR_MAX - 4095), 4096, 0, 2), EFAULT);
  CHECK(is_on() == 0);
  CHECK(profil((unsigned short *)(void *)(page + 4000), 96, 0, 2) == 0 && is_on() == 1);
}

static void large_buffers(void) {
  const size_t bytes = (size_t)1 << 30; /* sparse: no page is touched */
  char *const space = pages(bytes);
  set_rate(100);
  CHECK(profil((unsigned short *)(void *)space, bytes, 0, 2) == 0);
  CHECK(profil((unsigned short *)(void *)space, bytes, 0, 0) == 0);
  CHECK(mprotect(space + bytes / 2, 4096, PROT_READ) == 0);
  CHECK_FAILS(profil((unsigned short *)(void *)space, bytes, 0, 2), EFAULT);
}

static void toggles(void) {
  unsigned short *const bad = (unsigned short *)8;
  struct prof *const bad_ranges = (struct prof *)8;
  struct prof ranges[2];
  memset(ranges, 0, sizeof ranges);
  set_rate(1000);
  /* Turning off while off ignores pointers, whichever scale means off. */
  CHECK(profil(bad, 100, 0, 0) == 0 && profil(bad, 100, 0, 1) == 0);
  CHECK(profil(bad, 100, 0, 0x10000) == 0 && status_now().scale_warning == 1);
  CHECK(profil(bad, 100, 0, 0x20001) == 0);
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 0);
  /* Turning on while on keeps the buffer; form 2 has no effect on form 1. */
  CHECK(profil(buffer, 64, 0, 2) == 0);
  CHECK(profil(bad, 64, 0, 2) == 0 && profil(other, 64, 0, 2) == 0);
  CHECK(profil(bad_ranges, -1, 0, 0) == 0 && profil(ranges, -1, 0, 0) == 0);
  CHECK(is_on() == 1);
  spin_ticks(5);
  CHECK(profil(bad, 64, 0, 0) == 0 && is_on() == 0);
  CHECK(buffer[0] >= 5 && other[0] == 0);
  /* Nor has form 1 an effect on form 2. */
  ranges[0] = range(1, UINTPTR_MAX, buffer, 2, 2);
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 2);
  CHECK(profil(bad, 64, 0, 0) == 0 && profil(bad, 64, 0, 2) == 0 && is_on() == 2);
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 2);
  CHECK_FAILS(profil(bad_ranges, -1, 0, 0), EFAULT);
  ranges[0].p_high = NULL;
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 0);
  CHECK(profil(ranges, -1, 0, 0) == 0 && is_on() == 0);
}

static void other_systems(void) {
  struct tally_profil_options options = options_of(1000);
  set_rate(1000);
  options.abi = TALLY_MON_ABI_BSD;
  CHECK(tally_profil_options(&options) == 0);
  CHECK(profil(buffer, 2, 0, 1) == 0 && is_on() == 1);      /* only 0 is off */
  CHECK(profil(other, 2 * 4096, spin_low(), 0x10000) == 0); /* replaces the other buffer */
  spin_ticks(20);
  CHECK(profil(other, 2, 0, 0) == 0 && is_on() == 0);
  CHECK(sum_of(other, 4096) > 0);
  options.abi = TALLY_MON_ABI_GLIBC;
  CHECK(tally_profil_options(&options) == 0);
  memset(buffer, 0, sizeof buffer);
  CHECK(profil(buffer, 2, 0, 0) == 0 && is_on() == 1); /* everything in one short */
  spin_ticks(20);
  CHECK(profil((void *)NULL, 2, 0, 0) == 0 && is_on() == 0);
  CHECK(buffer[0] == status_now().ticks);
}

static void options_and_status(void) {
  struct tally_profil_options options = options_of(0);
  struct tally_profil_status status = {0};
  set_rate(0);
  CHECK(profil(buffer, 2, 0, 2) == 0);
  CHECK_FAILS(tally_profil_options(&options), EBUSY);
  CHECK_FAILS(tally_profil_options(NULL), EBUSY);
  spin_ticks(3);
  CHECK(status_now().requested_hz == 100 && status_now().threads == 1 + emulators_threads());
  CHECK(status_now().clock == options.clock || options.clock == TALLY_MON_CLOCK_AUTO);
  CHECK(status_now().delivered_hz > 0 && status_now().cpu_ns > 0 && status_now().signal != 0);
  CHECK(profil(buffer, 2, 0, 0) == 0);
  options.rate_hz = 10001;
  CHECK_FAILS(tally_profil_options(&options), EINVAL);
  options = options_of(0);
  options.abi = 3;
  CHECK_FAILS(tally_profil_options(&options), EINVAL);
  options = options_of(0);
  options.size = 4;
  CHECK_FAILS(tally_profil_options(&options), EINVAL);
  CHECK_FAILS(tally_profil_status(&status), EINVAL);
  CHECK(tally_profil_options(NULL) == 0);
}

static void by_name(void) {
  /* profil as a plain function, through its address and its name; -1 as size_t and as unsigned. */
  int (*const function)(unsigned short *, size_t, size_t, unsigned) = profil;
  struct prof ranges[2];
  memset(ranges, 0, sizeof ranges);
  set_rate(100);
  ranges[0] = range(1, UINTPTR_MAX, buffer, 2, 2);
  CHECK(function((unsigned short *)(void *)ranges, (size_t)-1, 0, 0) == 0 && is_on() == 2);
  ranges[0].p_high = NULL;
  CHECK((profil)((unsigned short *)(void *)ranges, UINT_MAX, 0, 0) == 0 && is_on() == 0);
}

static const struct test_case cases[] = {
    {"counts_by_scale", counts_by_scale},
    {"core_clock", core_clock},
    {"below_the_offset", below_the_offset},
    {"sizes", sizes},
    {"stays_at_the_top", stays_at_the_top},
    {"unaligned", unaligned},
    {"nothing_after_off", nothing_after_off},
    {"ranges_count", ranges_count},
    {"computed_scales", computed_scales},
    {"ranges_refused", ranges_refused},
    {"shorts_refused", shorts_refused},
    {"large_buffers", large_buffers},
    {"toggles", toggles},
    {"other_systems", other_systems},
    {"options_and_status", options_and_status},
    {"by_name", by_name},
};

RUN_CASES(cases)
