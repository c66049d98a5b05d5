/* A C program that uses the installed library: it compares the versions of header and library. */
#include <stdio.h>
#include <string.h>

#include <tally.h>

int main(void) {
  printf("%s\n", tally_version());
  return strcmp(tally_version(), TALLY_VERSION) != 0 || tally_abi() != TALLY_ABI;
}
