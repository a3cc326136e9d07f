#include "base/dice.h"

#include "tap.h"

int
main(void)
{
	const int64_t wide = INT64_C(3653) * 24 * 60 * 60 * 1000;
	bool seen[4] = {false};
	bool inside = true;
	bool beyond_32_bits = false;

	for (int i = 0; i < 1000; i++) {
		int64_t die = dice_between(5, 8);
		int64_t far = dice_between(0, wide);
		inside =
		    inside && die >= 5 && die <= 8 && far >= 0 && far <= wide;
		if (die >= 5 && die <= 8)
			seen[die - 5] = true;
		beyond_32_bits = beyond_32_bits || far > UINT32_MAX;
	}
	ok(inside, "never outside");
	ok(seen[0] && seen[1] && seen[2] && seen[3], "both ends and between");
	ok(beyond_32_bits, "ten years are not cut");
	is_int(dice_between(7, 7), 7, "nothing to choose");
	return tap_done();
}
