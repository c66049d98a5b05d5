/* Writes GNU gmon.out as gprof reads it, see gprof/gmon_out.h and gmon_io.c in binutils. Byte order
 * and pointer size are those of the machine. A file consists of one header and histograms:
 *
 * - header: "gmon"; int32 version 1; 12 zero bytes
 * - histogram: byte 0; pointers low_pc, high_pc; int32 bins; int32 rate;
 *   char[15] dimension; char abbreviation; bins times uint16
 *
 * gprof adds up histograms of one range. */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gmon.h"

/* --- where code lies -------------------------------------------------------------------------- */

struct object {
  uint64_t pc; /* the address to find; 0 for the first object, which is the program */
  uint64_t bias, low, high;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *wanted) {
  struct object *const object = wanted;
  int found = object->pc == 0;
  (void)size;
  object->bias = info->dlpi_addr;
  object->low = UINT64_MAX;
  object->high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];
    const uint64_t low = info->dlpi_addr + segment->p_vaddr, high = low + segment->p_memsz;
    if (segment->p_type != PT_LOAD || low == high)
      continue;
    /* A range may begin in a segment without code, for example at __executable_start. */
    found |= object->pc >= low && object->pc < high;
    if ((segment->p_flags & PF_X) == 0)
      continue;
    object->low = low < object->low ? low : object->low;
    object->high = high > object->high ? high : object->high;
  }
  return found;
}

int mon_main_text(uint64_t *low, uint64_t *high) {
  struct object program = {0, 0, 0, 0};
  if (!dl_iterate_phdr(find_object, &program) || program.low >= program.high)
    return 0;
  *low = program.low;
  *high = program.high;
  return 1;
}

/* Returns the difference of run-time and link-time addresses; 0 for code that is in no object. */
static uint64_t bias_of(uint64_t pc) {
  struct object object = {pc, 0, 0, 0};
  return dl_iterate_phdr(find_object, &object) ? object.bias : 0;
}

/* --- the name --------------------------------------------------------------------------------- */

static const char *prefix(void) {
  const char *const name = secure_getenv("GMON_OUT_PREFIX");
  return name != NULL && *name != '\0' ? name : NULL;
}

int mon_gmon_name_has_pid(void) { return prefix() != NULL; }

/* Returns 0 if the name is too long. */
static int default_name(char *name, size_t room) {
  const char *const front = prefix();
  const int length = front != NULL ? snprintf(name, room, "%s.%ld", front, (long)getpid())
                                   : snprintf(name, room, "gmon.out");
  return length > 0 && (size_t)length < room;
}

void mon_gmon_complain(void) {
  const char *const why = strerror(errno);
  char name[PATH_MAX];
  if (default_name(name, sizeof name))
    fprintf(stderr, "libtally-mon: %s: %s\n", name, why);
}

/* --- the content ------------------------------------------------------------------------------ */

static uint32_t counter(const struct mon_bins *bins, uint64_t bin) {
  unsigned short value;
  if (bins->words != NULL)
    return __atomic_load_n(bins->words + bin, __ATOMIC_RELAXED);
  memcpy(&value, bins->shorts + 2 * bin, sizeof value);
  return value;
}

/* Returns the part of a counter that record number `round` (from 0) holds. That is at most 65535 of
 * what the records before it have left; the records after it hold the rest. */
static uint16_t part_of(uint32_t value, uint32_t round) {
  const uint64_t before = (uint64_t)round * UINT16_MAX;
  const uint64_t left = value > before ? value - before : 0;
  return left > UINT16_MAX ? UINT16_MAX : (uint16_t)left;
}

static int put(FILE *file, const void *bytes, size_t count) {
  return fwrite(bytes, 1, count, file) == count;
}

static int put_histogram(FILE *file, const struct mon_bins *bins, uint32_t rate_hz,
                         uint32_t round) {
  static const char tag = 0;
  static const char dimension[15] = "seconds", abbreviation = 's';
  const uint64_t bias = bias_of(bins->low);
  const uintptr_t range[2] = {(uintptr_t)(bins->low - bias),
                              (uintptr_t)(bins->low - bias + (bins->count << bins->shift))};
  const uint32_t sizes[2] = {(uint32_t)bins->count, rate_hz};
  int good = put(file, &tag, 1) && put(file, range, sizeof range) &&
             put(file, sizes, sizeof sizes) && put(file, dimension, sizeof dimension) &&
             put(file, &abbreviation, 1);
  for (uint64_t bin = 0; good && bin < bins->count; ++bin) {
    const uint16_t part = part_of(counter(bins, bin), round);
    good = put(file, &part, sizeof part);
  }
  return good;
}

static int put_all(FILE *file, const struct mon_bins *bins, uint32_t rate_hz) {
  struct {
    char magic[4];
    uint32_t version;
    char spare[12];
  } header = {{'g', 'm', 'o', 'n'}, 1, {0}};
  uint32_t most = 0, round = 0;
  if (!put(file, &header, sizeof header))
    return 0;
  for (uint64_t bin = 0; bin < bins->count; ++bin)
    if (counter(bins, bin) > most)
      most = counter(bins, bin);
  do
    if (!put_histogram(file, bins, rate_hz, round))
      return 0;
  while ((uint64_t)++round * UINT16_MAX < most);
  return 1;
}

int mon_gmon_write(const char *path, const struct mon_bins *bins, uint32_t rate_hz) {
  char name[PATH_MAX], aside[PATH_MAX + 32];
  FILE *file;
  int error = 0;
  if (bins->count > INT32_MAX) {
    errno = EFBIG;
    return -1;
  }
  if (path != NULL ? snprintf(name, sizeof name, "%s", path) >= (int)sizeof name
                   : !default_name(name, sizeof name)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  snprintf(aside, sizeof aside, "%s.%ld.tmp", name, (long)getpid());
  file = fopen(aside, "wbe");
  if (file == NULL)
    return -1;
  errno = 0;
  if (!put_all(file, bins, rate_hz) || fflush(file) != 0)
    error = errno != 0 ? errno : EIO;
  if (fclose(file) != 0 && error == 0)
    error = errno;
  if (error == 0 && rename(aside, name) == 0)
    return 0;
  if (error == 0)
    error = errno;
  unlink(aside);
  errno = error;
  return -1;
}
