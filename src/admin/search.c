#include "admin/search.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/key.h"
#include "lock/request.h"

enum { HOLDERS_SHOWN = 100 };
#define PAGE "1000" /* of SCAN */

/* As many as travel together; a connection keeps track of 16. */
enum { LOOKS_AT_ONCE = 12 };

/* One of those that are asked about together. */
struct search_item {
	struct search *search;
	struct client_command command;
	char *key;
	char helper; /* by which it was found: its last letter */
};

/* A primary of a cluster. */
struct search_node {
	struct endpoint endpoint;
	char host[CLUSTER_HOST_SIZE];
	char label[CLUSTER_LABEL_SIZE];
	struct server *server;
};

static bool
seen_lately(struct search *search, const char *key)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	char **slot;

	for (const char *byte = key; *byte != '\0'; byte++)
		hash = (hash ^ (unsigned char)*byte) * UINT64_C(1099511628211);
	slot = &search->seen[hash % SEARCH_SEEN];
	if (*slot != NULL && strcmp(*slot, key) == 0)
		return true;
	free(*slot);
	*slot = mem_strdup(key);
	return false;
}

const struct look_problem *
search_find_denial(const struct look *look)
{
	for (size_t i = 0; i < look->problem_count; i++)
		if (client_is_denied(&look->problems[i]))
			return &look->problems[i];
	return NULL;
}

/* A lock with both a record and a queue is shown once. A record that the access
 * rules withhold counts as that of the holder. */
static bool
is_wanted(const struct search_item *item, const struct look *look)
{
	int64_t older_than_ms = item->search->client->opts->older_than_ms;
	const struct look_holder *oldest = look_oldest(look);
	bool by_record = item->helper == 'i';

	if (item->helper == 'r')
		return look->kind == '\0' && look->last.exists;
	if (look->kind == '\0')
		return false;
	if (by_record != (oldest != NULL) && search_find_denial(look) == NULL)
		return false;
	return older_than_ms == 0 ||
	       (oldest != NULL && oldest->who.held_ms > older_than_ms);
}

static int
read_look(void *arg, const struct value *value)
{
	struct search_item *item = arg;
	struct search *search = item->search;
	struct look look;

	if (!answer_look(&look, value))
		return -1;
	if (is_wanted(item, &look) && !seen_lately(search, item->key))
		search->on_lock(search->arg, &look, item->key);
	look_fini(&look);
	return 0;
}

/* An empty host is that of the node that sent the redirect. */
static bool
is_asked(const struct search *search, const struct cluster_node *node)
{
	for (int i = 0; i < search->node_count; i++)
		if (search->nodes[i].endpoint.port == node->port &&
		    (*node->host == '\0' ||
			strcmp(search->nodes[i].host, node->host) == 0))
			return true;
	return false;
}

/* A lock whose slot has moved is found at its new node. */
static bool
excuse_move(void *arg, const char *error)
{
	struct search_item *item = arg;
	struct search *search = item->search;
	const struct opts *opts = search->client->opts;
	enum cluster_redirect redirect;
	struct cluster_node to;

	if (!search->client->endpoint->cluster)
		return false;
	redirect = cluster_redirect(error, &to);
	if (redirect == CLUSTER_MOVED && is_asked(search, &to))
		return true;
	if (redirect == CLUSTER_NONE && strncmp(error, "TRYAGAIN", 8) != 0)
		return false;
	if (!seen_lately(search, item->key))
		client_emit(search->client,
		    (struct event){.type = EVENT_SLOT_MOVING,
			.name = item->key + strlen(opts->prefix)});
	search->incomplete = true;
	return true;
}

static bool
wants_history(const struct search_item *item)
{
	const struct search *search = item->search;

	return item->helper == 'r' ||
	       (search->wants_history != NULL &&
		   search->wants_history(search->arg, item->key));
}

static void
send_look(struct search_item *item, bool more)
{
	struct key_names keys;
	struct request request;

	key_names_init(&keys, item->key);
	request_look(&request, &keys,
	    wants_history(item) ? REQUEST_LOOK_HISTORY : REQUEST_LOOK_HELPERS,
	    HOLDERS_SHOWN, 0);
	item->command = (struct client_command){item->search->client, read_look,
	    item, excuse_move};
	client_send(&item->command, request.script, request.argv, more);
	request_fini(&request);
	key_names_fini(&keys);
}

/* A key that has changed its type meanwhile is not a lock any more. */
static bool
look_at_all(struct search_item *items, size_t count)
{
	struct client *client = items[0].search->client;

	client_forget_failure(client);
	for (size_t i = 0; i < count; i++)
		send_look(&items[i], i + 1 < count);
	client_wait(client);
	for (size_t i = 0; i < count; i++)
		free(items[i].key);
	return client->failure == ENDING_NONE ||
	       client->failure == ENDING_NOT_A_LOCK;
}

/* The globs are matched as bytes: no locale is set. */
static bool
matches(const struct opts *opts, const char *key)
{
	size_t length = strlen(opts->prefix);

	if (strncmp(key, opts->prefix, length) != 0)
		return false;
	if (*opts->globs == NULL)
		return true;
	for (char **glob = opts->globs; *glob != NULL; glob++)
		if (fnmatch(*glob, key + length, 0) == 0)
			return true;
	return false;
}

/* The lock that the helper key belongs to, if it may be shown: to be freed. */
static char *
find_lock(const struct search *search, const char *helper)
{
	char *key = key_of_helper(helper);

	if (key != NULL && matches(search->client->opts, key))
		return key;
	free(key);
	return NULL;
}

static bool
look_at_page(struct search *search)
{
	struct search_item items[LOOKS_AT_ONCE];
	size_t count = 0;

	for (char **found = search->found; *found != NULL && !search->enough;
	     found++) {
		char helper = (*found)[strlen(*found) - 1];
		char *key = find_lock(search, *found);

		if (key != NULL && helper == 'r') {
			search->on_history(search->arg, key);
			free(key);
		} else if (key != NULL) {
			items[count++] = (struct search_item){.search = search,
			    .key = key,
			    .helper = helper};
		}
		if (count == LOOKS_AT_ONCE || (found[1] == NULL && count > 0)) {
			if (!look_at_all(items, count))
				return false;
			count = 0;
		}
	}
	return true;
}

bool
search_look(struct search *search, char **keys, size_t count)
{
	struct search_item items[LOOKS_AT_ONCE];
	bool done = true;

	for (size_t i = 0, part = 0; i < count; i++) {
		items[part++] = (struct search_item){.search = search,
		    .key = keys[i],
		    .helper = 'r'};
		if (part == LOOKS_AT_ONCE || i + 1 == count) {
			done = look_at_all(items, part) && done;
			part = 0;
		}
	}
	return done;
}

static void
forget_page(struct search *search)
{
	for (char **found = search->found; found != NULL && *found != NULL;
	     found++)
		free(*found);
	free(search->found);
	search->found = NULL;
}

static int
read_page(void *arg, const struct value *value)
{
	struct search *search = arg;
	const char *cursor;

	if (!answer_page(&cursor, &search->found, value))
		return -1;
	free(search->cursor);
	search->cursor = mem_strdup(cursor);
	return 0;
}

static int
search_page(struct search *search)
{
	const char *pattern =
	    search->on_history != NULL ? "*:rlk*:[iqr]" : "*:rlk*:[iq]";
	const char *argv[] = {"SCAN", search->cursor, "MATCH", pattern, "COUNT",
	    PAGE, NULL};
	bool found = client_ask(search->client, NULL, argv, read_page, search);

	found = found && look_at_page(search);
	forget_page(search);
	if (!found)
		return client_report_failure(search->client);
	return search->on_page(search->arg);
}

static int
search_server(struct search *search)
{
	int result;

	search->cursor = mem_strdup("0");
	do
		result = search_page(search);
	while (result == EXITCODE_OK && strcmp(search->cursor, "0") != 0 &&
	       !search->enough);
	free(search->cursor);
	if (result == EXITCODE_OK && search->on_history != NULL &&
	    !search->on_server(search->arg))
		result = client_report_failure(search->client);
	return result;
}

/* --- a cluster ---------------------------------------------------------- */

static void
forget_nodes(struct search *search)
{
	for (int i = 0; i < search->node_count; i++)
		server_free(search->nodes[i].server);
	free(search->nodes);
	search->nodes = NULL;
	search->node_count = 0;
}

static bool
are_known(const struct search *search, const struct cluster_node *primaries,
    int count)
{
	bool known = count == search->node_count;

	for (int i = 0; known && i < count; i++)
		known = is_asked(search, &primaries[i]);
	return known;
}

static void
connect_node(const struct search *search, struct search_node *node,
    const struct cluster_node *primary)
{
	struct endpoint *endpoint = &node->endpoint;

	memcpy(node->host, primary->host, sizeof(node->host));
	*endpoint = *search->client->endpoint;
	endpoint->cluster = false;
	endpoint->host_count = 0;
	endpoint->host = node->host;
	endpoint->port = primary->port;
	endpoint->label = node->label;
	endpoint_describe(endpoint, "cluster", node->label,
	    sizeof(node->label));
	node->server = client_connect(search->client, endpoint);
}

static int
read_primaries(void *arg, const struct value *value)
{
	struct search *search = arg;
	struct cluster_node *primaries = NULL;
	int count = server_primaries(search->client->server, value, &primaries);

	if (count == -1)
		return -1;
	if (!are_known(search, primaries, count)) {
		forget_nodes(search);
		search->nodes =
		    mem_alloc(((size_t)count + 1) * sizeof(*search->nodes));
		for (int i = 0; i < count; i++)
			connect_node(search, &search->nodes[i], &primaries[i]);
		search->node_count = count;
	}
	free(primaries);
	return 0;
}

/* All that can be listed is. */
static int
search_cluster(struct search *search)
{
	const char *argv[] = {"CLUSTER", "SLOTS", NULL};
	int result = EXITCODE_OK;

	if (!client_ask(search->client, NULL, argv, read_primaries, search))
		return client_report_failure(search->client);
	for (int i = 0; i < search->node_count; i++) {
		struct server *any =
		    client_switch(search->client, search->nodes[i].server);
		int failure = search_server(search);

		if (failure != EXITCODE_OK)
			result = failure;
		client_switch(search->client, any);
	}
	return result;
}

int
search_run(struct search *search)
{
	int result;

	search->incomplete = false;
	result = search->client->endpoint->cluster ? search_cluster(search)
						   : search_server(search);
	if (result == EXITCODE_OK && search->incomplete)
		result = EXITCODE_UNAVAILABLE;
	for (size_t i = 0; i < SEARCH_SEEN; i++) {
		free(search->seen[i]);
		search->seen[i] = NULL;
	}
	return result;
}

void
search_fini(struct search *search)
{
	forget_nodes(search);
}
