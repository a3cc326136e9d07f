#include <stdlib.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/force.h"
#include "admin/lock_row.h"
#include "admin/search.h"
#include "base/exitcode.h"
#include "base/mem.h"

struct resume {
	struct search search;
	bool any; /* was resumed */
};

/* A pause may have ended since it was found: another holder is left alone. What
 * has failed, the search reports. */
static void
on_resume_lock(void *arg, const struct look *look)
{
	struct resume *resume = arg;
	struct client *client = resume->search.client;
	int64_t freed;

	if (look->listed == 0 || look->holders[0].who.state != HOLDER_PAUSED)
		return;
	if (client->failure != ENDING_NONE &&
	    client->failure != ENDING_NOT_A_LOCK)
		return;
	freed = force_holders(client, look, NULL);
	if (freed == -1)
		return;
	client_forget_failure(client); /* to notify a waiter */
	if (freed == 0)
		return;
	resume->any = true;
	lock_row_print_act(client, "resumed", look->keys->lock, true, -1);
	client_emit(client, (struct event){.type = EVENT_RESUMED,
				.name = client_name_of(client, look)});
}

int
resume_locks(struct client *client)
{
	struct resume *resume = mem_alloc(sizeof(*resume));
	int result;

	resume->search = (struct search){.client = client,
	    .on_lock = on_resume_lock,
	    .arg = resume};
	result = search_run(&resume->search);
	if (result == EXITCODE_OK && !resume->any)
		client_emit(client, (struct event){.type = EVENT_NONE_RESUMED,
					.name = client->opts->glob});
	if (result == EXITCODE_OK)
		result = client_check_output(client);
	free(resume);
	return result;
}
