#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/tls/tls.h"

enum { STEP_MIN_US = 10000 }; /* more than drift */
enum { DAY_S = 24 * 60 * 60 };

/* --- asking ----------------------------------------------------------- */

/* What a message of the connection advises stands in parentheses at its end. */
static char *
cut_advice(char *text)
{
	size_t length = strlen(text);
	char *open = strrchr(text, '(');

	if (open == NULL || open == text || open[-1] != ' ' ||
	    text[length - 1] != ')')
		return NULL;
	text[length - 1] = '\0';
	open[-1] = '\0';
	return open + 1;
}

void
check_contact_put_failure(char **facts, const struct question *question)
{
	bool silent = question->outcome == QUESTION_SILENT;
	char *text = mem_strdup(question->error);
	const char *advice = silent ? cut_advice(text) : reply_advise(text);

	if (!silent)
		rows_put(facts, "refusal:the server refuses us: \n");
	rows_put(facts, "failure:%s\nadvice:%s\n", text,
	    advice != NULL ? advice : "");
	free(text);
}

static void
judge_failure(struct visit *visit, const struct question *question)
{
	char *facts = NULL;

	rows_put_flag(&facts, "is_replica", visit->is_replica);
	rows_put_flag(&facts, "refused",
	    question->outcome == QUESTION_REFUSED &&
		question->verdict != VERDICT_RETRY);
	check_contact_put_failure(&facts, question);
	rows_judge("failure", FINDING_OK, facts, visit->findings);
	free(facts);
}

bool
check_contact_ask(struct visit *visit, struct asks *asks)
{
	const struct question *failed =
	    enquiry_ask(&visit->enquiry, asks->questions, asks->count);

	if (failed != NULL)
		judge_failure(visit, failed);
	return failed == NULL;
}

/* --- probes ----------------------------------------------------------- */

/* -1: it is none. */
static int64_t
read_time(const struct value *value)
{
	const char *seconds = value_text(value_at(value, 0));
	const char *micros = value_text(value_at(value, 1));
	int64_t s, us;

	if (seconds == NULL || micros == NULL ||
	    num_int(seconds, 0, INT64_MAX / 1000000 - 1, &s) == -1 ||
	    num_int(micros, 0, 999999, &us) == -1)
		return -1;
	return s * 1000000 + us;
}

static bool
take_sample(struct visit *visit, struct check_sample *sample)
{
	struct asks asks = {.count = 0};
	const struct question *question = &asks.questions[0];
	bool answered;

	ask_add(&asks, "", "TIME");
	answered = check_contact_ask(visit, &asks);
	/* A server that runs a long script replies so to all commands. */
	if (answered && question->outcome == QUESTION_FAILED &&
	    question->verdict == VERDICT_RETRY) {
		judge_failure(visit, question);
		answered = false;
	}
	if (question->error != NULL && reply_is(question->error, "NOPERM"))
		visit->samples.is_denied = true;
	*sample = (struct check_sample){.sent_us = question->sent_us,
	    .took_us = question->took_us,
	    .time_us = read_time(question->value)};
	ask_forget(&asks);
	return answered;
}

/* The first reply includes the time to connect. */
bool
check_contact_measure(struct visit *visit)
{
	struct check_samples *samples = &visit->samples;
	struct check_sample connected;

	*samples = (struct check_samples){.count = 0};
	if (!take_sample(visit, &connected))
		return false;
	for (; samples->count < CHECK_PROBES; samples->count++)
		if (!take_sample(visit, &samples->list[samples->count]))
			return false;
	return true;
}

static int64_t
offset_of(const struct check_sample *sample)
{
	return sample->time_us - sample->sent_us - sample->took_us / 2;
}

struct check_offset
check_contact_offset(const struct check_samples *samples)
{
	const struct check_sample *best = NULL;

	for (size_t i = 0; i < samples->count; i++) {
		const struct check_sample *sample = &samples->list[i];

		if (sample->time_us != -1 &&
		    (best == NULL || sample->took_us < best->took_us))
			best = sample;
	}
	if (best == NULL)
		return (struct check_offset){.is_known = false};
	return (struct check_offset){.is_known = true,
	    .us = offset_of(best),
	    .error_us = best->took_us / 2};
}

int64_t
check_contact_step(const struct check_samples *samples)
{
	int64_t most = 0;

	for (size_t i = 1; i < samples->count; i++) {
		const struct check_sample *a = &samples->list[i - 1];
		const struct check_sample *b = &samples->list[i];
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
	const struct check_samples *samples = &visit->samples;
	int64_t took[CHECK_PROBES + 1] = {0}, most;
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
put_clock(char **facts, const struct check_samples *samples)
{
	struct check_offset offset = check_contact_offset(samples);
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
	struct check_samples *samples = &visit->samples;

	if (!take_sample(visit, &samples->list[samples->count]))
		return;
	samples->count++;
	put_round_trip(&visit->facts, visit);
	put_clock(&visit->facts, samples);
	rows_judge("times", FINDING_OK, visit->facts, visit->findings);
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
	rows_judge("certificate", FINDING_OK, facts, findings);
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
	rows_judge("tls", FINDING_OK, *facts, visit->findings);
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
	const char *error = question->error;
	const char *advice = error != NULL ? reply_advise(error) : NULL;
	int64_t number;

	if (question->outcome == QUESTION_FAILED &&
	    question->verdict != VERDICT_REFUSED)
		rows_put(facts, "unwritten:%.256s\nwrite_advice:%s\n",
		    reply_explain(error), advice != NULL ? advice : "");
	rows_put_flag(facts, "no_script",
	    question->outcome == QUESTION_ANSWERED && by_script &&
		!(value_integer(question->value, &number) && number == 1));
}

/* The key must belong to this node of a cluster; NULL: any node is asked.
 * Others are asked by a key, as a proxy refuses a script without: it would not
 * know which server is meant. */
static bool
try_write(struct visit *visit, const char *key)
{
	struct asks asks = {.key = key};
	const struct question *question = &asks.questions[0];
	bool answered, old;

	ask_add(&asks, SCRIPT, key != NULL ? "1|" ASK_KEY : "0");
	answered = check_contact_ask(visit, &asks);
	old = answered && question->outcome == QUESTION_FAILED &&
	      reply_is(question->error, "ERR Error compiling script");
	if (old) {
		ask_forget(&asks);
		if (visit->scratch == NULL)
			return true;
		asks.key = visit->scratch;
		ask_add(&asks, OLD_SCRIPT, "1|" ASK_KEY);
		answered = check_contact_ask(visit, &asks);
	}
	if (answered)
		put_write(&visit->facts, question, !old);
	ask_forget(&asks);
	return answered;
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
		if (rows_judge("writes", FINDING_OK, visit->facts,
			visit->findings) > 0)
			break;
	}
	return true;
}
