#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "lock/claim.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/tls/tls.h"

enum { STEP_MIN_US = 10000 }; /* more than drift */
enum { DAY_S = 24 * 60 * 60 };

/* --- probes ----------------------------------------------------------- */

void
check_server_note(struct clock *clock, int64_t sent_us, int64_t took_us,
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
		check_server_note(&visit->clock, question->sent_us,
		    question->took_us, time_us);
}

void
check_server_measure(struct visit *visit)
{
	visit->clock = (struct clock){.count = 0};
	for (int i = 0; i <= VISIT_PROBES; i++)
		probe(visit, i > 0);
}

void
check_server_end(struct visit *visit)
{
	const struct clock *clock = &visit->clock;
	int64_t ttl_ms = visit->enquiry.opts->lock.ttl_ms;
	char **facts = &visit->facts;
	int64_t median_us, longest_us, ahead_us;

	probe(visit, true);
	if (visit->is_over)
		return;
	median_us = clock->took_us[clock->count / 2];
	longest_us = clock->took_us[clock->count - 1];
	rows_put(facts, "trips:%zu\nmedian:%.2f\nlongest:%.2f\nttl:%g\n",
	    clock->count, (double)median_us / 1000, (double)longest_us / 1000,
	    (double)ttl_ms / 1000);
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
check_server_begin(struct visit *visit)
{
	const struct endpoint *endpoint = visit->enquiry.endpoint;
	const struct way *server = visit->enquiry.server;
	struct tls_session session = {.protocol = ""};
	char **facts = &visit->facts, address[64];
	bool is_local;

	check_server_measure(visit);
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
check_server_writes(struct visit *visit)
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

/* --- what it says of itself ----------------------------------------------
 *
 * It becomes facts: the settings first, then INFO, then what follows from
 * several values. */

enum { CLIENTS_SPARE = 32, CLIENTS_PART = 10 };

/* What is asked of each server, INFO first. The server writes the commands of
 * the last one into its append-only file by itself, under these names. */
static const char asked[][52] = {
    "INFO",
    "CONFIG|GET|appendfsync",
    "CONFIG|GET|no-appendfsync-on-rewrite",
    "CONFIG|GET|save",
    "CONFIG|GET|maxclients",
    "CONFIG|GET|aclfile",
    "CONFIG|GET|min-replicas-to-write",
    "CONFIG|GET|min-replicas-max-lag",
    "CONFIG|GET|cluster-replica-no-failover",
    "COMMAND|INFO|SELECT|MULTI|EXEC|PEXPIREAT|DEL",
};
enum { ASKED = sizeof(asked) / sizeof(*asked), OWN_COMMANDS = 5 };

/* What scripts leave in an append-only file. */
static const char replayed[][20] = {
    "SELECT|0",
    "SET|" VISIT_KEY "|v",
    "DEL|" VISIT_KEY,
    "PEXPIREAT|" VISIT_KEY "|1",
    "HSET|" VISIT_KEY "|f|v",
    "HDEL|" VISIT_KEY "|f",
    "ZADD|" VISIT_KEY "|1|m",
    "ZREM|" VISIT_KEY "|m",
    "RPUSH|" VISIT_KEY "|e",
};
enum { REPLAYED = sizeof(replayed) / sizeof(*replayed) };

/* --- the facts -------------------------------------------------------- */

/* The answer to CONFIG GET. */
static void
put_setting(char **facts, const struct question *question)
{
	const char *name = question->argv[2];
	const char *value = value_text(value_at(question->value, 1));

	if (value != NULL && strcmp(name, "save") == 0)
		rows_put(facts, "snapshots:%s\n",
		    *value != '\0' ? "yes" : "no");
	else if (value != NULL && strcmp(name, "aclfile") == 0)
		rows_put(facts, "save_rules:%s\n",
		    *value != '\0' ? "ACL SAVE" : "CONFIG REWRITE");
	else if (value != NULL)
		rows_put(facts, "%s:%s\n", name, value);
	else if (question->error != NULL)
		visit_put_unknown(facts, "config", question->error,
		    "+config|get");
}

/* What it is by the words of Redis, of Valkey and of Redict, and in its place
 * among others. */
static void
put_kind(char **facts, const struct visit *visit)
{
	static const char modes[][12] = {"redis_mode", "server_mode",
	    "redict_mode"};
	const struct opts *opts = visit->enquiry.opts;
	const char *file =
	    !info_is(*facts, "valkey_version", "")   ? "valkey.conf"
	    : !info_is(*facts, "redict_version", "") ? "redict.conf"
						     : "redis.conf";
	char mode[16] = "";

	for (size_t i = 0; i < 3 && *mode == '\0'; i++)
		info_text(*facts, modes[i], mode, sizeof(mode));
	rows_put(facts, "file:%s\nmode:%s\nsave_rules:%s\n", file, mode,
	    CHECK_SAVE_RULES);
	rows_put_flag(facts, "in_cluster", opts->servers[0].cluster);
	rows_put_flag(facts, "fails_over",
	    visit->enquiry.endpoint->master != NULL ||
		strcmp(mode, "cluster") == 0);
	rows_put_flag(facts, "abstains",
	    opts->server_count > 1 &&
		opts->lock.min_uptime_ms >= opts->lock.ttl_ms &&
		opts->lock.min_uptime_ms >= opts->min_hold_ms);
}

static void
put_resources(char **facts)
{
	int64_t most = info_number(*facts, "maxmemory");
	int64_t used = info_number(*facts, "used_memory");
	int64_t clients = info_number(*facts, "connected_clients");
	int64_t admitted = info_number(*facts, "maxclients");
	int64_t left = admitted - clients;

	if (most > 0 && used >= 0)
		rows_put(facts, "percent:%" PRId64 "\n",
		    used / (most / 100 + 1));
	rows_put_flag(facts, "few",
	    left < CLIENTS_SPARE || left < admitted / CLIENTS_PART);
	if (clients >= 0 && admitted >= 0)
		rows_put(facts, "left:%" PRId64 "\n", left);
	rows_put_flag(facts, "rewriting",
	    info_number(*facts, "aof_rewrite_in_progress") > 0 ||
		info_number(*facts, "aof_rewrite_scheduled") > 0);
}

/* What --wait-replicas demands, and what the server demands by itself. */
static void
put_replicas(char **facts, int wanted)
{
	int64_t good = info_number(*facts, "min_slaves_good_slaves");
	int64_t least = info_number(*facts, "min-replicas-to-write");
	int64_t all = info_number(*facts, "connected_slaves");
	int64_t online = info_online_replicas(*facts);
	char last[32], line[2];
	bool out_of_sync = least > 0 && good >= 0 && good < least;

	/* Whether those are online that it counts and does not list? */
	snprintf(last, sizeof(last), "slave%" PRId64, all - 1);
	info_text(*facts, last, line, sizeof(line));
	if (all > 0 && *line == '\0')
		online = -1;
	rows_put_flag(facts, "out_of_sync", out_of_sync);
	rows_put_flag(facts, "too_few", online >= 0 && online < wanted);
	rows_put_flag(facts, "replicated",
	    online > 0 && !out_of_sync && online >= wanted);
	if (all > 0)
		rows_put(facts, "too:; on each replica, too\n");
	if (online >= 0)
		rows_put(facts, "online:%" PRId64 "\n", online);
	if (online < all)
		rows_put(facts, "offline:%" PRId64 "\n", all - online);
	if (wanted > 0)
		rows_put(facts, "wanted:%d\n", wanted);
}

/* --- asking ----------------------------------------------------------- */

/* Whether user default may do what is replayed with that key: DRYRUN replies
 * OK, or in words why not. A command that does not exist is reported by other
 * checks. */
static void
ask_replay(struct visit *visit, const char *key, bool *is_known)
{
	const struct question *questions;

	visit->key = key;
	for (size_t i = 0; i < REPLAYED; i++)
		visit_add(visit, "ACL|DRYRUN|default|", replayed[i]);
	questions = visit_ask(visit);
	for (size_t i = 0; i < REPLAYED; i++) {
		const char *words = value_text(questions[i].value);
		const char *error = questions[i].error;

		if (words != NULL && strstr(words, " key") != NULL)
			rows_put(&visit->facts,
			    "replay_lacks:write the keys of locks\n");
		else if (words != NULL && strcmp(words, "OK") != 0)
			rows_put(&visit->facts, "replay_lacks:run %.*s\n",
			    (int)strcspn(replayed[i], "|"), replayed[i]);
		else if (words == NULL && error != NULL &&
			 !reply_is(error, "ERR Command '")) {
			*is_known = false;
			visit_put_unknown(&visit->facts, "acl", error,
			    "+acl|dryrun");
		}
	}
}

/* Redis 6 has no DRYRUN, and these flags. */
static void
ask_flags(struct visit *visit, bool *is_known)
{
	const struct question *question =
	    visit_ask_one(visit, "ACL|GETUSER|default");
	const struct value *flags;
	size_t count, all = 0;

	flags = value_at(question->value, 1);
	value_count(flags, &count);
	for (size_t i = 0; i < count; i++) {
		const char *flag = value_text(value_at(flags, i));

		all += flag != NULL && (strcmp(flag, "allkeys") == 0 ||
					   strcmp(flag, "allcommands") == 0);
	}
	*is_known = all == 2;
}

/* When it starts, a server replays its append-only file as user default, even
 * if that user is disabled. Between MULTI and EXEC, where the file has what
 * scripts write, it drops each command that this user may not run, and only its
 * log says so. Asked for are the keys of the options, or those of a lock that
 * nobody has. */
static void
check_replay(struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	size_t count = opts->key_count > 0 ? opts->key_count : 1;
	bool is_known = true;
	char version[16];

	info_text(visit->facts, "redis_version", version, sizeof(version));
	if (strtol(version, NULL, 10) < 6)
		return;
	for (size_t i = 0; i < count && is_known; i++) {
		const char *key = opts->key_count > 0	   ? opts->keys[i].key
				  : visit->scratch != NULL ? visit->scratch
							   : "doctor";
		char *helper = key_helper(key, 'i');

		ask_replay(visit, key, &is_known);
		ask_replay(visit, helper, &is_known);
		free(helper);
	}
	if (!is_known)
		ask_flags(visit, &is_known);
	rows_put_flag(&visit->facts, "replay_unknown", !is_known);
}

void
check_server_ask(struct visit *visit)
{
	const struct question *questions, *own;
	char **facts = &visit->facts;
	const char *info;
	size_t count;

	for (size_t i = 0; i < ASKED; i++)
		visit_add(visit, "", asked[i]);
	questions = visit_ask(visit);
	for (size_t i = 1; i < ASKED - 1; i++)
		put_setting(facts, &questions[i]);
	info = value_text(questions[0].value);
	if (info != NULL)
		rows_put(facts, "%s\n", info);
	else
		visit_put_unknown(facts, "info",
		    questions[0].error != NULL ? questions[0].error
					       : "its reply is no text",
		    "+info");
	rows_put(facts, "see_info:" ROWS_SEE "\nsee_config:" ROWS_SEE "\n");
	own = &questions[ASKED - 1];
	value_count(own->value, &count);
	for (size_t i = count == OWN_COMMANDS ? count : 0; i-- > 0;)
		if (value_is_nil(value_at(own->value, i)))
			rows_put(facts, "renamed:%s\n", own->argv[2 + i]);
	put_kind(facts, visit);
	put_resources(facts);
	if (info != NULL)
		put_replicas(facts, visit->enquiry.opts->lock.replicas);
	check_replay(visit);
}

/* --- the verdict ------------------------------------------------------ */

bool
check_server_rows(const char *facts, struct findings *findings)
{
	if (rows_judge("useless", facts, findings) > 0)
		return false;
	rows_judge("server", facts, findings);
	rows_judge("kept", facts, findings);
	rows_judge("others", facts, findings);
	return true;
}

bool
check_server(struct visit *visit)
{
	const struct enquiry *enquiry = &visit->enquiry;
	bool is_unix = enquiry->endpoint->transport == URL_UNIX;
	char address[64];

	check_server_ask(visit);
	if (visit->is_over)
		return false;
	if (way_address_text(enquiry->server, address, sizeof(address)))
		rows_put(&visit->facts, "address:%s\n", address);
	else if (is_unix)
		rows_put(&visit->facts, "address:localhost\n");
	free(visit->identity.facts);
	visit->identity = (struct identity){.facts = mem_strdup(visit->facts),
	    .clock = visit->clock.best};
	return check_server_rows(visit->facts, visit->findings);
}
