/* The library that `unload` loads and unloads. */
#include "spin.h"

__attribute__((visibility("default"))) void plugin_spin(double seconds);

void plugin_spin(double seconds) { SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds); }
