/* sim: plays histories of whole runs in virtual time, and checks the promises.
 *
 *     sim [-f] [-j JOBS] SEED COUNT [FILE...]
 *         histories by seed, and some that were written down; one that fails
 *         is made smaller and shown. -f: the first one ends it, as it is
 *     sim FILE...
 *     sim -t SEED [COUNT]
 *     sim -t FILE...
 *         with all that happens in them
 *     sim -p SEED [COUNT]
 *         prints what would be played
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generate.h"
#include "node.h"
#include "play.h"
#include "shrink.h"
#include "world.h"

/* A process plays so many: what killed runs had allocated goes with it. In one
 * of CPU_SECONDS the program loops without waiting for anything. */
enum { PART = 200, JOBS = 64, FAILURES_SHOWN = 10, CPU_SECONDS = 60 };

/* Shared by all processes. */
struct total {
	_Atomic int64_t histories, runs, virtual_us, failures;
	_Atomic uint64_t playing[JOBS]; /* to be named if the process dies */
	_Atomic int64_t ended[256];
};

/* Histories are numbered: first the files, then those by seed. */
struct work {
	struct total *total;
	char **files;
	uint64_t file_count, first_seed, count;
	int jobs;
	bool ends_at_failure;
};

static void
print_history(const struct history *history)
{
	printf("seed %" PRIu64 "\n", history->seed);
	for (size_t i = 0; i < history->count; i++)
		puts(history->lines[i]);
}

static void
read_history(struct history *history, const char *path)
{
	if (history_read(history, path) == 0)
		return;
	perror(path);
	fflush(stdout);
	_exit(2);
}

/* --- one by one, in this process ----------------------------------------- */

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

static int
show_seeds(uint64_t first, uint64_t count, bool is_played)
{
	int failures = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		struct history history = {0};
		generate_history(&history, seed);
		print_history(&history);
		if (is_played)
			failures += play_traced(&history);
		history_free(&history);
	}
	return failures > 0;
}

static int
show_files(char **paths)
{
	int failures = 0;

	for (; *paths != NULL; paths++) {
		struct history history = {0};
		read_history(&history, *paths);
		failures += play_traced(&history);
		history_free(&history);
	}
	return failures > 0;
}

/* --- many, in processes --------------------------------------------------- */

static void
name_history(const struct work *work, uint64_t number)
{
	if (number < work->file_count)
		printf("%s: ", work->files[number]);
	else
		printf("seed %" PRIu64 ": ",
		    work->first_seed + number - work->file_count);
}

static void
report_failure(const struct work *work, uint64_t number,
    struct history *history, const struct outcome *outcome)
{
	name_history(work, number);
	puts(outcome->found);
	fflush(stdout); /* making it smaller may take more than CPU_SECONDS */
	if (number >= work->file_count && !work->ends_at_failure) {
		shrink(history, outcome);
		puts("made smaller:");
		print_history(history);
		puts("");
	}
	fflush(stdout);
}

static void
play_number(const struct work *work, uint64_t number)
{
	struct total *total = work->total;
	struct history history = {0};
	struct outcome outcome;

	if (number < work->file_count)
		read_history(&history, work->files[number]);
	else
		generate_history(&history,
		    work->first_seed + number - work->file_count);
	history_play(&history, &outcome);
	total->histories++;
	total->runs += outcome.runs;
	total->virtual_us += outcome.virtual_us;
	for (size_t i = 0; i < 256; i++)
		total->ended[i] += outcome.ended[i];
	if (outcome.findings > 0 && total->failures++ < FAILURES_SHOWN)
		report_failure(work, number, &history, &outcome);
	history_free(&history);
}

/* A part of the work that has a process. */
struct part {
	pid_t pid;
	uint64_t from, to;
};

static bool
is_over(const struct work *work)
{
	return work->ends_at_failure && work->total->failures > 0;
}

static void
fork_part(const struct work *work, int job, struct part *part)
{
	const struct rlimit most = {CPU_SECONDS, CPU_SECONDS};

	fflush(stdout);
	part->pid = fork();
	if (part->pid == -1)
		abort();
	if (part->pid != 0)
		return;
	setrlimit(RLIMIT_CPU, &most);
	for (uint64_t i = part->from; i < part->to && !is_over(work); i++) {
		work->total->playing[job] = i;
		play_number(work, i);
	}
	fflush(stdout);
	_exit(0);
}

/* What a process that died has not played is left to another one. */
static void
await_part(const struct work *work, struct part *parts)
{
	struct total *total = work->total;
	int status, job = 0;
	pid_t pid = wait(&status);

	while (parts[job].pid != pid)
		job++;
	parts[job].pid = 0;
	if (status == 0)
		return;
	total->histories++;
	total->failures++;
	name_history(work, total->playing[job]);
	printf("the process ended with %d\n", status);
	parts[job].from = total->playing[job] + 1;
	if (parts[job].from < parts[job].to && status != 2 << 8)
		fork_part(work, job, &parts[job]);
}

static void
play_all(const struct work *work)
{
	struct part parts[JOBS] = {0};
	uint64_t from = 0, to = work->file_count + work->count;
	int busy;

	do {
		busy = 0;
		for (int job = 0; job < work->jobs; job++) {
			if (parts[job].pid == 0 && from < to &&
			    !is_over(work)) {
				uint64_t end =
				    to - from < PART ? to : from + PART;
				parts[job] =
				    (struct part){.from = from, .to = end};
				fork_part(work, job, &parts[job]);
				from = end;
			}
			busy += parts[job].pid != 0;
		}
		if (busy > 0)
			await_part(work, parts);
	} while (busy > 0);
}

static void
sum_up(const struct total *total)
{
	struct rusage usage;
	double cpu;

	getrusage(RUSAGE_CHILDREN, &usage);
	cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	printf("statuses");
	for (size_t i = 0; i < 256; i++)
		if (total->ended[i] > 0)
			printf(" %zu:%" PRId64, i, total->ended[i]);
	printf("\n%" PRId64 " histories, %" PRId64 " runs, %" PRId64
	       " virtual seconds; %.0f runs in a second of a processor\n",
	    total->histories, total->runs, total->virtual_us / WORLD_S,
	    cpu > 0 ? (double)total->runs / cpu : 0);
	printf("%" PRId64 " passed, %" PRId64 " failed\n",
	    total->histories - total->failures, total->failures);
}

static int
play(struct work *work)
{
	struct total *total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (total == MAP_FAILED)
		abort();
	work->total = total;
	while (work->files[work->file_count] != NULL)
		work->file_count++;
	play_all(work);
	sum_up(total);
	return total->failures > 0;
}

/* --- the command ------------------------------------------------------------
 */

/* tests/sim of the tree in which this was built. */
static void
load_servers(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);

	path[length < 0 ? 0 : length] = '\0';
	for (int i = 0; i < 3 && strrchr(path, '/') != NULL; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/tests/sim");
	node_load(path);
}

/* Leaves it as it is unless the word is one. */
static bool
read_number(const char *word, uint64_t *number)
{
	char *end = NULL;
	uint64_t value = word == NULL ? 0 : strtoull(word, &end, 10);

	if (end == NULL || end == word || *end != '\0')
		return false;
	*number = value;
	return true;
}

int
main(int argc, char **argv)
{
	bool is_traced = false, is_printed = false, has_seed;
	struct work work = {.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
	    .count = 1};
	int option;

	while ((option = getopt(argc, argv, "fj:tp")) != -1) {
		is_traced = is_traced || option == 't';
		is_printed = is_printed || option == 'p';
		work.ends_at_failure = work.ends_at_failure || option == 'f';
		if (option == 'j')
			work.jobs = (int)strtol(optarg, NULL, 10);
		if (option == '?')
			return 2;
	}
	work.jobs = work.jobs > JOBS ? JOBS : work.jobs;
	if (optind == argc || work.jobs < 1) {
		fputs("usage: sim [-fpt] [-j JOBS] SEED COUNT [FILE...] | "
		      "FILE...\n",
		    stderr);
		return 2;
	}
	setenv("TZ", "UTC", 1);
	load_servers();
	has_seed = read_number(argv[optind], &work.first_seed);
	work.files = &argv[optind + has_seed];
	if (has_seed && read_number(argv[optind + 1], &work.count))
		work.files++;
	if (!has_seed)
		work.count = 0;
	if (!is_traced && !is_printed)
		return play(&work);
	return has_seed ? show_seeds(work.first_seed, work.count, is_traced)
			: show_files(work.files);
}
