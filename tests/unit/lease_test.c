/* How long a lease can be relied on. */
#include "lock/lease.h"

#include "tap.h"

int
main(void)
{
	is_int(lease_valid_until(100, 1000), 100 + 1000 - 12,
	    "the ttl less 1% less 2 ms");
	is_int(lease_valid_until(0, 30000), 30000 - 302, "of half a minute");
	return tap_done();
}
