/* Times two commands against each other: A B A B ..., each run from its start
 * to its end, so that a machine that becomes slower does so for both.
 *
 *     pair RUNS A [ARGUMENT...] vs B [ARGUMENT...]
 *
 * Prints the medians in microseconds and the median of the pairs' ratios:
 * "A B A/B". */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 5, RUNS_MAX = 100000 };

static double
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double
time_one(char **argv)
{
	double start = now_us();
	pid_t pid;
	int status;
	int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

	if (error != 0) {
		fprintf(stderr, "pair: %s: %s\n", argv[0], strerror(error));
		exit(EXIT_FAILURE);
	}
	if (waitpid(pid, &status, 0) == -1 || status != 0) {
		fprintf(stderr, "pair: %s: wait status %d\n", argv[0], status);
		exit(EXIT_FAILURE);
	}
	return now_us() - start;
}

static int
ascending(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static double
median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), ascending);
	return count % 2 == 1 ? values[count / 2]
			      : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static char **
split(char **argv)
{
	for (; *argv != NULL; argv++) {
		if (strcmp(*argv, "vs") == 0) {
			*argv = NULL;
			return argv + 1;
		}
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	char **b = argc > 2 ? split(argv + 2) : NULL;
	double *times[3];

	if (runs < 1 || runs > RUNS_MAX || b == NULL || *b == NULL) {
		fprintf(stderr, "usage: pair RUNS A [ARG...] vs B [ARG...]\n");
		return EXIT_FAILURE;
	}
	for (int i = 0; i < 3; i++)
		if ((times[i] = calloc((size_t)runs, sizeof(double))) == NULL)
			return EXIT_FAILURE;
	for (long i = -WARM_UP; i < runs; i++) {
		double of_a = time_one(argv + 2);
		double of_b = time_one(b);
		if (i < 0)
			continue;
		times[0][i] = of_a;
		times[1][i] = of_b;
		times[2][i] = of_a / of_b;
	}
	printf("%.0f %.0f %.2f\n", median(times[0], (size_t)runs),
	    median(times[1], (size_t)runs), median(times[2], (size_t)runs));
	return EXIT_SUCCESS;
}
