/* The file gmon.out, and where code lies. */
#ifndef TALLY_MON_GMON_H
#define TALLY_MON_GMON_H

#include <stdint.h>

#include "counting.h"

/* path NULL: the name by the environment. 0, or -1 and errno. */
int mon_gmon_write(const char *path, const struct mon_bins *bins, uint32_t rate_hz);
/* One line on standard error, after errno: at exit there is nobody else to be told. */
void mon_gmon_complain(void);
/* Whether GMON_OUT_PREFIX gives every process its own file. */
int mon_gmon_name_has_pid(void);

/* The executable segments of the main program; 0: not found. */
int mon_main_text(uint64_t *low, uint64_t *high);

#endif
