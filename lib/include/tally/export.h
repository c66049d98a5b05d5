/* Marks what the shared library exports. Everything else is hidden. */
#ifndef TALLY_EXPORT_H
#define TALLY_EXPORT_H

#define TALLY_API __attribute__((visibility("default")))

#endif
