#include "admin/commands.h"

#include "admin/look.h"

enum { HOLDERS_SHOWN = 100 };

static void
show_status(struct client *client, const struct look *look)
{
	const struct opts_key *lock = &client->opts->keys[0];

	if (client->opts->json)
		look_print_json(look, client, lock->key);
	else
		look_print(look, client);
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count && !client->opts->json; i++)
		client_report_problem(client, lock->name, &look->problems[i]);
}

static int
note_status(struct client *client, const struct key_names *keys,
    const struct look *look)
{
	(void)keys;
	client->is_held = client->is_held || look->kind != '\0';
	if (!client->opts->quiet)
		show_status(client, look);
	return client_check_output(client);
}

int
status_show(struct client *client)
{
	static const struct query_limits limits = {HOLDERS_SHOWN,
	    CLIENT_QUEUE_SHOWN, 1};

	return client_look(client, client->opts->keys[0].key, &limits,
	    note_status);
}
