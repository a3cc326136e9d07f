/* sim: plays histories of whole runs in virtual time, and checks the promises.
 *
 *     sim [-j JOBS] SEED [COUNT]     histories from SEED on; those that fail
 * are made smaller and shown sim -t SEED                    one, with a trace
 *     sim -p SEED                    prints it
 *     sim [-t] FILE...               histories that were written down
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generate.h"
#include "node.h"
#include "play.h"
#include "shrink.h"
#include "world.h"

/* A process plays so many: what killed runs had allocated goes with it. */
enum { PART = 200, JOBS = 64, FAILURES_SHOWN = 10 };

/* Shared by all processes. */
struct total {
	_Atomic int64_t histories, runs, virtual_us, failures;
	_Atomic uint64_t playing[JOBS]; /* to be named if the process dies */
	_Atomic int64_t ended[256];
};

static void
print_history(const struct history *history)
{
	printf("seed %" PRIu64 "\n", history->seed);
	for (size_t i = 0; i < history->count; i++)
		puts(history->lines[i]);
}

static int
play_traced(const struct history *history)
{
	struct outcome outcome;

	world.traced = calloc(1, 1);
	history_play(history, &outcome);
	fputs(world.traced, stdout);
	free(world.traced);
	world.traced = NULL;
	for (size_t i = 0; i < 256; i++)
		if (outcome.ended[i] > 0)
			printf("status %zu: %d\n", i, outcome.ended[i]);
	return outcome.findings > 0;
}

/* --- written histories
 * -------------------------------------------------------- */

static int
play_file(const char *path, bool traced)
{
	struct history history = {0};
	struct outcome outcome;
	int failed;

	if (history_read(&history, path) == -1) {
		perror(path);
		fflush(stdout);
		_exit(2);
	}
	if (traced) {
		failed = play_traced(&history);
	} else {
		history_play(&history, &outcome);
		failed = outcome.findings > 0;
		if (failed)
			printf("%s: %s\n", path, outcome.found);
	}
	history_free(&history);
	return failed;
}

static int
play_files(int count, char **paths, bool traced)
{
	int failures = 0;

	for (int i = 0; i < count; i++)
		failures += play_file(paths[i], traced);
	printf("%d passed, %d failed\n", count - failures, failures);
	return failures > 0;
}

/* --- histories by seed
 * ------------------------------------------------------------ */

static void
report_failure(struct history *history, const struct outcome *outcome)
{
	printf("seed %" PRIu64 ": %s\n", history->seed, outcome->found);
	shrink(history, outcome);
	puts("made smaller:");
	print_history(history);
	puts("");
	fflush(stdout);
}

static void
play_seed(struct total *total, uint64_t seed)
{
	struct history history = {0};
	struct outcome outcome;

	generate_history(&history, seed);
	history_play(&history, &outcome);
	total->histories++;
	total->runs += outcome.runs;
	total->virtual_us += outcome.virtual_us;
	for (size_t i = 0; i < 256; i++)
		total->ended[i] += outcome.ended[i];
	if (outcome.findings > 0 && total->failures++ < FAILURES_SHOWN)
		report_failure(&history, &outcome);
	history_free(&history);
}

static pid_t
fork_part(struct total *total, int job, uint64_t from, uint64_t to)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (uint64_t seed = from; seed < to; seed++) {
		total->playing[job] = seed;
		play_seed(total, seed);
	}
	fflush(stdout);
	_exit(0);
}

static void
await_part(struct total *total, pid_t *pids, int jobs)
{
	int status;
	pid_t pid = wait(&status);

	for (int i = 0; i < jobs; i++) {
		if (pids[i] != pid)
			continue;
		pids[i] = 0;
		if (status == 0)
			continue;
		total->failures++;
		printf("seed %" PRIu64 ": the process ended with %d\n",
		    total->playing[i], status);
	}
}

static void
play_all(struct total *total, int jobs, uint64_t from, uint64_t to)
{
	pid_t pids[JOBS] = {0};
	int running = 0;

	while (from < to || running > 0) {
		int free_job = 0;
		while (free_job < jobs && pids[free_job] != 0)
			free_job++;
		if (from >= to || free_job == jobs) {
			await_part(total, pids, jobs);
			running--;
			continue;
		}
		uint64_t end = to - from < PART ? to : from + PART;
		fflush(stdout);
		pids[free_job] = fork_part(total, free_job, from, end);
		running++;
		from = end;
	}
}

static int
play_seeds(int jobs, uint64_t from, uint64_t count)
{
	struct total *total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (total == MAP_FAILED)
		abort();
	play_all(total, jobs, from, from + count);
	printf("%" PRId64 " histories, %" PRId64 " runs, %" PRId64
	       " virtual seconds; statuses",
	    total->histories, total->runs, total->virtual_us / WORLD_S);
	for (size_t i = 0; i < 256; i++)
		if (total->ended[i] > 0)
			printf(" %zu:%" PRId64, i, total->ended[i]);
	printf("\n%" PRId64 " passed, %" PRId64 " failed\n",
	    total->histories - total->failures, total->failures);
	return total->failures > 0;
}

int
main(int argc, char **argv)
{
	bool traced = false, printed = false;
	int jobs = (int)sysconf(_SC_NPROCESSORS_ONLN), option;
	uint64_t seed;
	char *end;

	while ((option = getopt(argc, argv, "j:tp")) != -1) {
		traced = traced || option == 't';
		printed = printed || option == 'p';
		if (option == 'j')
			jobs = (int)strtol(optarg, NULL, 10);
		if (option == '?')
			return 2;
	}
	if (optind == argc || jobs < 1 || jobs > JOBS) {
		fputs("usage: sim [-tp] [-j JOBS] SEED [COUNT] | FILE...\n",
		    stderr);
		return 2;
	}
	setenv("TZ", "UTC", 1);
	node_load(SIM_FOLDER);
	seed = strtoull(argv[optind], &end, 10);
	if (*end != '\0')
		return play_files(argc - optind, argv + optind, traced);
	if (traced || printed) {
		struct history history = {0};
		generate_history(&history, seed);
		print_history(&history);
		return traced ? play_traced(&history) : 0;
	}
	return play_seeds(jobs, seed,
	    optind + 1 < argc ? strtoull(argv[optind + 1], NULL, 10) : 1);
}
