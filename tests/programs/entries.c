/* entries: calls a function `work` that was compiled in many ways (entries_work.c), three times
 * each. Its exit status is 0 if all calls return the right value. */
#define CALL(name) extern long name(long);
#include "entries.h"
#undef CALL

int main(void) {
  long wrong = 0;
  for (long i = 0; i < 3; ++i) {
#define CALL(name) wrong += name(i) != 29 + i;
#include "entries.h"
  }
  return wrong != 0;
}
