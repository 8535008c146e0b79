/* sdp_operands.c - not there yet. */
#include "units.h"
