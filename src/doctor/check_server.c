/* What a server says of itself becomes facts: the settings first, then INFO,
 * then what follows from several values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "redis/info.h"
#include "redis/reply.h"

enum { CLIENTS_SPARE = 32, CLIENTS_PART = 10 };
enum { VALUE_SIZE = 256 };

/* --- the facts -------------------------------------------------------- */

/* Why something is not known, and the rule that would let one look. */
static void
put_error(char **facts, const char *what, const char *error, const char *rule)
{
	char name[16];

	snprintf(name, sizeof(name), "no_%s", what);
	rows_put(facts, name, "%.256s", error);
	if (!reply_is(error, "NOPERM"))
		return;
	snprintf(name, sizeof(name), "%s_denied", what);
	rows_put_flag(facts, name, true);
	snprintf(name, sizeof(name), "see_%s", what);
	rows_put(facts, name, "permit %s", rule);
}

/* The answer to CONFIG GET. */
static void
put_setting(char **facts, const struct question *question)
{
	const char *name = question->argv[2];
	const char *value = value_text(value_at(question->value, 1));

	if (value != NULL && strcmp(name, "save") == 0)
		rows_put(facts, "snapshots", *value != '\0' ? "yes" : "no");
	else if (value != NULL && strcmp(name, "aclfile") == 0)
		rows_put(facts, "save_rules",
		    *value != '\0' ? "ACL SAVE" : "CONFIG REWRITE");
	else if (value != NULL)
		rows_put(facts, name, "%s", value);
	else if (question->error != NULL)
		put_error(facts, "config", question->error, "+config|get");
}

/* The mode and the version, by the words of Redis, of Valkey and of Redict. */
static void
put_kind(char **facts, const struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	const char *file =
	    !info_is(*facts, "valkey_version", "")   ? "valkey.conf"
	    : !info_is(*facts, "redict_version", "") ? "redict.conf"
						     : "redis.conf";
	char version[VALUE_SIZE], mode[VALUE_SIZE];
	int64_t major = -1;

	info_text(*facts, "redis_version", version, sizeof(version));
	info_text(*facts, "redis_mode", mode, sizeof(mode));
	if (*mode == '\0')
		info_text(*facts, "server_mode", mode, sizeof(mode));
	if (*mode == '\0')
		info_text(*facts, "redict_mode", mode, sizeof(mode));
	version[strcspn(version, ".")] = '\0';
	(void)num_int(version, 0, INT64_MAX, &major);
	if (major >= 0)
		rows_put(facts, "major", "%" PRId64, major);
	rows_put(facts, "file", "%s", file);
	rows_put(facts, "mode", "%s", mode);
	rows_put(facts, "save_rules", "%s", visit->save_rules);
	rows_put_flag(facts, "in_cluster", opts->servers[0].cluster);
	rows_put_flag(facts, "fails_over",
	    visit->enquiry.endpoint->master != NULL ||
		strcmp(mode, "cluster") == 0);
	rows_put_flag(facts, "abstains",
	    opts->server_count > 1 && opts->min_uptime_ms >= opts->ttl_ms &&
		opts->min_uptime_ms >= opts->min_hold_ms);
}

static void
put_resources(char **facts)
{
	int64_t most = info_number(*facts, "maxmemory");
	int64_t used = info_number(*facts, "used_memory");
	int64_t clients = info_number(*facts, "connected_clients");
	int64_t admitted = info_number(*facts, "maxclients");
	int64_t left = admitted - clients;
	bool is_known = clients >= 0 && admitted >= 0;

	if (most > 0 && used >= 0)
		rows_put(facts, "percent", "%" PRId64, used / (most / 100 + 1));
	if (is_known)
		rows_put(facts, "left", "%" PRId64, left);
	rows_put_flag(facts, "few",
	    is_known &&
		(left < CLIENTS_SPARE || left < admitted / CLIENTS_PART));
}

/* What keeps an append-only file from having all that the server has
 * acknowledged. Only always is worth that much. */
static void
put_persistence(char **facts)
{
	bool rewriting = info_number(*facts, "aof_rewrite_in_progress") > 0 ||
			 info_number(*facts, "aof_rewrite_scheduled") > 0;
	bool flawed = rewriting ||
		      info_is(*facts, "aof_last_bgrewrite_status", "err") ||
		      info_is(*facts, "no-appendfsync-on-rewrite", "yes") ||
		      !info_is(*facts, "replay_lacks", "") ||
		      !info_is(*facts, "renamed", "");

	rows_put_flag(facts, "rewriting", rewriting);
	rows_put_flag(facts, "flawed", flawed);
}

/* What --wait-replicas demands, and what the server demands by itself. */
static void
put_replicas(char **facts, int wanted)
{
	int64_t good = info_number(*facts, "min_slaves_good_slaves");
	int64_t least = info_number(*facts, "min-replicas-to-write");
	int64_t all = info_number(*facts, "connected_slaves");
	int64_t online = info_online_replicas(*facts);
	char last[32], line[VALUE_SIZE] = "";
	bool out_of_sync = least > 0 && good >= 0 && good < least;
	bool too_few;

	/* Whether those are online that it counts and does not list? */
	snprintf(last, sizeof(last), "slave%" PRId64, all - 1);
	info_text(*facts, last, line, sizeof(line));
	if (all > 0 && *line == '\0')
		online = -1;
	too_few = online >= 0 && online < wanted;
	if (all > 0)
		rows_put(facts, "too", "; on each replica, too");
	rows_put_flag(facts, "out_of_sync", out_of_sync);
	rows_put_flag(facts, "too_few", too_few);
	rows_put_flag(facts, "replicated",
	    online > 0 && !out_of_sync && !too_few);
	if (online >= 0)
		rows_put(facts, "online", "%" PRId64, online);
	if (online < all)
		rows_put(facts, "offline", "%" PRId64, all - online);
	if (wanted > 0)
		rows_put(facts, "wanted", "%d", wanted);
}

/* --- the verdict ------------------------------------------------------ */

bool
check_server_rows(const char *facts, struct findings *findings)
{
	if (rows_judge(ABOUT_USELESS, FINDING_OK, facts, findings) > 0)
		return false;
	rows_judge(ABOUT_SERVER, FINDING_OK, facts, findings);
	rows_judge(ABOUT_KEPT, FINDING_OK, facts, findings);
	rows_judge(ABOUT_OTHERS, FINDING_OK, facts, findings);
	return true;
}

bool
check_server_replica_rows(const char *facts, struct findings *findings)
{
	size_t added = rows_judge(ABOUT_REPLICA, FINDING_NOTE, facts, findings);

	if (added == 0 || !info_is(facts, "loading", "1"))
		added += rows_judge(ABOUT_KEPT, FINDING_NOTE, facts, findings);
	return added == 0;
}

/* --- asking ----------------------------------------------------------- */

/* To be freed. */
static char *
gather_facts(const struct visit *visit, const struct question *questions,
    size_t count)
{
	const char *info = value_text(questions[0].value);
	const char *error = questions[0].error;
	char *facts = mem_strdup("");

	for (size_t i = 1; i < count; i++)
		put_setting(&facts, &questions[i]);
	if (info != NULL) {
		char *both = mem_printf("%s%s\n", facts, info);

		free(facts);
		facts = both;
	} else {
		put_error(&facts, "info",
		    error != NULL ? error : "its reply is no text", "+info");
	}
	rows_put(&facts, "see_info", CHECK_SEE);
	rows_put(&facts, "see_config", CHECK_SEE);
	put_kind(&facts, visit);
	put_resources(&facts);
	if (info != NULL)
		put_replicas(&facts, visit->enquiry.opts->replicas);
	return facts;
}

char *
check_server_facts(struct visit *visit)
{
	struct question questions[] = {{.argv = QUESTION_WORDS("INFO")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "appendfsync")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET",
		 "no-appendfsync-on-rewrite")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "save")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "maxclients")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "aclfile")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "min-replicas-to-write")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "min-replicas-max-lag")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET",
		 "cluster-replica-no-failover")}};
	const size_t count = sizeof(questions) / sizeof(*questions);
	char *facts = NULL;

	if (check_contact_ask(visit, questions, count)) {
		facts = gather_facts(visit, questions, count);
		if (check_replay(visit, &facts)) {
			put_persistence(&facts);
		} else {
			free(facts);
			facts = NULL;
		}
	}
	enquiry_forget(questions, count);
	return facts;
}

bool
check_server(struct visit *visit, bool *is_node)
{
	const struct enquiry *enquiry = &visit->enquiry;
	struct check_identity *identity = &visit->identity;
	bool is_unix = enquiry->endpoint->transport == URL_UNIX;
	const char *facts;

	facts = visit->facts = check_server_facts(visit);
	if (facts == NULL)
		return false;
	*identity = (struct check_identity){.label = enquiry->endpoint->label,
	    .uptime_s = info_number(facts, "uptime_in_seconds"),
	    .clock = check_contact_offset(&visit->samples)};
	info_text(facts, "run_id", identity->run_id, sizeof(identity->run_id));
	info_text(facts, "save_rules", visit->save_rules,
	    sizeof(visit->save_rules));
	if (!way_address_text(enquiry->server, identity->address,
		sizeof(identity->address)))
		snprintf(identity->address, sizeof(identity->address), "%s",
		    is_unix ? "localhost" : "");
	*is_node = info_is(facts, "mode", "cluster");
	if (check_server_rows(facts, visit->findings))
		return true;
	free(visit->facts);
	visit->facts = NULL;
	return false;
}
