/* Defines the version of Tally; everything else reads it from here. */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#define TALLY_VERSION "0.1.0"

#endif
