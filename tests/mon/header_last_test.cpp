#include <unistd.h>

#include <tally/mon.h>

#include "header_body.h"
