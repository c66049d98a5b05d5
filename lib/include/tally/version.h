/* Defines the version of Tally; everything else reads it from here. */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#define TALLY_VERSION "0.2.0"

#endif
