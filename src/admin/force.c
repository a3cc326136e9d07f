#include "admin/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/search.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "lock/record.h"
#include "lock/request.h"
#include "sink/holder_text.h"

enum { HOLDERS_FORCED = 4000 };

/* Takes the lock away from that one, or from all that are in the look (NULL).
 * How many have lost it (1 if it was free); 0 if others hold it by now; -1
 * after a failure, which the client knows. */
static int64_t
force_holders(struct client *client, const struct look *look,
    const struct look_holder *only)
{
	const struct lock_config config = {.kind = &kind_exclusive,
	    .is_hold = true,
	    .command = "",
	    .label = client->opts->lock.label};
	struct query_forced forced;
	struct holder self;
	struct request request;
	char who[RECORD_SIZE];

	holder_self(&self);
	record_make(who, &config, &self);
	query_force(&request, look, only, who,
	    client_reaches_helpers(client, look->keys->lock));
	if (!client_ask(client, &request, query_read_force, &forced))
		return -1;
	/* The lock is already free: a waiter that is not notified comes at its
	 * next heartbeat. */
	if (forced.freed > 0 && *forced.head != '\0') {
		request_ring(&request, look->keys, &forced.head, 1);
		if (request.argc > 0 &&
		    !client_ask(client, &request, NULL, NULL))
			CLIENT_EMIT(client, .type = EVENT_NOT_WOKEN,
			    .name = client_name_of(client, look),
			    .why = client->error);
	}
	return forced.freed;
}

static int
force(struct client *client, const struct look *look,
    const struct look_holder *only)
{
	int64_t freed = force_holders(client, look, only);
	int64_t others = look->count - (int64_t)look->listed;
	char who[HOLDER_TEXT_MAX];

	if (freed == -1)
		return client_report_failure(client);
	if (freed == 0) {
		CLIENT_EMIT(client, .type = EVENT_FORCE_LATE);
		return EXITCODE_BUSY;
	}
	if (only != NULL)
		holder_text_format(&only->who, who, sizeof(who));
	else
		look_describe_holders(look, who, sizeof(who));
	CLIENT_EMIT(client, .type = EVENT_FORCED, .who = who);
	if (only == NULL && others > 0)
		CLIENT_EMIT(client, .type = EVENT_FORCE_AGAIN, .count = others);
	return EXITCODE_OK;
}

/* Anything but "y" or "yes" means no. */
static bool
confirm(const struct client *client, const struct look *look)
{
	char name[(size_t)OPTS_KEY_MAX * 4 + sizeof("\"\"")];
	char text[HOLDER_TEXT_MAX];
	char *holder;
	char *line = NULL;
	size_t size = 0;
	bool yes;

	look_describe_holders(look, text, sizeof(text));
	holder = escape_text(text, ESCAPE_TEXT);
	escape_quote(client->opts->keys[0].name, name, sizeof(name));
	fprintf(stderr,
	    "rlockrun: %s is held by %s; if its job still runs, two jobs "
	    "may overlap; release it? [y/N] ",
	    name, holder);
	yes = getline(&line, &size, stdin) > 0 &&
	      (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
	free(line);
	free(holder);
	return yes;
}

/* A lock may have such a name, but a glob is more likely. A name that contains
 * a quote cannot be quoted for a shell in this way. */
static void
report_free(const struct client *client, const struct look *look)
{
	const char *unknown =
	    look_is_unknown(look) ? "no such lock is known" : "";
	const char *name = client->opts->keys[0].name;
	char *why = strpbrk(name, "*?[") == NULL
			? mem_strdup(unknown)
			: mem_printf("%s%s--force-release takes one name and "
				     "expands no globs (--list '%s' shows the "
				     "locks that match)",
			      unknown, *unknown != '\0' ? "; " : "",
			      strchr(name, '\'') == NULL ? name : "GLOB");

	CLIENT_EMIT(client, .type = EVENT_FORCE_FREE, .why = why);
	free(why);
}

int
force_release(struct client *client)
{
	static const struct query_limits limits = {HOLDERS_FORCED,
	    CLIENT_QUEUE_SHOWN, 1};
	const struct opts *opts = client->opts;
	const struct look *look = &client->look;
	const struct look_holder *only = NULL;
	char who[HOLDER_TEXT_MAX];
	int result = client_look(client, opts->keys[0].key, &limits);

	if (result != EXITCODE_OK)
		return result;
	if (look->listed == 0) {
		report_free(client, look);
		return EXITCODE_OK;
	}
	look_describe_holders(look, who, sizeof(who));
	if (opts->token != NULL)
		only = look_holder_with(look, opts->token);
	if (opts->token != NULL && only == NULL)
		CLIENT_EMIT(client, .type = EVENT_FORCE_OTHER_TOKEN,
		    .who = who);
	else if (*look->holders[0].digest == '\0')
		return client_end(client, ENDING_NOT_A_LOCK, who,
		    "it holds more than any token");
	else if (opts->token == NULL && !opts->yes && !confirm(client, look))
		CLIENT_EMIT(client, .type = EVENT_FORCE_DECLINED, .who = who);
	else
		return force(client, look, only);
	return EXITCODE_BUSY;
}

/* --- --resume ------------------------------------------------------------ */

struct resume {
	struct search search;
	bool any;	 /* was resumed */
	bool has_failed; /* nothing more is resumed */
};

/* A pause may have ended since it was found: another holder is left alone. What
 * has failed, the search reports; also a look before this one. */
static void
on_resume_lock(void *arg, const struct look *look)
{
	struct resume *resume = arg;
	struct client *client = resume->search.client;
	enum ending_reason failure = client->failure;
	char error[sizeof(client->error)];
	int64_t freed;

	if (look->listed == 0 || look->holders[0].who.state != HOLDER_PAUSED ||
	    resume->has_failed)
		return;
	memcpy(error, client->error, sizeof(error));
	freed = force_holders(client, look, NULL);
	resume->has_failed = freed == -1;
	if (freed == -1)
		return;
	client->failure = failure;
	memcpy(client->error, error, sizeof(error));
	if (freed == 0)
		return;
	resume->any = true;
	lock_row_print_act(client, "resumed", look->keys->lock, true, -1);
	CLIENT_EMIT(client, .type = EVENT_RESUMED,
	    .name = client_name_of(client, look));
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
		CLIENT_EMIT(client, .type = EVENT_NONE_RESUMED,
		    .name = client->opts->glob);
	if (result == EXITCODE_OK)
		result = client_check_output(client);
	free(resume);
	return result;
}
