#include "sink/wait_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/log.h"
#include "sink/holder_text.h"

enum { NAME_SIZE = 4096, SECOND_MS = 1000 };

/* A lock and a host that are longer are cut to this length only when nothing
 * can be left out that matters less. */
enum { NAME_GOOD = 40, NAME_MIN = 10, WHO_GOOD = 32, WHO_MIN = 10 };

/* What is left out, the least important first. Each leaves out what is before
 * it, too. */
enum brevity {
	BREVITY_NONE,
	BREVITY_QUEUE,	/* "position 3" */
	BREVITY_SINCE,	/* "for 3m12s" */
	BREVITY_PREFIX, /* no "rlockrun: " */
	BREVITY_LABEL,	/* only the label, without one pid and user */
	BREVITY_HOW,	/* "NAME: web-3" */
	BREVITY_MORE,	/* no other holders */
	BREVITY_AGE,	/* not how long it has been held; long names are cut */
	BREVITY_RANK,	/* "3rd" */
	BREVITY_USER,	/* only host and pid */
	BREVITY_PID,	/* only the host */
	BREVITY_WAITED, /* only what is left, if that is known */
	BREVITY_NAME,	/* the holder alone */
	BREVITY_END,
};

struct parts {
	struct holder_text words;
	char name[NAME_SIZE], who[sizeof(((struct holder_text *)NULL)->who)];
	char pid[32];
	char waited[48], left[48];
	char position[64], brief_position[40], rank[32];
};

static const char *
ordinal_end(int64_t number)
{
	static const char *const ends[] = {"th", "st", "nd", "rd"};

	if (number % 10 > 3 || number / 10 % 10 == 1)
		return "th";
	return ends[number % 10];
}

static void
describe_parts(const struct event *event, struct parts *parts)
{
	int64_t position = event->position;
	char age[32];

	*parts = (struct parts){.pid = ""};
	holder_text_split(event->holder, &parts->words);
	if (holder_is_known(event->holder) && !holder_has_end(event->holder))
		snprintf(parts->pid, sizeof(parts->pid), " (pid %s)",
		    event->holder->pid);
	duration_describe_age(event->ms, age, sizeof(age));
	snprintf(parts->waited, sizeof(parts->waited), "waiting %s", age);
	duration_describe_age(event->left_ms + SECOND_MS - 1, age, sizeof(age));
	if (event->left_ms >= 0)
		snprintf(parts->left, sizeof(parts->left), "%s left", age);
	if (position < 1)
		return;
	snprintf(parts->position, sizeof(parts->position),
	    ", position %" PRId64 " in the queue", position);
	snprintf(parts->brief_position, sizeof(parts->brief_position),
	    ", position %" PRId64, position);
	snprintf(parts->rank, sizeof(parts->rank), ", %" PRId64 "%s", position,
	    ordinal_end(position));
}

/* "rlockrun: NAME is held by web-3 (pid 4121, deploy) since 12:03:11, 3m12s
 * ago, and by 1 other; waiting 12s, 4m48s left, position 3 in the queue" */
static void
put_together(const struct parts *parts, enum brevity brevity, char *text,
    size_t size)
{
	const struct holder_text *words = &parts->words;
	bool limited = *parts->left != '\0';
	enum brevity no_wait = limited ? BREVITY_WAITED : BREVITY_END;
	const struct {
		enum brevity from, before;
		const char *text;
	} pieces[] = {
	    {0, BREVITY_PREFIX, LOG_PREFIX},
	    {0, BREVITY_END, parts->name},
	    {0, BREVITY_HOW, " "},
	    {BREVITY_HOW, BREVITY_NAME, ": "},
	    {0, BREVITY_HOW, words->how},
	    {BREVITY_HOW, BREVITY_END, words->brief_how},
	    {0, BREVITY_END, parts->who},
	    {0, BREVITY_LABEL, words->process},
	    {BREVITY_LABEL, BREVITY_USER, words->brief_process},
	    {BREVITY_USER, BREVITY_PID, parts->pid},
	    {0, BREVITY_SINCE, words->since},
	    {BREVITY_SINCE, BREVITY_AGE, words->brief_since},
	    {0, BREVITY_MORE, words->more},
	    {0, BREVITY_END, "; "},
	    {0, no_wait, parts->waited},
	    {0, no_wait, limited ? ", " : ""},
	    {0, BREVITY_END, parts->left},
	    {0, BREVITY_QUEUE, parts->position},
	    {BREVITY_QUEUE, BREVITY_RANK, parts->brief_position},
	    {BREVITY_RANK, BREVITY_NAME, parts->rank},
	};
	size_t length = 0;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		if (brevity >= pieces[i].from && brevity < pieces[i].before) {
			snprintf(text + length, size - length, "%s",
			    pieces[i].text);
			length += strlen(text + length);
		}
}

static size_t
shorter(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Cuts name and holder to what is left of the columns, if that is enough. */
static bool
cut_names(const struct event *event, struct parts *parts, enum brevity brevity,
    size_t room)
{
	const char *who = parts->words.who;
	size_t name_columns = escape_columns(event->name, ESCAPE_QUOTED);
	size_t who_columns = escape_columns(who, ESCAPE_TEXT);
	bool good = brevity < BREVITY_AGE;
	size_t name_min = shorter(name_columns, good ? NAME_GOOD : NAME_MIN);
	size_t who_min = who_columns;

	if (holder_is_known(event->holder)) /* a host */
		who_min = shorter(who_min, good ? WHO_GOOD : WHO_MIN);
	if (brevity == BREVITY_NAME)
		name_min = 0;
	else if (room < name_min + who_min)
		return false;
	who_columns = shorter(who_columns, room - name_min);
	escape_shorten(who, ESCAPE_TEXT, who_columns, parts->who,
	    sizeof(parts->who));
	if (name_min > 0)
		escape_shorten(event->name, ESCAPE_QUOTED, room - who_columns,
		    parts->name, sizeof(parts->name));
	return true;
}

void
wait_line_format(const struct event *event, size_t columns, char *text,
    size_t size)
{
	enum brevity brevity = BREVITY_NONE;
	struct parts parts;
	size_t used;

	describe_parts(event, &parts);
	for (;; brevity++) {
		put_together(&parts, brevity, text, size);
		used = escape_columns(text, ESCAPE_TEXT);
		if (cut_names(event, &parts, brevity,
			columns > used ? columns - used : 0))
			break;
	}
	put_together(&parts, brevity, text, size);
}
