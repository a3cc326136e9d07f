/* When it starts, a server replays its append-only file as user default, even
 * if that user is disabled. Between MULTI and EXEC, where the file has what
 * scripts write, it drops each command that this user may not run, and only its
 * log says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doctor/checks.h"
#include "lock/claim.h"
#include "redis/info.h"
#include "redis/reply.h"

/* Stands for the key in the words of a command. */
#define KEY "\001"

enum { WORDS = 5, COMMANDS = 9 };

/* What scripts leave in the file. */
static const char *const replayed[COMMANDS][WORDS] = {
    {"SELECT", "0"},
    {"SET", KEY, "v"},
    {"DEL", KEY},
    {"PEXPIREAT", KEY, "1"},
    {"HSET", KEY, "f", "v"},
    {"HDEL", KEY, "f"},
    {"ZADD", KEY, "1", "m"},
    {"ZREM", KEY, "m"},
    {"RPUSH", KEY, "e"},
};

struct replay {
	char *lacks;	     /* what user default may not do, or NULL */
	char *unknown;	     /* why that is not known, or NULL */
	const char *renamed; /* a command that the server lacks, or NULL */
};

/* The server writes these by itself, under their own names. */
static bool
ask_names(struct visit *visit, struct replay *replay)
{
	static const char *const own[] = {"SELECT", "MULTI", "EXEC",
	    "PEXPIREAT", "DEL"};
	struct question question = {
	    .argv = QUESTION_WORDS("COMMAND", "INFO", own[0], own[1], own[2],
		own[3], own[4])};
	bool answered = check_contact_ask(visit, &question, 1);
	size_t count;

	value_count(question.value, &count);
	for (size_t i = 0; count == 5 && i < count; i++)
		if (value_is_nil(value_at(question.value, i)))
			replay->renamed = own[i];
	enquiry_forget(&question, 1);
	return answered;
}

/* Redis 6 has no DRYRUN, and these flags. */
static bool
ask_flags(struct visit *visit, struct replay *replay)
{
	struct question question = {
	    .argv = QUESTION_WORDS("ACL", "GETUSER", "default")};
	bool answered = check_contact_ask(visit, &question, 1);
	const struct value *flags = value_at(question.value, 1);
	size_t count, all = 0;

	value_count(flags, &count);
	for (size_t i = 0; i < count; i++) {
		const char *flag = value_text(value_at(flags, i));

		all += flag != NULL && (strcmp(flag, "allkeys") == 0 ||
					   strcmp(flag, "allcommands") == 0);
	}
	if (all == 2) {
		free(replay->unknown);
		replay->unknown = NULL;
	}
	enquiry_forget(&question, 1);
	return answered;
}

/* DRYRUN replies OK, or in words why not. A command that does not exist is
 * reported by other checks. */
static void
judge_dryrun(const struct question *question, const char *command,
    struct replay *replay)
{
	const char *words = value_text(question->value);

	if (words == NULL) {
		if (replay->unknown == NULL && question->error != NULL &&
		    !reply_is(question->error, "ERR Command '"))
			replay->unknown = mem_strdup(question->error);
	} else if (strcmp(words, "OK") != 0 && replay->lacks == NULL) {
		replay->lacks = strstr(words, " key") != NULL
				    ? mem_strdup("write the keys of locks")
				    : mem_printf("run %s", command);
	}
}

static bool
ask_dryrun(struct visit *visit, const char *key, struct replay *replay)
{
	struct question questions[COMMANDS];
	const char *argv[COMMANDS][WORDS + 4] = {{NULL}};
	bool answered;

	for (size_t i = 0; i < COMMANDS; i++) {
		argv[i][0] = "ACL";
		argv[i][1] = "DRYRUN";
		argv[i][2] = "default";
		for (size_t j = 0; j < WORDS && replayed[i][j] != NULL; j++)
			argv[i][3 + j] = strcmp(replayed[i][j], KEY) == 0
					     ? key
					     : replayed[i][j];
		questions[i] = (struct question){.argv = argv[i]};
	}
	answered = check_contact_ask(visit, questions, COMMANDS);
	for (size_t i = 0; i < COMMANDS; i++)
		judge_dryrun(&questions[i], replayed[i][0], replay);
	enquiry_forget(questions, COMMANDS);
	return answered;
}

/* The keys of the options. Without any, those of a lock that nobody has. */
static bool
dry_run_keys(struct visit *visit, struct replay *replay)
{
	const struct opts *opts = visit->enquiry.opts;
	size_t count = opts->key_count > 0 ? opts->key_count : 1;
	bool answered = true;

	for (size_t i = 0; i < count && answered && replay->unknown == NULL;
	     i++) {
		const char *key = opts->key_count > 0	   ? opts->keys[i].key
				  : visit->scratch != NULL ? visit->scratch
							   : "doctor";
		char *helper = key_helper(key, 'i');

		answered = ask_dryrun(visit, key, replay) &&
			   ask_dryrun(visit, helper, replay);
		free(helper);
	}
	return answered &&
	       (replay->unknown == NULL || ask_flags(visit, replay));
}

bool
check_replay(struct visit *visit, char **facts)
{
	struct replay replay = {.lacks = NULL};
	bool answered =
	    ask_names(visit, &replay) &&
	    (info_number(*facts, "major") < 6 || dry_run_keys(visit, &replay));
	const char *unknown = replay.unknown != NULL ? replay.unknown : "";
	char *more = mem_printf("%sreplay_unknown:%.256s\nsee_acl:%s\n"
				"renamed:%s\nreplay_lacks:%s\n",
	    *facts, unknown,
	    reply_is(unknown, "NOPERM") ? "permit +acl|dryrun" : CHECK_SEE,
	    replay.renamed != NULL ? replay.renamed : "",
	    replay.lacks != NULL ? replay.lacks : "");

	free(*facts);
	*facts = more;
	free(replay.lacks);
	free(replay.unknown);
	return answered;
}
