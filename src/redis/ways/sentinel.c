#include "redis/ways/sentinel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/num.h"
#include "redis/reply.h"
#include "redis/way.h"
#include "redis/way_kind.h"

/* An unreachable sentinel must not use up all the time there is, and a distant
 * one must be waited for in the end. */
enum { ASK_MIN_MS = 1000, ASK_MAX_MS = 8000 };

/* A slow server must be able to answer when time is short. */
enum { ANSWER_MS = 2000 };

enum { WHY_MAX = 512 };

/* What the sentinels answered since they were asked. */
struct tally {
	size_t ignorant;  /* so many know no such master */
	size_t refused;	  /* so many refused us */
	size_t strange;	  /* so many answered something else */
	size_t permanent; /* the first two, and others that will fail again */
};

struct sentinel {
	const struct endpoint *url;
	struct way *primary;
	struct way **ways; /* in the order in which they are asked */
	size_t asked; /* whose answer is awaited; the number of all: nobody's */
	bool doubtful; /* the first one's last answer is not confirmed */
	struct tally tally;
	int64_t ask_ms;
	int64_t deadline;
	int64_t found_at; /* CLOCK_NEVER while the primary is not known */
	struct url_address address;
	char why[WHY_MAX];
	char refusal[WHY_MAX - sizeof("sentinel")]; /* the last one */
};

static void ask_next(struct sentinel *sentinel);

static void
sentinel_end(void *arg)
{
	struct sentinel *sentinel = arg;

	for (size_t i = 0; sentinel->ways && i < sentinel->url->host_count; i++)
		way_free(sentinel->ways[i]);
	free(sentinel->ways);
	free(sentinel);
}

static void *
sentinel_begin(struct way *way, struct loop *loop, const struct endpoint *url,
    const char *key)
{
	struct sentinel *sentinel = calloc(1, sizeof(*sentinel));
	bool failed;

	(void)key;
	if (sentinel == NULL)
		return NULL;
	sentinel->url = url;
	sentinel->primary = way;
	sentinel->ask_ms = ASK_MIN_MS;
	sentinel->found_at = CLOCK_NEVER;
	sentinel->asked = url->host_count;
	sentinel->ways = calloc(url->host_count, sizeof(struct way *));
	failed = sentinel->ways == NULL;
	for (size_t i = 0; !failed && i < url->host_count; i++) {
		sentinel->ways[i] = way_new(loop, &url->hosts[i], NULL);
		failed = sentinel->ways[i] == NULL;
	}
	if (!failed)
		return sentinel;
	sentinel_end(sentinel);
	return NULL;
}

/* A server that does not permit ROLE, and is a replica, refuses by itself what
 * a replica must not run; then another sentinel is asked. */
static const char *
judge_role(void *arg, const struct value *value)
{
	struct sentinel *sentinel = arg;
	const char *role = value_text(value_at(value, 0));

	if (role == NULL)
		return NULL;
	if (strcmp(role, "master") == 0) {
		sentinel->doubtful = false;
		return NULL;
	}
	return strcmp(role, "slave") == 0 ? "it is a replica, not the primary"
					  : "it is not a primary";
}

static bool
has_moved(const void *place, const void *from)
{
	const struct sentinel *here = place, *there = from;

	return here->found_at != CLOCK_NEVER &&
	       there->found_at != CLOCK_NEVER &&
	       here->found_at >= there->found_at &&
	       (here->address.port != there->address.port ||
		   strcmp(here->address.host, there->address.host) != 0);
}

/* --- asking ----------------------------------------------------------- */

/* Moves one to another place, and those between them by one. */
static void
move(struct sentinel *sentinel, size_t from, size_t to)
{
	struct way *moved = sentinel->ways[from];

	for (; from > to; from--)
		sentinel->ways[from] = sentinel->ways[from - 1];
	for (; from < to; from++)
		sentinel->ways[from] = sentinel->ways[from + 1];
	sentinel->ways[to] = moved;
}

/* All that can be reached. */
static bool
all_refused(const struct tally *tally)
{
	return tally->refused > 0 && tally->ignorant == 0 &&
	       tally->strange == 0;
}

static void
give_up_asking(struct sentinel *sentinel)
{
	const struct tally *tally = &sentinel->tally;
	size_t count = sentinel->url->host_count;
	char why[WHY_MAX], master[WHY_MAX - 40];

	escape_quote(sentinel->url->master, master, sizeof(master));
	if (all_refused(tally))
		snprintf(why, WHY_MAX, "sentinel %s", sentinel->refusal);
	else if (tally->ignorant == count)
		snprintf(why, WHY_MAX, "its sentinels know no master %s",
		    master);
	else if (tally->ignorant > 0)
		snprintf(why, WHY_MAX,
		    "%zu of %zu sentinels answer, and know no such master",
		    tally->ignorant, count);
	else
		snprintf(why, WHY_MAX, "no sentinel answers: %.480s",
		    sentinel->why);
	if (sentinel->ask_ms < ASK_MAX_MS)
		sentinel->ask_ms *= 2;
	way_not_found(sentinel->primary, why, all_refused(tally),
	    tally->permanent == count);
}

/* The error, in words that help if there are any. */
static const char *
meaning(const char *error)
{
	if (error == NULL)
		return "an answer that is not understood";
	if (reply_is(error, "NOAUTH"))
		return "it requires a password (give it by "
		       "--sentinel-password-file or "
		       "RLOCKRUN_SENTINEL_PASSWORD, "
		       "which a job does not inherit)";
	if (reply_is(error, "WRONGPASS"))
		return "WRONGPASS (check the user and the password for the "
		       "sentinels)";
	if (reply_denies_command(error))
		return "it is not a sentinel";
	return error;
}

/* A server that is not a sentinel does not refuse us. */
static void
note_failure(struct sentinel *sentinel, const struct reply *reply)
{
	const char *error = reply->error;
	bool refused =
	    reply_judge(reply) == VERDICT_REFUSED &&
	    (reply->kind == REPLY_NO_ACCESS || !reply_denies_command(error));

	if (reply->value == NULL && !refused)
		snprintf(sentinel->why, WHY_MAX, "%.500s", reply->failure);
	else
		snprintf(sentinel->why, WHY_MAX, "%.120s: %.120s", reply->label,
		    meaning(error));
	if (refused)
		snprintf(sentinel->refusal, sizeof(sentinel->refusal), "%.490s",
		    sentinel->why);
	sentinel->tally.refused += refused;
	sentinel->tally.strange += reply->value != NULL && !refused;
	sentinel->tally.permanent +=
	    reply->permanent || refused ||
	    (error != NULL && reply_denies_command(error));
}

bool
sentinel_read_address(struct url_address *address, const struct value *value)
{
	const char *host = value_text(value_at(value, 0));
	const char *digits = value_text(value_at(value, 1));
	int64_t port;

	if (host == NULL || digits == NULL || *host == '\0' ||
	    strlen(host) >= sizeof(address->host) ||
	    num_int(digits, 1, 65535, &port) == -1)
		return false;
	snprintf(address->host, sizeof(address->host), "%s", host);
	address->port = (int)port;
	return true;
}

static void
on_sentinel_reply(void *arg, const struct reply *reply)
{
	struct sentinel *sentinel = arg;

	if (sentinel->asked == sentinel->url->host_count)
		return;
	if (sentinel_read_address(&sentinel->address, reply->value)) {
		move(sentinel, sentinel->asked, 0);
		sentinel->doubtful = true;
		sentinel->ask_ms = ASK_MIN_MS;
		sentinel->found_at = clock_now();
		sentinel->asked = sentinel->url->host_count;
		way_drop(sentinel->ways[0]);
		way_found(sentinel->primary, sentinel->address.host,
		    sentinel->address.port, sentinel->deadline);
		return;
	}
	if (value_is_nil(reply->value)) {
		sentinel->tally.ignorant++;
		sentinel->tally.permanent++;
	} else {
		note_failure(sentinel, reply);
	}
	way_drop(sentinel->ways[sentinel->asked++]);
	ask_next(sentinel);
}

/* The sentinels that are left and the primary share the time that is left. */
static void
ask_next(struct sentinel *sentinel)
{
	const char *const words[] = {"SENTINEL", "get-master-addr-by-name",
	    sentinel->url->master, NULL};
	struct command command = {.words = words,
	    .on_reply = on_sentinel_reply,
	    .arg = sentinel};

	for (; sentinel->asked < sentinel->url->host_count; sentinel->asked++) {
		size_t sharers =
		    sentinel->url->host_count - sentinel->asked + 1;
		int64_t now = clock_now();
		int64_t share_ms =
		    (sentinel->deadline - now) / (int64_t)sharers;

		command.deadline = now + clock_min(share_ms, sentinel->ask_ms);
		if (way_send(sentinel->ways[sentinel->asked], &command) == 0)
			return;
		snprintf(sentinel->why, WHY_MAX, "%s", strerror(ENOMEM));
	}
	give_up_asking(sentinel);
}

/* A primary that is silent may have been replaced: half of the time that is
 * left is for the one that the sentinels name then. */
static void
start_asking(void *arg, int64_t deadline)
{
	struct sentinel *sentinel = arg;
	int64_t now = clock_now(), half_ms = (deadline - now) / 2;
	int64_t by = now + (half_ms > ANSWER_MS ? half_ms : ANSWER_MS);

	if (sentinel->doubtful)
		move(sentinel, 0, sentinel->url->host_count - 1);
	sentinel->doubtful = false;
	sentinel->found_at = CLOCK_NEVER;
	sentinel->deadline = clock_min(by, deadline);
	sentinel->asked = 0;
	sentinel->tally = (struct tally){0};
	ask_next(sentinel);
}

static void
cancel_asking(void *arg)
{
	struct sentinel *sentinel = arg;
	size_t asked = sentinel->asked;

	sentinel->asked = sentinel->url->host_count;
	if (asked < sentinel->url->host_count)
		way_drop(sentinel->ways[asked]);
}

const struct way_kind way_sentinels = {.begin = sentinel_begin,
    .end = sentinel_end,
    .locate = start_asking,
    .cancel = cancel_asking,
    .greeting = {.command = "ROLE", .judge = judge_role},
    .has_moved = has_moved};
