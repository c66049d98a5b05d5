/* Compiled once for each way of entries.h; CALLER is the way's name. The values on the stack of
 * `work` are small numbers, none of which could be a return address. */
extern long CALLER(long first);

static __attribute__((noinline, noclone)) long work(long a, long b, long c, long d, long e, long f,
                                                    long g, long h) {
  volatile long kept[4] = {a, b, g, h};
  return kept[0] + kept[1] + c + d + e + f + kept[2] + kept[3];
}

long CALLER(long first) { return work(first, 1, 2, 3, 4, 5, 6, 7) + 1; }
