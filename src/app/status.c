#include "app/status.h"

#include <stdio.h>

#include "redis/reply.h"

enum { HOLDERS_SHOWN = 100, WHY_MAX = 1024 };

/* A key that the server keeps from us may be in good order. */
static void
report_problem(const struct client *client, const struct look_problem *problem)
{
	bool denied =
	    reply_judge(REPLY_ACQUIRING, problem->error) == REPLY_REFUSED;
	char why[WHY_MAX];

	reply_describe(why, sizeof(why),
	    denied ? "not permitted to read" : "damaged:", problem->key,
	    problem->error);
	client_emit(client,
	    (struct event){.type = EVENT_NOT_SHOWN, .why = why});
}

int
status_show(struct client *client)
{
	const struct opts *opts = client->opts;
	const char *key = opts->keys[0].key;
	struct key_names keys;
	struct look look = {.count = 0};
	bool found;

	key_names_init(&keys, key);
	found = client_look(client, &keys, HOLDERS_SHOWN, &look);
	key_names_fini(&keys);
	if (!found)
		return client_report_failure(client);
	if (opts->json) {
		client_print_json(client, &look, key);
	} else {
		const struct look_subject subject = client_subject(client, key);
		look_print(&look, &subject);
	}
	client_note_output(client);
	for (size_t i = 0; i < look.problem_count && !opts->json; i++)
		report_problem(client, &look.problems[i]);
	look_fini(&look);
	return client_check_output(client);
}
