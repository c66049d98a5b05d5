/* Whether qemu-user runs the test, as in cross.sh. It passes on neither perf's system call nor
 * ptrace(), process_vm_readv() and execveat(), and /proc shows it in place of the program. */
#pragma once

#include <stdlib.h>

static inline int tally_is_emulated(void) { return getenv("TALLY_EMULATOR") != NULL; }
