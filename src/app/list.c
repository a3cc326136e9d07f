#include "app/list.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "base/table.h"
#include "lock/answer.h"
#include "lock/key.h"
#include "lock/request.h"

enum { HOLDERS_SHOWN = 100 };
#define PAGE "1000" /* of SCAN */

/* As many as travel together; a connection keeps track of 16. */
enum { LOOKS_AT_ONCE = 12, SEEN_SLOTS = 4096 };

/* SCAN may return a key twice if the server shrinks its table meanwhile, the
 * second time soon after the first. So only recent keys are remembered. */
struct list {
	struct client *client;
	struct table table;
	char *cursor;
	char **found; /* keys of this page, NULL-terminated */
	char *seen[SEEN_SLOTS];
	bool incomplete;
	int64_t count; /* of locks that were shown */
	bool denied;   /* records are: that has been reported */
	/* Of a cluster: */
	struct cluster_node *primaries;
	int primary_count;
};

/* One of those that are asked about together. */
struct list_item {
	struct list *list;
	struct client_command command;
	char *key;
	bool by_record; /* found by its holder's record, not by its queue */
};

static bool
seen_lately(struct list *list, const char *key)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	char **slot;

	for (const char *byte = key; *byte != '\0'; byte++)
		hash = (hash ^ (unsigned char)*byte) * UINT64_C(1099511628211);
	slot = &list->seen[hash % SEEN_SLOTS];
	if (*slot != NULL && strcmp(*slot, key) == 0)
		return true;
	free(*slot);
	*slot = mem_strdup(key);
	return false;
}

static const char *
or_dash(const char *text)
{
	return *text != '\0' ? text : "-";
}

static void
add_row(struct list *list, const struct look *look, const char *name)
{
	const struct look_holder *oldest = look_oldest(look);
	char kind[64], age[32] = "-", left[48], waiting[24] = "?";
	const char *cells[] = {name, kind, "(another client)", "-", "-", age,
	    left, waiting, or_dash(look->fence), "-"};
	size_t length;

	look_describe_kind(look, kind, sizeof(kind));
	look_describe_left(look->left_ms, left, sizeof(left));
	if (oldest != NULL) {
		cells[2] = or_dash(oldest->who.host);
		cells[3] = oldest->who.state == HOLDER_HOLD
			       ? "-"
			       : or_dash(oldest->who.pid);
		cells[4] = or_dash(oldest->who.user);
		cells[9] = or_dash(oldest->who.label);
		if (oldest->who.held_ms >= 0)
			holder_describe_age(oldest->who.held_ms, age,
			    sizeof(age));
		length = strlen(left);
		if (oldest->who.state == HOLDER_ENDED)
			snprintf(left + length, sizeof(left) - length, " kept");
		else if (oldest->who.state == HOLDER_HOLD)
			snprintf(left + length, sizeof(left) - length, " hold");
	} else {
		cells[8] = "-"; /* that of an earlier holder */
	}
	if (look->waiting >= 0)
		snprintf(waiting, sizeof(waiting), "%" PRId64, look->waiting);
	table_add(&list->table, cells);
}

/* The first problem with access rules, or NULL. */
static const struct look_problem *
find_denial(const struct look *look)
{
	for (size_t i = 0; i < look->problem_count; i++)
		if (client_is_denied(&look->problems[i]))
			return &look->problems[i];
	return NULL;
}

/* A lock with both a record and a queue is shown once. A record that the access
 * rules withhold counts as that of the holder. */
static bool
is_wanted(const struct list_item *item, const struct look *look)
{
	int64_t older_than_ms = item->list->client->opts->older_than_ms;
	const struct look_holder *oldest = look_oldest(look);

	if (look->kind == '\0')
		return false;
	if (item->by_record != (oldest != NULL) && find_denial(look) == NULL)
		return false;
	return older_than_ms == 0 ||
	       (oldest != NULL && oldest->who.held_ms > older_than_ms);
}

/* Once: it is the same for all locks. */
static void
report_denial(struct list *list, const struct look *look, const char *name)
{
	const struct opts *opts = list->client->opts;
	const struct look_problem *denial = find_denial(look);

	if (denial == NULL || list->denied || opts->json || opts->quiet)
		return;
	list->denied = true;
	client_report_problem(list->client, name, denial);
}

static int
read_look(void *arg, const struct value *value)
{
	struct list_item *item = arg;
	struct list *list = item->list;
	const struct opts *opts = list->client->opts;
	const char *name = item->key + strlen(opts->prefix);
	struct look look;

	if (!answer_look(&look, value))
		return -1;
	if (is_wanted(item, &look) && !seen_lately(list, item->key)) {
		if (opts->quiet)
			list->client->held = true;
		else if (opts->json)
			client_print_json(list->client, &look, item->key);
		else
			add_row(list, &look, name);
		list->count++;
		report_denial(list, &look, name);
		client_note_output(list->client);
	}
	look_fini(&look);
	return 0;
}

/* An empty host is that of the node that sent the redirect. */
static bool
is_asked(const struct list *list, const struct cluster_node *node)
{
	for (int i = 0; i < list->primary_count; i++)
		if (list->primaries[i].port == node->port &&
		    (*node->host == '\0' ||
			strcmp(list->primaries[i].host, node->host) == 0))
			return true;
	return false;
}

/* A lock whose slot has moved is found at its new node. */
static bool
excuse_move(void *arg, const char *error)
{
	struct list_item *item = arg;
	struct list *list = item->list;
	const struct opts *opts = list->client->opts;
	enum cluster_redirect redirect;
	struct cluster_node to;

	if (!list->client->endpoint->cluster)
		return false;
	redirect = cluster_redirect(error, &to);
	if (redirect == CLUSTER_MOVED && is_asked(list, &to))
		return true;
	if (redirect == CLUSTER_NONE && strncmp(error, "TRYAGAIN", 8) != 0)
		return false;
	if (!seen_lately(list, item->key))
		client_emit(list->client,
		    (struct event){.type = EVENT_SLOT_MOVING,
			.name = item->key + strlen(opts->prefix)});
	list->incomplete = true;
	return true;
}

static void
send_look(struct list_item *item, bool more)
{
	struct key_names keys;
	struct request request;

	key_names_init(&keys, item->key);
	request_look(&request, &keys, REQUEST_LOOK_HELPERS, HOLDERS_SHOWN, 0);
	item->command = (struct client_command){item->list->client, read_look,
	    item, excuse_move};
	client_send(&item->command, request.script, request.argv, more);
	request_fini(&request);
	key_names_fini(&keys);
}

/* A key that has changed its type meanwhile is not a lock any more. */
static bool
look_at_all(struct list_item *items, size_t count)
{
	struct client *client = items[0].list->client;

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

/* With -q one lock is enough. */
static bool
is_answered(const struct list *list)
{
	return list->client->opts->quiet && list->count > 0;
}

static bool
show_page(struct list *list)
{
	struct list_item items[LOOKS_AT_ONCE];
	size_t count = 0;

	for (char **found = list->found; *found != NULL && !is_answered(list);
	     found++) {
		char *key = key_of_helper(*found);

		if (key != NULL && matches(list->client->opts, key)) {
			bool by_record = (*found)[strlen(*found) - 1] == 'i';
			items[count++] = (struct list_item){.list = list,
			    .key = key,
			    .by_record = by_record};
		} else {
			free(key);
		}
		if (count == LOOKS_AT_ONCE || (found[1] == NULL && count > 0)) {
			if (!look_at_all(items, count))
				return false;
			count = 0;
		}
	}
	return true;
}

static void
forget_page(struct list *list)
{
	for (char **found = list->found; found != NULL && *found != NULL;
	     found++)
		free(*found);
	free(list->found);
	list->found = NULL;
}

static int
read_page(void *arg, const struct value *value)
{
	struct list *list = arg;
	const char *cursor;

	if (!answer_page(&cursor, &list->found, value))
		return -1;
	free(list->cursor);
	list->cursor = mem_strdup(cursor);
	return 0;
}

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	static const char *const titles[] = {"NAME", "KIND", "HOLDER", "PID",
	    "USER", "HELD", "TTL", "WAITING", "FENCE", "LABEL"};

	_Static_assert(sizeof(titles) / sizeof(*titles) <= TABLE_COLUMNS,
	    "room for all columns");

	const struct opts *opts = list->client->opts;

	if (!opts->json && !opts->quiet && list->table.columns == 0)
		table_init(&list->table, titles,
		    sizeof(titles) / sizeof(*titles));
}

static int
list_page(struct list *list)
{
	const char *argv[] = {"SCAN", list->cursor, "MATCH", "*:rlk*:[iq]",
	    "COUNT", PAGE, NULL};
	bool shown = client_ask(list->client, NULL, argv, read_page, list);

	if (shown) {
		begin_table(list);
		shown = show_page(list);
	}
	forget_page(list);
	if (!shown)
		return client_report_failure(list->client);
	table_print_due(&list->table);
	return client_check_output(list->client);
}

static int
list_server(struct list *list)
{
	int result;

	list->cursor = mem_strdup("0");
	do
		result = list_page(list);
	while (result == EXITCODE_OK && strcmp(list->cursor, "0") != 0 &&
	       !is_answered(list));
	free(list->cursor);
	return result;
}

static int
list_primary(struct list *list, const struct cluster_node *primary)
{
	struct client *client = list->client;
	struct endpoint server = *client->endpoint;
	char host[CLUSTER_HOST_SIZE];
	char label[CLUSTER_LABEL_SIZE];
	struct server *any;
	int result;

	memcpy(host, primary->host, sizeof(host));
	server.cluster = false;
	server.host_count = 0;
	server.host = host;
	server.port = primary->port;
	server.label = label;
	endpoint_describe(&server, "cluster", label, sizeof(label));
	any = client_switch(client, &server);
	result = list_server(list);
	client_return(client, any);
	return result;
}

static int
read_primaries(void *arg, const struct value *value)
{
	struct list *list = arg;

	list->primary_count =
	    server_primaries(list->client->server, value, &list->primaries);
	return list->primary_count == -1 ? -1 : 0;
}

/* All that can be listed is. */
static int
list_cluster(struct list *list)
{
	const char *argv[] = {"CLUSTER", "SLOTS", NULL};
	int result = EXITCODE_OK;

	if (!client_ask(list->client, NULL, argv, read_primaries, list))
		return client_report_failure(list->client);
	for (int i = 0; i < list->primary_count; i++) {
		int failure = list_primary(list, &list->primaries[i]);
		if (failure != EXITCODE_OK)
			result = failure;
	}
	free(list->primaries);
	return result;
}

/* The URL, not the server that replied: of a cluster that is any node. */
static void
describe_place(const struct client *client, char *text, size_t size)
{
	struct look_subject subject =
	    client_subject(client, client->opts->prefix);

	subject.server = client->endpoint->label;
	look_describe_place(&subject, text, size);
}

/* Not to stdout: scripts read the table. */
static void
report_count(const struct list *list, const char *place)
{
	client_emit(list->client,
	    (struct event){.type = list->count > 0 ? EVENT_LISTED
						   : EVENT_NONE_LISTED,
		.count = list->count,
		.server = place});
}

int
list_show(struct client *client)
{
	struct list *list = mem_alloc(sizeof(*list));
	bool for_people = !client->opts->json && !client->opts->quiet;
	char place[LOOK_PLACE_MAX];
	int result;

	list->client = client;
	describe_place(client, place, sizeof(place));
	if (for_people && client->opts->server_count > 1)
		printf("%s:\n", place);
	result =
	    client->endpoint->cluster ? list_cluster(list) : list_server(list);
	if (result == EXITCODE_OK && list->incomplete)
		result = EXITCODE_UNAVAILABLE;
	table_print(&list->table);
	if (result == EXITCODE_OK)
		result = client_check_output(list->client);
	if (result == EXITCODE_OK && for_people)
		report_count(list, place);
	for (size_t i = 0; i < SEEN_SLOTS; i++)
		free(list->seen[i]);
	free(list);
	return result;
}
