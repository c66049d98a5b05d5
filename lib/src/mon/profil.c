#include "profil.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TALLY_MON_ABI_AIX == (int)TALLY_PROFIL_AIX &&
                   (int)TALLY_MON_ABI_BSD == (int)TALLY_PROFIL_BSD &&
                   (int)TALLY_MON_ABI_GLIBC == (int)TALLY_PROFIL_GLIBC,
               "the public names are those of the arithmetic");

enum { default_hz = 100, most_hz = 10000 };
static const uint32_t computed_scale = UINT32_MAX; /* p_scale == -1 */

static struct tally_profil_options chosen = {sizeof chosen, default_hz, TALLY_MON_ABI_AIX,
                                             TALLY_MON_CLOCK_AUTO};
static struct mon_target *in_force; /* set by profil() */
static uint32_t scale_warning;

struct mon_settings mon_profil_settings(void) {
  const struct mon_settings settings = {chosen.rate_hz, chosen.clock};
  return settings;
}

static int fail(int error) {
  errno = error;
  return -1;
}

static void turn_off(void) {
  mon_clocks_stop();
  free(in_force);
  in_force = NULL;
}

/* Turns profiling on. Takes ownership of `target`, even if it fails. */
static int turn_on(struct mon_target *target) {
  const struct mon_settings settings = mon_profil_settings();
  if (mon_clocks_start(target, &settings) != 0) {
    const int error = errno;
    free(target);
    return fail(error);
  }
  in_force = target;
  return 0;
}

static enum mon_form form_in_force(void) {
  const struct mon_target *const target = mon_target_in_force();
  return target == NULL ? MON_OFF : target->form;
}

static struct mon_target *new_target(enum mon_form form, size_t ranges) {
  struct mon_target *const target =
      calloc(1, sizeof(struct mon_target) + ranges * sizeof(struct mon_range));
  if (target != NULL)
    target->form = form;
  return target;
}

/* Checks only the scale, because an empty buffer is not a request to turn profiling off. */
static int scale_is_off(const struct tally_profil_map *map) {
  struct tally_profil_map with_room = *map;
  with_room.bytes = 2;
  return tally_profil_is_off(&with_room);
}

/* --- form 1 ----------------------------------------------------------------------------------- */

static int is_off_request(const void *buffer, const struct tally_profil_map *map) {
  return map->abi == TALLY_PROFIL_GLIBC ? buffer == NULL : scale_is_off(map);
}

static int profil_shorts(const void *buffer, size_t bytes, size_t offset, unsigned scale) {
  struct tally_profil_map map;
  struct mon_target *target;
  const enum mon_form form = form_in_force();
  memset(&map, 0, sizeof map);
  map.low = offset;
  map.bytes = bytes;
  map.scale = scale;
  map.abi = (uint8_t)chosen.abi;
  if (map.abi == TALLY_PROFIL_AIX && scale > 0xFFFF)
    scale_warning = 1;
  if (is_off_request(buffer, &map)) {
    if (form == MON_SHORTS)
      turn_off();
    return 0;
  }
  if (form != MON_OFF && (map.abi == TALLY_PROFIL_AIX || form != MON_SHORTS))
    return 0;
  if (!mon_space_writable((uintptr_t)buffer, bytes))
    return fail(EFAULT);
  target = new_target(MON_SHORTS, 1);
  if (target == NULL)
    return fail(ENOMEM);
  target->range_count = bytes >= 2; /* if 0, profiling is on but counts nothing */
  target->ranges[0].map = map;
  target->ranges[0].shorts = (unsigned char *)(uintptr_t)buffer;
  if (form == MON_SHORTS)
    turn_off();
  return turn_on(target);
}

/* --- form 2 ----------------------------------------------------------------------------------- */

/* Copies one element of the caller's array, which may be unaligned. Returns 0 if it cannot be
 * read. */
static int read_element(const char *array, size_t index, struct prof *element) {
  /* The caller may pass any address, so check that it can be read. */
  const uintptr_t at = (uintptr_t)array + index * sizeof *element;
  if (!mon_space_readable(at, sizeof *element))
    return 0;
  memcpy(element, (const void *)at, sizeof *element);
  return 1;
}

static struct tally_profil_map map_of(const struct prof *element) {
  struct tally_profil_map map;
  memset(&map, 0, sizeof map);
  map.low = (uintptr_t)element->p_low;
  map.high = (uintptr_t)element->p_high;
  map.bytes = (uint64_t)element->p_bufsize;
  map.scale = element->p_scale;
  map.abi = (uint8_t)chosen.abi;
  if (map.scale == computed_scale) {
    map.scale = tally_profil_fit(map.low, map.high, map.bytes);
    map.fitted = 1;
    map.strict = 1; /* a computed scale of 2 has no special meaning */
  }
  return map;
}

/* The span of the buffers of all elements that are not ignored, for the check for EFAULT. */
struct space {
  uintptr_t low, end;
  int bad;
};

static void extend(struct space *space, const struct prof *element) {
  const uintptr_t low = (uintptr_t)element->p_buff;
  uintptr_t end;
  if (element->p_bufsize < 0 || __builtin_add_overflow(low, (unsigned)element->p_bufsize, &end)) {
    space->bad = 1;
    return;
  }
  if (space->end == 0 || low < space->low)
    space->low = low;
  if (end > space->end)
    space->end = end;
}

/* Returns the number of elements before the last, or SIZE_MAX if they cannot be read. */
static size_t count_elements(const char *array) {
  struct prof element;
  for (size_t i = 0; read_element(array, i, &element); ++i)
    if (element.p_high == NULL)
      return i;
  return SIZE_MAX;
}

/* Builds a target from the caller's array. Returns NULL and sets errno if it fails. */
static struct mon_target *target_of(const char *array) {
  const size_t count = count_elements(array);
  struct mon_target *const target = count == SIZE_MAX ? NULL : new_target(MON_RANGES, count);
  struct space space = {0, 0, 0};
  uintptr_t last_high = 0;
  int ascends = 1, error = 0;
  if (target == NULL) {
    errno = count == SIZE_MAX ? EFAULT : ENOMEM;
    return NULL;
  }
  for (size_t i = 0; i < count; ++i) {
    struct tally_profil_map map;
    struct prof element;
    memcpy(&element, array + i * sizeof element, sizeof element);
    ascends &= (uintptr_t)element.p_high > last_high && element.p_low < element.p_high;
    last_high = (uintptr_t)element.p_high;
    map = map_of(&element);
    if (map.abi == TALLY_PROFIL_AIX && map.scale > 0xFFFF)
      scale_warning = 1;
    /* Ignore a range that is off or has no buffer, and do not check its buffer. */
    if (element.p_bufsize == 0 || scale_is_off(&map))
      continue;
    extend(&space, &element);
    if (element.p_bufsize < 2)
      continue;
    target->ranges[target->range_count].map = map;
    target->ranges[target->range_count].shorts = (unsigned char *)element.p_buff;
    ++target->range_count;
  }
  if (space.bad || !mon_space_writable(space.low, space.end - space.low))
    error = EFAULT;
  else if (!ascends)
    error = EINVAL;
  if (error == 0)
    return target;
  free(target);
  errno = error;
  return NULL;
}

static int profil_ranges(const char *array) {
  const enum mon_form form = form_in_force();
  struct mon_target *target;
  struct prof first;
  if (form != MON_OFF && form != MON_RANGES)
    return 0;
  if (!read_element(array, 0, &first))
    return fail(EFAULT);
  if (first.p_high == NULL) {
    if (form == MON_RANGES)
      turn_off();
    return 0;
  }
  if (form == MON_RANGES && chosen.abi == TALLY_MON_ABI_AIX)
    return 0;
  target = target_of(array);
  if (target == NULL)
    return -1;
  if (form == MON_RANGES)
    turn_off();
  return turn_on(target);
}

/* --- the interface ---------------------------------------------------------------------------- */

int tally_profil(const void *buffer, size_t bytes, size_t offset, unsigned int scale) {
  const int entered = mon_enter();
  int result;
  /* The caller may have converted -1 to unsigned int before it became a size_t. */
  if (bytes == SIZE_MAX || bytes == UINT_MAX)
    result = profil_ranges(buffer);
  else
    result = profil_shorts(buffer, bytes, offset, scale);
  mon_leave(entered);
  return result;
}

int(profil)(unsigned short *short_buffer, size_t bytes, size_t offset, unsigned int scale) {
  return tally_profil(short_buffer, bytes, offset, scale);
}

int tally_profil_options(const struct tally_profil_options *options) {
  struct tally_profil_options wanted = {sizeof wanted, default_hz, TALLY_MON_ABI_AIX,
                                        TALLY_MON_CLOCK_AUTO};
  int error = 0, entered;
  if (options != NULL) {
    if (options->size < sizeof wanted || options->rate_hz > most_hz ||
        options->abi > TALLY_MON_ABI_GLIBC || options->clock > TALLY_MON_CLOCK_TIMER)
      return fail(EINVAL);
    wanted.abi = options->abi;
    wanted.clock = options->clock;
    if (options->rate_hz != 0)
      wanted.rate_hz = options->rate_hz;
  }
  entered = mon_enter();
  if (form_in_force() != MON_OFF)
    error = EBUSY;
  else
    chosen = wanted;
  mon_leave(entered);
  return error == 0 ? 0 : fail(error);
}

int tally_profil_status(struct tally_profil_status *status) {
  int entered;
  if (status == NULL || status->size < sizeof *status)
    return fail(EINVAL);
  entered = mon_enter();
  mon_clocks_status(status);
  status->scale_warning = scale_warning;
  mon_leave(entered);
  return 0;
}
