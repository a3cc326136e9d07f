/* Random numbers, for delays that must differ from one process to another. */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

/* low <= result <= high, equally distributed; low while the kernel has no
 * randomness yet. */
int64_t dice_between(int64_t low, int64_t high);

#endif
