/* Code as a program of 1990 and a current one contain it. header_*_test include it after the
 * headers. */
/* Old programs pass -1, an int, as a size. */
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <limits.h>
#include <stdio.h>

static unsigned short short_buffer[64];
static struct prof ranges[2];

static int use_header(void) {
  const struct prof *const constant = ranges;
  void *const anything = short_buffer;
  int (*const function)(unsigned short *, size_t, size_t, unsigned) = profil;
  caddr_t low = (caddr_t)1;
  HISTCOUNTER *counters = short_buffer;
  int bad = 0;
  ranges[0].p_low = low;
  ranges[0].p_high = low + 4096;
  ranges[0].p_buff = counters;
  ranges[0].p_bufsize = (int)sizeof short_buffer;
  ranges[0].p_scale = (unsigned)-1;
  bad |= profil(short_buffer, sizeof short_buffer, 0, 0xFFFF) != 0;
  bad |= profil(short_buffer, sizeof short_buffer, 0, 0) != 0;
  bad |= profil(ranges, -1, 0, 0) != 0;
  bad |= profil(constant, UINT_MAX, 0, 0) != 0;
  ranges[0].p_high = NULL;
  bad |= profil(ranges, (size_t)-1, 0, 0) != 0;
  bad |= profil(anything, sizeof short_buffer, 0, 0) != 0;
  bad |= function(short_buffer, sizeof short_buffer, 0, 1) != 0;
  bad |= (profil)(short_buffer, sizeof short_buffer, 0, 0) != 0;
  printf("%s\n", bad ? "refused" : "accepted");
  return bad;
}

int main(void) { return use_header(); }
