/* What --doctor makes of a server's clock. */
#include "doctor/checks.h"

#include "tap.h"

static void
test_clock(void)
{
	struct check_samples samples = {.list =
					    {
						{1000, 400, 5001200},
						{2000, 100, 5002050},
						{3000, 900, -1},
						{4000, 200, 5504100},
					    },
	    .count = 3};
	struct check_offset offset = check_contact_offset(&samples);

	ok(offset.is_known, "there is an offset");
	is_int(offset.us, 5000000, "that of the shortest round trip");
	is_int(offset.error_us, 50, "which may be wrong by half of that");
	is_int(check_contact_step(&samples), 0, "no step");
	samples.list[2] = samples.list[3];
	is_int(check_contact_step(&samples), 500000, "a step forward");
	samples.list[2].time_us = 4004100;
	is_int(check_contact_step(&samples), -1000000, "a step back");
	samples.count = 0;
	ok(!check_contact_offset(&samples).is_known, "no samples");
}

int
main(void)
{
	test_clock();
	return tap_done();
}
