#include "admin/commands.h"

#include <stdlib.h>

#include "admin/look.h"
#include "admin/notes.h"
#include "admin/run_row.h"
#include "base/mem.h"
#include "base/table.h"

enum { RUNS_SHOWN = 10 };

static void
print_runs(const struct look *look)
{
	struct table *table = mem_alloc(sizeof(*table));
	const char *titles[RUN_COLUMNS];

	_Static_assert(RUN_COLUMNS <= TABLE_COLUMNS, "room for all columns");
	for (size_t i = 0; i < RUN_COLUMNS; i++)
		titles[i] = run_row_titles[i];
	table_init(table, titles, RUN_COLUMNS);
	for (size_t i = 0; i < look->run_count; i++) {
		struct run_row row;

		run_row_describe(&row, &look->runs[i], look->now_ms);
		table_add(table, row.cells);
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
		look_print_json(look, client, keys->lock);
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
