/* Chance, for delays that many are not to have in common. */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

/* low <= result <= high, all as likely; low when the kernel has no randomness
 * yet. */
int64_t dice_between(int64_t low, int64_t high);

#endif
