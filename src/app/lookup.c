#include "app/lookup.h"

#include <string.h>

#include "lock/answer.h"
#include "lock/request.h"

enum { QUEUE_SHOWN = 1000 };

bool
lookup_has_helpers(const struct client *client, const char *key)
{
	return !server_is_clustered(client->server) || key_is_placeable(key);
}

static int
read_look(void *arg, const struct value *value)
{
	return answer_look(arg, value) ? 0 : -1;
}

bool
lookup(struct client *client, const struct key_names *keys, int holders,
    struct look *look)
{
	struct request request;
	bool found;

	request_look(&request, keys, lookup_has_helpers(client, keys->lock),
	    holders, QUEUE_SHOWN);
	found = client_ask(client, request.argv, read_look, look);
	request_fini(&request);
	return found;
}

void
lookup_print_json(const struct client *client, const struct look *look,
    const char *key)
{
	const struct opts *opts = client->opts;
	const struct look_subject subject = {.name = key + strlen(opts->prefix),
	    .key = key,
	    .server = server_label(client->server)};

	look_print_json(look, &subject, opts->action == OPTS_STATUS);
}
