/* A C program on the installed library: the version that it was built with and runs with. */
#include <stdio.h>
#include <string.h>

#include <tally.h>

int main(void) {
  printf("%s\n", tally_version());
  return strcmp(tally_version(), TALLY_VERSION) != 0 || tally_abi() != TALLY_ABI;
}
