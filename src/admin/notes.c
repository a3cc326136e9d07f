#include "admin/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/moment.h"
#include "base/template.h"
#include "sink/holder_text.h"

enum { TEXT_SIZE = 4096, WORD_SIZE = 1280, LABEL_SIZE = 512 };

/* --- the sentences -------------------------------------------------------- */

#define SKIPPED "last skipped: {host}[ ({label})], {at}, "

/* Templates, see word_of. Those of pauses and orders have two forms. */
static const char sentences[NOTED_COUNT][128] = {
    [NOTED_FORCE] = "taken from {whom} at {at} by {user}",
    [NOTED_BUSY] = SKIPPED "busy: {cause}",
    [NOTED_DUE] = SKIPPED "not due[: succeeded on {success} at {since}]",
    [NOTED_ID] = SKIPPED "not due[: succeeded with this id on {success} at "
			 "{since}]",
    [NOTED_OVERTAKEN] = SKIPPED "overtaken by {by}",
    [NOTED_PAUSED] = SKIPPED "{cause}",
    [NOTED_WAIT] = SKIPPED "the wait was over: {cause}",
};

#define REPLACED "{whom} was replaced at {at} by {who}"
#define ASKED "{whom} was asked to stop at {at} by {who}[, but is {not}]"
#define PAUSED "paused from {since} to {at} by {pauser}[; ended by {ender}]"
#define PAUSE_ENDED "paused until {at}, ended by {user}"

/* Who had the lock when a run was skipped. */
static const char causes[][48] = {
    [HOLDER_UNSEEN] = "others were queued",
    [HOLDER_FOREIGN] = "held by another client",
    [HOLDER_KNOWN] = "held by {by} since {since}",
    [HOLDER_ENDED] = "kept by --min-hold of {by} since {since}",
    [HOLDER_HOLD] = "held by {by} since {since}",
    [HOLDER_PAUSED] = "paused by {pauser}",
};

/* --- their words ---------------------------------------------------------- */

struct sentence {
	const struct look *look;
	const struct look_note *note;
	char cause[TEXT_SIZE];
	char room[WORD_SIZE];
};

/* "web-3 (pid 421, ci)" */
static void
describe_run(const struct holder *holder, char room[WORD_SIZE])
{
	struct holder_text text;

	holder_text_split(holder, &text);
	snprintf(room, WORD_SIZE, "%s%s", text.who, text.process);
}

/* "ops on adm-1: database upgrade" */
static void
describe_user(const struct holder *holder, char room[WORD_SIZE])
{
	snprintf(room, WORD_SIZE, "%s on %s%s%s", holder->user, holder->host,
	    *holder->label != '\0' ? ": " : "", holder->label);
}

/* A template_value: `who` is the run that was skipped, or the user that acted;
 * `by` is the cause of that, or the run that it happened to. */
static const char *
word_of(void *arg, const char *word, bool *many)
{
	struct sentence *sentence = arg;
	const struct look_note *note = sentence->note;
	const struct holder *who = &note->who, *by = &note->by;
	int64_t now_ms = sentence->look->now_ms;
	char *room = sentence->room;

	(void)many;
	*room = '\0';
	if (strcmp(word, "host") == 0)
		return who->host;
	if (strcmp(word, "success") == 0)
		return by->host;
	if (strcmp(word, "label") == 0 && *who->label != '\0')
		escape_quote(who->label, room, LABEL_SIZE);
	else if (strcmp(word, "at") == 0)
		moment_describe_time(note->at_ms - now_ms, room, WORD_SIZE);
	else if (strcmp(word, "since") == 0 && note->by_at_ms == 0)
		return "?";
	else if (strcmp(word, "since") == 0)
		moment_describe_time(note->by_at_ms - now_ms, room, WORD_SIZE);
	else if (strcmp(word, "whom") == 0 && by->state == HOLDER_UNSEEN)
		return "the holder";
	else if (strcmp(word, "who") == 0)
		describe_run(who, room);
	else if (strcmp(word, "whom") == 0 || strcmp(word, "by") == 0)
		describe_run(by, room);
	else if (strcmp(word, "user") == 0)
		describe_user(who, room);
	else if (strcmp(word, "pauser") == 0)
		describe_user(by, room);
	else if (strcmp(word, "ender") == 0 &&
		 (strcmp(by->host, who->host) != 0 ||
		     strcmp(by->user, who->user) != 0))
		snprintf(room, WORD_SIZE, "%s on %s", who->user, who->host);
	else if (strcmp(word, "not") == 0 && holder_is_known(by) &&
		 !by->replaceable)
		return "not --replaceable";
	else if (strcmp(word, "cause") == 0) {
		template_fill(causes[by->state], word_of, sentence,
		    sentence->cause, sizeof(sentence->cause));
		return sentence->cause;
	}
	return room;
}

/* ------------------------------------------------------------------------ */

/* Whether the run that was asked to stop has done so, as far as its end is
 * known. */
static bool
is_obeyed(const struct look *look, const struct look_note *note)
{
	for (size_t i = 0; i < look->run_count; i++)
		if (look->runs[i].status == EXITCODE_REPLACED &&
		    *note->by_fence != '\0' &&
		    strcmp(look->runs[i].fence, note->by_fence) == 0)
			return true;
	return false;
}

void
notes_print(const struct look *look)
{
	for (size_t i = 0; i < look->note_count; i++) {
		const struct look_note *note = &look->notes[i];
		struct sentence sentence = {.look = look, .note = note};
		const char *template = sentences[note->what];
		char text[TEXT_SIZE], *escaped;

		if (note->what == NOTED_ORDER)
			template = is_obeyed(look, note) ? REPLACED : ASKED;
		else if (note->what == NOTED_PAUSE)
			template = note->by.state == HOLDER_PAUSED
				       ? PAUSED
				       : PAUSE_ENDED;
		template_fill(template, word_of, &sentence, text, sizeof(text));
		escaped = escape_text(text, ESCAPE_TEXT);
		printf("%s\n", escaped);
		free(escaped);
	}
}
