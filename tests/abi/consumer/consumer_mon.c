/* A program that counts itself by both interfaces of profil(), with libtally-mon alone. */
#include <unistd.h>

#include <stdio.h>

#include <tally/mon.h>

int main(void) {
  static HISTCOUNTER shorts[8];
  struct prof ranges[2] = {{(caddr_t)1, (caddr_t)4096, shorts, sizeof shorts, 0xFFFF}, {0}};
  int bad = profil(shorts, sizeof shorts, 0, 2) != 0;
  bad |= profil(shorts, sizeof shorts, 0, 0) != 0;
  bad |= profil(ranges, -1, 0, 0) != 0;
  ranges[0].p_high = NULL;
  bad |= profil(ranges, -1, 0, 0) != 0;
  printf("%s\n", bad ? "refused" : "accepted");
  return bad;
}
