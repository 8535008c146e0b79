/*
 * dw_uart.h - "dw_uart=NAME": a Synopsys DesignWare UART (DW_apb_uart).
 */
#ifndef FWGEN_QEMU_DW_UART_H
#define FWGEN_QEMU_DW_UART_H

#include "overlay.h"

extern const struct overlay_kind dw_uart_kind;

#endif
