extern "C" long CALLER(long first);
#include "entries_work.c"
