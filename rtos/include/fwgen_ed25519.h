/*
 * fwgen_ed25519.h - verification of Ed25519 signatures (RFC 8032). In builds
 * with FWGEN_SIGNED_UPDATE only.
 */
#ifndef FWGEN_ED25519_H
#define FWGEN_ED25519_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether `signature` is one of the message by the owner of the public key.
 * Everything it works with is public, so its time depends on the data. About
 * 1.3 KB of stack. Any task.
 */
bool fwgen_ed25519_verify(const uint8_t signature[64], const uint8_t key[32],
                          const void *message, size_t length);

#endif
