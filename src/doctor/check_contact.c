#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "lock/votes.h"
#include "redis/reply.h"
#include "redis/tls/tls.h"

enum { STEP_MIN_US = 10000 }; /* more than drift */
enum { DAY_S = 24 * 60 * 60, DAYS_ENOUGH = 14 };

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

static void
add_failure(struct visit *visit, int severity, const char *check,
    const struct question *question)
{
	bool silent = question->outcome == QUESTION_SILENT;
	char *text = mem_strdup(question->error);
	const char *advice = silent ? cut_advice(text) : reply_advise(text);

	findings_add(visit->findings, severity, check, advice, "%s%s",
	    silent ? "" : "the server refuses us: ", text);
	free(text);
}

void
check_contact_warn(struct visit *visit, const struct question *question,
    const char *check)
{
	add_failure(visit, FINDING_WARNING, check, question);
}

static void
add_unreached(struct visit *visit, const struct question *question)
{
	bool refused = question->outcome == QUESTION_REFUSED &&
		       question->verdict != VERDICT_RETRY;

	add_failure(visit,
	    visit->is_replica ? FINDING_UNKNOWN
	    : refused	      ? EXITCODE_REFUSED
			      : EXITCODE_UNAVAILABLE,
	    "reach", question);
}

bool
check_contact_ask(struct visit *visit, struct question *questions, size_t count)
{
	const struct question *failed =
	    enquiry_ask(&visit->enquiry, questions, count);

	if (failed != NULL)
		add_unreached(visit, failed);
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
	struct question question = {.argv = QUESTION_WORDS("TIME")};
	bool answered = check_contact_ask(visit, &question, 1);

	/* A server that runs a long script replies so to all commands. */
	if (answered && question.outcome == QUESTION_FAILED &&
	    question.verdict == VERDICT_RETRY) {
		add_unreached(visit, &question);
		answered = false;
	}
	if (question.error != NULL && reply_is(question.error, "NOPERM"))
		visit->samples.is_denied = true;
	*sample = (struct check_sample){.sent_us = question.sent_us,
	    .took_us = question.took_us,
	    .time_us = read_time(question.value)};
	enquiry_forget(&question, 1);
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
add_round_trip(const struct visit *visit)
{
	const struct check_samples *samples = &visit->samples;
	int64_t took[CHECK_PROBES + 1] = {0}, median, most;
	int64_t ttl_ms = visit->enquiry.opts->lock.ttl_ms;
	bool slow;

	for (size_t i = 0; i < samples->count; i++)
		took[i] = samples->list[i].took_us;
	qsort(took, samples->count, sizeof(*took), compare_times);
	median = took[samples->count / 2];
	most = took[samples->count - 1];
	slow = most > votes_patience_ms(ttl_ms) * 1000;
	findings_add(visit->findings, slow ? FINDING_WARNING : FINDING_OK,
	    "round-trip",
	    slow ? "use a server that is nearer, or a longer --ttl" : NULL,
	    "%.2f ms (median of %zu), at most %.2f ms; the ttl is %g s",
	    (double)median / 1000, samples->count, (double)most / 1000,
	    (double)ttl_ms / 1000);
}

static void
add_difference(const struct visit *visit)
{
	struct check_offset offset = check_contact_offset(&visit->samples);
	int64_t ahead_us;
	bool far;

	if (!offset.is_known) {
		findings_add(visit->findings, FINDING_UNKNOWN, "clock",
		    visit->samples.is_denied ? "permit +time"
					     : "keep both clocks by NTP",
		    "the server does not say its time");
		return;
	}
	ahead_us = offset.us - clock_epoch() * 1000 + clock_now_us();
	far = llabs(ahead_us) > CHECK_FAR_US + offset.error_us;
	findings_add(visit->findings, far ? FINDING_WARNING : FINDING_OK,
	    "clock",
	    far ? "keep both clocks by NTP: if the server's is set forward "
		  "later, keys expire too soon"
		: NULL,
	    "%.3f s %s this host's", (double)llabs(ahead_us) / 1e6,
	    ahead_us < 0 ? "behind" : "ahead of");
}

void
check_contact_end(struct visit *visit)
{
	struct check_samples *samples = &visit->samples;
	int64_t step_us;

	if (!take_sample(visit, &samples->list[samples->count]))
		return;
	samples->count++;
	add_round_trip(visit);
	add_difference(visit);
	step_us = check_contact_step(samples);
	if (step_us != 0)
		findings_add(visit->findings, FINDING_WARNING, "clock-step",
		    "let NTP slew the clock: a step forward ends leases too "
		    "soon",
		    "the server's clock was set %s by %.3f s just now",
		    step_us < 0 ? "back" : "forward",
		    (double)llabs(step_us) / 1e6);
}

/* --- TLS -------------------------------------------------------------- */

/* whose: "the server's". */
static void
add_certificate(struct findings *findings, const char *whose,
    const struct tls_expiry *expiry)
{
	int64_t days = expiry->in_s / DAY_S;

	if (!expiry->known)
		return;
	if (days >= DAYS_ENOUGH)
		findings_add(findings, FINDING_OK, "certificate", NULL,
		    "%s is valid for %" PRId64 " days", whose, days);
	else if (expiry->in_s < 0)
		findings_add(findings, FINDING_WARNING, "certificate",
		    "renew it", "%s has expired", whose);
	else if (days < 1)
		findings_add(findings, FINDING_WARNING, "certificate",
		    "renew it",
		    "%s expires within a day: then no run gets a lock", whose);
	else
		findings_add(findings, FINDING_WARNING, "certificate",
		    "renew it",
		    "%s expires in %" PRId64 " day%s: then no run gets a lock",
		    whose, days, days == 1 ? "" : "s");
}

bool
check_contact_begin(struct visit *visit)
{
	const struct endpoint *endpoint = visit->enquiry.endpoint;
	const struct way *server = visit->enquiry.server;
	struct tls_session session;
	char address[64];
	bool is_local;

	if (!check_contact_measure(visit))
		return false;
	visit->findings->subject = way_label(server);
	is_local = !way_address_text(server, address, sizeof(address)) ||
		   strncmp(address, "127.", 4) == 0 ||
		   strcmp(address, "::1") == 0;
	if (way_describe_tls(server, &session)) {
		findings_add(visit->findings, FINDING_OK, "tls", NULL, "%s, %s",
		    session.protocol, session.cipher);
		add_certificate(visit->findings, "the server's",
		    &session.server_expiry);
		add_certificate(visit->findings, "that of --tls-cert",
		    &session.own_expiry);
	} else if (!endpoint->tls && !is_local) {
		findings_add(visit->findings, FINDING_NOTE, "tls",
		    "rediss:// in place of redis://, if the server can",
		    "the connection is not encrypted%s",
		    endpoint->password != NULL ||
			    endpoint->password_file != NULL
			? ", nor is the password"
			: "");
	}
	return true;
}

/* --- writes ----------------------------------------------------------- */

/* Since Redis 7 a script with a first line of flags that do not exclude writes
 * is refused at its start when a write would be. So nothing is written. */
static const char script[] = "#!lua\nreturn 1";
/* An older one has to write, after TIME as our scripts do. */
static const char old_script[] =
    "redis.pcall('TIME') return redis.pcall('SET',KEYS[1],'','PX',1)";

/* What the access rules deny, another check reports. */
static void
judge_write(const struct visit *visit, const struct question *question,
    bool by_script)
{
	const char *error = question->error;
	int64_t number;

	if (question->outcome == QUESTION_FAILED) {
		if (question->verdict != VERDICT_REFUSED)
			findings_add(visit->findings, EXITCODE_UNAVAILABLE,
			    "writes", reply_advise(error),
			    "the server refuses to write: %.256s",
			    reply_explain(error));
	} else if (by_script &&
		   !(value_integer(question->value, &number) && number == 1)) {
		findings_add(visit->findings, EXITCODE_UNAVAILABLE, "writes",
		    "check the address: this may be no Redis server",
		    "the server does not return what a script does");
	}
}

/* The key must belong to this node of a cluster; NULL: any node is asked.
 * Others are asked by a key, as a proxy refuses a script without: it would not
 * know which server is meant. */
static bool
try_write(struct visit *visit, const char *key)
{
	struct question question = {.argv = QUESTION_WORDS("EVAL", script,
					key != NULL ? "1" : "0", key)};
	bool answered = check_contact_ask(visit, &question, 1);
	bool old = answered && question.outcome == QUESTION_FAILED &&
		   reply_is(question.error, "ERR Error compiling script");

	if (old) {
		enquiry_forget(&question, 1);
		if (visit->scratch == NULL)
			return true;
		question.argv =
		    QUESTION_WORDS("EVAL", old_script, "1", visit->scratch);
		answered = check_contact_ask(visit, &question, 1);
	}
	if (answered)
		judge_write(visit, &question, !old);
	enquiry_forget(&question, 1);
	return answered;
}

bool
check_contact_writes(struct visit *visit, bool is_node)
{
	const struct opts *opts = visit->enquiry.opts;
	size_t before = visit->findings->count;

	if (visit->scratch == NULL || (is_node && opts->key_count == 0))
		return try_write(visit, NULL);
	if (opts->key_count == 0)
		return try_write(visit, visit->scratch);
	for (size_t i = 0; i < opts->key_count; i++)
		if (!try_write(visit, opts->keys[i].key))
			return false;
		else if (visit->findings->count > before)
			break;
	return true;
}
