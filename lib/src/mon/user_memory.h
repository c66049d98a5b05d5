/* Whether memory of the program's may be touched, asked of the kernel: no signal handler of ours
 * comes between the program and its own faults. */
#ifndef TALLY_MON_USER_MEMORY_H
#define TALLY_MON_USER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Of the aligned 32-bit word that holds `address`. Nothing is changed, also not for a thread that
 * counts there at the same time. Async-signal-safe, but for errno; about 0.2 us. */
int mon_word_writable(uintptr_t address);

/* All of [start, start + bytes); no bytes are always so. Pages of a space of up to 16 MiB are
 * touched. */
int mon_space_writable(uintptr_t start, uint64_t bytes);
int mon_space_readable(uintptr_t start, uint64_t bytes);

#endif
