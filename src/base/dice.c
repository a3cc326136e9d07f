#include "base/dice.h"

#include <sys/random.h>

int64_t
dice_between(int64_t low, int64_t high)
{
	uint64_t dice = 0;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		return low;
	return low + (int64_t)(dice % ((uint64_t)(high - low) + 1));
}

int
dice_fill(void *bytes, size_t size)
{
	return getrandom(bytes, size, 0) == (ssize_t)size ? 0 : -1;
}
