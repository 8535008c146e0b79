/* conv_kernels.c - not there yet. */
#include "units.h"
