/* profil()'s arithmetic: which short of the buffer a program counter counts into.
 *
 * The one place that holds it. Freestanding, C11 and C++: the model, what runs inside of a program,
 * and profil() itself include it. The source is AIX's manual page; where it is silent, V7, BSD and
 * gprof. A scale is an unsigned fraction of 65536: the buffer's bytes for each byte of code. */
#ifndef TALLY_MON_PROFIL_INDEX_H
#define TALLY_MON_PROFIL_INDEX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tally_profil_abi {
  TALLY_PROFIL_AIX = 0,   /* rounds up to a half-word; 16 bits of scale, of which 0 and 1 are off */
  TALLY_PROFIL_BSD = 1,   /* rounds down; scale up to 0x10000, 0 is off */
  TALLY_PROFIL_GLIBC = 2, /* halves first; any scale, 0 is everything in one */
};

#define TALLY_PROFIL_OUTSIDE UINT64_MAX

struct tally_profil_map {
  uint64_t low;   /* the first pc */
  uint64_t high;  /* exclusive; 0: no end but the buffer's */
  uint64_t bytes; /* of the buffer */
  uint32_t scale; /* as the caller gave it, or by tally_profil_fit() */
  uint8_t abi;    /* tally_profil_abi */
  uint8_t strict; /* AIX: scale 2 by the formula, not everything in the first short */
  uint8_t fitted; /* the scale was computed: the topmost pcs, which rounding would drop, count into
                     the last short */
};

/* The scale that is in force. AIX: the low 16 bits; so 0x10000 and 0x20001 are off, and 0x1FFFF is
 * 0xFFFF. */
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

/* Whether nothing is counted at all. A buffer without a short holds none. */
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

/* The scale that spreads [low, high) over the buffer (p_scale == -1): bytes * 65536 / (high - low),
 * but at least 2 and at most 0xFFFF. Divided bit by bit, for the product has up to 80 bits. */
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

/* (distance * scale) >> 16, exact; the largest value where that has more than 64 bits. In two
 * parts: distance = 65536 a + b gives a * scale + (b * scale >> 16). */
static inline uint64_t tally_profil_scaled(uint64_t distance, uint32_t scale) {
  const uint64_t high = distance >> 16;
  const uint64_t low = ((distance & 0xFFFFU) * scale) >> 16;
  /* Two factors below 2^32 and what is carried fit; a division costs more than all the rest. */
  if (high > UINT32_MAX && scale != 0 && high > (UINT64_MAX - low) / scale)
    return UINT64_MAX;
  return high * scale + low;
}

/* tally_profil_index() of a map that is not off: for ticks, whose map was looked at once. */
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
    /* Half-words, rounded up; at a 16-bit scale the bytes stay below 2^64 - 1. */
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

/* The short that `pc` counts into, or TALLY_PROFIL_OUTSIDE. */
static inline uint64_t tally_profil_index(const struct tally_profil_map *map, uint64_t pc) {
  return tally_profil_is_off(map) ? TALLY_PROFIL_OUTSIDE : tally_profil_index_on(map, pc);
}

/* The first pc that counts into short `index` or a later one; UINT64_MAX where none does. Pcs of
 * one short stand together, as index never falls while pc grows: so two of these bound a bin. */
static inline uint64_t tally_profil_first_pc(const struct tally_profil_map *map, uint64_t index) {
  uint64_t least = map->low, most = map->high != 0 ? map->high - 1 : UINT64_MAX - 1;
  /* OUTSIDE is above every index, so what lies behind the buffer counts as later. */
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
