#include "app/force_release.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/lookup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/key.h"
#include "lock/limit.h"
#include "lock/script.h"
#include "lock/waiter.h"

enum { HOLDERS_FORCED = 4000 };

struct forced {
	bool unfinished; /* nothing is freed yet */
	int64_t freed;
	char *waiters[LIMIT_NOTIFY + 1]; /* to be rung yet, then NULL */
};

static int
take_forced(void *arg, const struct value *value)
{
	struct forced *forced = arg;
	struct answer_force answer;

	if (!answer_force(&answer, value))
		return -1;
	forced->unfinished = answer.unfinished;
	forced->freed = answer.freed;
	for (size_t i = 0; i < answer.rings.count && !answer.unfinished; i++)
		forced->waiters[i] = mem_strdup(answer.rings.waiters[i]);
	return 0;
}

static int
take_nothing(void *arg, const struct value *value)
{
	(void)arg;
	(void)value;
	return 0;
}

/* The doorbell of the waiter, NULL when that is none. */
static char *
bell_of(const char *key, const char *name)
{
	struct waiter waiter;
	char *bell;

	if (!waiter_parse(&waiter, name))
		return NULL;
	bell = key_bell(key, waiter.token);
	if (bell == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return bell;
}

/* The lock is free already: who isn't rung comes at its heartbeat. */
static void
ring(struct client *client, const struct lookup_keys *keys, const char *name)
{
	char *bell = bell_of(keys->key, name);
	const char *argv[] = {"EVAL", script_notify, "3", keys->queue,
	    keys->alive, bell, name, NULL};

	if (bell != NULL &&
	    client_ask(client, argv, take_nothing, NULL) != EXITCODE_OK)
		log_warnx("%s: cannot wake the next: %s", client->opts->name,
		    client->error);
	free(bell);
}

/* Of the holder whose token was given, or of all that were seen. */
static enum exitcode
send_force(struct client *client, const struct lookup_keys *keys,
    const struct look *look, const struct look_holder *only,
    struct forced *forced)
{
	const char *head = look->queued > 0 ? look->queue[0].id : "";
	char *bell = bell_of(keys->key, head);
	bool alone = !lookup_has_helpers(client, keys->key);
	const char **argv = mem_alloc((look->listed + 12) * sizeof(*argv));
	int64_t give_up_at = clock_now() + client->opts->server_timeout_ms;
	size_t argc = 0;
	enum exitcode failure;

	argv[argc++] = "EVAL";
	argv[argc++] = script_force;
	argv[argc++] = alone ? "1" : bell != NULL ? "6" : "5";
	argv[argc++] = keys->key;
	if (!alone) {
		argv[argc++] = keys->info;
		argv[argc++] = keys->nested;
		argv[argc++] = keys->queue;
		argv[argc++] = keys->alive;
	}
	if (bell != NULL)
		argv[argc++] = bell;
	argv[argc++] = bell != NULL ? head : "";
	for (size_t i = 0; i < look->listed; i++)
		if (only == NULL || only == &look->holders[i])
			argv[argc++] = look->holders[i].digest;
	do
		failure = client_ask(client, argv, take_forced, forced);
	while (failure == EXITCODE_OK && forced->unfinished &&
	       clock_now() < give_up_at);
	if (failure == EXITCODE_OK && forced->unfinished) {
		failure = EXITCODE_UNAVAILABLE;
		client_fail(client, failure, "no result in time from",
		    "expired entries are still being removed");
	}
	free(argv);
	free(bell);
	return failure;
}

static void
tell_forced(const struct client *client, const struct look *look,
    const struct look_holder *only)
{
	char holder[512];

	if (only != NULL)
		holder_describe(&only->who, holder, sizeof(holder));
	else
		look_describe_holders(look, holder, sizeof(holder));
	log_warnx("%s: released, it was held by %s", client->opts->name,
	    holder);
	if (only == NULL && (int64_t)look->listed < look->count)
		log_warnx("%s: %" PRId64 " others still have it; release it "
			  "once more",
		    client->opts->name, look->count - (int64_t)look->listed);
}

static int
take_away(struct client *client, const struct lookup_keys *keys,
    const struct look *look, const struct look_holder *only)
{
	struct forced forced = {.freed = 0};
	int result = EXITCODE_OK;

	if (send_force(client, keys, look, only, &forced) != EXITCODE_OK) {
		result = client_report_failure(client);
	} else if (forced.freed == 0) {
		log_warnx(
		    "%s: somebody else has it by now; nothing was changed",
		    client->opts->name);
		result = EXITCODE_BUSY;
	} else {
		tell_forced(client, look, only);
		for (char **waiter = forced.waiters; *waiter != NULL; waiter++)
			ring(client, keys, *waiter);
	}
	for (char **waiter = forced.waiters; *waiter != NULL; waiter++)
		free(*waiter);
	return result;
}

/* Only a plain yes is one. */
static bool
ask_user(const struct client *client, const struct look *look)
{
	char *name = escape_text(client->opts->name, ESCAPE_TEXT);
	char text[512];
	char *holder;
	char *line = NULL;
	size_t size = 0;
	bool yes;

	look_describe_holders(look, text, sizeof(text));
	holder = escape_text(text, ESCAPE_TEXT);
	fprintf(stderr, "rlockrun: %s is held by %s; take it away? [y/N] ",
	    name, holder);
	yes = getline(&line, &size, stdin) > 0 &&
	      (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
	free(line);
	free(holder);
	free(name);
	return yes;
}

static const struct look_holder *
holder_with(const struct look *look, const char *token)
{
	for (size_t i = 0; i < look->listed; i++) {
		const struct look_holder *holder = &look->holders[i];

		if (holder->token_is_whole && strcmp(holder->token, token) == 0)
			return holder;
	}
	return NULL;
}

static int
consider(struct client *client, const struct lookup_keys *keys,
    const struct look *look)
{
	const struct opts *opts = client->opts;
	const struct look_holder *only = NULL;
	char holder[512];

	if (look->listed == 0) {
		log_warnx("%s is free already", opts->name);
		return EXITCODE_OK;
	}
	if (opts->token != NULL)
		only = holder_with(look, opts->token);
	if (opts->token != NULL && only == NULL) {
		look_describe_holders(look, holder, sizeof(holder));
		log_warnx("%s is held by %s, not with that token; nothing was "
			  "changed",
		    opts->name, holder);
		return EXITCODE_BUSY;
	}
	if (*look->holders[0].digest == '\0') {
		log_warnx("%s is not a lock: it holds more than any token",
		    opts->name);
		return EXITCODE_NOT_A_LOCK;
	}
	if (opts->token == NULL && !opts->yes && !ask_user(client, look)) {
		log_warnx("%s: nothing was changed", opts->name);
		return EXITCODE_BUSY;
	}
	return take_away(client, keys, look, only);
}

int
force_release(struct client *client)
{
	struct lookup_keys keys;
	struct look look = {.count = 0};
	int result;

	lookup_keys_init(&keys, client->opts->keys[0].key);
	if (lookup(client, &keys, HOLDERS_FORCED, &look) == EXITCODE_OK) {
		result = consider(client, &keys, &look);
		look_fini(&look);
	} else {
		result = client_report_failure(client);
	}
	lookup_keys_fini(&keys);
	return result;
}
