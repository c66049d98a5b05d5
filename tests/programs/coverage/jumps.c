/* Jumps of C: switch, goto, setjmp, a function that does not return, a computed goto, a part of a
 * function that is in a header. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "inlined.h"

static jmp_buf back;

static int chosen(int n) {
  switch (n) {
  case 0: return 5;
  case 1:
  case 2: n += 3; /* falls through */
  case 3: n++; break;
  case 40 ... 50: n -= 7; break;
  default: if (n > 100) goto large; n = 0;
  }
  return n;
large:
  return 1000;
}

static void jump(int n) { if (n > 2) longjmp(back, n); }

static int caught(int n) {
  volatile int times = 0;
  int got = setjmp(back);
  if (got) { times += got; return times; }
  jump(n); jump(n - 1); times++;
  return times;
}

static int threaded(const char *code) {
  static const void *const to[] = {&&up, &&down, &&stop};
  int n = 0;
next: goto *to[*code++ - 'a'];
up: n++; goto next;
down: n--; goto next;
stop: return n;
}

static int again(int n) { int s = 0; do { if (n == 7) continue; if (n == 3) break; s += n; } while (--n > 0); return s; }

static void leave(int status) { printf("leaving\n"); exit(status); }

static int with_part(int n) {
  int s = 0;
#include "part.inc"
  return s;
}

static int forever(int n) { for (;;) { while (n > 0) { n--; if (n == 4) goto out; } for (n = 9; n; n--) ; n = 8; } out: return n; }

int main(int argc, char **argv) {
  int sum = 0;
  (void)argv;
  for (int n = 0; n < 5; n++) sum += chosen(n) + chosen(n * 40), sum += caught(n);
  sum += threaded("aabac") + again(9) + with_part(6) + clamped(sum, 12) + clamped(-1, 2) + forever(2);
  printf("%d\n", sum);
  if (argc > 3) return 1;
  leave(0);
  return 2;
}
