/* Random numbers: the only source of chance. */
#ifndef DICE_H
#define DICE_H

#include <stddef.h>
#include <stdint.h>

/* For delays that must differ from one process to another: low <= result <=
 * high, equally distributed; low while the kernel has no randomness yet. */
int64_t dice_between(int64_t low, int64_t high);

/* Bytes that nobody can guess. 0, or -1 with errno. Waits until the kernel has
 * randomness. */
int dice_fill(void *bytes, size_t size);

#endif
