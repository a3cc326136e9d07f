/* What the job executes, and the variables that rlockrun sets for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "lock/outer.h"
#include "options/nearest.h"
#include "run/run.h"

/* For the names of the job's variables, and the ttl. */
enum { ENV_ROOM = 128 };

void
command_find(struct run *run)
{
	static const char in_names[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	char **command = run->opts->command;
	const char *word = command[0];
	size_t length = strspn(word, in_names);
	const char *why = "not found";
	char hint[64];
	enum option_id meant;
	int status;

	run->child = (struct child){.argv = command,
	    .signals = run->relay.signals,
	    .own_group = run->relay.terminal == RELAY_NO_TERMINAL};
	status = child_find(&run->child);
	if (status == 0)
		return;
	if (status != EXITCODE_NOT_FOUND)
		why = strerror(errno);
	else if (command[1] == NULL && /* one word: "a; b" */
		 strpbrk(word, " \t\n;&|<>()$`*?\"'=~") != NULL)
		why = "not found (for a shell command use -c)";
	else if (command[1] != NULL && length > 0 && word[length] == '=' &&
		 (*word < '0' || *word > '9')) /* FOO=1 command */
		why = "not found (to set a variable use env(1))";
	else if (nearest_action(word, &meant) != NULL) {
		snprintf(hint, sizeof(hint), "not found (did you mean --%s?)",
		    opts_table[meant].longs[0]);
		why = hint;
	}
	run_add_ending(run, ENDING_NO_COMMAND,
	    (struct event){.command = word, .why = why, .status = status});
}

/* RLOCKRUN_HELD, to be freed. NULL when memory is out. */
static char *
held_by_job(const struct run *run)
{
	const char *above = getenv("RLOCKRUN_HELD");
	char *held = NULL;

	if (run->cover == COVER_NONE)
		return strdup(above != NULL ? above : "");
	for (size_t i = 0; i < run->set.keys; i++) {
		const struct lock *lock = set_lock(&run->set, i);
		char *with = outer_with(above, lock->config->key,
		    lock->config->kind, lock->claim.token);

		free(held);
		above = held = with;
		if (held == NULL)
			break;
	}
	return held;
}

/* One a line, in the order given. A nested run may not know all fences. */
static char *
put_lock_env(const struct run *run, char *end)
{
	const char *separator = "RLOCKRUN_TOKEN=";
	bool fenced = false;

	for (size_t i = 0; i < run->set.keys; i++) {
		const struct lock *lock = set_lock(&run->set, i);
		end = stpcpy(stpcpy(end, separator), lock->claim.token);
		separator = "\n";
		fenced = fenced || lock->grant.fence[0] != '\0';
	}
	end++;
	separator = "RLOCKRUN_FENCE=";
	for (size_t i = 0; fenced && i < run->set.keys; i++) {
		end = stpcpy(stpcpy(end, separator),
		    set_lock(&run->set, i)->grant.fence);
		separator = "\n";
	}
	return fenced ? end + 1 : end;
}

/* A stream would need more time than all else between the grant and the start
 * of the job. */
char *
command_env(const struct run *run, size_t *length)
{
	const struct set *set = &run->set;
	char *held = held_by_job(run);
	char *entries = NULL, *end;

	if (held != NULL)
		entries =
		    malloc(ENV_ROOM + strlen(run->opts->names) +
			   set->keys * (sizeof(set->locks->claim.token) +
					   sizeof(set->locks->grant.fence)) +
			   strlen(held));
	if (entries != NULL) {
		end =
		    stpcpy(stpcpy(entries, "RLOCKRUN_KEY="), run->opts->names) +
		    1;
		end += sprintf(end, "RLOCKRUN_TTL_MS=%" PRId64,
			   run->opts->lock.ttl_ms) +
		       1;
		if (run->cover != COVER_NONE)
			end = put_lock_env(run, end);
		if (*held != '\0')
			end = stpcpy(stpcpy(end, "RLOCKRUN_HELD="), held) + 1;
		*length = (size_t)(end - entries);
	}
	free(held);
	return entries;
}
