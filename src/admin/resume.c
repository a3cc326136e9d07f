#include <stdlib.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/force.h"
#include "admin/lock_row.h"
#include "admin/search.h"
#include "base/exitcode.h"
#include "base/mem.h"

enum { PAGE_MAX = 256 }; /* paused locks that are ended together */

struct paused {
	char *key;
	struct key_names keys;
	struct look look;
};

struct resume {
	struct client *client;
	struct search search;
	struct paused paused[PAGE_MAX];
	size_t count;
	int64_t resumed;
	int result;
};

/* Those of a page, or of the part of it that was read. A pause may have ended
 * since it was found: another holder is left alone. */
static int
end_pauses(void *arg)
{
	struct resume *resume = arg;
	struct client *client = resume->client;

	while (resume->count > 0) {
		struct paused *paused = &resume->paused[--resume->count];
		const struct look *look = &paused->look;
		int64_t freed = 0;

		if (resume->result == EXITCODE_OK)
			freed = force_holders(client, look, NULL);
		if (freed > 0) {
			resume->resumed++;
			lock_row_print_act(client, "resumed", paused->key, true,
			    -1);
			client_emit(client,
			    (struct event){.type = EVENT_RESUMED,
				.name = client_name_of(client, look)});
		} else if (freed < 0) {
			resume->result = client_report_failure(client);
		}
		query_fini(&paused->look);
		key_names_fini(&paused->keys);
		free(paused->key);
	}
	return resume->result;
}

static void
on_resume_lock(void *arg, struct look *look)
{
	struct resume *resume = arg;
	struct paused *paused = &resume->paused[resume->count];

	if (look->listed == 0 || look->holders[0].who.state != HOLDER_PAUSED)
		return;
	*paused =
	    (struct paused){.key = mem_strdup(look->keys->lock), .look = *look};
	key_names_init(&paused->keys, paused->key, NULL);
	paused->look.keys = &paused->keys;
	*look = (struct look){.kind = '\0'};
	resume->count++;
	/* The rest of the page follows in another search. */
	resume->search.enough = resume->count > PAGE_MAX - ENQUIRY_AT_ONCE;
}

int
resume_locks(struct client *client)
{
	struct resume *resume = mem_alloc(sizeof(*resume));
	int result;

	resume->client = client;
	do {
		resume->search = (struct search){.client = client,
		    .on_lock = on_resume_lock,
		    .on_page = end_pauses,
		    .arg = resume};
		result = search_run(&resume->search);
	} while (result == EXITCODE_OK && resume->search.enough);
	end_pauses(resume);
	if (result == EXITCODE_OK && resume->resumed == 0)
		client_emit(client, (struct event){.type = EVENT_NONE_RESUMED,
					.name = client->opts->glob});
	if (result == EXITCODE_OK)
		result = client_check_output(client);
	free(resume);
	return result;
}
