#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/tls/tls.h"

enum { STEP_MIN_US = 10000 }; /* more than drift */
enum { DAY_S = 24 * 60 * 60 };

/* --- probes ----------------------------------------------------------- */

void
check_contact_note(struct clock *clock, int64_t sent_us, int64_t took_us,
    int64_t time_us)
{
	struct offset now = {.is_known = time_us != -1,
	    .us = time_us - sent_us - took_us / 2,
	    .error_us = took_us / 2};
	int64_t step_us = now.us - clock->last.us;
	int64_t doubt_us = now.error_us + clock->last.error_us + STEP_MIN_US;
	size_t at = clock->count++;

	if (now.is_known && clock->last.is_known && llabs(step_us) > doubt_us &&
	    llabs(step_us) > llabs(clock->step_us))
		clock->step_us = step_us;
	if (now.is_known &&
	    (!clock->best.is_known || now.error_us < clock->best.error_us))
		clock->best = now;
	clock->last = now;
	for (; at > 0 && clock->took_us[at - 1] > took_us; at--)
		clock->took_us[at] = clock->took_us[at - 1];
	clock->took_us[at] = took_us;
}

/* Asks for the time. The first reply includes the time to connect, and does not
 * count. */
static void
probe(struct visit *visit, bool counts)
{
	const struct question *question = visit_ask_one(visit, "TIME");
	int64_t s, us, time_us = -1;
	const char *seconds, *micros;

	/* A server that runs a long script replies so to all commands. */
	if (question->outcome == QUESTION_FAILED &&
	    question->verdict == VERDICT_RETRY)
		visit_judge_failure(visit, question);
	rows_put_flag(&visit->facts, "time_denied",
	    question->error != NULL && reply_is(question->error, "NOPERM"));
	seconds = value_text(value_at(question->value, 0));
	micros = value_text(value_at(question->value, 1));
	if (seconds != NULL && micros != NULL &&
	    num_int(seconds, 0, INT64_MAX / 1000000 - 1, &s) == 0 &&
	    num_int(micros, 0, 999999, &us) == 0)
		time_us = s * 1000000 + us;
	if (counts)
		check_contact_note(&visit->clock, question->sent_us,
		    question->took_us, time_us);
}

void
check_contact_measure(struct visit *visit)
{
	visit->clock = (struct clock){.count = 0};
	for (int i = 0; i <= VISIT_PROBES; i++)
		probe(visit, i > 0);
}

void
check_contact_end(struct visit *visit)
{
	const struct clock *clock = &visit->clock;
	int64_t ttl_ms = visit->enquiry.opts->lock.ttl_ms;
	char **facts = &visit->facts;
	int64_t longest_us, ahead_us;

	probe(visit, true);
	if (visit->is_over)
		return;
	longest_us = clock->took_us[clock->count - 1];
	rows_put(facts, "trips:%zu\nmedian:%.2f\nlongest:%.2f\nttl:%g\n",
	    clock->count, (double)clock->took_us[clock->count / 2] / 1000,
	    (double)longest_us / 1000, (double)ttl_ms / 1000);
	/* Each of several servers has so long for its vote. A single server may
	 * take longer, but then few tries to renew fit into the ttl. */
	rows_put_flag(facts, "slow",
	    longest_us > votes_patience_ms(ttl_ms) * 1000);
	ahead_us = clock->best.us - clock_epoch() * 1000 + clock_now_us();
	if (clock->best.is_known)
		rows_put(facts, "off:%.3f s %s\n",
		    (double)llabs(ahead_us) / 1e6,
		    ahead_us < 0 ? "behind" : "ahead of");
	rows_put_flag(facts, "far",
	    llabs(ahead_us) > CHECK_FAR_US + clock->best.error_us);
	if (clock->step_us != 0)
		rows_put(facts, "step:%s by %.3f s\n",
		    clock->step_us < 0 ? "back" : "forward",
		    (double)llabs(clock->step_us) / 1e6);
	rows_judge("times", *facts, visit->findings);
}

/* --- TLS -------------------------------------------------------------- */

/* whose: "the server's". */
static void
judge_certificate(struct findings *findings, const char *whose,
    const struct tls_expiry *expiry)
{
	if (expiry->known)
		rows_judge_facts("certificate", findings,
		    "whose:%s\ndays:%" PRId64 "\nexpired:%s\n", whose,
		    expiry->in_s / DAY_S, rows_flag(expiry->in_s < 0));
}

void
check_contact_begin(struct visit *visit)
{
	const struct endpoint *endpoint = visit->enquiry.endpoint;
	const struct way *server = visit->enquiry.server;
	struct tls_session session = {.protocol = ""};
	char **facts = &visit->facts, address[64];
	bool is_local;

	check_contact_measure(visit);
	if (visit->is_over)
		return;
	visit->findings->subject = way_label(server);
	is_local = !way_address_text(server, address, sizeof(address)) ||
		   strncmp(address, "127.", 4) == 0 ||
		   strcmp(address, "::1") == 0;
	rows_put_flag(facts, "tls", way_describe_tls(server, &session));
	rows_put(facts, "protocol:%s\ncipher:%s\n", session.protocol,
	    session.cipher);
	rows_put_flag(facts, "plain", !endpoint->tls && !is_local);
	if (endpoint->password != NULL || endpoint->password_file != NULL)
		rows_put(facts, "secret:password\n");
	rows_judge("tls", *facts, visit->findings);
	judge_certificate(visit->findings, "the server's",
	    &session.server_expiry);
	judge_certificate(visit->findings, "that of --tls-cert",
	    &session.own_expiry);
}

/* --- writes ----------------------------------------------------------- */

/* Since Redis 7 a script with a first line of flags that do not exclude writes
 * is refused at its start when a write would be. So nothing is written. */
#define SCRIPT "EVAL|#!lua\nreturn 1|"
/* An older one has to write, after TIME as our scripts do. */
#define OLD_SCRIPT                  \
	"EVAL|redis.pcall('TIME') " \
	"return redis.pcall('SET',KEYS[1],'','PX',1)|"

/* The key must belong to this node of a cluster; NULL: any node is asked.
 * Others are asked by a key, as a proxy refuses a script without: it would not
 * know which server is meant. */
static void
try_write(struct visit *visit, const char *key)
{
	const struct question *question;
	const char *advice;
	int64_t number = 0;
	bool old;

	visit->key = key;
	question = visit_ask_one(visit,
	    key != NULL ? SCRIPT "1|" VISIT_KEY : SCRIPT "0");
	old = question->outcome == QUESTION_FAILED &&
	      reply_is(question->error, "ERR Error compiling script");
	if (old && visit->scratch == NULL)
		return;
	visit->key = visit->scratch;
	if (old)
		question = visit_ask_one(visit, OLD_SCRIPT "1|" VISIT_KEY);
	if (question->outcome != QUESTION_FAILED) {
		value_integer(question->value, &number);
		rows_put_flag(&visit->facts, "no_script", !old && number != 1);
	} else if (question->verdict != VERDICT_REFUSED) {
		/* What the access rules deny, another check reports. */
		advice = reply_advise(question->error);
		rows_put(&visit->facts, "unwritten:%.256s\nwrite_advice:%s\n",
		    reply_explain(question->error),
		    advice != NULL ? advice : "");
	}
}

void
check_contact_writes(struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	bool is_node = info_is(visit->facts, "mode", "cluster");
	bool has_keys = opts->key_count > 0 && visit->scratch != NULL;
	const char *any = is_node ? NULL : visit->scratch;

	for (size_t i = 0; i == 0 || (has_keys && i < opts->key_count); i++) {
		try_write(visit, has_keys ? opts->keys[i].key : any);
		if (visit->is_over ||
		    rows_judge("writes", visit->facts, visit->findings) > 0)
			break;
	}
}
