/* unload [SECONDS=1 [LIBRARY]]
 *
 * Uses names that are gone when the report is made: spins for SECONDS in `plugin_spin` of a library
 * that it loads and unloads, then as long in `main_spin`. The default LIBRARY is unload_plugin.so
 * beside the program. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void main_spin(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

static void path_beside_program(char *path, size_t size, const char *name) {
  const ssize_t length = readlink("/proc/self/exe", path, size - strlen(name) - 1);
  path[length < 0 ? 0 : length] = '\0';
  char *slash = strrchr(path, '/');
  strcpy(slash ? slash + 1 : path, name);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  char path[PATH_MAX];
  path_beside_program(path, sizeof path, "unload_plugin.so");
  void *library = dlopen(argc > 2 ? argv[2] : path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "unload: %s\n", dlerror());
    return 1;
  }
  void (*plugin_spin)(double);
  *(void **)&plugin_spin = dlsym(library, "plugin_spin");
  plugin_spin(seconds);
  dlclose(library);
  main_spin(seconds);
  return 0;
}
