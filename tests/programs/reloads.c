/* reloads [TIMES=40 [LIBRARY]]
 *
 * Keeps debuggers busy: loads and unloads a library TIMES times (default: libm.so.6). Exits with
 * status 7. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  for (int left = argc > 1 ? atoi(argv[1]) : 40; left > 0; --left) {
    void *const library = dlopen(argc > 2 ? argv[2] : "libm.so.6", RTLD_NOW);
    if (!library) {
      fprintf(stderr, "reloads: %s\n", dlerror());
      return 1;
    }
    dlclose(library);
  }
  return 7;
}
