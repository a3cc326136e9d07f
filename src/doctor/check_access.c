#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "doctor/checks.h"
#include "doctor/needs.h"
#include "doctor/rows.h"
#include "lock/claim.h"
#include "lock/config.h"
#include "lock/kind.h"
#include "lock/token.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"

_Static_assert((int)NEEDS_COMMANDS <= (int)VISIT_QUESTIONS,
    "all are asked at once");

#define IN_SCRIPT "EVAL|return redis.call(unpack(ARGV))|1|" VISIT_KEY "|"

enum access {
	ACCESS_PERMITTED, /* or not known */
	ACCESS_DENIED,	  /* the command is */
	ACCESS_NO_KEY,	  /* the key is */
	ACCESS_MISSING,	  /* the server has no such command */
};

/* One of the locks, or the scratch key in their place. */
struct names {
	struct key_names keys;
	uint64_t usable; /* those of a name that can have helper keys here */
	uint64_t denied; /* of these */
};

struct rules {
	struct visit *visit;
	struct lock_config config;
	char *own_user; /* at the server */
	bool is_dry;	/* by ACL DRYRUN */
	struct names names[OPTS_KEYS_MAX];
	size_t names_count;
	/* What is denied, and of the commands those that the server does not
	 * have, and those that did what they are for. */
	struct needs denied;
	uint64_t missing, succeeded;
	enum claim_tier top; /* of the best that one of the locks may have */
};

char *
check_access_scratch(const struct opts *opts)
{
	char token[TOKEN_SIZE];
	const char *key = opts->key_count > 0 ? opts->keys[0].key : NULL;

	if (token_make(token) == -1)
		snprintf(token, sizeof(token), "scratch");
	return key != NULL
		   ? mem_printf("%.*s:doctor:%s", (int)OPTS_KEY_MAX, key, token)
		   : mem_printf("%sdoctor:%s", opts->prefix, token);
}

/* --- asking ----------------------------------------------------------- */

/* By the words of Redis 6 to 8, of Valkey, and of ACL DRYRUN, which answers OK,
 * or in words why not. A proxy has words of its own. An error that is no denial
 * shows that the command was run, or would be. */
static enum access
judge_access(const struct question *question, enum needs_trial kind)
{
	bool failed = question->outcome == QUESTION_FAILED;
	const char *words =
	    failed ? question->error : value_text(question->value);

	if (words == NULL)
		return ACCESS_PERMITTED;
	if (strstr(words, "o permissions to access") != NULL)
		return ACCESS_NO_KEY;
	if (strstr(words, "no permissions") != NULL ||
	    reply_is(words, "NOPERM"))
		return ACCESS_DENIED;
	if (reply_denies_command(words) ||
	    reply_is(words, "ERR Unknown subcommand") ||
	    strstr(words, " command called from ") != NULL ||
	    (reply_is(words, "ERR Command ") &&
		strstr(words, "not found") != NULL))
		return ACCESS_MISSING;
	/* Redis before 6 knows no part of a second, which a run does without.
	 */
	return failed && kind == NEEDS_TRIAL_SUCCEEDS &&
		       question->verdict == VERDICT_REPORT &&
		       !reply_is(words, "ERR timeout is not an integer")
		   ? ACCESS_MISSING
		   : ACCESS_PERMITTED;
}

/* And whether it can be asked for by ACL DRYRUN, which came with Redis 7. */
static void
find_user(struct rules *rules)
{
	struct visit *visit = rules->visit;
	const char *user = visit->enquiry.endpoint->user, *name;
	const struct question *question = visit_ask_one(visit, "ACL|WHOAMI");

	name = value_text(question->value);
	rules->own_user = mem_strdup(name != NULL   ? name
				     : user != NULL ? user
						    : "default");
	visit->user = rules->own_user;
	question = visit_ask_one(visit, "ACL|DRYRUN|" VISIT_USER "|TIME");
	rules->is_dry = question->outcome == QUESTION_ANSWERED;
}

/* With DRYRUN the key is that of a lock, which only scripts that do nothing may
 * touch. Other commands are sent as they are: a service or a proxy may refuse
 * what the rules of the server permit. */
static bool
is_dry(const struct rules *rules, size_t command)
{
	const struct needs_command_row *row = &needs_commands[command];

	return rules->is_dry && row->trial != NEEDS_TRIAL_DIRECT &&
	       strstr(row->words, VISIT_KEY) != NULL;
}

/* Each command of the set, in a script or as it is. */
static void
try_commands(struct rules *rules, uint64_t set, bool in_script)
{
	struct visit *visit = rules->visit;
	const struct question *question;

	if (set == 0)
		return;
	visit->key = rules->is_dry ? rules->names[0].keys.lock : visit->scratch;
	for (size_t i = 0; i < NEEDS_COMMANDS; i++)
		if (set & NEEDS_BIT(i))
			visit_add(visit,
			    in_script	       ? IN_SCRIPT
			    : is_dry(rules, i) ? "ACL|DRYRUN|" VISIT_USER "|"
					       : "",
			    needs_commands[i].words);
	question = visit_ask(visit);
	rules->missing &= ~set;
	for (size_t i = 0; i < NEEDS_COMMANDS; i++) {
		uint64_t bit = set & NEEDS_BIT(i);
		enum access access;

		if (bit == 0)
			continue;
		access = judge_access(question, needs_commands[i].trial);
		rules->missing |= access == ACCESS_MISSING ? bit : 0;
		rules->denied.commands |= access == ACCESS_DENIED ? bit : 0;
		if (question++->outcome == QUESTION_ANSWERED)
			rules->succeeded |= bit;
	}
}

/* SET creates the scratch key, as a string: a command for another type is then
 * permitted or denied without effect. The last command deletes it; if that is
 * denied, what created it ends its life. If it could not be created, commands
 * that might create another key are left out. A proxy refuses what it cannot
 * send to a server, but never looks into scripts: there, the server itself
 * answers. */
static void
try_all(struct rules *rules)
{
	uint64_t rest = 0, again = 0;
	bool has_key;

	try_commands(rules, NEEDS_BIT(NEEDS_SET), false);
	has_key = (rules->succeeded & NEEDS_BIT(NEEDS_SET)) != 0;
	for (size_t i = NEEDS_SET + 1; i < NEEDS_COMMANDS; i++)
		if (*needs_commands[i].words != '\0' &&
		    (rules->is_dry || has_key ||
			needs_commands[i].trial != NEEDS_TRIAL_CREATES))
			rest |= NEEDS_BIT(i);
	try_commands(rules, rest, false);
	for (size_t i = 0; i < NEEDS_COMMANDS; i++)
		if (needs_commands[i].trial == NEEDS_TRIAL_PLAIN &&
		    !is_dry(rules, i))
			again |= rules->missing & NEEDS_BIT(i);
	try_commands(rules, again, true);
	rules->denied.commands |= rules->missing;
	if (!rules->is_dry && has_key &&
	    !(rules->succeeded & NEEDS_BIT(NEEDS_DEL)))
		visit_ask_one(rules->visit, "SET|" VISIT_KEY "||PX|1");
}

static bool
is_denied(const struct rules *rules, enum needs_command command)
{
	return (rules->denied.commands & NEEDS_BIT(command)) != 0;
}

/* By a script that does nothing, as all of ours declare their keys. So those of
 * the locks themselves can be asked for. */
static void
try_keys(struct rules *rules, struct names *names)
{
	struct visit *visit = rules->visit;
	const struct question *questions;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		visit->key = names->keys.all[i];
		visit_add(visit, "",
		    is_denied(rules, NEEDS_EVALSHA)
			? "EVAL|return 1|1|" VISIT_KEY
			: "EVALSHA|0|1|" VISIT_KEY);
	}
	questions = visit_ask(visit);
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (judge_access(&questions[i], NEEDS_TRIAL_PLAIN) ==
		    ACCESS_NO_KEY)
			names->denied |= NEEDS_BIT(i) & names->usable;
	rules->denied.keys |= names->denied;
}

/* Without EVAL a run depends on scripts that the server has run before. They
 * are run without keys, which each of them answers by an error. */
static void
try_scripts(struct rules *rules)
{
	const struct kind *kind = rules->config.kind;
	const struct script *scripts[] = {kind->acquire, kind->renew,
	    kind->release};
	struct visit *visit = rules->visit;
	bool known = !is_denied(rules, NEEDS_EVALSHA);

	if (!is_denied(rules, NEEDS_EVAL))
		return;
	for (size_t i = 0; i < 3 && known; i++) {
		const struct question *question;

		visit->key = scripts[i]->digest;
		question = visit_ask_one(visit, "EVALSHA|" VISIT_KEY "|0");
		known = question->error != NULL &&
			!reply_is(question->error, "NOSCRIPT");
	}
	if (!known) {
		rules->denied.commands ^=
		    NEEDS_BIT(NEEDS_EVAL) | NEEDS_BIT(NEEDS_SCRIPTS);
		if (rules->missing & NEEDS_BIT(NEEDS_EVAL))
			rules->missing |= NEEDS_BIT(NEEDS_SCRIPTS);
	}
}

/* --- what is denied ----------------------------------------------------- */

/* The pattern of a rule that permits this key: "[*]" stands for "*". What no
 * rule can contain (spaces), or what redis-cli takes for something else, is
 * "?", which stands for any byte. To be freed. */
static char *
key_pattern(const char *key)
{
	char *pattern = mem_alloc(3 * strlen(key) + 1), *end = pattern;

	for (; *key != '\0'; key++) {
		bool is_unfit = isspace((unsigned char)*key) ||
				iscntrl((unsigned char)*key) ||
				strchr("\"'\\", *key) != NULL;
		bool is_special = strchr("*?[", *key) != NULL;

		end += sprintf(end, is_special ? "[%c]" : "%c",
		    is_unfit ? '?' : *key);
	}
	return pattern;
}

/* As rules, such as "+zadd ~{job}:rlk:*". To be freed. */
static char *
list_rules(const struct rules *rules, const struct needs *lacking)
{
	char *list = mem_strdup("");

	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if (lacking->commands & NEEDS_BIT(i))
			rows_put(&list, "%s+%s", *list != '\0' ? " " : "",
			    needs_commands[i].rule);
	for (size_t i = 0; i < rules->names_count; i++) {
		const struct names *names = &rules->names[i];
		uint64_t keys = lacking->keys & names->denied;
		char *pattern = key_pattern(names->keys.lock);
		char *helpers = key_helper(pattern, '*');

		if (keys & NEEDS_BIT(KEY_LOCK))
			rows_put(&list, "%s~%s", *list != '\0' ? " " : "",
			    pattern);
		if (keys & ~NEEDS_BIT(KEY_LOCK))
			rows_put(&list, "%s~%s", *list != '\0' ? " " : "",
			    helpers);
		free(helpers);
		free(pattern);
	}
	return list;
}

static void
add_finding(struct rules *rules, const struct needs_row *row,
    const struct needs *lacking, enum needs_use use)
{
	const struct visit *visit = rules->visit;
	char *list = list_rules(rules, lacking), save[64] = "";
	char *text = mem_printf("%s: not permitted: %s", row->without, list);
	char *remedy;
	int severity = FINDING_NOTE;

	info_text(visit->facts, "save_rules", save, sizeof(save));
	if (rules->missing & lacking->commands)
		remedy = mem_strdup("the server lacks a command, or a proxy "
				    "refuses it: see rename-command in its "
				    "configuration, or what the provider "
				    "supports");
	else
		remedy =
		    mem_printf("ACL SETUSER %s %s, then %s", rules->own_user,
			list, *save != '\0' ? save : CHECK_SAVE_RULES);
	if (use == NEEDS_USED)
		severity = needs_refuses(row, &rules->config) ? EXITCODE_REFUSED
							      : FINDING_WARNING;
	findings_add(visit->findings, severity, row->check, text, remedy);
	free(remedy);
	free(text);
	free(list);
}

/* Of all that a denial means for this run, the gravest is reported, which comes
 * first in the table. What the run does not use are notes. */
static void
add_findings(struct rules *rules)
{
	const struct needs *denied = &rules->denied;
	struct needs reported = {0, 0};

	for (const struct needs_row *row = needs_rows; *row->check != '\0';
	     row++) {
		enum needs_use use = needs_use_of(row, &rules->config,
		    rules->visit->enquiry.endpoint);
		struct needs lacking = {row->needs.commands & denied->commands,
		    row->needs.keys & denied->keys & ~reported.keys};

		if (use == NEEDS_ELSEWHERE || row->tier > rules->top)
			continue;
		if (use == NEEDS_USED) {
			lacking.commands &= ~reported.commands;
			reported.commands |= lacking.commands;
			reported.keys |= lacking.keys;
		}
		/* One rule permits them all. */
		if (reported.keys & ~NEEDS_BIT(KEY_LOCK))
			reported.keys |= NEEDS_HELPER_KEYS;
		if (lacking.commands != 0 || lacking.keys != 0)
			add_finding(rules, row, &lacking, use);
	}
}

static void
judge_rules(struct rules *rules)
{
	struct findings *findings = rules->visit->findings;
	size_t before = findings->count;

	/* Without -k nobody knows which names the rules should permit. */
	if (rules->visit->enquiry.opts->key_count == 0 &&
	    (rules->denied.keys & NEEDS_BIT(KEY_LOCK))) {
		rows_judge_facts("access keys", findings, "scratch:%s\n",
		    rules->visit->scratch);
		rules->denied.keys = 0;
	}
	add_findings(rules);
	if (findings->count == before)
		rows_judge_facts("access", findings, "user:%s\nway:%s\n",
		    rules->own_user,
		    rules->is_dry ? "ACL DRYRUN" : "a scratch key");
}

void
check_access(struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	struct rules rules = {.visit = visit,
	    .config = opts->lock,
	    .names_count = opts->key_count > 0 ? opts->key_count : 1};

	rules.config.server = visit->enquiry.endpoint;
	for (size_t i = 0; i < rules.names_count; i++) {
		enum claim_tier tier;

		rules.config.key =
		    opts->key_count > 0 ? opts->keys[i].key : visit->scratch;
		key_names_init(&rules.names[i].keys, rules.config.key, NULL);
		tier = claim_top_tier(&rules.config);
		rules.names[i].usable = tier == CLAIM_FULL
					    ? NEEDS_BIT(KEY_COUNT) - 1
					    : NEEDS_BIT(KEY_LOCK);
		rules.top = tier > rules.top ? tier : rules.top;
	}
	find_user(&rules);
	try_all(&rules);
	try_scripts(&rules);
	for (size_t i = 0; i < rules.names_count; i++)
		try_keys(&rules, &rules.names[i]);
	if (!visit->is_over)
		judge_rules(&rules);
	for (size_t i = 0; i < rules.names_count; i++)
		key_names_fini(&rules.names[i].keys);
	free(rules.own_user);
}
