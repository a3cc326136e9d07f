/* A kind of way that is moved by a script: what it asks of the ways is only
 * noted, and time stands still until the script moves it. Stands in for the
 * ways, for clock_now and for the timers: see PLACED in tests/tests.mk.
 *
 * The words of a script; in a word `_` is a space:
 *
 *   find500       the way opens: the place is to be found in so many ms
 *   +500          time passes, and the timer comes when it is due
 *   judge=ok      what the greeting was answered, see `value_of`
 *   heed=ok       likewise a command; other=ok: one to where ASK has pointed
 *   miss, miss!   no answer; nor the next time
 *   ask           a command is sent there; go: that way opens
 *   busy, idle    whether the own way owes a reply; owes, paid: the other one
 *   up, down      whether the own way is
 *   cancel        the place is not needed any more
 *   full          memory is out for the next command
 *   2=ok          what was sent on this way is answered, from 1; also silent,
 *                 dead: nor the next time, refused: on that connection
 *
 * What comes of it is one line, in the order in which it happened:
 *
 *   a=h:7@500     the way is to find its server there, within so many ms
 *   a:WORDS@500   a command, and how long it may take
 *   a:why         it is not found
 *   drop:a, leave:a, free:a
 *
 * and what each word returned. */
#ifndef PLACED_H
#define PLACED_H

#include "redis/way.h"

#include <errno.h>
#include <stdlib.h>

#include "redis/way_kind.h"
#include "tap.h"

enum { BEGIN = 1000000, WAYS = 4 };

struct way {
	const char *name;
	char host[16];
	bool is_down, is_busy;
	struct command sent; /* unanswered if it has a handler */
};

static struct {
	int64_t now;
	bool full; /* memory is out for what comes next */
	struct way ways[WAYS];
	size_t count;
	struct loop_timer *timer;
	const struct way_kind *other_kind;
	char trace[1024];
} placed;

/* with: what its test makes of it. */
struct placed_row {
	const char *what, *with, *steps, *trace;
};

__attribute__((format(printf, 1, 2))) static inline void
note(const char *format, ...)
{
	size_t length = strlen(placed.trace);
	va_list arguments;

	if (length > 0)
		placed.trace[length++] = ' ';
	va_start(arguments, format);
	vsnprintf(placed.trace + length, sizeof(placed.trace) - length, format,
	    arguments);
	va_end(arguments);
}

/* How long from now on. */
static inline const char *
until(int64_t at)
{
	static char text[24];

	snprintf(text, sizeof(text), "@%" PRId64, at - placed.now);
	return at == CLOCK_NEVER ? "" : text;
}

/* --- what stands in for others ------------------------------------------ */

#define STAND_IN(type, name, ...)        \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

STAND_IN(int64_t, clock_now, void)
{
	return placed.now;
}

STAND_IN(void, loop_timer_set, struct loop *loop, struct loop_timer *timer,
    int64_t at)
{
	(void)loop;
	timer->at = at;
	placed.timer = timer;
}

STAND_IN(void, loop_timer_remove, struct loop *loop, struct loop_timer *timer)
{
	(void)loop, (void)timer;
	placed.timer = NULL;
}

static inline struct way *
new_way(const char *name)
{
	struct way *way = placed.full ? NULL : &placed.ways[placed.count++];

	if (way != NULL)
		*way = (struct way){.name = name};
	return way;
}

STAND_IN(struct way *, way_new_of, struct loop *loop,
    const struct endpoint *url, const struct way_kind *kind, void *place)
{
	(void)loop, (void)url, (void)place;
	placed.other_kind = kind;
	return new_way("other");
}

STAND_IN(struct way *, way_new, struct loop *loop, const struct endpoint *url,
    const char *key)
{
	(void)loop;
	return key == NULL ? new_way(url->host) : NULL;
}

STAND_IN(void, way_free, struct way *way)
{
	if (way != NULL)
		note("free:%s", way->name);
}

STAND_IN(int, way_send, struct way *way, const struct command *command)
{
	bool is_full = placed.full;

	placed.full = false;
	note("%s%s:%s_%s%s", is_full ? "no-" : "", way->name, command->words[0],
	    command->words[1], until(command->deadline));
	if (command->words[2] != NULL)
		note("%s", command->words[2]);
	if (command->limits.bytes > 0)
		note("%zu/%zu", command->limits.bytes,
		    command->limits.elements);
	if (is_full)
		return -1;
	way->sent = *command;
	return 0;
}

static inline void
deliver(struct way *way, const struct reply *reply)
{
	struct command sent = way->sent;

	way->sent = (struct command){.words = NULL};
	if (sent.on_reply != NULL)
		sent.on_reply(sent.arg, reply);
}

STAND_IN(void, way_drop, struct way *way)
{
	const struct reply reply = {.kind = REPLY_NONE, .failure = "dropped"};

	note("drop:%s", way->name);
	deliver(way, &reply);
}

STAND_IN(void, way_leave, struct way *way)
{
	note("leave:%s", way->name);
}

STAND_IN(bool, way_is_up, const struct way *way)
{
	return !way->is_down;
}

STAND_IN(bool, way_is_idle, const struct way *way)
{
	return !way->is_busy;
}

STAND_IN(const char *, way_host, const struct way *way)
{
	return way->host;
}

STAND_IN(void, way_found, struct way *way, const char *host, int port,
    int64_t by)
{
	snprintf(way->host, sizeof(way->host), "%.15s", host);
	note("%s=%s:%d%s", way->name, host, port, until(by));
}

STAND_IN(void, way_not_found, struct way *way, const char *why, bool refused,
    bool permanent)
{
	note("%s:%s%s%s", way->name, why, refused ? ",refused" : "",
	    permanent ? ",permanent" : "");
}

/* --- words -------------------------------------------------------------- */

static inline struct value *
parse(const char *wire)
{
	const struct value_limits limits = {4096, 99};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;

	if (value_reader_feed(reader, wire, strlen(wire)) == -1 ||
	    value_reader_next(reader, limits, &value) != 1)
		abort();
	value_reader_free(reader);
	return value;
}

/* The answer that a word means: an error, or one of these. */
static inline struct value *
value_of(const char *word)
{
	static const struct {
		const char *word, *wire;
	} values[] = {
	    {"ok", "+OK\r\n"},
	    {"nil", "*-1\r\n"},
	    {"h", "*2\r\n$1\r\nh\r\n$1\r\n7\r\n"},
	    {"h8", "*2\r\n$1\r\nh\r\n$1\r\n8\r\n"},
	    {"g", "*2\r\n$1\r\ng\r\n$1\r\n7\r\n"},
	    {"master", "*1\r\n$6\r\nmaster\r\n"},
	    {"slave", "*1\r\n$5\r\nslave\r\n"},
	    {"sentinel", "*1\r\n$8\r\nsentinel\r\n"},
	    {"slots", "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nd\r\n:4\r\n"},
	};
	char wire[100];

	for (size_t i = 0; i < LENGTH(values); i++)
		if (strcmp(word, values[i].word) == 0)
			return parse(values[i].wire);
	snprintf(wire, sizeof(wire), "%s\r\n", word);
	return parse(wire);
}

static inline void
answer(struct way *way, const char *word)
{
	struct reply reply = {.kind = REPLY_NONE,
	    .label = way->name,
	    .failure = "silence",
	    .permanent = strcmp(word, "dead") == 0};
	struct value *value = NULL;

	if (strcmp(word, "refused") == 0) {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = "NOPERM";
	} else if (strcmp(word, "silent") != 0 && !reply.permanent) {
		value = value_of(word);
		reply.value = value;
		reply.error = value_error(value);
		reply.kind = reply.error != NULL ? REPLY_ERROR : REPLY_VALUE;
	}
	deliver(way, &reply);
	value_free(value);
}

static inline void
heed(const struct way_kind *kind, void *place, const char *word)
{
	static const char *const names[] = {"stay", "text", "at-owner",
	    "asking"};
	struct value *value = value_of(word);

	note("%s", names[kind->heed(place, value_error(value))]);
	value_free(value);
}

static inline void
judge(const struct way_kind *kind, void *place, const char *word)
{
	struct value *value = value_of(word);
	const char *why = kind->greeting.judge(place, value);

	note("%s%s", why == NULL ? "fits" : why,
	    why != NULL && kind->greeting.permanent ? ",permanent" : "");
	value_free(value);
}

static inline void
miss(const struct way_kind *kind, void *place, bool permanent)
{
	bool has_next = kind->miss(place, &permanent);

	note("%s%s", has_next ? "next" : "last", permanent ? ",permanent" : "");
}

static inline void
pass(int64_t ms)
{
	struct loop_timer *timer = placed.timer;

	placed.now += ms;
	if (timer == NULL || timer->at > placed.now)
		return;
	placed.timer = NULL;
	timer->on_due(timer->arg);
}

static inline void
step(const struct way_kind *kind, void *place, const char *word)
{
	struct way *owner = &placed.ways[0], *other = &placed.ways[1];

	if (strncmp(word, "find", 4) == 0)
		kind->locate(place, placed.now + atoll(word + 4));
	else if (*word == '+')
		pass(atoll(word + 1));
	else if (strncmp(word, "judge=", 6) == 0)
		judge(kind, place, word + 6);
	else if (strncmp(word, "heed=", 5) == 0)
		heed(kind, place, word + 5);
	else if (strncmp(word, "other=", 6) == 0)
		heed(placed.other_kind, place, word + 6);
	else if (strncmp(word, "miss", 4) == 0)
		miss(kind, place, word[4] == '!');
	else if (strcmp(word, "ask") == 0)
		note("%s", kind->asked(place)->name);
	else if (strcmp(word, "go") == 0)
		placed.other_kind->locate(place, placed.now);
	else if (strcmp(word, "busy") == 0 || strcmp(word, "idle") == 0)
		owner->is_busy = *word == 'b';
	else if (strcmp(word, "owes") == 0 || strcmp(word, "paid") == 0)
		other->is_busy = *word == 'o';
	else if (strcmp(word, "up") == 0 || strcmp(word, "down") == 0)
		owner->is_down = *word == 'd';
	else if (strcmp(word, "cancel") == 0)
		kind->cancel(place);
	else if (strcmp(word, "full") == 0)
		placed.full = true;
	else if (*word >= '0' && *word < '0' + WAYS && word[1] == '=')
		answer(&placed.ways[*word - '0'], word + 2);
	else
		note("?%s", word);
}

static inline void
take_steps(const struct way_kind *kind, void *place, const char *steps)
{
	char words[512], *rest = words, *word;

	snprintf(words, sizeof(words), "%s", steps);
	while ((word = strsep(&rest, " ")) != NULL) {
		for (char *c = word; *c != '\0'; c++)
			if (*c == '_')
				*c = ' ';
		step(kind, place, word);
	}
}

/* The first way is the kind's own. */
static inline void *
begin(const struct way_kind *kind, const struct endpoint *url, const char *name,
    const char *key)
{
	memset(&placed, 0, sizeof(placed));
	placed.now = BEGIN;
	return kind->begin(new_way(name), NULL, url, key);
}

static inline void
play(const struct way_kind *kind, const struct endpoint *url, const char *name,
    const char *key, const struct placed_row *row)
{
	void *place = begin(kind, url, name, key);

	take_steps(kind, place, row->steps);
	is_text(placed.trace, row->trace, row->what);
	kind->end(place);
}

/* Of what has several servers. */
static struct endpoint seeds[] = {{.host = "a", .port = 1},
    {.host = "b", .port = 2}, {.host = "c", .port = 3}};

#endif
