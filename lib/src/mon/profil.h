/* Shared by profil() and gmon.out. */
#ifndef TALLY_MON_PROFIL_H
#define TALLY_MON_PROFIL_H

#include "clocks.h"

/* Returns the settings of the last call of tally_profil_options(). */
struct mon_settings mon_profil_settings(void);

#endif
