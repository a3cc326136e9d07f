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
