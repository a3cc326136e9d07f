#include "admin/commands.h"

#include <stdlib.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/notes.h"
#include "base/exitcode.h"
#include "base/mem.h"

/* The last runs; of those of --status only the last is shown, but others say
 * who was replaced. */
enum { HOLDERS_SHOWN = 100, RUNS_SHOWN = 10 };

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

int
lock_show(struct client *client)
{
	static const struct query_limits status = {HOLDERS_SHOWN,
	    CLIENT_QUEUE_SHOWN, RUNS_SHOWN};
	static const struct query_limits history = {1, 0, RUNS_SHOWN};
	const struct opts *opts = client->opts;
	const struct look *look = &client->look;
	bool is_history = opts->action == OPTS_HISTORY;
	bool quiet = opts->quiet && !is_history;
	int result = client_look(client, opts->keys[0].key,
	    is_history ? &history : &status);

	if (result != EXITCODE_OK)
		return result;
	client->is_held |= look->kind != '\0' && !is_history;
	if (!quiet && opts->json) {
		lock_row_print_json(look, client);
	} else if (is_history) {
		if (look->run_count > 0)
			print_runs(look);
		notes_print(look);
	} else if (!quiet) {
		look_print(look, client);
	}
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count; i++)
		if (!quiet && !opts->json)
			client_report_problem(client, look, &look->problems[i]);
	if (is_history && look->run_count == 0 && !opts->json)
		client_emit(client, (struct event){.type = EVENT_NOT_SHOWN,
					.name = client_name_of(client, look),
					.why = "no run is recorded"});
	return client_check_output(client);
}
