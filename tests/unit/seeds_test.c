/* The seeds of tests/fuzz/corpus: each must still be what its name says, byte
 * for byte. A seed that a decoder refuses at once leaves all that lies behind
 * it without fuzzing, and the fuzzer reports nothing. */
#include <dirent.h>
#include <stdlib.h>

#include "admin/look.h"
#include "admin/query.h"
#include "lock/answer.h"
#include "lock/outer.h"
#include "redis/info.h"
#include "redis/ways/cluster.h"
#include "redis/ways/sentinel.h"
#include "sink/metrics_text.h"
#include "tap.h"

static const struct key_names names = {
    .all = {"job", "INFO", "RUNS", "QUEUE", "ALIVE"}};

#define CORPUS "tests/fuzz/corpus/"

enum { SEED_SIZE = 8192 };

/* Its bytes and a NUL; an empty text if it cannot be read. */
static size_t
read_seed(char seed[SEED_SIZE], const char *target, const char *name)
{
	char path[256];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), CORPUS "%s/%s", target, name);
	file = fopen(path, "r");
	length = file != NULL ? fread(seed, 1, SEED_SIZE - 1, file) : 0;
	if (file != NULL)
		fclose(file);
	seed[length] = '\0';
	return length;
}

/* NULL unless the seed is a reply and nothing else. */
static struct value *
read_reply(const char *target, const char *name)
{
	const struct value_limits limits = {SEED_SIZE, CLUSTER_SLOTS};
	struct value_reader *reader = value_reader_new();
	struct value *reply = NULL;
	char seed[SEED_SIZE];
	size_t length = read_seed(seed, target, name);

	if (reader == NULL || value_reader_feed(reader, seed, length) != 0)
		abort();
	if (value_reader_next(reader, limits, &reply) != 1 ||
	    !value_reader_is_empty(reader)) {
		value_free(reply);
		reply = NULL;
	}
	value_reader_free(reader);
	return reply;
}

/* --- answer ----------------------------------------------------------- */

static const struct {
	const char *name;
	enum answer_to asked;
	enum answer_outcome outcome;
} answers[] = {
    {"busy", ANSWER_TO_TRY, ANSWER_BUSY},
    {"free", ANSWER_TO_TRY, ANSWER_BUSY},
    {"granted", ANSWER_TO_TRY, ANSWER_GRANTED},
    {"not-due", ANSWER_TO_TRY, ANSWER_NOT_DUE},
    {"same-id", ANSWER_TO_TRY, ANSWER_NOT_DUE},
    {"overtaken", ANSWER_TO_TRY, ANSWER_OVERTAKEN},
    {"joined", ANSWER_TO_JOIN, ANSWER_GRANTED},
    {"flag", ANSWER_TO_PLAIN_JOIN, ANSWER_GRANTED},
    {"flag", ANSWER_TO_OTHER_KIND, ANSWER_OTHER_KIND},
    {"flag", ANSWER_TO_RENEWAL, ANSWER_RENEWED},
    {"lost", ANSWER_TO_RENEWAL, ANSWER_NOT_OURS},
    {"freed", ANSWER_TO_RELEASE, ANSWER_FREED},
    {"kept", ANSWER_TO_RELEASE, ANSWER_KEPT},
};

static void
test_answers(void)
{
	for (size_t i = 0; i < LENGTH(answers); i++) {
		struct value *reply = read_reply("answer", answers[i].name);
		struct answer answer;

		ok(answer_read(&answer, answers[i].asked, reply) &&
			answer.outcome == answers[i].outcome,
		    "answer/%s", answers[i].name);
		value_free(reply);
	}
}

static void
test_waiters(void)
{
	struct value *next = read_reply("answer", "next");
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_HEAD, next) && *answer.head != '\0',
	    "answer/next is a waiter");
	value_free(next);
}

static void
test_order(const char *name, bool has_pid)
{
	struct value *reply = read_reply("answer", name);
	struct answer order;

	ok(answer_read(&order, ANSWER_TO_ORDER, reply) &&
		strlen(order.ordered) == TOKEN_SIZE - 1 &&
		(strcmp(order.by.pid, "?") != 0) == has_pid,
	    "answer/%s is an order", name);
	value_free(reply);
}

static void
test_other_replies(void)
{
	struct value *page = read_reply("answer", "page");
	struct value *forced = read_reply("answer", "forced");
	struct value *replicas = read_reply("answer", "replicas");
	struct query_page read = {.keys = NULL};
	struct query_forced freed;

	ok(query_read_page(&read, page), "answer/page");
	for (char **key = read.keys; key != NULL && *key != NULL; key++)
		free(*key);
	free(read.keys);
	free(read.cursor);
	ok(query_read_force(&freed, forced) && *freed.head != '\0',
	    "answer/forced");
	ok(answer_replicas(replicas) > 0, "answer/replicas");
	value_free(page);
	value_free(forced);
	value_free(replicas);
}

/* What all of them have together. */
static struct {
	size_t holders, queued, runs, ended, successes, problems;
} seen;

static void
test_look(const char *name)
{
	struct value *reply = read_reply("answer", name);
	struct look look = {.keys = &names};
	bool good = query_read_look(&look, reply);

	ok(good, "answer/%s", name);
	if (good) {
		seen.holders += look.listed;
		seen.queued += look.queued;
		seen.runs += look.run_count;
		seen.ended += look_last_over(&look) != NULL;
		seen.successes += look.success.end_ms > 0;
		seen.problems += look.problem_count;
		query_fini(&look);
	}
	value_free(reply);
}

static void
test_looks(void)
{
	DIR *folder = opendir(CORPUS "answer");
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (strncmp(entry->d_name, "look", 4) == 0)
			test_look(entry->d_name);
	if (folder != NULL)
		closedir(folder);
	ok(seen.holders > 1, "the looks have holders");
	ok(seen.queued > 1, "  waiters");
	ok(seen.runs > 1 && seen.ended > 0, "  runs");
	ok(seen.successes > 0, "  a success");
	ok(seen.problems > 0, "  problems");
}

/* --- others ----------------------------------------------------------- */

static void
test_places(void)
{
	struct value *sentinel = read_reply("place", "sentinel");
	struct value *slots = read_reply("place", "slots");
	struct url_address *primaries = NULL;
	struct url_address address;

	ok(sentinel_read_address(&address, sentinel), "place/sentinel");
	ok(cluster_primaries(slots, "h", &primaries) > 1, "place/slots");
	free(primaries);
	value_free(sentinel);
	value_free(slots);
}

static void
test_redirects(void)
{
	struct url_address to;
	char seed[SEED_SIZE];

	read_seed(seed, "cluster", "ask");
	ok(cluster_redirect(seed, &to) == CLUSTER_ASK, "cluster/ask");
	read_seed(seed, "cluster", "moved");
	ok(cluster_redirect(seed, &to) == CLUSTER_MOVED, "cluster/moved");
}

static void
test_info(void)
{
	char seed[SEED_SIZE], *rest = seed;

	read_seed(seed, "info", "server");
	ok(info_number(seed, "uptime_in_seconds") > 0, "info/server");
	read_seed(seed, "info", "replication");
	strsep(&rest, "\n");
	ok(rest != NULL && info_online_replicas(rest) > 0, "info/replication");
}

static void
test_metrics(const char *name)
{
	char seed[SEED_SIZE], *rest = seed, *label;
	struct metrics metrics;

	read_seed(seed, "metrics", name);
	label = metrics_text_label(strsep(&rest, "\n"));
	metrics_init(&metrics);
	ok(rest != NULL && !metrics_text_read(&metrics, label, rest),
	    "metrics/%s is whole", name);
	free(label);
}

static void
test_outer(void)
{
	char seed[SEED_SIZE], *rest = seed, token[TOKEN_SIZE];
	const char *key;

	read_seed(seed, "outer", "two");
	key = strsep(&rest, "\n");
	ok(outer_find(rest, key, token) != NULL, "outer/two");
}

int
main(void)
{
	test_answers();
	test_waiters();
	test_order("order", true);
	test_order("order-no-pid", false);
	test_other_replies();
	test_looks();
	test_places();
	test_redirects();
	test_info();
	test_metrics("file");
	test_metrics("runs");
	test_outer();
	return tap_done();
}
