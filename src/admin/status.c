#include "admin/status.h"

enum { HOLDERS_SHOWN = 100 };

static void
show(struct client *client, const struct look *look)
{
	const char *key = client->opts->keys[0].key;
	const struct look_subject subject = client_subject(client, key);

	if (client->opts->json)
		client_print_json(client, look, key);
	else
		look_print(look, &subject);
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count && !client->opts->json; i++)
		client_report_problem(client, subject.name, &look->problems[i]);
}

int
status_show(struct client *client)
{
	struct key_names keys;
	struct look look = {.count = 0};
	bool found;

	key_names_init(&keys, client->opts->keys[0].key);
	found = client_look(client, &keys, HOLDERS_SHOWN, &look);
	key_names_fini(&keys);
	if (!found)
		return client_report_failure(client);
	client->held = client->held || look.kind != '\0';
	if (!client->opts->quiet)
		show(client, &look);
	look_fini(&look);
	return client_check_output(client);
}
