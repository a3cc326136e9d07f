#include "admin/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "base/moment.h"
#include "sink/holder_text.h"

/* "web-3 (pid 421, ci)" */
static char *
describe_run(const struct holder *holder)
{
	struct holder_text text;

	holder_text_split(holder, &text);
	return mem_printf("%s%s", text.who, text.process);
}

/* "ops on adm-1: database upgrade" */
static char *
describe_user(const struct holder *holder)
{
	return mem_printf("%s on %s%s%s", holder->user, holder->host,
	    *holder->label != '\0' ? ": " : "", holder->label);
}

/* Who had the lock when a run was skipped. */
static char *
describe_cause(const struct look_note *note, const char *since)
{
	const struct holder *by = &note->by;
	char *who, *text;

	if (by->state == HOLDER_UNSEEN)
		return mem_strdup("others were queued");
	if (by->state == HOLDER_FOREIGN)
		return mem_strdup("held by another client");
	who = by->state == HOLDER_PAUSED ? describe_user(by) : describe_run(by);
	if (by->state == HOLDER_PAUSED)
		text = mem_printf("paused by %s", who);
	else
		text = mem_printf("%s %s since %s",
		    by->state == HOLDER_ENDED ? "kept by --min-hold of"
					      : "held by",
		    who, since);
	free(who);
	return text;
}

static char *
describe_reason(const struct look_note *note, const char *since)
{
	bool is_due = note->what != NOTED_DUE && note->what != NOTED_ID;
	char *text, *by;

	if (!is_due && note->by.state == HOLDER_UNSEEN)
		return mem_strdup("not due");
	if (!is_due)
		return mem_printf("not due: succeeded%s on %s at %s",
		    note->what == NOTED_ID ? " with this id" : "",
		    note->by.host, since);
	by = note->what == NOTED_OVERTAKEN ? describe_run(&note->by)
					   : describe_cause(note, since);
	text = mem_printf("%s%s",
	    note->what == NOTED_BUSY	    ? "busy: "
	    : note->what == NOTED_WAIT	    ? "the wait was over: "
	    : note->what == NOTED_OVERTAKEN ? "overtaken by "
					    : "",
	    by);
	free(by);
	return text;
}

static char *
describe_skip(const struct look_note *note, const char *at, const char *since)
{
	const struct holder *who = &note->who;
	char label[2 * LIMIT_LABEL];
	char *why = describe_reason(note, since), *text;

	escape_quote(who->label, label, sizeof(label));
	text = mem_printf("last skipped: %s%s%s%s, %s, %s", who->host,
	    *who->label != '\0' ? " (" : "", *who->label != '\0' ? label : "",
	    *who->label != '\0' ? ")" : "", at, why);
	free(why);
	return text;
}

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

static char *
describe_act(const struct look *look, const struct look_note *note,
    const char *at)
{
	char *whom = note->by.state == HOLDER_UNSEEN ? mem_strdup("the holder")
						     : describe_run(&note->by);
	char *who = note->what == NOTED_ORDER ? describe_run(&note->who)
					      : describe_user(&note->who);
	char *text;

	if (note->what == NOTED_FORCE)
		text = mem_printf("taken from %s at %s by %s", whom, at, who);
	else if (is_obeyed(look, note))
		text = mem_printf("%s was replaced at %s by %s", whom, at, who);
	else
		text = mem_printf("%s was asked to stop at %s by %s%s", whom,
		    at, who,
		    holder_is_known(&note->by) && !note->by.replaceable
			? ", but is not --replaceable"
			: "");
	free(whom);
	free(who);
	return text;
}

/* Somebody else may have ended it. */
static char *
describe_pause(const struct look_note *note, const char *from, const char *to)
{
	const struct holder *by = &note->by, *who = &note->who;
	bool is_own = strcmp(by->host, who->host) == 0 &&
		      strcmp(by->user, who->user) == 0;
	char *pauser, *text;

	if (by->state != HOLDER_PAUSED) {
		pauser = describe_user(who);
		text = mem_printf("paused until %s, ended by %s", to, pauser);
	} else {
		pauser = describe_user(by);
		text = mem_printf("paused from %s to %s by %s%s%s%s%s", from,
		    to, pauser, is_own ? "" : "; ended by ",
		    is_own ? "" : who->user, is_own ? "" : " on ",
		    is_own ? "" : who->host);
	}
	free(pauser);
	return text;
}

static void
print_note(const struct look *look, const struct look_note *note)
{
	char at[48], by_at[48] = "?";
	char *text, *escaped;

	moment_describe_time(note->at_ms - look->now_ms, at, sizeof(at));
	if (note->by_at_ms > 0)
		moment_describe_time(note->by_at_ms - look->now_ms, by_at,
		    sizeof(by_at));
	text = note->what >= NOTED_BUSY	   ? describe_skip(note, at, by_at)
	       : note->what == NOTED_PAUSE ? describe_pause(note, by_at, at)
					   : describe_act(look, note, at);
	escaped = escape_text(text, ESCAPE_TEXT);
	printf("%s\n", escaped);
	free(escaped);
	free(text);
}

void
notes_print(const struct look *look)
{
	for (size_t i = 0; i < look->note_count; i++)
		print_note(look, &look->notes[i]);
}
