/* task.h - see FreeRTOS.h in this folder. */
#include "FreeRTOS.h"
