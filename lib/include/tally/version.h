/* The version stands here and nowhere else. */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#define TALLY_VERSION "0.1.0"

#endif
