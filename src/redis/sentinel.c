#include "redis/sentinel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "redis/conn.h"
#include "redis/reply.h"

/* One that is away must not cost all the time there is, and one that is far
 * away must be heard in the end. */
enum { ASK_MIN_MS = 1000, ASK_MAX_MS = 8000 };

enum { WHY_MAX = 256 };

struct sentinel {
	struct loop *loop;
	const struct endpoint *url;
	sentinel_on_answer *on_answer;
	void *arg;
	struct conn **conns; /* in the order in which they are asked */
	size_t asked;	     /* the one whose answer is awaited */
	bool asking;
	bool doubtful;	 /* the first one's last answer isn't confirmed */
	size_t ignorant; /* how many answered that they know no such master */
	size_t refused;	 /* how many refused us */
	size_t strange;	 /* how many answered something else */
	size_t hopeless; /* those, and others that need not be asked again */
	int64_t ask_ms;
	int64_t deadline;
	char host[256];
	char why[WHY_MAX];
	char refusal[WHY_MAX - sizeof("sentinel")]; /* the last one */
};

static void ask_next(struct sentinel *sentinel);

struct sentinel *
sentinel_new(struct loop *loop, const struct endpoint *url,
    sentinel_on_answer *on_answer, void *arg)
{
	struct sentinel *sentinel = calloc(1, sizeof(*sentinel));

	if (sentinel == NULL)
		return NULL;
	sentinel->loop = loop;
	sentinel->url = url;
	sentinel->on_answer = on_answer;
	sentinel->arg = arg;
	sentinel->ask_ms = ASK_MIN_MS;
	sentinel->conns = calloc(url->host_count, sizeof(struct conn *));
	for (size_t i = 0; sentinel->conns && i < url->host_count; i++) {
		sentinel->conns[i] = conn_new(loop, &url->hosts[i]);
		if (sentinel->conns[i] == NULL) {
			sentinel_free(sentinel);
			return NULL;
		}
	}
	if (sentinel->conns == NULL) {
		free(sentinel);
		return NULL;
	}
	return sentinel;
}

void
sentinel_free(struct sentinel *sentinel)
{
	if (sentinel == NULL)
		return;
	for (size_t i = 0; i < sentinel->url->host_count; i++)
		conn_free(sentinel->conns[i]);
	free(sentinel->conns);
	free(sentinel);
}

/* Moves one to another place, and those between them by one. */
static void
move(struct sentinel *sentinel, size_t from, size_t to)
{
	struct conn *moved = sentinel->conns[from];

	for (; from > to; from--)
		sentinel->conns[from] = sentinel->conns[from - 1];
	for (; from < to; from++)
		sentinel->conns[from] = sentinel->conns[from + 1];
	sentinel->conns[to] = moved;
}

/* All that can be reached. */
static bool
all_refused(const struct sentinel *sentinel)
{
	return sentinel->refused > 0 && sentinel->ignorant == 0 &&
	       sentinel->strange == 0;
}

static void
answer(struct sentinel *sentinel, const char *host, int64_t port)
{
	const struct sentinel_answer told = {.host = host,
	    .port = (int)port,
	    .why = sentinel->why,
	    .refused = host == NULL && all_refused(sentinel),
	    .hopeless = sentinel->hopeless == sentinel->url->host_count};

	sentinel->asking = false;
	sentinel->on_answer(sentinel->arg, &told);
}

static void
give_up(struct sentinel *sentinel)
{
	size_t count = sentinel->url->host_count;
	char last[WHY_MAX];

	snprintf(last, sizeof(last), "%s", sentinel->why);
	if (all_refused(sentinel))
		snprintf(sentinel->why, WHY_MAX, "sentinel %s",
		    sentinel->refusal);
	else if (sentinel->ignorant == count)
		snprintf(sentinel->why, WHY_MAX,
		    "its sentinels know no master '%.200s'",
		    sentinel->url->master);
	else if (sentinel->ignorant > 0)
		snprintf(sentinel->why, WHY_MAX,
		    "%zu of %zu sentinels answer, and know no such master",
		    sentinel->ignorant, count);
	else
		snprintf(sentinel->why, WHY_MAX, "no sentinel answers: %.230s",
		    last);
	if (sentinel->ask_ms < ASK_MAX_MS)
		sentinel->ask_ms *= 2;
	answer(sentinel, NULL, 0);
}

static bool
is_unknown_command(const char *error)
{
	static const char words[] = "ERR unknown command";

	return strncmp(error, words, strlen(words)) == 0;
}

/* What it said, in words that help. */
static const char *
meaning(const char *error)
{
	if (error == NULL)
		return "an answer that is not understood";
	if (strncmp(error, "NOAUTH", strlen("NOAUTH")) == 0)
		return "it wants a password (RLOCKRUN_SENTINEL_PASSWORD)";
	if (is_unknown_command(error))
		return "it is not a sentinel";
	return error;
}

/* A server that is not a sentinel does not refuse us. */
static bool
is_refusal(const struct reply *reply)
{
	enum reply_verdict verdict;

	if (reply->error == NULL)
		return false;
	verdict = reply_judge(REPLY_ACQUIRING, reply->error);
	if (reply->kind == REPLY_NO_ACCESS)
		return verdict != REPLY_RETRY;
	return verdict == REPLY_REFUSED && !is_unknown_command(reply->error);
}

static void
note_failure(struct sentinel *sentinel, const struct reply *reply)
{
	const char *error = reply->error;
	bool refused = is_refusal(reply);

	if (reply->value == NULL && !refused)
		snprintf(sentinel->why, WHY_MAX, "%.250s", reply->failure);
	else
		snprintf(sentinel->why, WHY_MAX, "%.120s: %.120s", reply->label,
		    meaning(error));
	if (refused)
		snprintf(sentinel->refusal, sizeof(sentinel->refusal), "%.240s",
		    sentinel->why);
	sentinel->refused += refused;
	sentinel->strange += reply->value != NULL && !refused;
	sentinel->hopeless += reply->permanent || refused ||
			      (error != NULL && is_unknown_command(error));
}

static bool
take_address(struct sentinel *sentinel, const struct value *value,
    int64_t *port)
{
	const char *host = value_text(value_at(value, 0));
	const char *digits = value_text(value_at(value, 1));

	if (host == NULL || digits == NULL || *host == '\0' ||
	    strlen(host) >= sizeof(sentinel->host) ||
	    num_int(digits, 1, 65535, port) == -1)
		return false;
	snprintf(sentinel->host, sizeof(sentinel->host), "%s", host);
	return true;
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct sentinel *sentinel = arg;
	struct conn *conn = sentinel->conns[sentinel->asked];
	int64_t port;

	if (!sentinel->asking)
		return;
	if (take_address(sentinel, reply->value, &port)) {
		move(sentinel, sentinel->asked, 0);
		sentinel->doubtful = true;
		sentinel->ask_ms = ASK_MIN_MS;
		conn_drop(conn);
		answer(sentinel, sentinel->host, port);
		return;
	}
	if (value_is_nil(reply->value)) {
		sentinel->ignorant++;
		sentinel->hopeless++;
	} else {
		note_failure(sentinel, reply);
	}
	sentinel->asked++;
	conn_drop(conn);
	ask_next(sentinel);
}

/* Those that are left and the primary share the time that is left. */
static int64_t
next_deadline(const struct sentinel *sentinel)
{
	int64_t now = clock_now();
	int64_t left = sentinel->deadline - now;
	int64_t share =
	    left / (int64_t)(sentinel->url->host_count - sentinel->asked + 1);

	return now + (share < sentinel->ask_ms ? share : sentinel->ask_ms);
}

static void
ask_next(struct sentinel *sentinel)
{
	const char *argv[] = {"SENTINEL", "get-master-addr-by-name",
	    sentinel->url->master};
	struct conn_command command = {.argc = 3,
	    .argv = argv,
	    .on_reply = on_reply,
	    .arg = sentinel};

	for (; sentinel->asked < sentinel->url->host_count; sentinel->asked++) {
		command.deadline = next_deadline(sentinel);
		if (conn_send(sentinel->conns[sentinel->asked], &command) == 0)
			return;
		snprintf(sentinel->why, WHY_MAX, "%s", strerror(ENOMEM));
	}
	give_up(sentinel);
}

void
sentinel_ask(struct sentinel *sentinel, int64_t deadline)
{
	if (sentinel->doubtful)
		move(sentinel, 0, sentinel->url->host_count - 1);
	sentinel->doubtful = false;
	sentinel->deadline = deadline;
	sentinel->asked = 0;
	sentinel->ignorant = 0;
	sentinel->refused = 0;
	sentinel->strange = 0;
	sentinel->hopeless = 0;
	sentinel->asking = true;
	ask_next(sentinel);
}

void
sentinel_cancel(struct sentinel *sentinel)
{
	if (!sentinel->asking)
		return;
	sentinel->asking = false;
	conn_drop(sentinel->conns[sentinel->asked]);
}

void
sentinel_confirm(struct sentinel *sentinel)
{
	sentinel->doubtful = false;
}
