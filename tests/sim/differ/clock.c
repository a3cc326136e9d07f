/* A server's clock that stands still: LD_PRELOAD, with the microseconds in the
 * file that FROZEN_CLOCK names. libfaketime does not do it: jemalloc asks for
 * the time before libfaketime is ready. Time-outs of the server's loop go by
 * the monotonic clock, which is left alone. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t
now_us(void)
{
	static const volatile int64_t *shared;

	if (shared == NULL) {
		int file = open(getenv("FROZEN_CLOCK"), O_RDONLY | O_CLOEXEC);

		shared =
		    mmap(NULL, sizeof(*shared), PROT_READ, MAP_SHARED, file, 0);
		close(file);
		if (shared == MAP_FAILED)
			_exit(1);
	}
	return *shared;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int64_t us = now_us();

	(void)zone;
	now->tv_sec = us / 1000000;
	now->tv_usec = us % 1000000;
	return 0;
}

time_t
time(time_t *result)
{
	time_t now = now_us() / 1000000;

	if (result != NULL)
		*result = now;
	return now;
}
