/* The arithmetic of profil(): which short of the buffer a program counter increments.
 *
 * This is the only implementation. It is freestanding C11 and C++; the model, the code that runs
 * inside of a program, and profil() itself include it. It follows AIX's manual page. What that page
 * does not define follows V7, BSD and gprof. A scale is an unsigned fraction of 65536. It says how
 * many bytes of the buffer each byte of code has. */
#ifndef TALLY_MON_PROFIL_INDEX_H
#define TALLY_MON_PROFIL_INDEX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tally_profil_abi {
  TALLY_PROFIL_AIX = 0, /* rounds up to a half-word; the scale has 16 bits, 0 and 1 turn it off */
  TALLY_PROFIL_BSD = 1, /* rounds down; the scale is at most 0x10000, 0 turns it off */
  /* Halves the distance first; any scale, 0 counts everything in one short. */
  TALLY_PROFIL_GLIBC = 2,
};

#define TALLY_PROFIL_OUTSIDE UINT64_MAX

struct tally_profil_map {
  uint64_t low;   /* the first pc */
  uint64_t high;  /* exclusive; 0 if only the buffer limits the range */
  uint64_t bytes; /* size of the buffer */
  uint32_t scale; /* as given by the caller, or by tally_profil_fit() */
  uint8_t abi;    /* tally_profil_abi */
  /* For AIX: if true, scale 2 has no special meaning; otherwise it counts everything in the first
   * short. */
  uint8_t strict;
  /* The scale was computed: the topmost pcs, which rounding would drop, count in the last short. */
  uint8_t fitted;
};

/* Returns the effective scale. With the AIX ABI this is the low 16 bits, so 0x10000 and 0x20001
 * turn counting off, and 0x1FFFF is 0xFFFF. */
static inline uint32_t tally_profil_scale(const struct tally_profil_map *map) {
  switch (map->abi) {
  case TALLY_PROFIL_AIX:
    return map->scale & 0xFFFFU;
  case TALLY_PROFIL_BSD:
    return map->scale <= 0x10000U ? map->scale : 0;
  default:
    return map->scale;
  }
}

/* Returns whether nothing is counted at all. That is also so if the buffer has no room for a
 * short. */
static inline int tally_profil_is_off(const struct tally_profil_map *map) {
  const uint32_t scale = tally_profil_scale(map);
  if (map->bytes < 2)
    return 1;
  switch (map->abi) {
  case TALLY_PROFIL_AIX:
    return scale < 2;
  case TALLY_PROFIL_BSD:
    return scale == 0;
  default:
    return 0;
  }
}

/* Returns the scale that spreads [low, high) over the buffer (p_scale == -1): bytes * 65536 / (high
 * - low), but at least 2 and at most 0xFFFF. The function divides bit by bit, because the product
 * has up to 80 bits. */
static inline uint32_t tally_profil_fit(uint64_t low, uint64_t high, uint64_t bytes) {
  const uint64_t span = high - low;
  uint64_t rest = bytes;
  uint32_t quotient = 0;
  int bit;
  if (high <= low || bytes >= span)
    return 0xFFFFU;
  for (bit = 0; bit < 16; ++bit) {
    const int carry = (rest >> 63) != 0;
    rest <<= 1;
    quotient <<= 1;
    if (carry || rest >= span) {
      rest -= span;
      quotient |= 1;
    }
  }
  return quotient < 2 ? 2 : quotient;
}

/* Returns (distance * scale) >> 16 exactly, or the largest value if the result has more than 64
 * bits. The function computes two parts: distance = 65536 a + b gives a * scale + (b * scale >>
 * 16). */
static inline uint64_t tally_profil_scaled(uint64_t distance, uint32_t scale) {
  const uint64_t high = distance >> 16;
  const uint64_t low = ((distance & 0xFFFFU) * scale) >> 16;
  /* If both factors are below 2^32, product and carry fit. Checking this first avoids a division,
   * which would cost more than all other steps. */
  if (high > UINT32_MAX && scale != 0 && high > (UINT64_MAX - low) / scale)
    return UINT64_MAX;
  return high * scale + low;
}

/* Does the same as tally_profil_index() for a map that is known not to be off. The caller checks
 * that once instead of at each tick. */
static inline uint64_t tally_profil_index_on(const struct tally_profil_map *map, uint64_t pc) {
  const uint32_t scale = tally_profil_scale(map);
  const uint64_t shorts = map->bytes / 2;
  uint64_t distance, index;
  if (pc < map->low || (map->high != 0 && pc >= map->high))
    return TALLY_PROFIL_OUTSIDE;
  distance = pc - map->low;
  switch (map->abi) {
  case TALLY_PROFIL_AIX:
    if (scale == 2 && !map->strict)
      return 0;
    /* At a 16-bit scale the scaled distance is below 2^64 - 1, so that adding 1 cannot overflow. */
    index = (tally_profil_scaled(distance, scale) + 1) / 2;
    break;
  case TALLY_PROFIL_BSD:
    index = tally_profil_scaled(distance, scale) / 2;
    break;
  default:
    index = tally_profil_scaled(distance / 2, scale);
    break;
  }
  if (index < shorts)
    return index;
  return map->fitted ? shorts - 1 : TALLY_PROFIL_OUTSIDE;
}

/* Returns the short that `pc` increments, or TALLY_PROFIL_OUTSIDE. */
static inline uint64_t tally_profil_index(const struct tally_profil_map *map, uint64_t pc) {
  return tally_profil_is_off(map) ? TALLY_PROFIL_OUTSIDE : tally_profil_index_on(map, pc);
}

/* Returns the first pc that increments short `index` or a later one, or UINT64_MAX if there is
 * none. The index never decreases while the pc increases, so the pcs of one short are contiguous,
 * and two calls give the bounds of a bin. */
static inline uint64_t tally_profil_first_pc(const struct tally_profil_map *map, uint64_t index) {
  uint64_t least = map->low, most = map->high != 0 ? map->high - 1 : UINT64_MAX - 1;
  /* TALLY_PROFIL_OUTSIDE is larger than every index, so pcs behind the buffer count as pcs of a
   * later short. */
  if (most < least || tally_profil_index(map, most) < index)
    return UINT64_MAX;
  while (least < most) {
    const uint64_t middle = least + (most - least) / 2;
    if (tally_profil_index(map, middle) >= index)
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

#ifdef __cplusplus
}
#endif

#endif
