/* spin7030_traced [ARGUMENT]...
 *
 * spin7030, which first sleeps until a debugger traces it: it cannot end before a debugger on a
 * busy machine has attached to it. */
#define main spin_main
#include "spin7030.c"
#undef main

#include <string.h>

static int is_traced(void) {
  char line[256];
  int tracer = 0;
  FILE *const status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "TracerPid:", 10) == 0)
      tracer = atoi(line + 10);
  if (status)
    fclose(status);
  return tracer != 0;
}

int main(int argc, char **argv) {
  const struct timespec moment = {0, 10000000};
  while (!is_traced())
    nanosleep(&moment, NULL);
  return spin_main(argc, argv);
}
