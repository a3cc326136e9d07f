#include "app/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lock/answer.h"
#include "lock/key.h"
#include "lock/script.h"

enum { QUEUE_SHOWN = 1000 };

static char *
helper(const char *key, char letter)
{
	char *name = key_helper(key, letter);

	if (name == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return name;
}

void
lookup_keys_init(struct lookup_keys *keys, const char *key)
{
	*keys = (struct lookup_keys){.key = key,
	    .fence = helper(key, 'f'),
	    .info = helper(key, 'i'),
	    .queue = helper(key, 'q'),
	    .alive = helper(key, 'l'),
	    .nested = helper(key, 'n')};
}

void
lookup_keys_fini(struct lookup_keys *keys)
{
	free(keys->fence);
	free(keys->info);
	free(keys->queue);
	free(keys->alive);
	free(keys->nested);
}

bool
lookup_has_helpers(const struct client *client, const char *key)
{
	return !server_is_clustered(client->node) || key_is_placeable(key);
}

static int
take_look(void *arg, const struct value *value)
{
	return answer_look(arg, value) ? 0 : -1;
}

enum exitcode
lookup(struct client *client, const struct lookup_keys *keys, int holders,
    struct look *look)
{
	char most[16];
	char limit[16];
	const char *argv[] = {"EVAL", script_look, "6", keys->key, keys->fence,
	    keys->info, keys->queue, keys->alive, keys->nested, most, limit,
	    NULL};
	const char *key_only[] = {"EVAL", script_look, "1", keys->key, most,
	    limit, NULL};
	bool helpers = lookup_has_helpers(client, keys->key);

	snprintf(most, sizeof(most), "%d", holders);
	snprintf(limit, sizeof(limit), "%d", QUEUE_SHOWN);
	return client_ask(client, helpers ? argv : key_only, take_look, look);
}

void
lookup_print_json(const struct client *client, const struct look *look,
    const char *key)
{
	const struct opts *opts = client->opts;
	const struct look_subject subject = {.name = key + strlen(opts->prefix),
	    .key = key,
	    .server = server_label(client->node)};

	look_print_json(look, &subject, opts->action == OPTS_STATUS);
}
