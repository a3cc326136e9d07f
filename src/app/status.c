#include "app/status.h"

#include "app/lookup.h"
#include "base/log.h"

enum { HOLDERS_SHOWN = 100 };

int
status_show(struct client *client)
{
	const struct opts *opts = client->opts;
	const char *key = opts->keys[0].key;
	struct key_names keys;
	struct look look = {.count = 0};
	enum exitcode failure;

	key_names_init(&keys, key);
	failure = lookup(client, &keys, HOLDERS_SHOWN, &look);
	key_names_fini(&keys);
	if (failure != EXITCODE_OK)
		return client_report_failure(client);
	if (opts->json)
		lookup_print_json(client, &look, key);
	else
		look_print(&look, opts->name);
	output_note(&client->output);
	for (size_t i = 0; i < look.problem_count && !opts->json; i++)
		log_warnx("%s: damaged: %s", opts->name, look.problems[i]);
	look_fini(&look);
	return output_check(&client->output);
}
