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

static bool
take_sample(struct visit *visit, struct reading *sample)
{
	const struct question *question = visit_ask_one(visit, "TIME");
	const char *seconds, *micros;
	int64_t s, us;

	if (question == NULL)
		return false;
	/* A server that runs a long script replies so to all commands. */
	if (question->outcome == QUESTION_FAILED &&
	    question->verdict == VERDICT_RETRY) {
		visit_judge_failure(visit, question);
		return false;
	}
	if (question->error != NULL && reply_is(question->error, "NOPERM"))
		visit->samples.is_denied = true;
	*sample = (struct reading){.sent_us = question->sent_us,
	    .took_us = question->took_us,
	    .time_us = -1};
	seconds = value_text(value_at(question->value, 0));
	micros = value_text(value_at(question->value, 1));
	if (seconds != NULL && micros != NULL &&
	    num_int(seconds, 0, INT64_MAX / 1000000 - 1, &s) == 0 &&
	    num_int(micros, 0, 999999, &us) == 0)
		sample->time_us = s * 1000000 + us;
	return true;
}

/* The first reply includes the time to connect. */
bool
check_contact_measure(struct visit *visit)
{
	struct samples *samples = &visit->samples;
	struct reading connected;

	*samples = (struct samples){.count = 0};
	if (!take_sample(visit, &connected))
		return false;
	for (; samples->count < VISIT_PROBES; samples->count++)
		if (!take_sample(visit, &samples->list[samples->count]))
			return false;
	return true;
}

static int64_t
offset_of(const struct reading *sample)
{
	return sample->time_us - sample->sent_us - sample->took_us / 2;
}

struct offset
check_contact_offset(const struct samples *samples)
{
	const struct reading *best = NULL;

	for (size_t i = 0; i < samples->count; i++) {
		const struct reading *sample = &samples->list[i];

		if (sample->time_us != -1 &&
		    (best == NULL || sample->took_us < best->took_us))
			best = sample;
	}
	if (best == NULL)
		return (struct offset){.is_known = false};
	return (struct offset){.is_known = true,
	    .us = offset_of(best),
	    .error_us = best->took_us / 2};
}

int64_t
check_contact_step(const struct samples *samples)
{
	int64_t most = 0;

	for (size_t i = 1; i < samples->count; i++) {
		const struct reading *a = &samples->list[i - 1];
		const struct reading *b = &samples->list[i];
		int64_t step = offset_of(b) - offset_of(a);
		int64_t doubt = a->took_us / 2 + b->took_us / 2 + STEP_MIN_US;

		if (a->time_us != -1 && b->time_us != -1 &&
		    llabs(step) > doubt && llabs(step) > llabs(most))
			most = step;
	}
	return most;
}

/* --- what follows from the probes --------------------------------------- */

static int
compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each of several servers has so long for its vote. A single server may take
 * longer, but then few tries to renew fit into the ttl. */
static void
put_round_trip(char **facts, const struct visit *visit)
{
	const struct samples *samples = &visit->samples;
	int64_t took[VISIT_PROBES + 1] = {0}, most;
	int64_t ttl_ms = visit->enquiry.opts->lock.ttl_ms;

	for (size_t i = 0; i < samples->count; i++)
		took[i] = samples->list[i].took_us;
	qsort(took, samples->count, sizeof(*took), compare_times);
	most = took[samples->count - 1];
	rows_put(facts, "trips:%zu\nmedian:%.2f\nlongest:%.2f\nttl:%g\n",
	    samples->count, (double)took[samples->count / 2] / 1000,
	    (double)most / 1000, (double)ttl_ms / 1000);
	rows_put_flag(facts, "slow", most > votes_patience_ms(ttl_ms) * 1000);
}

static void
put_offset(char **facts, const struct samples *samples)
{
	struct offset offset = check_contact_offset(samples);
	int64_t ahead_us = offset.us - clock_epoch() * 1000 + clock_now_us();
	int64_t step_us = check_contact_step(samples);

	rows_put_flag(facts, "time_denied", samples->is_denied);
	if (offset.is_known)
		rows_put(facts, "off:%.3f s %s\n",
		    (double)llabs(ahead_us) / 1e6,
		    ahead_us < 0 ? "behind" : "ahead of");
	rows_put_flag(facts, "far",
	    llabs(ahead_us) > CHECK_FAR_US + offset.error_us);
	if (step_us != 0)
		rows_put(facts, "step:%s by %.3f s\n",
		    step_us < 0 ? "back" : "forward",
		    (double)llabs(step_us) / 1e6);
}

void
check_contact_end(struct visit *visit)
{
	struct samples *samples = &visit->samples;

	if (!take_sample(visit, &samples->list[samples->count]))
		return;
	samples->count++;
	put_round_trip(&visit->facts, visit);
	put_offset(&visit->facts, samples);
	rows_judge("times", visit->facts, visit->findings);
}

/* --- TLS -------------------------------------------------------------- */

/* whose: "the server's". */
static void
judge_certificate(struct findings *findings, const char *whose,
    const struct tls_expiry *expiry)
{
	char *facts = NULL;

	if (!expiry->known)
		return;
	rows_put(&facts, "whose:%s\ndays:%" PRId64 "\n", whose,
	    expiry->in_s / DAY_S);
	rows_put_flag(&facts, "expired", expiry->in_s < 0);
	rows_judge("certificate", facts, findings);
	free(facts);
}

bool
check_contact_begin(struct visit *visit)
{
	const struct endpoint *endpoint = visit->enquiry.endpoint;
	const struct way *server = visit->enquiry.server;
	struct tls_session session = {.protocol = ""};
	char **facts = &visit->facts, address[64];
	bool is_local, has_password;

	if (!check_contact_measure(visit))
		return false;
	visit->findings->subject = way_label(server);
	is_local = !way_address_text(server, address, sizeof(address)) ||
		   strncmp(address, "127.", 4) == 0 ||
		   strcmp(address, "::1") == 0;
	has_password =
	    endpoint->password != NULL || endpoint->password_file != NULL;
	rows_put_flag(facts, "tls", way_describe_tls(server, &session));
	rows_put(facts, "protocol:%s\ncipher:%s\n", session.protocol,
	    session.cipher);
	rows_put_flag(facts, "plain", !endpoint->tls && !is_local);
	rows_put_flag(facts, "has_password", has_password);
	rows_judge("tls", *facts, visit->findings);
	judge_certificate(visit->findings, "the server's",
	    &session.server_expiry);
	judge_certificate(visit->findings, "that of --tls-cert",
	    &session.own_expiry);
	return true;
}

/* --- writes ----------------------------------------------------------- */

/* Since Redis 7 a script with a first line of flags that do not exclude writes
 * is refused at its start when a write would be. So nothing is written. */
#define SCRIPT "EVAL|#!lua\nreturn 1|"
/* An older one has to write, after TIME as our scripts do. */
#define OLD_SCRIPT                  \
	"EVAL|redis.pcall('TIME') " \
	"return redis.pcall('SET',KEYS[1],'','PX',1)|"

/* What the access rules deny, another check reports. */
static void
put_write(char **facts, const struct question *question, bool by_script)
{
	const char *error = question->error, *advice;
	int64_t number = 0;

	if (question->outcome == QUESTION_FAILED) {
		advice = reply_advise(error);
		if (question->verdict != VERDICT_REFUSED)
			rows_put(facts, "unwritten:%.256s\nwrite_advice:%s\n",
			    reply_explain(error), advice != NULL ? advice : "");
	} else {
		value_integer(question->value, &number);
		rows_put_flag(facts, "no_script", by_script && number != 1);
	}
}

/* The key must belong to this node of a cluster; NULL: any node is asked.
 * Others are asked by a key, as a proxy refuses a script without: it would not
 * know which server is meant. */
static bool
try_write(struct visit *visit, const char *key)
{
	const struct question *question;
	bool old;

	visit->key = key;
	question = visit_ask_one(visit,
	    key != NULL ? SCRIPT "1|" VISIT_KEY : SCRIPT "0");
	old = question != NULL && question->outcome == QUESTION_FAILED &&
	      reply_is(question->error, "ERR Error compiling script");
	if (old && visit->scratch == NULL)
		return true;
	visit->key = visit->scratch;
	if (old)
		question = visit_ask_one(visit, OLD_SCRIPT "1|" VISIT_KEY);
	if (question != NULL)
		put_write(&visit->facts, question, !old);
	return question != NULL;
}

bool
check_contact_writes(struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	bool is_node = info_is(visit->facts, "mode", "cluster");
	bool has_keys = opts->key_count > 0 && visit->scratch != NULL;
	const char *any = is_node ? NULL : visit->scratch;

	for (size_t i = 0; i == 0 || (has_keys && i < opts->key_count); i++) {
		if (!try_write(visit, has_keys ? opts->keys[i].key : any))
			return false;
		if (rows_judge("writes", visit->facts, visit->findings) > 0)
			break;
	}
	return true;
}
