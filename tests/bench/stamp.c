/* A job that does nothing but say when: `stamp FILE` adds a line to FILE, the
 * microseconds of CLOCK_MONOTONIC at its start and at its end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int
main(int argc, char **argv)
{
	double start = now_us();
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_APPEND) : -1;
	char line[64];
	int length =
	    snprintf(line, sizeof(line), "%.0f %.0f\n", start, now_us());

	return fd != -1 && write(fd, line, (size_t)length) == length
		   ? EXIT_SUCCESS
		   : EXIT_FAILURE;
}
