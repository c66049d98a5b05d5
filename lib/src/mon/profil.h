/* What profil() and gmon.out share. */
#ifndef TALLY_MON_PROFIL_H
#define TALLY_MON_PROFIL_H

#include "clocks.h"

/* As tally_profil_options() left them. */
struct mon_settings mon_profil_settings(void);

#endif
