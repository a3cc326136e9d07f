#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "doctor/checks.h"
#include "doctor/needs.h"
#include "lock/claim.h"
#include "lock/config.h"
#include "lock/kind.h"
#include "lock/token.h"
#include "lock/votes.h"
#include "redis/reply.h"

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
	/* What is denied, the commands of it that the server does not have, and
	 * what of it a finding about this run names, */
	struct needs denied;
	uint64_t missing;
	struct needs reported;
	enum claim_tier top; /* of the best that one of the locks may have */
	size_t lacking;	     /* rows of needs.h */
};

/* A command that is tried. */
struct trial {
	const char *words; /* as in the table */
	enum needs_trial kind;
	const char *key;
	bool succeeded;
	enum access access;
	/* The words, one by one. */
	char text[40];
	const char *argv[10];
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

/* The words of Redis 6 to 8, of Valkey, and of ACL DRYRUN. */
static enum access
judge_words(const char *words)
{
	if (strstr(words, "no permissions to access") != NULL ||
	    strstr(words, "No permissions to access") != NULL)
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
	return ACCESS_PERMITTED;
}

/* An error that is no denial shows that the command was run, or would be.
 * DRYRUN answers OK, or in words why not. A proxy has words of its own. */
static enum access
judge_access(const struct question *question, enum needs_trial kind)
{
	const char *words = value_text(question->value);
	enum access access = ACCESS_PERMITTED;

	if (question->outcome == QUESTION_FAILED)
		words = question->error;
	if (words != NULL)
		access = judge_words(words);
	/* Redis before 6 knows no part of a second, which a run does without.
	 */
	if (question->outcome == QUESTION_FAILED &&
	    access == ACCESS_PERMITTED && kind == NEEDS_TRIAL_SUCCEEDS &&
	    question->verdict == VERDICT_REPORT &&
	    !reply_is(words, "ERR timeout is not an integer"))
		access = ACCESS_MISSING;
	return access;
}

/* And whether it can be asked for by ACL DRYRUN, which came with Redis 7. */
static bool
find_user(struct rules *rules)
{
	struct question question = {.argv = QUESTION_WORDS("ACL", "WHOAMI")};
	const char *name, *user = rules->visit->enquiry.endpoint->user;
	bool answered = check_contact_ask(rules->visit, &question, 1);

	name = value_text(question.value);
	rules->own_user = mem_strdup(name != NULL   ? name
				     : user != NULL ? user
						    : "default");
	enquiry_forget(&question, 1);
	if (!answered)
		return false;
	question = (struct question){
	    .argv = QUESTION_WORDS("ACL", "DRYRUN", rules->own_user, "TIME")};
	answered = check_contact_ask(rules->visit, &question, 1);
	rules->is_dry = question.outcome == QUESTION_ANSWERED;
	enquiry_forget(&question, 1);
	return answered;
}

/* With DRYRUN the key is that of a lock, which only scripts that do nothing may
 * touch. Other commands are sent as they are: a service or a proxy may refuse
 * what the rules of the server permit. */
static bool
is_dry(const struct rules *rules, const struct trial *trial)
{
	return rules->is_dry && trial->kind != NEEDS_TRIAL_DIRECT &&
	       strstr(trial->words, NEEDS_KEY) != NULL;
}

static void
split_words(const struct rules *rules, struct trial *trial, bool in_script)
{
	const char **argv = trial->argv;
	char *rest = trial->text;

	if (in_script) {
		*argv++ = "EVAL";
		*argv++ = "return redis.call(unpack(ARGV))";
		*argv++ = "1";
		*argv++ = trial->key;
	} else if (is_dry(rules, trial)) {
		*argv++ = "ACL";
		*argv++ = "DRYRUN";
		*argv++ = rules->own_user;
	}
	snprintf(trial->text, sizeof(trial->text), "%.39s", trial->words);
	while (rest != NULL) {
		const char *word = strsep(&rest, "|");

		*argv++ = strcmp(word, NEEDS_KEY) == 0 ? trial->key : word;
	}
	*argv = NULL;
}

/* Those with words, or those in a script that the server seems not to have. */
static bool
try_all(const struct rules *rules, struct trial *trials, size_t count,
    bool in_script)
{
	struct question questions[NEEDS_COMMANDS];
	struct trial *tried[NEEDS_COMMANDS];
	size_t asked = 0;
	bool answered;

	for (size_t i = 0; i < count; i++) {
		if (*trials[i].words == '\0' ||
		    (in_script && (trials[i].access != ACCESS_MISSING ||
				      trials[i].kind != NEEDS_TRIAL_PLAIN ||
				      is_dry(rules, &trials[i]))))
			continue;
		split_words(rules, &trials[i], in_script);
		questions[asked] = (struct question){.argv = trials[i].argv};
		tried[asked++] = &trials[i];
	}
	answered = check_contact_ask(rules->visit, questions, asked);
	for (size_t i = 0; i < asked; i++) {
		tried[i]->succeeded = questions[i].outcome == QUESTION_ANSWERED;
		tried[i]->access = judge_access(&questions[i], tried[i]->kind);
	}
	enquiry_forget(questions, asked);
	return answered;
}

/* The first one creates the scratch key, as a string: a command for another
 * type is then permitted or denied without effect. The last one deletes it; if
 * that is denied, what created it ends its life. If it could not be created,
 * commands that might create another key are left out. A proxy refuses what it
 * cannot send to a server, but never looks into scripts: there, the server
 * itself answers. */
static bool
try_commands(struct rules *rules)
{
	struct trial trials[NEEDS_COMMANDS];
	const char *key =
	    rules->is_dry ? rules->names[0].keys.lock : rules->visit->scratch;
	struct trial end = {.words = "SET|" NEEDS_KEY "||PX|1", .key = key};
	bool answered;

	for (size_t i = 0; i < NEEDS_COMMANDS; i++)
		trials[i] = (struct trial){.words = needs_commands[i].words,
		    .kind = needs_commands[i].trial,
		    .key = key};
	answered = try_all(rules, trials, 1, false);
	for (size_t i = 1; i < NEEDS_COMMANDS; i++)
		if (trials[i].kind == NEEDS_TRIAL_CREATES && !rules->is_dry &&
		    !trials[0].succeeded)
			trials[i].words = "";
	answered = answered &&
		   try_all(rules, &trials[1], NEEDS_COMMANDS - 1, false) &&
		   try_all(rules, trials, NEEDS_COMMANDS, true);
	if (answered && !rules->is_dry && trials[NEEDS_SET].succeeded &&
	    !trials[NEEDS_DEL].succeeded)
		answered = try_all(rules, &end, 1, false);
	for (size_t i = 0; i < NEEDS_COMMANDS; i++) {
		enum access access = trials[i].access;

		if (access == ACCESS_MISSING)
			rules->missing |= NEEDS_BIT(i);
		if (access == ACCESS_MISSING || access == ACCESS_DENIED)
			rules->denied.commands |= NEEDS_BIT(i);
	}
	return answered;
}

static bool
is_denied(const struct rules *rules, enum needs_command command)
{
	return (rules->denied.commands & NEEDS_BIT(command)) != 0;
}

/* By a script that does nothing, as all of ours declare their keys. So those of
 * the locks themselves can be asked for. */
static bool
try_keys(struct rules *rules, struct names *names)
{
	const char *words = is_denied(rules, NEEDS_EVALSHA)
				? "EVAL|return 1|1|" NEEDS_KEY
				: "EVALSHA|0|1|" NEEDS_KEY;
	struct trial trials[KEY_COUNT];
	bool answered;

	for (size_t i = 0; i < KEY_COUNT; i++)
		trials[i] =
		    (struct trial){.words = words, .key = names->keys.all[i]};
	answered = try_all(rules, trials, KEY_COUNT, false);
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (trials[i].access == ACCESS_NO_KEY)
			names->denied |= NEEDS_BIT(i) & names->usable;
	rules->denied.keys |= names->denied;
	return answered;
}

/* Without EVAL a run depends on scripts that the server has run before. They
 * are run without keys, which each of them answers by an error. */
static bool
try_scripts(struct rules *rules)
{
	const struct kind *kind = rules->config.kind;
	struct question questions[] = {{.argv = QUESTION_WORDS("EVALSHA",
					    kind->acquire->digest, "0")},
	    {.argv = QUESTION_WORDS("EVALSHA", kind->renew->digest, "0")},
	    {.argv = QUESTION_WORDS("EVALSHA", kind->release->digest, "0")}};
	bool answered = true, known = !is_denied(rules, NEEDS_EVALSHA);

	if (!is_denied(rules, NEEDS_EVAL))
		return true;
	if (known)
		answered = check_contact_ask(rules->visit, questions, 3);
	for (size_t i = 0; i < 3; i++)
		known = known && questions[i].error != NULL &&
			!reply_is(questions[i].error, "NOSCRIPT");
	if (!known) {
		rules->denied.commands ^=
		    NEEDS_BIT(NEEDS_EVAL) | NEEDS_BIT(NEEDS_SCRIPTS);
		if (rules->missing & NEEDS_BIT(NEEDS_EVAL))
			rules->missing |= NEEDS_BIT(NEEDS_SCRIPTS);
	}
	enquiry_forget(questions, 3);
	return answered;
}

static bool
try_rules(struct rules *rules)
{
	bool answered =
	    find_user(rules) && try_commands(rules) && try_scripts(rules);

	for (size_t i = 0; i < rules->names_count && answered; i++)
		answered = try_keys(rules, &rules->names[i]);
	return answered;
}

/* --- what is denied ----------------------------------------------------- */

static char *
append_rule(char *text, const char *prefix, const char *word)
{
	char *longer = mem_printf("%s%s%s%s", text, *text == '\0' ? "" : " ",
	    prefix, word);

	free(text);
	return longer;
}

/* The pattern of a rule that permits this key: "[*]" stands for "*". What no
 * rule can contain (spaces), or what redis-cli takes for something else, is
 * "?", which stands for any byte. To be freed. */
static char *
key_pattern(const char *key)
{
	char *pattern = mem_alloc(3 * strlen(key) + 1), *end = pattern;

	for (; *key != '\0'; key++)
		if (strchr("*?[", *key) != NULL) {
			*end++ = '[';
			*end++ = *key;
			*end++ = ']';
		} else if (isspace((unsigned char)*key) ||
			   iscntrl((unsigned char)*key) ||
			   strchr("\"'\\", *key) != NULL) {
			*end++ = '?';
		} else {
			*end++ = *key;
		}
	*end = '\0';
	return pattern;
}

/* As rules, such as "+zadd ~{job}:rlk:*". To be freed. */
static char *
list_rules(const struct rules *rules, const struct needs *lacking)
{
	char *list = mem_strdup("");

	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if (lacking->commands & NEEDS_BIT(i))
			list = append_rule(list, "+", needs_commands[i].rule);
	for (size_t i = 0; i < rules->names_count; i++) {
		const struct names *names = &rules->names[i];
		uint64_t keys = lacking->keys & names->denied;
		char *pattern = key_pattern(names->keys.lock);
		char *helpers = key_helper(pattern, '*');

		if (keys & NEEDS_BIT(KEY_LOCK))
			list = append_rule(list, "~", pattern);
		if (keys & ~NEEDS_BIT(KEY_LOCK))
			list = append_rule(list, "~", helpers);
		free(helpers);
		free(pattern);
	}
	return list;
}

static void
add_finding(struct rules *rules, const struct needs_row *row,
    const struct needs *lacking, enum needs_use use)
{
	struct findings *findings = rules->visit->findings;
	char *list = list_rules(rules, lacking);
	int severity = FINDING_NOTE;

	if (use == NEEDS_USED)
		severity = needs_refuses(row, &rules->config) ? EXITCODE_REFUSED
							      : FINDING_WARNING;
	rules->lacking++;
	findings_add(findings, severity, row->check,
	    "the server lacks a command, or a proxy refuses it: see "
	    "rename-command in its configuration, or what the provider "
	    "supports",
	    "%s: not permitted: %s", row->without, list);
	if (!(rules->missing & lacking->commands))
		findings_set_remedy(findings, "ACL SETUSER %s %s, then %s",
		    rules->own_user, list, rules->visit->save_rules);
	free(list);
}

/* Of all that a denial means for this run, the gravest is reported, which comes
 * first in the table. What the run does not use are notes. */
static void
add_findings(struct rules *rules)
{
	const struct needs *denied = &rules->denied;
	struct needs *reported = &rules->reported;

	for (const struct needs_row *row = needs_rows; *row->check != '\0';
	     row++) {
		enum needs_use use = needs_use_of(row, &rules->config,
		    rules->visit->enquiry.endpoint);
		struct needs lacking = {row->needs.commands & denied->commands,
		    row->needs.keys & denied->keys};

		if (use == NEEDS_ELSEWHERE || row->tier > rules->top)
			continue;
		lacking.keys &= ~reported->keys;
		if (use == NEEDS_USED) {
			lacking.commands &= ~reported->commands;
			reported->commands |= lacking.commands;
			reported->keys |= lacking.keys;
		}
		/* One rule permits them all. */
		if (reported->keys & ~NEEDS_BIT(KEY_LOCK))
			reported->keys |= NEEDS_HELPER_KEYS;
		if (lacking.commands != 0 || lacking.keys != 0)
			add_finding(rules, row, &lacking, use);
	}
}

static void
judge_rules(struct rules *rules)
{
	struct findings *findings = rules->visit->findings;
	bool partial = rules->visit->enquiry.opts->key_count == 0 &&
		       (rules->names[0].denied & NEEDS_BIT(KEY_LOCK)) != 0;

	/* Without -k nobody knows which names the rules should permit. */
	if (partial) {
		findings_add(findings, FINDING_UNKNOWN, "access-keys",
		    "name a lock by -k",
		    "the rules permit certain keys only, and not \"%s\", so "
		    "those of locks are not examined",
		    rules->visit->scratch);
		rules->denied.keys = 0;
	}
	add_findings(rules);
	if (rules->lacking == 0 && !partial)
		findings_add(findings, FINDING_OK, "access", NULL,
		    "user %s may use all features (by %s)", rules->own_user,
		    rules->is_dry ? "ACL DRYRUN" : "a scratch key");
}

static void
name_locks(struct rules *rules)
{
	const struct opts *opts = rules->visit->enquiry.opts;
	struct lock_config config = rules->config;

	rules->names_count = opts->key_count > 0 ? opts->key_count : 1;
	for (size_t i = 0; i < rules->names_count; i++) {
		enum claim_tier tier;

		config.key = opts->key_count > 0 ? opts->keys[i].key
						 : rules->visit->scratch;
		key_names_init(&rules->names[i].keys, config.key, NULL);
		tier = claim_top_tier(&config);
		rules->names[i].usable = tier == CLAIM_FULL
					     ? NEEDS_BIT(KEY_COUNT) - 1
					     : NEEDS_BIT(KEY_LOCK);
		rules->top = tier > rules->top ? tier : rules->top;
	}
}

bool
check_access(struct visit *visit)
{
	struct rules rules = {.visit = visit,
	    .config = visit->enquiry.opts->lock};
	bool answered;

	rules.config.server = visit->enquiry.endpoint;
	name_locks(&rules);
	answered = try_rules(&rules);
	if (answered)
		judge_rules(&rules);
	for (size_t i = 0; i < rules.names_count; i++)
		key_names_fini(&rules.names[i].keys);
	free(rules.own_user);
	return answered;
}
