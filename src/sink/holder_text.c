#include "sink/holder_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/escape.h"

enum { SECOND_MS = 1000 };

/* The process of a hold or a pause has ended. */
static void
describe_process(const struct holder *holder, struct holder_text *words)
{
	bool has_end = holder_has_end(holder);
	char label[2 * LIMIT_LABEL] = "", pid[32] = "";

	snprintf(words->who, sizeof(words->who), "%s", holder->host);
	if (*holder->label != '\0')
		escape_quote(holder->label, label, sizeof(label));
	if (!has_end)
		snprintf(pid, sizeof(pid), "pid %s, ", holder->pid);
	if (*label != '\0')
		snprintf(words->brief_process, sizeof(words->brief_process),
		    " (%s)", label);
	else
		snprintf(words->brief_process, sizeof(words->brief_process),
		    " (%s%s)", pid, holder->user);
	snprintf(words->process, sizeof(words->process), " (%s%s%s%s)", pid,
	    holder->user, *label != '\0' ? ", " : "", label);
}

/* How long the lock has been held; of a hold or a pause, until when. */
static void
describe_times(const struct holder *holder, struct holder_text *words)
{
	int64_t reported_ms = holder->reported_at - clock_now();
	int64_t start_ms = reported_ms - holder->held_ms;
	bool is_known = holder->held_ms != -1;
	char age[32], start[32], end[32];

	if (is_known) {
		duration_describe_age(-start_ms, age, sizeof(age));
		duration_describe_time(start_ms, start, sizeof(start));
		snprintf(words->since, sizeof(words->since),
		    " since %s, %s ago", start, age);
		snprintf(words->brief_since, sizeof(words->brief_since),
		    " for %s", age);
	}
	if (!holder_has_end(holder) || holder->left_ms == -1)
		return;
	duration_describe_time(reported_ms + holder->left_ms, end, sizeof(end));
	snprintf(words->since, sizeof(words->since), "%s%s, until %s",
	    is_known ? " since " : "", is_known ? start : "", end);
	snprintf(words->brief_since, sizeof(words->brief_since), " until %s",
	    end);
}

static void
describe_one(const struct holder *holder, struct holder_text *words)
{
	if (holder_is_known(holder)) {
		describe_process(holder, words);
		describe_times(holder, words);
		return;
	}
	strcpy(words->who, "another client");
	strcpy(words->process, " (not a rlockrun)");
	if (holder->left_ms == -1)
		strcpy(words->since, ", without a time limit");
}

void
holder_text_format(const struct holder *holder, char *text, size_t size)
{
	struct holder_text words = {.how = ""};

	describe_one(holder, &words);
	snprintf(text, size, "%s%s%s", words.who, words.process, words.since);
}

void
holder_text_format_by(const struct holder_by *by, char *text, size_t size)
{
	char who[2 * LIMIT_LABEL];

	if (*by->label != '\0')
		escape_quote(by->label, who, sizeof(who));
	else
		snprintf(who, sizeof(who), "pid %s", by->pid);
	snprintf(text, size, "%s on %s", who, by->host);
}

/* " and 2 others (3 of 3 permits)" */
static void
describe_others(const struct holder *holder, char *text, size_t size)
{
	int64_t others = holder->count - 1;
	int length = 0;

	text[0] = '\0';
	if (others > 0)
		length = snprintf(text, size, ", and by %" PRId64 " other%s",
		    others, others > 1 ? "s" : "");
	if (holder->permits == 0)
		return;
	length += snprintf(text + length, size - (size_t)length,
	    " (%" PRId64 " of %" PRId64 " permit%s", holder->count,
	    holder->permits, holder->permits > 1 ? "s" : "");
	if (holder->permits_here != 0 &&
	    holder->permits_here != holder->permits)
		length += snprintf(text + length, size - (size_t)length,
		    ", but %d here", holder->permits_here);
	snprintf(text + length, size - (size_t)length, ")");
}

static void
describe_how(const struct holder *holder, struct holder_text *words)
{
	const char *kind = holder->kind == 's' ? "shared " : "";
	int64_t left_ms = holder->left_ms + holder->reported_at - clock_now();
	char others[128];
	char left[32];
	/* With others queued, the end of --min-hold is not what is waited for.
	 */
	bool kept = holder->state == HOLDER_ENDED && !holder->others_queued;
	static const char *const orders[] = {[HOLDER_NOT_ASKED] = "",
	    [HOLDER_ASKED] = ", and was asked to stop",
	    [HOLDER_IRREPLACEABLE] = ", and is not --replaceable"};

	describe_others(holder, others, sizeof(others));
	/* Of a lock that is kept: as of now, and never nothing. */
	if (left_ms < 1)
		left_ms = 1;
	duration_describe_age(left_ms + SECOND_MS - 1, left, sizeof(left));
	if (kept && holder->count < 2) {
		snprintf(words->how, sizeof(words->how),
		    "is kept for %s; it was held %sby ", left, kind);
		snprintf(words->brief_how, sizeof(words->brief_how),
		    "kept for %s by ", left);
		*words->brief_since = '\0';
	} else if (holder->state == HOLDER_PAUSED) {
		strcpy(words->how, "is paused by ");
		strcpy(words->brief_how, "paused by ");
	} else {
		snprintf(words->how, sizeof(words->how), "is held %sby ", kind);
	}
	snprintf(words->more, sizeof(words->more), "%s%s%s%s%s",
	    kept && holder->count > 1 ? ", kept for " : "",
	    kept && holder->count > 1 ? left : "", others,
	    holder->others_queued ? ", and others are queued" : "",
	    orders[holder->order]);
}

void
holder_text_split(const struct holder *holder, struct holder_text *words)
{
	*words = (struct holder_text){.how = ""};
	if (holder->state == HOLDER_UNSEEN) {
		strcpy(words->how, "has not been granted");
	} else if (holder->state == HOLDER_NONE) {
		strcpy(words->how, "is free, but ");
		strcpy(words->who, "others are queued");
		strcpy(words->process, " for it");
	} else {
		describe_one(holder, words);
		describe_how(holder, words);
	}
}

void
holder_text_format_lock(const struct holder *holder, char *text, size_t size)
{
	struct holder_text words;

	holder_text_split(holder, &words);
	snprintf(text, size, "%s%s%s%s%s", words.how, words.who, words.process,
	    words.since, words.more);
}
