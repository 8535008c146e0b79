/*
 * crc32.c - CRC-32/ISO-HDLC, the one of zlib and Ethernet: polynomial
 * 0x04c11db7 reflected, start and final exclusive-or 0xffffffff.
 */
#include "fwgen_link.h"

#include "fwgen_config_defaults.h"

#define POLYNOMIAL 0xedb88320u

#if FWGEN_CRC_TABLE
/* The CRC of each value of four bits. */
static const uint32_t table[16] = {
    0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu,
    0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
    0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
    0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
};
#endif

uint32_t fwgen_crc32(uint32_t crc, const void *data, size_t length)
{
    const uint8_t *byte = data;

    crc = ~crc;
    while (length-- != 0u) {
        crc ^= *byte++;
#if FWGEN_CRC_TABLE
        crc = (crc >> 4) ^ table[crc & 0xfu];
        crc = (crc >> 4) ^ table[crc & 0xfu];
#else
        for (uint32_t i = 0; i < 8u; i++) {
            crc = (crc >> 1) ^ (POLYNOMIAL & (0u - (crc & 1u)));
        }
#endif
    }
    return ~crc;
}
