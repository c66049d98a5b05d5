// A small source of the fuzzer's corpus: loops and jumps on one line, a function that never runs.
#include <stdlib.h>
int unused(int a) { return a ? a : 7; }
static int odd(int n) { int s = 0; for (int i = 0; i < n; i++) if (i & 1) s += i; else s--; return s; }
int main(int argc, char **argv) {
  switch (argc) { case 1: break; case 2: exit(odd(argc)); default: return unused(argc); }
  return odd(9) + odd(3) == 1 && argv[0] == 0 ? unused(1) : 0;
}
