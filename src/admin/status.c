#include "admin/commands.h"

#include "admin/lock_row.h"
#include "admin/look.h"

/* Of the runs only the last is shown, but others say who was replaced. */
enum { HOLDERS_SHOWN = 100, RUNS_SHOWN = 10 };

static int
note_status(struct client *client, const struct key_names *keys,
    const struct look *look)
{
	const struct opts *opts = client->opts;

	client->is_held = client->is_held || look->kind != '\0';
	if (!opts->quiet && opts->json)
		lock_row_print_json(look, client, keys->lock);
	else if (!opts->quiet)
		look_print(look, client);
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count; i++)
		if (!opts->quiet && !opts->json)
			client_report_problem(client, opts->keys[0].name,
			    &look->problems[i]);
	return client_check_output(client);
}

int
status_show(struct client *client)
{
	static const struct query_limits limits = {HOLDERS_SHOWN,
	    CLIENT_QUEUE_SHOWN, RUNS_SHOWN};

	return client_look(client, client->opts->keys[0].key, &limits,
	    note_status);
}
