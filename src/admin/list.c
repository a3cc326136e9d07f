#include "admin/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/list_row.h"
#include "admin/look.h"
#include "admin/search.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "base/table.h"

struct list {
	struct client *client;
	struct search search;
	struct table table;
	int64_t count; /* of locks that were shown */
};

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	_Static_assert(LIST_SHOWN <= TABLE_COLUMNS, "room for all columns");

	const struct opts *opts = list->client->opts;

	if (!opts->json && !opts->quiet && list->table.columns == 0)
		table_init(&list->table, list_titles, LIST_SHOWN);
}

static void
on_list_lock(void *arg, struct look *look, const char *key)
{
	struct list *list = arg;
	struct client *client = list->client;
	const char *name = key + strlen(client->opts->prefix);
	struct list_row row;

	if (client->opts->quiet) {
		client->is_held = true;
		list->search.enough = true; /* one is */
	} else if (client->opts->json) {
		look_print_json(look, client, key);
	} else {
		begin_table(list);
		list_row_describe(&row, look, name, 0);
		table_add(&list->table, row.cells);
	}
	list->count++;
	client_note_output(client);
}

static int
on_list_page(void *arg)
{
	struct list *list = arg;

	begin_table(list);
	table_print_due(&list->table);
	return client_check_output(list->client);
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
	list->search = (struct search){.client = client,
	    .on_lock = on_list_lock,
	    .on_page = on_list_page,
	    .arg = list};
	look_describe_place(client, client->endpoint->label, place,
	    sizeof(place));
	if (for_people && client->opts->server_count > 1)
		printf("%s:\n", place);
	result = search_run(&list->search);
	table_print(&list->table);
	if (result == EXITCODE_OK)
		result = client_check_output(list->client);
	if (result == EXITCODE_OK && for_people)
		report_count(list, place);
	free(list);
	return result;
}
