/* Asks the kernel whether memory of the program may be accessed. Catching faults instead would
 * interfere with the program's own signal handlers. */
#ifndef TALLY_MON_USER_MEMORY_H
#define TALLY_MON_USER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns whether the aligned 32-bit word that holds `address` is writable. The word is not
 * changed, not even for a thread that counts there at the same time. Async-signal-safe except for
 * errno; takes about 0.2 us. */
int mon_word_writable(uintptr_t address);

/* Return whether all of [start, start + bytes) is writable or readable, which is true for 0 bytes.
 * In a space of up to 16 MiB every page is touched. */
int mon_space_writable(uintptr_t start, uint64_t bytes);
int mon_space_readable(uintptr_t start, uint64_t bytes);

#endif
