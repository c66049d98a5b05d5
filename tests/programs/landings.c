/* landings: calls functions where a single step off one location of a region ends at another one: a
 * jump from one return address to the next, a call right after a call, and a function that consists
 * of a return only. One thread calls each first, then four at once. Its exit status is 7, or 1 if
 * the number of calls is wrong. */
#include <pthread.h>

enum { rounds = 40, threads = 4 };

#ifdef __x86_64__
#define FUNCTION(name, body)                                                                       \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body ".size " #name  \
          ", .-" #name "\n")
#define LEAF(name) FUNCTION(name, "ret\n")
/* Counts its calls at *rdi. */
#define COUNTER(name) FUNCTION(name, "push %rax\nlock incl (%rdi)\npop %rax\nret\n")
#define TWICE(name, callee)                                                                        \
  FUNCTION(name, "push %rax\ncall " #callee "\ncall " #callee "\npop %rax\nret\n")
#define EITHER(name, callee)                                                                       \
  FUNCTION(name, "push %rax\ntest %esi, %esi\nje 1f\ncall " #callee "\njmp 2f\n1: call " #callee   \
                 "\n2: jmp 3f\nnop\n3: pop %rax\nret\n")
#else
#define LEAF(name)                                                                                 \
  __attribute__((noinline)) void name(int *count) { __asm__ volatile("" : : "r"(count)); }
#define COUNTER(name)                                                                              \
  __attribute__((noinline)) void name(int *count) { __atomic_fetch_add(count, 1, 5); }
#define TWICE(name, callee)                                                                        \
  __attribute__((noinline)) void name(int *count) { callee(count), callee(count); }
#define EITHER(name, callee)                                                                       \
  __attribute__((noinline)) void name(int *count, int which) {                                     \
    if (which)                                                                                     \
      callee(count);                                                                               \
    else                                                                                           \
      callee(count);                                                                               \
  }
#endif

void leaf(int *), leaf_of_threads(int *);
void in_branches(int *), in_branches_of_threads(int *), in_a_row(int *), in_a_row_of_threads(int *);
void either(int *, int), either_of_threads(int *, int), twice(int *), twice_of_threads(int *);

LEAF(leaf);
LEAF(leaf_of_threads);
COUNTER(in_branches);
COUNTER(in_branches_of_threads);
COUNTER(in_a_row);
COUNTER(in_a_row_of_threads);
EITHER(either, in_branches);
EITHER(either_of_threads, in_branches_of_threads);
TWICE(twice, in_a_row);
TWICE(twice_of_threads, in_a_row_of_threads);

static int calls;

static void *run(void *unused) {
  for (int i = 0; i < rounds; ++i) {
    either_of_threads(&calls, i % 2);
    twice_of_threads(&calls);
    leaf_of_threads(&calls);
  }
  return unused;
}

int main(void) {
  for (int i = 0; i < rounds; ++i) {
    either(&calls, i % 2);
    twice(&calls);
    leaf(&calls);
  }
  pthread_t all[threads];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&all[i], 0, run, 0) != 0)
      return 1;
  for (int i = 0; i < threads; ++i)
    pthread_join(all[i], 0);
  return calls == 3 * rounds * (1 + threads) ? 7 : 1;
}
