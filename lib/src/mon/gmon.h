/* Writes the file gmon.out, and finds the program's code. */
#ifndef TALLY_MON_GMON_H
#define TALLY_MON_GMON_H

#include <stdint.h>

#include "counting.h"

/* Writes the file. If `path` is NULL, the environment determines the name. Returns 0, or -1 and
 * errno. */
int mon_gmon_write(const char *path, const struct mon_bins *bins, uint32_t rate_hz);
/* Prints errno's message as one line on standard error. This is for exit, where there is no caller
 * to return an error to. */
void mon_gmon_complain(void);
/* Returns whether GMON_OUT_PREFIX gives every process a file of its own. */
int mon_gmon_name_has_pid(void);

/* Sets [*low, *high) to the run-time addresses from the first to the last executable segment of the
 * main program, including what lies between, and returns 1. Returns 0 if there is none. */
int mon_main_text(uint64_t *low, uint64_t *high);

#endif
