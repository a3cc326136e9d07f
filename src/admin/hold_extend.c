#include "admin/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "base/exitcode.h"
#include "lock/answer.h"
#include "lock/request.h"

static int
read_renewed(void *arg, const struct value *value)
{
	bool *ours = arg;
	struct answer *answer = answer_renew(value);

	if (answer == NULL)
		return -1;
	*ours = answer->outcome == ANSWER_RENEWED;
	free(answer);
	return 0;
}

/* What the request has, if anything. False after a failure. */
static bool
ask_by(struct client *client, struct request *request, client_read *read,
    void *arg)
{
	bool asked = request->argc == 0 || client_ask(client, request->script,
					       request->argv, read, arg);

	request_fini(request);
	return asked;
}

/* The lease only ever becomes longer, so a command that was delayed on the way
 * does no harm. The record lives as long, if the access rules permit that. */
static int
extend(struct client *client, struct claim *claim, int64_t left_ms)
{
	int64_t ms = client->opts->hold_ms;
	bool ours = true;
	struct request request;

	if (left_ms < ms) {
		request_make(&request, claim, REQUEST_RENEWAL);
		client->enquiry.replicas = client->opts->replicas;
		if (!ask_by(client, &request, read_renewed, &ours))
			return client_report_failure(client);
		client->enquiry.replicas = 0;
		if (!ours)
			return client_end(client, ENDING_HOLD_OVER, NULL, NULL);
		request_make(&request, claim, REQUEST_LIFE);
		ask_by(client, &request, client_ignore, NULL);
	}
	client_emit(client, (struct event){.type = EVENT_HELD,
				.ms = left_ms < ms ? ms : left_ms});
	return EXITCODE_OK;
}

/* The claim of the hold with that token. */
static int
extend_claim(struct client *client, const char *token, int64_t left_ms)
{
	const struct lock_config config = {.key = client->opts->keys[0].key,
	    .ttl_ms = client->opts->hold_ms,
	    .servers = client->opts->servers,
	    .server_count = 1,
	    .kind = &kind_exclusive};
	struct claim claim;
	int result;

	if (claim_init(&claim, &config) == 0) {
		memcpy(claim.token, token, strlen(token) + 1);
		result = extend(client, &claim, left_ms);
	} else {
		result =
		    client_end(client, ENDING_NO_LOCK, NULL, strerror(errno));
	}
	claim_fini(&claim);
	return result;
}

/* Without a record, as where the access rules deny it, the token is enough. */
static bool
is_hold(const struct look *look, const struct look_holder *holder)
{
	enum holder_state state = holder->who.state;

	return look->kind == 'x' && strlen(holder->token) < TOKEN_SIZE &&
	       (state == HOLDER_HOLD || state == HOLDER_FOREIGN);
}

static int
consider_hold(struct client *client, const struct key_names *keys,
    const struct look *look)
{
	const struct look_holder *holder =
	    look_holder_with(look, client->opts->token);
	char who[HOLDER_TEXT_MAX];

	(void)keys;
	look_describe_holders(look, who, sizeof(who));
	if (holder == NULL)
		return client_end(client, ENDING_HOLD_OVER,
		    look->listed > 0 ? who : NULL, NULL);
	if (is_hold(look, holder))
		return extend_claim(client, holder->token, holder->who.left_ms);
	client_emit(client,
	    (struct event){.type = EVENT_NOT_EXTENDED, .who = who});
	return EXITCODE_BUSY;
}

int
hold_extend(struct client *client)
{
	static const struct request_look_limits limits = {1, CLIENT_QUEUE_SHOWN,
	    1};

	return client_look(client, client->opts->keys[0].key, &limits,
	    consider_hold);
}
