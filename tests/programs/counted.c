/* Compiled with --coverage: calls functions a known number of times between its checkpoints. */
#include <stdio.h>

static int square(int x) { return x * x; }

static int never(int x) { return x - 1; }

static int handle(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += square(i);
  if (sum > 1000000)
    return never(sum);
  return sum;
}

void checkpoint(int number) { (void)number; }

int main(void) {
  int sum = handle(3);
  checkpoint(1);
  sum += handle(4);
  checkpoint(2);
  for (int i = 0; i < 5; ++i)
    sum += handle(2);
  checkpoint(3);
  printf("%d\n", sum);
  return 0;
}
