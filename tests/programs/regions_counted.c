// Counts by regions, stops where a debugger looks, and is in a loop there.
#include <stdio.h>

static int table[64];

int add(int n) {
  if (n % 3 == 0)
    return table[n % 64]++;
  return n > 40 ? 2 : 1;
}

void checkpoint(volatile int number) { (void)number; }

__attribute__((noinline)) long spin(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 7 == 3)
      sum += i;
    else
      sum ^= i;
    if (i == n / 2)
      checkpoint(i);
  }
  return sum;
}

int main(int argc, char **argv) {
  (void)argv;
  long sum = 0;
  for (int i = 0; i < 50; ++i)
    sum += add(i);
  sum += spin(1000);
  sum += spin(2000);
  if (argc > 1 && (argc > 2 || sum == 3))
    puts("never");
  printf("%ld\n", sum);
  return 0;
}
