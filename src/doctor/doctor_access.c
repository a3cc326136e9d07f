#include "doctor/doctor_access.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "doctor/doctor_commands.h"
#include "lock/key.h"
#include "lock/token.h"
#include "redis/reply.h"

enum access {
	ACCESS_UNKNOWN,
	ACCESS_PERMITTED,
	ACCESS_DENIED,	/* the command is */
	ACCESS_NO_KEY,	/* the key is */
	ACCESS_MISSING, /* the server has no such command */
};

struct rules {
	struct doctor_visit *visit;
	char *own_user; /* at the server */
	bool dry;	/* by ACL DRYRUN */
	/* The lock whose permissions are examined: with DRYRUN the one of -k,
	 * otherwise the scratch key. */
	const char *lock;
	struct key_names keys;
	enum access commands[DOCTOR_COMMANDS];
	enum access names[DOCTOR_KEYS];
	size_t lacking; /* features */
};

char *
doctor_access_scratch(const struct opts *opts)
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
	if (reply_is(words, "ERR unknown command") ||
	    reply_is(words, "ERR Unknown subcommand") ||
	    (reply_is(words, "ERR Command ") &&
		strstr(words, "not found") != NULL))
		return ACCESS_MISSING;
	return ACCESS_PERMITTED;
}

/* An error that is no denial shows that the command was run, or would be.
 * DRYRUN answers OK, or in words why not. */
static enum access
judge(const struct doctor_question *question)
{
	const char *words = value_text(question->value);

	if (question->outcome == DOCTOR_FAILED)
		return judge_words(question->error);
	if (question->outcome != DOCTOR_ANSWERED)
		return ACCESS_UNKNOWN;
	return words != NULL ? judge_words(words) : ACCESS_PERMITTED;
}

/* Redis before 7 has no DRYRUN. */
static bool
find_dryrun(struct rules *rules)
{
	struct doctor_question questions[2] = {{.argv = {"ACL", "WHOAMI"}}};
	struct doctor_visit *visit = rules->visit;
	const char *name, *user = visit->endpoint->user;
	bool answered = doctor_visit_ask(visit, &questions[0], 1);

	name = value_text(questions[0].value);
	rules->own_user = mem_strdup(name != NULL   ? name
				     : user != NULL ? user
						    : "default");
	questions[1] = (struct doctor_question){
	    .argv = {"ACL", "DRYRUN", rules->own_user, "TIME"}};
	answered = answered && doctor_visit_ask(visit, &questions[1], 1);
	rules->dry = questions[1].outcome == DOCTOR_ANSWERED;
	if (!answered)
		doctor_visit_report_end(visit,
		    &questions[questions[1].outcome != DOCTOR_UNASKED]);
	doctor_visit_forget(questions, 2);
	return answered;
}

static void
fill(const struct rules *rules, struct doctor_question *question,
    const char *words, const char *key)
{
	const char **argv = question->argv;
	char *rest = question->text;

	*question = (struct doctor_question){.outcome = DOCTOR_UNASKED};
	if (rules->dry) {
		*argv++ = "ACL";
		*argv++ = "DRYRUN";
		*argv++ = rules->own_user;
	}
	snprintf(question->text, sizeof(question->text), "%.39s", words);
	while (rest != NULL) {
		const char *word = strsep(&rest, "|");

		*argv++ = strcmp(word, DOCTOR_COMMANDS_KEY) == 0 ? key : word;
	}
	*argv = NULL;
}

static bool
ask(const struct rules *rules, struct doctor_question *questions, size_t count)
{
	if (doctor_visit_ask(rules->visit, questions, count))
		return true;
	for (size_t i = 0; i < count; i++)
		if (questions[i].outcome == rules->visit->ended) {
			doctor_visit_report_end(rules->visit, &questions[i]);
			break;
		}
	return false;
}

/* The first one creates the scratch key, as a string: a command for another
 * type is then permitted or denied without effect. The last ones delete it. If
 * it could not be created, commands that might create another key are left
 * out. */
static bool
ask_commands(struct rules *rules)
{
	struct doctor_question questions[DOCTOR_COMMANDS];
	enum doctor_command asked[DOCTOR_COMMANDS];
	size_t count = 0;
	bool exists, answered;

	fill(rules, &questions[0], doctor_commands[0].words, rules->lock);
	answered = ask(rules, questions, 1);
	rules->commands[0] = judge(&questions[0]);
	exists = rules->dry || questions[0].outcome == DOCTOR_ANSWERED;
	doctor_visit_forget(questions, 1);
	if (!answered)
		return false;
	for (enum doctor_command i = 1; i < DOCTOR_COMMANDS; i++) {
		if (doctor_commands[i].creates && !exists)
			continue;
		fill(rules, &questions[count], doctor_commands[i].words,
		    rules->lock);
		asked[count++] = i;
	}
	answered = ask(rules, questions, count);
	for (size_t i = 0; i < count; i++)
		rules->commands[asked[i]] = judge(&questions[i]);
	doctor_visit_forget(questions, count);
	return answered;
}

/* By a script that does nothing, as all of ours declare their keys. */
static bool
ask_keys(struct rules *rules)
{
	const struct key_names *names = &rules->keys;
	const char *const keys[DOCTOR_KEYS] = {names->lock, names->fence,
	    names->info, names->nested, names->queue, names->alive,
	    names->doorbell, names->history};
	struct doctor_question questions[DOCTOR_KEYS];
	bool answered;

	for (size_t i = 0; i < DOCTOR_KEYS; i++)
		fill(rules, &questions[i],
		    "EVAL|return 1|1|" DOCTOR_COMMANDS_KEY, keys[i]);
	answered = ask(rules, questions, DOCTOR_KEYS);
	for (size_t i = 0; i < DOCTOR_KEYS; i++)
		rules->names[i] = judge(&questions[i]);
	doctor_visit_forget(questions, DOCTOR_KEYS);
	return answered;
}

/* --- findings --------------------------------------------------------- */

static char *
append(char *text, const char *word)
{
	char *longer =
	    mem_printf("%s%s%s", text, *text == '\0' ? "" : " ", word);

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

/* The rules that the feature lacks, such as "+zadd ~{job}:rlk:*". */
static char *
list_lacking(const struct rules *rules, const struct doctor_feature *feature,
    bool *missing)
{
	char *list = mem_strdup(""), *pattern = key_pattern(rules->lock);
	char *helpers = key_helper(pattern, '*');
	bool lock = false, helper = false;

	*missing = false;
	for (enum doctor_command i = 0; i < DOCTOR_COMMANDS; i++) {
		enum access access = rules->commands[i];
		char rule[32];

		if (!(feature->commands & DOCTOR_BIT(i)) ||
		    (access != ACCESS_DENIED && access != ACCESS_MISSING))
			continue;
		snprintf(rule, sizeof(rule), "+%.15s", doctor_commands[i].rule);
		list = append(list, rule);
		*missing = *missing || access == ACCESS_MISSING;
	}
	for (size_t i = 0; i < DOCTOR_KEYS; i++)
		if ((feature->keys & DOCTOR_BIT(i)) &&
		    rules->names[i] == ACCESS_NO_KEY) {
			lock = lock || i == 0;
			helper = helper || i > 0;
		}
	for (int i = 0; i < 2; i++)
		if (i == 0 ? lock : helper) {
			char *rule =
			    mem_printf("~%s", i == 0 ? pattern : helpers);
			list = append(list, rule);
			free(rule);
		}
	free(helpers);
	free(pattern);
	return list;
}

static void
add_feature(struct rules *rules, const struct doctor_feature *feature,
    const struct opts *opts)
{
	struct findings *findings = rules->visit->findings;
	bool missing;
	char *list = list_lacking(rules, feature, &missing);
	bool used = doctor_feature_is_used(feature, opts);

	if (*list == '\0') {
		free(list);
		return;
	}
	rules->lacking++;
	if (used && feature->status != 0)
		findings_add_error(findings, feature->status, feature->check,
		    "%s: not permitted: %s", feature->without, list);
	else
		findings_add(findings, used ? FINDING_WARNING : FINDING_NOTE,
		    feature->check, "%s: not permitted: %s", feature->without,
		    list);
	if (missing)
		findings_set_remedy(findings,
		    "the server lacks a command: see rename-command in its "
		    "configuration");
	else
		findings_set_remedy(findings, "ACL SETUSER %s %s",
		    rules->own_user, list);
	free(list);
}

/* Without -k nobody knows which names the rules should permit. Patterns may
 * also be so narrow that no scratch key fits. */
static bool
forget_keys(struct rules *rules, const struct opts *opts)
{
	struct findings *findings = rules->visit->findings;

	if (rules->names[0] != ACCESS_NO_KEY ||
	    (rules->dry && opts->key_count > 0))
		return false;
	findings_add(findings, FINDING_NOTE, "access-keys",
	    "the rules permit certain keys only, and not \"%s\", so those of "
	    "locks are not examined",
	    rules->lock);
	findings_set_remedy(findings,
	    opts->key_count > 0 ? "permit ACL DRYRUN: +acl|dryrun +acl|whoami"
				: "name a lock by -k");
	memset(rules->names, 0, sizeof(rules->names));
	return true;
}

static void
add_findings(struct rules *rules)
{
	const struct doctor_visit *visit = rules->visit;
	const struct opts *opts = visit->opts;
	bool partial = forget_keys(rules, opts);

	for (size_t i = 0; *doctor_features[i].check != '\0'; i++) {
		const struct doctor_feature *feature = &doctor_features[i];

		if (doctor_feature_applies(feature, opts, visit->endpoint))
			add_feature(rules, feature, opts);
	}
	if (rules->lacking == 0 && !partial)
		findings_add(visit->findings, FINDING_OK, "access",
		    "user %s may use all features (by %s)", rules->own_user,
		    rules->dry ? "ACL DRYRUN" : "a scratch key");
}

bool
doctor_access_check(struct doctor_visit *visit, const char *scratch)
{
	struct rules rules = {.visit = visit, .lock = scratch};
	const struct opts *opts = visit->opts;
	bool answered = find_dryrun(&rules);

	if (rules.dry && opts->key_count > 0)
		rules.lock = opts->keys[0].key;
	key_names_init(&rules.keys, rules.lock);
	answered = answered && ask_commands(&rules) && ask_keys(&rules);
	if (answered)
		add_findings(&rules);
	key_names_fini(&rules.keys);
	free(rules.own_user);
	return answered;
}
