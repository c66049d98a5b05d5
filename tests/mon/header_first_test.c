#include <tally/mon.h>
#include <unistd.h>

#include "header_body.h"
