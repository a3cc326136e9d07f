#include "doctor/doctor_access.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "doctor/doctor_commands.h"
#include "lock/claim.h"
#include "lock/config.h"
#include "lock/key.h"
#include "lock/kind.h"
#include "lock/needs.h"
#include "lock/script.h"
#include "lock/token.h"
#include "redis/reply.h"

enum access {
	ACCESS_UNKNOWN,
	ACCESS_PERMITTED,
	ACCESS_DENIED,	/* the command is */
	ACCESS_NO_KEY,	/* the key is */
	ACCESS_MISSING, /* the server has no such command */
};

/* One of the locks, or the scratch key in their place. */
struct names {
	struct key_names keys;
	enum access access[KEY_COUNT];
};

struct rules {
	struct doctor_visit *visit;
	char *own_user; /* at the server */
	bool dry;	/* by ACL DRYRUN */
	const char *scratch;
	bool knows_scripts; /* the server does */
	enum access commands[NEEDS_COMMANDS];
	struct names names[OPTS_KEYS_MAX];
	size_t names_count;
	/* What is denied, and the tier that it leaves to a run. */
	struct needs denied;
	struct lock_config config;
	enum claim_tier top, tier;
	size_t lacking; /* rows of needs.h */
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
	const char *key =
	    rules->dry ? rules->names[0].keys.lock : rules->scratch;
	struct doctor_question questions[NEEDS_COMMANDS];
	enum needs_command asked[NEEDS_COMMANDS];
	size_t count = 0;
	bool exists, answered;

	fill(rules, &questions[0], doctor_commands[0].words, key);
	answered = ask(rules, questions, 1);
	rules->commands[0] = judge(&questions[0]);
	exists = rules->dry || questions[0].outcome == DOCTOR_ANSWERED;
	doctor_visit_forget(questions, 1);
	if (!answered)
		return false;
	for (enum needs_command i = 1; i < NEEDS_COMMANDS; i++) {
		const struct doctor_command *command = &doctor_commands[i];

		if (*command->words == '\0' || (command->creates && !exists))
			continue;
		fill(rules, &questions[count], command->words, key);
		asked[count++] = i;
	}
	answered = ask(rules, questions, count);
	for (size_t i = 0; i < count; i++)
		rules->commands[asked[i]] = judge(&questions[i]);
	doctor_visit_forget(questions, count);
	return answered;
}

static bool
is_denied(const struct rules *rules, enum needs_command command)
{
	enum access access = rules->commands[command];

	return access == ACCESS_DENIED || access == ACCESS_MISSING;
}

/* By a script that does nothing, as all of ours declare their keys. So those of
 * the locks themselves can be asked for. */
static bool
ask_keys(struct rules *rules, struct names *names)
{
	const char *words = is_denied(rules, NEEDS_EVALSHA)
				? "EVAL|return 1|1|" DOCTOR_COMMANDS_KEY
				: "EVALSHA|0|1|" DOCTOR_COMMANDS_KEY;
	struct doctor_question questions[KEY_COUNT];
	bool answered;

	for (size_t i = 0; i < KEY_COUNT; i++)
		fill(rules, &questions[i], words, names->keys.all[i]);
	answered = ask(rules, questions, KEY_COUNT);
	for (size_t i = 0; i < KEY_COUNT; i++)
		names->access[i] = judge(&questions[i]);
	doctor_visit_forget(questions, KEY_COUNT);
	return answered;
}

/* Without EVAL a run depends on scripts that the server has run before. They
 * are run without keys, which each of them answers by an error. */
static bool
ask_scripts(struct rules *rules)
{
	const struct kind *kind = rules->config.kind;
	const char *const digests[] = {kind->acquire->digest,
	    kind->renew->digest, kind->release->digest};
	struct doctor_question questions[3];
	bool answered;

	if (!is_denied(rules, NEEDS_EVAL) || is_denied(rules, NEEDS_EVALSHA))
		return true;
	for (size_t i = 0; i < 3; i++)
		questions[i] = (struct doctor_question){
		    .argv = {"EVALSHA", digests[i], "0"}};
	answered = ask(rules, questions, 3);
	rules->knows_scripts = answered;
	for (size_t i = 0; i < 3; i++)
		if (questions[i].error == NULL ||
		    reply_is(questions[i].error, "NOSCRIPT"))
			rules->knows_scripts = false;
	doctor_visit_forget(questions, 3);
	return answered;
}

static bool
ask_all(struct rules *rules)
{
	bool answered = ask_commands(rules) && ask_scripts(rules);

	for (size_t i = 0; i < rules->names_count && answered; i++)
		answered = ask_keys(rules, &rules->names[i]);
	return answered;
}

/* --- what is denied ----------------------------------------------------- */

/* A name that cannot have helper keys here needs none. */
static uint64_t
denied_keys(const struct rules *rules, const struct names *names)
{
	struct lock_config config = rules->config;
	uint64_t denied = 0;

	config.key = names->keys.lock;
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (names->access[i] == ACCESS_NO_KEY)
			denied |= NEEDS_BIT(i);
	return denied & (NEEDS_BIT(claim_top_tier(&config)) - 1);
}

static void
note_denied(struct rules *rules)
{
	struct needs *denied = &rules->denied;

	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if (is_denied(rules, i))
			denied->commands |= NEEDS_BIT(i);
	if (is_denied(rules, NEEDS_EVAL) && !rules->knows_scripts)
		denied->commands ^=
		    NEEDS_BIT(NEEDS_EVAL) | NEEDS_BIT(NEEDS_SCRIPTS);
	for (size_t i = 0; i < rules->names_count; i++)
		denied->keys |= denied_keys(rules, &rules->names[i]);
}

/* Without -k nobody knows which names the rules should permit. */
static bool
forget_keys(struct rules *rules)
{
	struct findings *findings = rules->visit->findings;

	if (rules->visit->opts->key_count > 0 ||
	    rules->names[0].access[KEY_LOCK] != ACCESS_NO_KEY)
		return false;
	findings_add(findings, FINDING_NOTE, "access-keys",
	    "the rules permit certain keys only, and not \"%s\", so those of "
	    "locks are not examined",
	    rules->scratch);
	findings_set_remedy(findings, "name a lock by -k");
	rules->denied.keys = 0;
	return true;
}

/* --- findings --------------------------------------------------------- */

static char *
append(char *text, const char *prefix, const char *word)
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

/* The patterns of a lock that are lacking. */
static char *
append_patterns(char *list, const struct rules *rules,
    const struct names *names, uint64_t keys)
{
	uint64_t lacking = keys & denied_keys(rules, names);
	char *pattern = key_pattern(names->keys.lock);
	char *helpers = key_helper(pattern, '*');

	if (lacking & NEEDS_BIT(KEY_LOCK))
		list = append(list, "~", pattern);
	if (lacking & ~NEEDS_BIT(KEY_LOCK))
		list = append(list, "~", helpers);
	free(helpers);
	free(pattern);
	return list;
}

/* As rules, such as "+zadd ~{job}:rlk:*". To be freed. */
static char *
list_rules(const struct rules *rules, const struct needs *lacking)
{
	char *list = mem_strdup("");

	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if (lacking->commands & NEEDS_BIT(i))
			list = append(list, "+", needs_rules[i]);
	for (size_t i = 0; i < rules->names_count; i++)
		list = append_patterns(list, rules, &rules->names[i],
		    lacking->keys);
	return list;
}

static bool
lacks_command(const struct rules *rules, uint64_t commands)
{
	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if ((commands & NEEDS_BIT(i)) &&
		    rules->commands[i] == ACCESS_MISSING)
			return true;
	return false;
}

static void
add_finding(struct rules *rules, const struct needs_row *row,
    const struct needs *lacking, enum needs_use use)
{
	struct findings *findings = rules->visit->findings;
	char *list = list_rules(rules, lacking);

	rules->lacking++;
	if (use == NEEDS_USED && row->status != 0)
		findings_add_error(findings, row->status, row->check,
		    "%s: not permitted: %s", row->without, list);
	else
		findings_add(findings,
		    use == NEEDS_USED ? FINDING_WARNING : FINDING_NOTE,
		    row->check, "%s: not permitted: %s", row->without, list);
	if (lacks_command(rules, lacking->commands))
		findings_set_remedy(findings,
		    "the server lacks a command: see rename-command in its "
		    "configuration");
	else
		findings_set_remedy(findings, "ACL SETUSER %s %s",
		    rules->own_user, list);
	free(list);
}

/* What is denied of that which the row needs; a row of a tier that a run cannot
 * use needs all of the lower ones, too. */
static struct needs
lacking_for(const struct rules *rules, const struct needs_row *row)
{
	struct needs all = row->needs;

	if (row->decides && rules->tier != 0 && row->tier > rules->tier)
		for (const struct needs_row *other = needs_rows; other < row;
		     other++)
			if (other->decides &&
			    needs_use_of(other, &rules->config,
				rules->visit->endpoint) == NEEDS_USED) {
				all.commands |= other->needs.commands;
				all.keys |= other->needs.keys;
			}
	return needs_both(&all, &rules->denied);
}

/* Neighbours with the same check are one finding. */
static void
add_findings(struct rules *rules)
{
	const struct needs_row *row = needs_rows;
	struct needs lacking = {0, 0};

	for (; *row->check != '\0'; row++) {
		enum needs_use use =
		    needs_use_of(row, &rules->config, rules->visit->endpoint);
		struct needs more = lacking_for(rules, row);

		if (use == NEEDS_ELSEWHERE || row->tier > rules->top)
			continue;
		lacking.commands |= more.commands;
		lacking.keys |= more.keys;
		if (strcmp(row->check, row[1].check) == 0)
			continue;
		if (needs_any(&lacking))
			add_finding(rules, row, &lacking, use);
		lacking = (struct needs){0, 0};
	}
}

/* The best tier that one of the locks may have. */
static enum claim_tier
find_top(const struct rules *rules)
{
	struct lock_config config = rules->config;
	enum claim_tier top = 0;

	for (size_t i = 0; i < rules->names_count; i++) {
		enum claim_tier tier;

		config.key = rules->names[i].keys.lock;
		tier = claim_top_tier(&config);
		top = tier > top ? tier : top;
	}
	return top;
}

static void
judge_rules(struct rules *rules)
{
	/* With --once-per a run has no other tier; what is lacking is reported
	 * for each all the same. */
	struct lock_config config = rules->config;
	bool partial;

	note_denied(rules);
	partial = forget_keys(rules);
	config.once_ms = 0;
	rules->top = find_top(rules);
	rules->tier = needs_tier(&config, rules->top, &rules->denied);
	add_findings(rules);
	if (rules->lacking == 0 && !partial)
		findings_add(rules->visit->findings, FINDING_OK, "access",
		    "user %s may use all features (by %s)", rules->own_user,
		    rules->dry ? "ACL DRYRUN" : "a scratch key");
}

static void
name_locks(struct rules *rules)
{
	const struct opts *opts = rules->visit->opts;

	rules->names_count = opts->key_count > 0 ? opts->key_count : 1;
	for (size_t i = 0; i < rules->names_count; i++)
		key_names_init(&rules->names[i].keys,
		    opts->key_count > 0 ? opts->keys[i].key : rules->scratch);
}

bool
doctor_access_check(struct doctor_visit *visit, const char *scratch)
{
	const struct opts *opts = visit->opts;
	struct rules rules = {.visit = visit,
	    .scratch = scratch,
	    .config = {.servers = opts->servers,
		.server_count = opts->server_count,
		.kind = kind_of(opts->kind),
		.replicas = opts->replicas,
		.history_ms = opts->history_ms,
		.once_ms = opts->once_ms}};
	bool answered = find_dryrun(&rules);

	name_locks(&rules);
	answered = answered && ask_all(&rules);
	if (answered)
		judge_rules(&rules);
	for (size_t i = 0; i < rules.names_count; i++)
		key_names_fini(&rules.names[i].keys);
	free(rules.own_user);
	return answered;
}
