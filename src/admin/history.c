#include "admin/commands.h"

#include <stdlib.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/notes.h"
#include "base/mem.h"

enum { RUNS_SHOWN = 10 };

static void
print_runs(const struct look *look)
{
	struct table *table = mem_alloc(sizeof(*table));
	struct row row = {.table = table};

	table_init(table, LOCK_ROW_RUNS);
	for (size_t i = 0; i < look->run_count; i++) {
		table_add(table);
		lock_row_put_run(&row, NULL, &look->runs[i], look->now_ms);
	}
	table_print(table);
	free(table);
}

static int
print_history(struct client *client, const struct key_names *keys,
    const struct look *look)
{
	const char *name = client->opts->keys[0].name;
	bool json = client->opts->json;

	if (json)
		lock_row_print_json(look, client, keys->lock);
	else if (look->run_count > 0)
		print_runs(look);
	if (!json)
		notes_print(look);
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count && !json; i++)
		client_report_problem(client, name, &look->problems[i]);
	if (look->run_count == 0 && !json)
		client_emit(client, (struct event){.type = EVENT_NOT_SHOWN,
					.name = name,
					.why = "no run is recorded"});
	return client_check_output(client);
}

int
history_show(struct client *client)
{
	static const struct query_limits limits = {1, 0, RUNS_SHOWN};

	return client_look(client, client->opts->keys[0].key, &limits,
	    print_history);
}
