#include "admin/search.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "lock/claim.h"
#include "lock/request.h"

enum { HOLDERS_SHOWN = 100 };
#define PAGE "1000" /* of SCAN */

/* One of those that are asked about together. */
struct search_item {
	struct search *search;
	struct request request;
	struct key_names keys;
	char *key;
	char helper; /* by which it was found: its last letter */
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

/* A part of the lock that the access rules withhold: the first, or NULL. */
static const struct look_problem *
find_denial(const struct look *look)
{
	for (size_t i = 0; i < look->problem_count; i++)
		if (look->problems[i].is_denied)
			return &look->problems[i];
	return NULL;
}

/* A lock with both a record and a queue is shown once. If all locks are to be
 * shown, one with a history is by its record, or by the last runs if that is
 * gone. A record that the access rules withhold counts as that of the holder. A
 * history that is damaged or withheld may have runs. */
static bool
is_wanted(const struct search_item *item, const struct look *look)
{
	const struct opts *opts = item->search->client->opts;
	const struct look_holder *oldest = look_oldest(look);
	const struct look_problem *problem = look_history_problem(look);
	bool by_record = item->helper == 'i';

	if (opts->all && (look_has_history(look) || problem != NULL))
		return by_record == look->has_info;
	if (look->kind == '\0')
		return false;
	if (by_record != (oldest != NULL) && find_denial(look) == NULL)
		return false;
	return opts->older_than_ms == 0 ||
	       (oldest != NULL && oldest->who.held_ms > opts->older_than_ms);
}

static bool
read_found_look(void *arg, const struct value *value)
{
	struct search_item *item = arg;
	struct search *search = item->search;
	struct look look = {.keys = &item->keys};

	if (!query_read_look(&look, value))
		return false;
	if (is_wanted(item, &look) && !seen_lately(search, item->key)) {
		const struct opts *opts = search->client->opts;
		const struct look_problem *denial = find_denial(&look);

		/* Once: it is the same for all locks. */
		if (denial != NULL && !search->is_denied && !opts->json &&
		    !opts->quiet) {
			search->is_denied = true;
			client_report_problem(search->client, &look, denial);
		}
		search->on_lock(search->arg, &look);
	}
	query_fini(&look);
	return true;
}

/* A lock whose slot has moved is found at its new node. */
static bool
has_slot_moved(struct search_item *item, const struct question *question)
{
	struct search *search = item->search;
	struct client *client = search->client;
	const char *error = question->error;
	enum cluster_redirect redirect;
	struct url_address to;

	if (question->outcome != QUESTION_FAILED || !client->endpoint->cluster)
		return false;
	redirect = cluster_redirect(error, &to);
	if (redirect == CLUSTER_MOVED &&
	    enquiry_find_node(&client->enquiry, &to) != -1)
		return true;
	if (redirect == CLUSTER_NONE && strncmp(error, "TRYAGAIN", 8) != 0)
		return false;
	if (!seen_lately(search, item->key))
		CLIENT_EMIT(client, .type = EVENT_SLOT_MOVING,
		    .name = item->key + strlen(client->opts->prefix));
	search->incomplete = true;
	return true;
}

static bool
look_at_all(struct search_item *items, size_t count)
{
	const struct search *search = items[0].search;
	const struct query_limits limits = {HOLDERS_SHOWN, 0,
	    search->runs > 0 ? search->runs : 1};
	struct client *client = search->client;
	struct question questions[ENQUIRY_AT_ONCE];

	client_forget_failure(client);
	for (size_t i = 0; i < count; i++) {
		struct search_item *item = &items[i];

		key_names_init(&item->keys, item->key, NULL);
		query_look(&item->request, &item->keys,
		    client->opts->all ? QUERY_HELPERS : QUERY_WITHOUT_RUNS,
		    &limits);
		questions[i] = enquiry_question(&item->request);
	}
	enquiry_ask(&client->enquiry, questions, count);
	for (size_t i = 0; i < count; i++) {
		/* A key that has changed its type meanwhile is not a lock any
		 * more. */
		if (questions[i].verdict != VERDICT_WRONGTYPE &&
		    !has_slot_moved(&items[i], &questions[i]))
			client_take(client, &questions[i], read_found_look,
			    &items[i]);
		request_fini(&items[i].request);
		key_names_fini(&items[i].keys);
		free(items[i].key);
	}
	enquiry_forget(questions, count);
	return client->failure == ENDING_NONE;
}

char *
search_key_of(const char *helper)
{
	const char *end = strrchr(helper, ':');
	size_t length = strlen(helper);
	size_t tagged = sizeof(":rlkt:x") - 1;
	size_t plain = sizeof("}:rlk:x") - 1;
	char *key = NULL, *same;

	if (end == NULL || end[1] == '\0' || end[2] != '\0')
		return NULL;
	if (length >= tagged &&
	    strncmp(helper + length - tagged, ":rlkt:", tagged - 1) == 0)
		key = mem_strndup(helper, length - tagged);
	else if (length > plain && *helper == '{' &&
		 strncmp(helper + length - plain, "}:rlk:", plain - 1) == 0)
		key = mem_strndup(helper + 1, length - plain - 1);
	if (key == NULL)
		return NULL;
	same = key_helper(key, end[1]);
	if (strcmp(same, helper) != 0) {
		free(key);
		key = NULL;
	}
	free(same);
	return key;
}

/* The lock that the helper key belongs to, if it may be shown: to be freed. The
 * globs are matched as bytes: no locale is set. */
static char *
find_lock(const struct search *search, const char *helper)
{
	const struct opts *opts = search->client->opts;
	size_t length = strlen(opts->prefix);
	char *key = search_key_of(helper);
	bool matches = false;

	if (key != NULL && strncmp(key, opts->prefix, length) == 0) {
		matches = *opts->globs == NULL;
		for (char **glob = opts->globs; *glob != NULL; glob++)
			matches |= fnmatch(*glob, key + length, 0) == 0;
	}
	if (matches)
		return key;
	free(key);
	return NULL;
}

static bool
look_at_page(struct search *search, char **found)
{
	struct search_item items[ENQUIRY_AT_ONCE];
	size_t count = 0;

	for (; *found != NULL; found++) {
		char helper = (*found)[strlen(*found) - 1];
		char *key = find_lock(search, *found);

		if (key != NULL && search->on_key != NULL) {
			search->on_key(search->arg, key);
			free(key);
		} else if (key != NULL) {
			items[count++] = (struct search_item){.search = search,
			    .key = key,
			    .helper = helper};
		}
		if (count == ENQUIRY_AT_ONCE ||
		    (found[1] == NULL && count > 0)) {
			if (!look_at_all(items, count))
				return false;
			count = 0;
			if (search->enough)
				break;
		}
	}
	return true;
}

/* Page by page. All that can be listed is. */
static void
search_server(void *arg)
{
	struct search *search = arg;
	bool may_be_free = search->client->opts->all || search->on_key != NULL;
	const char *pattern = may_be_free ? "*:rlk*:[iqr]" : "*:rlk*:[iq]";
	char *cursor = mem_strdup("0");
	int result = EXITCODE_OK;

	do {
		struct query_page page;
		struct request request;
		bool found;

		request_begin(&request);
		REQUEST_ADD(&request, "SCAN", cursor, "MATCH", pattern, "COUNT",
		    PAGE);
		found = client_ask(search->client, &request, query_read_page,
		    &page);
		if (found) {
			free(cursor);
			cursor = page.cursor;
			found = look_at_page(search, page.keys);
			for (char **key = page.keys; *key != NULL; key++)
				free(*key);
			free(page.keys);
		}
		if (!found)
			result = client_report_failure(search->client);
		else if (search->on_page != NULL)
			result = search->on_page(search->arg);
	} while (result == EXITCODE_OK && strcmp(cursor, "0") != 0 &&
		 !search->enough);
	free(cursor);
	if (result != EXITCODE_OK)
		search->result = result;
}

/* --- a cluster ---------------------------------------------------------- */

static bool
read_primaries(void *arg, const struct value *value)
{
	return enquiry_set_nodes(arg, value);
}

bool
search_nodes(struct client *client)
{
	struct request request;

	request_begin(&request);
	REQUEST_ADD(&request, "CLUSTER", "SLOTS");
	return client_ask(client, &request, read_primaries, &client->enquiry);
}

int
search_run(struct search *search)
{
	struct client *client = search->client;

	if (!client->endpoint->cluster || search_nodes(client))
		enquiry_visit_nodes(&client->enquiry, search_server, search);
	else
		search->result = client_report_failure(client);
	if (search->result == EXITCODE_OK && search->incomplete)
		search->result = EXITCODE_UNAVAILABLE;
	for (size_t i = 0; i < SEARCH_SEEN; i++)
		free(search->seen[i]);
	return search->result;
}
