#include "admin/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/lock_row.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	const struct opts *opts = list->client->opts;
	FILE *out = list->table.out;

	if (opts->json || opts->quiet || list->table.columns > 0)
		return;
	table_init(&list->table, opts->all ? LOCK_ROW_ALL : LOCK_ROW_HELD);
	list->table.out = out;
}

static void
on_list_lock(void *arg, const struct look *look)
{
	struct list *list = arg;
	struct client *client = list->client;
	const struct look_problem *problem = look_history_problem(look);
	const struct look_run *over = look_last_over(look);
	struct row row = {.table = &list->table};

	/* What is withheld has been reported by the search. */
	if (client->opts->all && !client->opts->json && problem != NULL &&
	    !problem->is_denied)
		client_report_problem(client, look, problem);
	if (client->opts->failed &&
	    (over == NULL || !look_run_has_failed(over)))
		return;
	if (client->opts->quiet) {
		client->is_held = true;
		list->search.enough = true; /* one is */
	} else if (client->opts->json) {
		lock_row_print_json(look, client);
	} else {
		begin_table(list);
		table_add(&list->table);
		lock_row_put(&row, look, client);
	}
	list->count++;
	list->waiting += look->waiting > 0 ? (size_t)look->waiting : 0;
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

int
list_read(struct list *list, struct client *client, char **text)
{
	FILE *out = stdout;
	size_t length;
	int result;

	if (text != NULL)
		out = open_memstream(text, &length);
	if (out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	*list = (struct list){.client = client, .table.out = out};
	list->search = (struct search){.client = client,
	    .on_lock = on_list_lock,
	    .on_page = on_list_page,
	    .runs = 2,
	    .arg = list};
	look_describe_place(client, client->endpoint->label, list->place,
	    sizeof(list->place));
	if (text == NULL && client->opts->server_count > 1 &&
	    !client->opts->json && !client->opts->quiet)
		printf("%s:\n", list->place);
	result = search_run(&list->search);
	if (text != NULL)
		table_sort(&list->table);
	table_print(&list->table);
	if (text != NULL && fclose(out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return result;
}

int
list_show(struct client *client)
{
	struct list *list = mem_alloc(sizeof(*list));
	int result = list_read(list, client, NULL);

	if (result == EXITCODE_OK)
		result = client_check_output(client);
	/* Not to stdout: scripts read the table. */
	if (result == EXITCODE_OK && !client->opts->json &&
	    !client->opts->quiet)
		client_emit(client,
		    (struct event){.type = list->count > 0 ? EVENT_LISTED
							   : EVENT_NONE_LISTED,
			.count = (int64_t)list->count,
			.server = list->place});
	free(list);
	return result;
}
