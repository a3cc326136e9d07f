#include "remembered.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "guarded.h"
#include "known.h"
#include "node.h"
#include "oracle.h"
#include "run/event.h"

enum { NOTES = 16, WORD = 32 };
/* Two clocks of a calm world, and a reply on its way. */
#define CLOCKS (30 * WORLD_MS)
/* The ends of the pauses of one command may differ by this much. */
#define SLACK WORLD_S

enum reason { BUSY, PAUSED, WAIT_OVER, NOT_DUE, SAME_ID, OVERTAKEN, REASONS };
static const char *const words[REASONS] = {"busy", "paused", "wait_over",
    "not_due", "same_id", "overtaken"};

struct note {
	enum reason reason;
	const struct actor *who, *by; /* NULL: nobody, or another client */
	bool has_host;		      /* of `by` */
	int64_t at;		      /* since the history began */
};

/* --- as they are shown -------------------------------------------------- */

static const char *
member(const char *object, const char *name)
{
	const char *at = strstr(object, world_format("\"%s\":", name));

	return at != NULL ? at + strlen(name) + 3 : "";
}

static const struct actor *
read_host(const char *object, bool *has_host)
{
	char name[WORD] = "";

	*has_host = sscanf(member(object, "host"), "\"%31[^\"]", name) == 1;
	return actor_find(name);
}

static int64_t
read_time(const char *object)
{
	return strtoll(member(object, "at_ms"), NULL, 10) * WORLD_MS -
	       node_epoch_us();
}

static size_t
read_notes(const char *text, struct note *notes)
{
	const char *end = strstr(text, "\"last_pause\":");
	size_t count = 0;

	for (text = strstr(text, "\"skips\":[");
	     text != NULL && (text = strstr(text, "{\"reason\":")) != NULL &&
	     text < end && count < NOTES;
	     text++) {
		struct note *note = &notes[count];
		const char *by = member(text, "by");
		char word[WORD] = "";
		bool has_host;

		*note = (struct note){.reason = REASONS, .at = read_time(text)};
		sscanf(member(text, "reason"), "\"%31[^\"]", word);
		for (enum reason i = 0; i < REASONS; i++)
			if (strcmp(word, words[i]) == 0)
				note->reason = i;
		note->who = read_host(text, &has_host);
		if (*by == '{')
			note->by = read_host(by, &note->has_host);
		count += note->reason != REASONS;
	}
	return count;
}

/* --- what is shown has happened ------------------------------------------ */

static bool
may_be_skipped(const struct opts *opts, enum reason reason)
{
	switch (reason) {
	case WAIT_OVER:
		return opts->wait_ms > 0;
	case NOT_DUE:
		return opts->lock.once_ms > 0;
	case SAME_ID:
		return opts->lock.once_id != NULL;
	case OVERTAKEN:
		return opts->lock.newest;
	default:
		return opts->wait_ms == 0 ||
		       opts->lock.max_waiters != CONFIG_ANY_WAITERS;
	}
}

/* The reason for which a run has ended. */
static bool
is_ending_of(enum ending_reason ending, enum reason reason)
{
	switch (reason) {
	case WAIT_OVER:
		return ending == ENDING_WAIT_OVER;
	case NOT_DUE:
	case SAME_ID:
		return ending == ENDING_NOT_DUE;
	case OVERTAKEN:
		return ending == ENDING_OVERTAKEN;
	default:
		return ending == ENDING_BUSY || ending == ENDING_QUEUE_FULL;
	}
}

/* Whether that one can be the cause: not the run itself, unless a request of it
 * may have arrived once more after its success. */
static bool
is_cause(const struct note *note, const char *key)
{
	const struct actor *by = note->by;
	int64_t from = world.calm ? note->at - world.now / 100 - CLOCKS : 0;

	if (by == NULL)
		return !note->has_host;
	if (by == note->who && !known_has_repeated())
		return false;
	if (note->reason == PAUSED && !actor_has_word(by, "--pause"))
		return false;
	if (note->reason == NOT_DUE || note->reason == SAME_ID)
		return by->guarded != NULL && by->guarded->status == 0 &&
		       by->guarded->ended_at >= 0;
	if (note->reason == OVERTAKEN)
		return by->opts != NULL && by->opts->lock.newest;
	return known_may_hold(by, key, from, WORLD_NEVER);
}

static void
check_truth(const struct actor *actor, const char *key, const struct note *note)
{
	const char *promise = "a note tells who was skipped, and why";
	const struct actor *who = note->who;
	int64_t slack = CLOCKS + world.now / 100;

	if (who == NULL || who->opts == NULL || !actor_has_key(who, key) ||
	    who->begun_at > actor->ended_at ||
	    !may_be_skipped(who->opts, note->reason)) {
		world_find(promise, "%s shows %s as %s", actor->name,
		    who != NULL ? who->name : "nobody", words[note->reason]);
		return;
	}
	if (!is_cause(note, key))
		world_find(promise, "%s shows %s as %s by %s", actor->name,
		    who->name, words[note->reason],
		    note->by != NULL ? note->by->name : "somebody");
	if (!world.calm || known_has_repeated())
		return;
	if (who->state == ACTOR_ENDED && who->ended_at < actor->begun_at &&
	    !is_ending_of(who->ending, note->reason))
		world_find(promise, "%s shows %s as %s", actor->name, who->name,
		    words[note->reason]);
	if (note->at < who->begun_at - slack ||
	    note->at > actor->ended_at + slack ||
	    (who->state == ACTOR_ENDED && note->at > who->ended_at + slack))
		world_find("a note tells when a run was skipped",
		    "%s shows %s at %" PRId64 " ms", actor->name, who->name,
		    note->at / WORLD_MS);
}

/* --- what has happened is shown ------------------------------------------ */

/* A server must know that this run was skipped: it refuses no command, as HSET
 * would leave the note. */
static bool
is_noted(const struct actor *run, const char *key)
{
	return run->state == ACTOR_ENDED && actor_is_run(run) &&
	       actor_has_key(run, key) && run->opts->key_count == 1 &&
	       run->outer == NULL && !run->is_plain && !known_has_majority() &&
	       !known_has_lost(0) && !known_has_stepped(0) &&
	       run->ended_at > oracle_refused_until() &&
	       (world.calm ||
		   (known_servers() == ONE && run->ending != ENDING_WAIT_OVER));
}

static void
check_complete(const struct actor *actor, const char *key,
    const struct note *notes, size_t count)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *run = actor_number(i);
		int64_t slack = CLOCKS + world.now / 100;
		bool is_shown = false;

		if (!is_noted(run, key) || run->ended_at >= actor->begun_at)
			continue;
		if (run->ending < ENDING_NOT_DUE ||
		    run->ending > ENDING_WAIT_OVER)
			continue;
		for (size_t n = 0; n < count; n++)
			is_shown |=
			    is_ending_of(run->ending, notes[n].reason) &&
			    may_be_skipped(run->opts, notes[n].reason) &&
			    notes[n].at >= run->begun_at - slack;
		if (!is_shown)
			world_find("each skip leaves a note",
			    "%s does not show %s: %.*s", actor->name, run->name,
			    (int)run->err_length,
			    run->err != NULL ? run->err : "");
	}
}

/* A pause that has lasted until its end is shown, unless a later one is, or
 * lasts still. */
static void
check_pauses(const struct actor *actor, const char *key)
{
	const char *pause = member(actor->stream_text, "last_pause");
	int64_t at = *pause == '{' ? read_time(pause) : -1;
	int64_t slack = CLOCKS + SLACK + world.now / 100, last = -1;
	const struct kept *kept;
	bool has_host;

	if (*pause == '{' &&
	    (read_host(strstr(pause, "\"holder\":"), &has_host) == NULL ||
		!actor_has_word(read_host(strstr(pause, "\"holder\":"),
				    &has_host),
		    "--pause")))
		world_find("a note tells who paused a lock",
		    "%s shows another one", actor->name);
	if (!world.calm)
		return;
	if (at > actor->ended_at + slack)
		world_find("a note tells until when a lock was paused",
		    "%s shows a pause that goes on", actor->name);
	for (int i = 0; (kept = known_kept(i)) != NULL; i++) {
		if (strcmp(kept->key, key) != 0 ||
		    kept->from > actor->ended_at ||
		    !actor_has_word(kept->by, "--pause"))
			continue;
		if (kept->until > actor->begun_at - slack)
			return;
		if (kept->until > last && !known_is_undone(kept))
			last = kept->until;
	}
	if (at < last - slack)
		world_find("a note tells until when a lock was paused",
		    "%s shows %" PRId64 " ms, not %" PRId64 " ms", actor->name,
		    at / WORLD_MS, last / WORLD_MS);
}

void
remembered_check(const struct actor *actor, const char *key)
{
	struct note notes[NOTES];
	size_t count;

	/* It says what it was not permitted to read. */
	if (known_is_struck(key) || known_has_unreadable() ||
	    strstr(actor->stream_text, "\"problems\":[]") == NULL)
		return;
	count = read_notes(actor->stream_text, notes);
	for (size_t i = 0; i < count; i++)
		check_truth(actor, key, &notes[i]);
	check_complete(actor, key, notes, count);
	check_pauses(actor, key);
}
