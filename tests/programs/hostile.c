/* A program that attacks the reader of its samples:
 *
 *     hostile SECONDS SEED
 *
 * It takes the memory that the debugger made for its agent before the agent does, and writes lies
 * to it. Started without a debugger, it does nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile_agent.h"

static const char *memory;

/* Runs before the constructors of preloaded libraries. */
static void take_memory(int argc, char **argv, char **environment) {
  (void)argc, (void)argv;
  for (; *environment; ++environment)
    if (strncmp(*environment, "TALLY_AGENT=", 12) == 0)
      memory = *environment + 12;
  struct hostile first;
  if (memory)
    hostile_begin(&first, memory, 1);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **,
                                                                        char **) = take_memory;

int main(int argc, char **argv) {
  struct hostile h;
  if (argc != 3)
    return 2;
  puts("plays");
  fflush(stdout);
  if (memory && hostile_begin(&h, memory, strtoull(argv[2], NULL, 10)))
    hostile_play(&h, strtod(argv[1], NULL));
  return 0;
}
