/* Tally's C interface. Placeholder until its functions land. */
#ifndef TALLY_H
#define TALLY_H
#define TALLY_VERSION "0.1.0"
#endif
