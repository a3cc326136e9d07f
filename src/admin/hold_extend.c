#include "admin/commands.h"

#include <string.h>

#include "admin/look.h"
#include "admin/query.h"
#include "base/exitcode.h"
#include "lock/answer.h"
#include "lock/request.h"
#include "sink/holder_text.h"

enum { KNOWN_LONGER_MS = 60 * 60 * 1000 };

static bool
read_renewed(void *arg, const struct value *value)
{
	bool *ours = arg;
	struct answer answer;

	if (!answer_read(&answer, ANSWER_TO_RENEWAL, value))
		return false;
	*ours = answer.outcome == ANSWER_RENEWED;
	return true;
}

static bool
read_integer(void *arg, const struct value *value)
{
	return value_integer(value, arg);
}

/* The lease only ever becomes longer, so a command that was delayed on the way
 * does no harm. */
static int
extend(struct client *client, const struct key_names *keys, const char *token,
    int64_t left_ms)
{
	int64_t ms = client->opts->lock.hold_ms,
		known_ms = ms + KNOWN_LONGER_MS;
	int64_t known_left_ms;
	struct request request;
	bool ours;

	if (left_ms < ms) {
		query_lengthen(&request, keys, token, ms);
		client->enquiry.replicas = client->opts->lock.replicas;
		if (!client_ask(client, &request, read_renewed, &ours))
			return client_report_failure(client);
		client->enquiry.replicas = 0;
		if (!ours)
			return client_end(client, ENDING_HOLD_OVER, NULL, NULL);
		/* What is known of the hold lives as long, if the access rules
		 * permit that. */
		request_begin(&request);
		REQUEST_ADD(&request, "PTTL", keys->info);
		if (client_ask(client, &request, read_integer,
			&known_left_ms) &&
		    known_left_ms < known_ms) {
			request_begin(&request);
			REQUEST_ADD(&request, "PEXPIRE", keys->info,
			    request_number(&request, known_ms));
			client_ask(client, &request, NULL, NULL);
		}
	}
	CLIENT_EMIT(client, .type = EVENT_HELD,
	    .ms = left_ms < ms ? ms : left_ms);
	return EXITCODE_OK;
}

/* Without a record, as where the access rules deny it, the token is enough. */
int
hold_extend(struct client *client)
{
	static const struct query_limits limits = {1, CLIENT_QUEUE_SHOWN, 1};
	const struct look *look = &client->look;
	const struct look_holder *holder;
	char who[HOLDER_TEXT_MAX];
	int result = client_look(client, client->opts->keys[0].key, &limits);

	if (result != EXITCODE_OK)
		return result;
	holder = look_holder_with(look, client->opts->token);
	look_describe_holders(look, who, sizeof(who));
	if (holder == NULL)
		return client_end(client, ENDING_HOLD_OVER,
		    look->listed > 0 ? who : NULL, NULL);
	if (look->kind == 'x' && strlen(holder->token) < TOKEN_SIZE &&
	    (holder->who.state == HOLDER_HOLD ||
		holder->who.state == HOLDER_FOREIGN))
		return extend(client, look->keys, holder->token,
		    holder->who.left_ms);
	CLIENT_EMIT(client, .type = EVENT_NOT_EXTENDED, .who = who);
	return EXITCODE_BUSY;
}
