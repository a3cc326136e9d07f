#include "admin/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/list_row.h"
#include "admin/run_row.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/moment.h"

/* With --all. */
enum all_column {
	ALL_NAME,
	ALL_STATE,
	ALL_RUN, /* those of the last run, see `shown` */
	ALL_SUCCESS = ALL_RUN + 6,
	ALL_LABEL,
	ALL_COLUMNS,
};

static const char all_titles[ALL_COLUMNS][8] = {"NAME", "STATE", "HOST", "PID",
    "STARTED", "TOOK", "STATUS", "REASON", "SUCCESS", "LABEL"};
static const enum run_column shown[] = {RUN_HOST, RUN_PID, RUN_STARTED,
    RUN_TOOK, RUN_STATUS, RUN_REASON};

/* No titles where there is no server. */
static void
begin_table(struct list *list)
{
	_Static_assert(LIST_COLUMNS <= TABLE_COLUMNS, "room for all columns");

	const struct opts *opts = list->client->opts;
	const char *titles[ALL_COLUMNS];
	FILE *out = list->table.out;

	if (opts->json || opts->quiet || list->table.columns > 0)
		return;
	for (size_t i = 0; i < ALL_COLUMNS; i++)
		titles[i] = all_titles[i];
	if (opts->all)
		table_init(&list->table, titles, ALL_COLUMNS);
	else
		table_init(&list->table, list_titles, LIST_COLUMNS);
	list->table.out = out;
}

/* The last run of a lock, and how long ago a run succeeded. */
static void
add_last_run(struct list *list, const struct look *look, const char *name)
{
	const char *cells[ALL_COLUMNS] = {[ALL_NAME] = name};
	char state[64] = "free", success[32] = "-";
	struct run_row row;

	run_row_describe(&row, &look->last, look->now_ms);
	for (size_t i = 0; i < ALL_COLUMNS; i++)
		if (i >= ALL_RUN && i < ALL_SUCCESS)
			cells[i] = look->last.exists
				       ? row.cells[shown[i - ALL_RUN]]
				       : "-";
	if (look->kind != '\0')
		look_describe_kind(look, state, sizeof(state));
	if (look_is_ahead(look->success.end_ms, look->now_ms))
		snprintf(success, sizeof(success), "future");
	else if (look->success.end_ms > 0)
		moment_describe_age(look->now_ms - look->success.end_ms,
		    success, sizeof(success));
	cells[ALL_STATE] = state;
	cells[ALL_SUCCESS] = success;
	cells[ALL_LABEL] = look->last.exists ? row.cells[RUN_LABEL] : "-";
	table_add(&list->table, cells);
}

static void
on_list_lock(void *arg, struct look *look, const char *key)
{
	struct list *list = arg;
	struct client *client = list->client;
	const char *name = key + strlen(client->opts->prefix);
	const struct look_problem *problem = look_history_problem(look, key);
	const struct look_run *over = look_last_over(look);
	struct list_row row;

	/* What is withheld has been reported by the search. */
	if (client->opts->all && !client->opts->json && problem != NULL &&
	    !client_is_denied(problem))
		client_report_problem(client, name, problem);
	if (client->opts->failed &&
	    (over == NULL || !look_run_has_failed(over)))
		return;
	if (client->opts->quiet) {
		client->is_held = true;
		list->search.enough = true; /* one is */
	} else if (client->opts->json) {
		look_print_json(look, client, key);
	} else if (client->opts->all) {
		begin_table(list);
		add_last_run(list, look, name);
	} else {
		begin_table(list);
		list_row_describe(&row, look, name);
		table_add(&list->table, row.cells);
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
