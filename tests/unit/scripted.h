/* A lock that is moved from state to state by a script: what it sends is only
 * noted, a reply comes when the script has it come, and time stands still until
 * the script moves it. So a reply that is lost, late, doubled or wrong, at any
 * step, is a row of a table.
 *
 * Stands in for the connections, as redis/way.h has them, for clock_now, for
 * answer_read and for chance, which always falls on the upper end, or with
 * `low` on the lower one: see SCRIPTED in tests/tests.mk.
 *
 * The words of a script:
 *
 *   start         acquires
 *   +500          time passes, and the timer comes when it is due
 *   stopped500    time passes, and nothing is done: the process was stopped
 *   ended0        the run has this status: the history gets it
 *   proven        it was held when the job had ended
 *   loss          as when a run that has lost it ends
 *   release       as when the job has ended
 *   keep4000      the release that follows keeps it so long, for --min-hold
 *   stop          as on a signal: ON_WITHDRAW
 *   renew         as when several locks are renewed together
 *   up, down      whether commands can be written at once
 *   rest500       it hangs up soon: no connection is to be made for so long
 *   plant, behind of a vote: ON_PLANT, ON_BEHIND
 *   full          memory is out for the next command
 *   moved         the second connection has found a new primary
 *   chanceless    there is no randomness for a token
 *
 * and replies, each to the oldest question that has none, or with `N:` before
 * it, to the Nth that was sent, from 1. See `replies` below.
 *
 * What comes of it is one line, in the order in which it happened:
 *
 *   @500          it is so late now
 *   try           what was sent, see `name_of`; `!` as a whole, `+` with the
 *                 next one in one write
 *   renew-again   the same on the second connection
 *   drop          the connection was given up; drop-again: the second one
 *   doubt         it would be if there were sentinels
 *   =held         the new state, with why it failed or what a release came to
 *   until@29698   the lease is proven until then, or `unproven`
 *   ordered       the holder is asked to stop
 *
 * Some words of a row's configuration add to that line:
 *
 *   timed         with each command `<1001`, its deadline, `^500`, until when
 *                 its answer counts, and `&1/200`, how many replicas are waited
 *                 for, and how long
 *   told          `'words'`: the first 48 bytes of the last error, which at
 *                 first is that nobody has answered; `cost'words'`: of what it
 *                 costs; `ok` and `not-ok`: whether all is well again
 *   facts         in the end all facts that are unusual, see note_facts */
#ifndef SCRIPTED_H
#define SCRIPTED_H

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "lock/answer.h"
#include "lock/lock.h"
#include "lock/script.h"
#include "redis/way.h"
#include "tap.h"

#define SCRIPTED_TOKEN "01234567-89ab-4def-8123-456789abcdef"
#define SCRIPTED_WAITER "x:" SCRIPTED_TOKEN ":7@b"

/* The machine has been up for a while. */
enum { SCRIPTED_BEGIN = 1000000 };
#define SCRIPTED_HANG_UP "lost the connection to S: closed by the server"
enum { SCRIPTED_SENT_MAX = 64, SCRIPTED_TRACE_MAX = 4096 };
enum { SCRIPTED_WORDS_MAX = LOCK_ERROR_MAX };
enum { SCRIPTED_WAYS_MAX = 12, SCRIPTED_TOKENS_MAX = 26 };
/* Times are noted since then. */
#define SINCE_BEGIN(at) ((at)-SCRIPTED_BEGIN)

struct scripted_row {
	const char *what;
	const char *with; /* words of the configuration, see `play` */
	const char *steps;
	const char *trace;
	const char *error; /* is a part of the lock's, if not NULL */
};

/* Rows, with and without an error. */
#define FAILS(what, with, steps, trace, error)  \
	{                                       \
		what, with, steps, trace, error \
	}
#define ROW(what, with, steps, trace)          \
	{                                      \
		what, with, steps, trace, NULL \
	}

/* A connection to the server. */
struct way {
	int server; /* from 1; 0: there is only one */
	bool is_used, is_second, is_up;
	char label[8];
};

static struct scripted {
	int64_t now, noted_at, rests_until;
	bool full, chanceless, low, moved, timed, told;
	/* Servers, by INFO: the third is the first; in place of the reply. */
	bool same, young;
	const char *info;
	/* As it was told last. */
	char why[SCRIPTED_WORDS_MAX], cost[SCRIPTED_WORDS_MAX];
	bool answered;
	struct way ways[SCRIPTED_WAYS_MAX];
	char tokens[SCRIPTED_TOKENS_MAX][TOKEN_SIZE]; /* as they appeared */
	struct sent {
		struct way *way;
		reply_handler *on_reply;
		void *arg;
		int tag;
		bool is_ring;
		bool answered;
		int64_t at; /* CLOCK_NEVER while it cannot be written */
	} sent[SCRIPTED_SENT_MAX];
	size_t count;
	char trace[SCRIPTED_TRACE_MAX];
} scripted;

/* --- what is noted ---------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static inline void
note(const char *format, ...)
{
	size_t length = strlen(scripted.trace);
	va_list arguments;

	if (scripted.now != scripted.noted_at)
		length += (size_t)snprintf(scripted.trace + length,
		    sizeof(scripted.trace) - length, "%s@%" PRId64,
		    length > 0 ? " " : "", scripted.now - SCRIPTED_BEGIN);
	scripted.noted_at = scripted.now;
	length += (size_t)snprintf(scripted.trace + length,
	    sizeof(scripted.trace) - length, "%s", length > 0 ? " " : "");
	va_start(arguments, format);
	vsnprintf(scripted.trace + length, sizeof(scripted.trace) - length,
	    format, arguments);
	va_end(arguments);
}

/* A release that records a run though its lease has ended, see release.lua. */
static inline bool
is_late(const struct command *command)
{
	int keys = atoi(command->words[0]), count = 0;

	while (command->words[count] != NULL)
		count++;
	return count > keys + 8 && *command->words[keys + 4] != '\0' &&
	       strcmp(command->words[keys + 8], "1") == 0;
}

static inline const char *
name_of(const struct command *command)
{
	static const struct {
		const struct script *script;
		const char *name;
	} names[] = {{&script_acquire_exclusive, "try"},
	    {&script_plain_acquire_exclusive, "plain-try"},
	    {&script_join_exclusive, "join"},
	    {&script_renew_exclusive, "renew"},
	    {&script_release_exclusive, "release"},
	    {&script_plain_release_exclusive, "plain-release"},
	    {&script_ring, "notify"}, {&script_order, "order"},
	    {&script_heal, "heal"}};

	if (command->script == &script_release_exclusive)
		return command->on_reply == NULL ? "free"
		       : is_late(command)	 ? "late-release"
						 : "release";
	for (size_t i = 0; i < LENGTH(names); i++)
		if (names[i].script == command->script)
			return names[i].name;
	return command->words[0];
}

static inline const char *
times_of(const struct command *command)
{
	static char text[100];
	int length = snprintf(text, sizeof(text), "<%" PRId64,
	    SINCE_BEGIN(command->deadline));

	if (command->counts_until != 0)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
		    "^%" PRId64, SINCE_BEGIN(command->counts_until));
	if (command->replicas != 0 || command->replicas_ms != 0)
		snprintf(text + length, sizeof(text) - (size_t)length,
		    "&%d/%" PRId64, command->replicas, command->replicas_ms);
	return text;
}

/* Of several servers, which one it is, and the letter of the token that the
 * command is about. */
static inline const char *
from(const struct way *way, const struct command *command)
{
	static char text[24];
	const char *token;
	size_t letter = 0;

	text[0] = '\0';
	if (way->server == 0)
		return text;
	snprintf(text, sizeof(text), "%d.", way->server);
	if (command == NULL || command->script == NULL)
		return text;
	token = command->words[atoi(command->words[0]) + 1];
	if (strlen(token) != TOKEN_SIZE - 1)
		return text;
	while (scripted.tokens[letter][0] != '\0' &&
	       strcmp(scripted.tokens[letter], token) != 0)
		letter++;
	memcpy(scripted.tokens[letter], token, TOKEN_SIZE);
	snprintf(text, sizeof(text), "%d.%c:", way->server, 'a' + (char)letter);
	return text;
}

/* Goes along with a try or a renewal, and does not matter to it. */
static inline bool
is_companion(const char *name)
{
	static const char *const names[] = {"PEXPIRE", "ZRANGE", "INFO"};

	for (size_t i = 0; i < LENGTH(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* --- what stands in for others ---------------------------------------- */

int64_t __wrap_clock_now(void);
int64_t
__wrap_clock_now(void)
{
	return scripted.now;
}

/* What the reply that is being delivered says. */
static const struct answer *said;

bool __wrap_answer_read(struct answer *answer, enum answer_to asked,
    const struct value *reply);
bool
__wrap_answer_read(struct answer *answer, enum answer_to asked,
    const struct value *reply)
{
	bool is_read =
	    said != NULL && reply != NULL && value_error(reply) == NULL;

	(void)asked;
	*answer = (struct answer){.outcome = ANSWER_NONE};
	if (is_read)
		*answer = *said;
	return is_read;
}

int64_t __wrap_dice_between(int64_t low, int64_t high);
int64_t
__wrap_dice_between(int64_t low, int64_t high)
{
	return scripted.low ? low : high;
}

int __real_dice_fill(void *bytes, size_t size);
int __wrap_dice_fill(void *bytes, size_t size);
int
__wrap_dice_fill(void *bytes, size_t size)
{
	return scripted.chanceless ? -1 : __real_dice_fill(bytes, size);
}

struct way *__wrap_way_new(struct loop *loop, const struct endpoint *url,
    const char *key);
struct way *
__wrap_way_new(struct loop *loop, const struct endpoint *url, const char *key)
{
	struct way *way = scripted.ways;
	int server = url->label != NULL ? atoi(url->label + 1) : 0;
	bool is_second = false;

	(void)loop, (void)key;
	for (; way->is_used; way++)
		is_second = is_second || way->server == server;
	*way = (struct way){.server = server,
	    .is_used = true,
	    .is_second = is_second,
	    .is_up = way->is_up};
	snprintf(way->label, sizeof(way->label), server > 0 ? "S%d" : "S",
	    server);
	return way;
}

void __wrap_way_free(struct way *way);
void
__wrap_way_free(struct way *way)
{
	if (way == NULL)
		return;
	for (size_t i = 0; i < scripted.count; i++)
		if (scripted.sent[i].way == way)
			scripted.sent[i].answered = true;
	way->is_used = false;
}

/* At once: it only tells who the server is. */
static void answer_info(const struct way *way, const struct command *command);

int __wrap_way_send(struct way *way, const struct command *command);
int
__wrap_way_send(struct way *way, const struct command *command)
{
	const char *name = name_of(command);

	if (strcmp(name, "INFO") == 0)
		answer_info(way, command);
	if (is_companion(name) && !scripted.timed)
		return 0;
	if (scripted.full) {
		scripted.full = false;
		note("(%s)", name);
		return -1;
	}
	note("%s%s%s%s%s%s", from(way, command), name,
	    way->is_second ? "-again" : "",
	    command->again != AGAIN_NO ? "!" : "", command->more ? "+" : "",
	    scripted.timed ? times_of(command) : "");
	if (command->deadline < scripted.now)
		note("too-late"); /* it would not be sent */
	way->is_up = way->is_up || way->is_second;
	if (command->on_reply != NULL && !is_companion(name))
		scripted.sent[scripted.count++] = (struct sent){.way = way,
		    .on_reply = command->on_reply,
		    .arg = command->arg,
		    .tag = command->tag,
		    .is_ring = strcmp(name, "BLPOP") == 0,
		    .at = way->is_up ? scripted.now : CLOCK_NEVER};
	return 0;
}

bool __wrap_way_is_up(const struct way *way);
bool
__wrap_way_is_up(const struct way *way)
{
	return way->is_up;
}

int64_t __wrap_way_rests_until(const struct way *way);
int64_t
__wrap_way_rests_until(const struct way *way)
{
	(void)way;
	return scripted.rests_until;
}

static void answer_none(struct sent *sent, bool permanent);

/* All that is unanswered gets a reply before it returns. */
void __wrap_way_drop(struct way *way);
void
__wrap_way_drop(struct way *way)
{
	size_t count = scripted.count;

	if (way->is_up || !way->is_second)
		note("%sdrop%s", from(way, NULL),
		    way->is_second ? "-again" : "");
	way->is_up = false;
	for (size_t i = 0; i < count; i++)
		if (scripted.sent[i].way == way && !scripted.sent[i].answered)
			answer_none(&scripted.sent[i], false);
}

void __wrap_way_doubt(struct way *way);
void
__wrap_way_doubt(struct way *way)
{
	(void)way;
	note("doubt");
}

bool __wrap_way_has_moved(const struct way *way, const struct way *from);
bool
__wrap_way_has_moved(const struct way *way, const struct way *from)
{
	(void)way, (void)from;
	return scripted.moved;
}

void __wrap_way_reject(struct way *way);
void
__wrap_way_reject(struct way *way)
{
	note("reject");
	__wrap_way_drop(way);
}

const char *__wrap_way_error(const struct way *way);
const char *
__wrap_way_error(const struct way *way)
{
	return way->is_up			     ? ""
	       : scripted.rests_until > scripted.now ? SCRIPTED_HANG_UP
						     : "cannot connect to S";
}

const char *__wrap_way_label(const struct way *way);
const char *
__wrap_way_label(const struct way *way)
{
	return way->label;
}

/* --- replies ---------------------------------------------------------- */

static inline void
deliver(struct sent *sent, struct reply *reply)
{
	reply->tag = sent->tag;
	reply->label = sent->way->label;
	reply->sent_at = sent->at;
	if (reply->value != NULL && sent->at == CLOCK_NEVER)
		reply->sent_at = scripted.now; /* it was written meanwhile */
	sent->answered = true;
	sent->on_reply(sent->arg, reply);
}

static inline void
answer_none(struct sent *sent, bool permanent)
{
	struct reply reply = {.kind = REPLY_NONE,
	    .failure = "no answer from S: Connection reset by peer",
	    .permanent = permanent};

	deliver(sent, &reply);
}

/* A value of those bytes. */
static inline struct value *
value_of(const char *bytes)
{
	const struct value_limits limits = {.bytes = 1000, .elements = 9};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;

	value_reader_feed(reader, bytes, strlen(bytes));
	value_reader_next(reader, limits, &value);
	value_reader_free(reader);
	return value;
}

static inline void
answer_info(const struct way *way, const struct command *command)
{
	char bytes[100], text[80];
	int length = snprintf(text, sizeof(text),
	    "run_id:%d\r\nuptime_in_seconds:%d\r\n",
	    scripted.same && way->server == 3 ? 1 : way->server,
	    scripted.young ? 60 : 61);
	struct value *value;

	snprintf(bytes, sizeof(bytes), "$%d\r\n%s\r\n", length, text);
	value = value_of(scripted.info != NULL ? scripted.info : bytes);
	command->on_reply(command->arg,
	    &(struct reply){.value = value, .label = way->label});
	value_free(value);
}

static inline void
answer_error(struct sent *sent, enum reply_kind kind, const char *words)
{
	char bytes[200];
	struct value *value;
	struct reply reply = {.kind = kind, .failure = "not this"};

	snprintf(bytes, sizeof(bytes), "-%s\r\n", words);
	value = value_of(bytes);
	reply.value = value;
	reply.error = value_error(value);
	deliver(sent, &reply);
	value_free(value);
}

/* That of a refused login, with the answer of the script all the same; acks:
 * that of WAIT, or NULL. */
static inline void
answer_value(struct sent *sent, const struct answer *answer,
    enum reply_kind kind, const char *acks)
{
	struct value *value =
	    value_of(sent->is_ring ? "*2\r\n$1\r\nb\r\n$1\r\n1\r\n" : ":1\r\n");
	struct reply reply = {.kind = kind,
	    .value = value,
	    .error = kind == REPLY_NO_ACCESS ? "NOPERM no permission" : NULL};
	struct value *replicas = acks != NULL ? value_of(acks) : NULL;

	said = answer;
	reply.acks = replicas;
	deliver(sent, &reply);
	value_free(value);
	value_free(replicas);
}

#define NOTIFIES .to_notify = {.count = 1, .names = {SCRIPTED_WAITER}}
#define NOTIFIES_HEAD .head = SCRIPTED_WAITER
#define HELD_BY                           \
	.waiting = 2, .ticket = "5",      \
	.holder = {.state = HOLDER_KNOWN, \
	    .count = 1,                   \
	    .others_queued = true,        \
	    .replaceable = true,          \
	    .left_ms = 5000}
#define GRANTED                                                                \
	.outcome = ANSWER_GRANTED, .fence = "17", .start = 1700, .life_ms = 8, \
	.permits = 3, .ahead_ms = 7
#define FOREIGN .holder = {.state = HOLDER_FOREIGN, .left_ms = -1}

/* Answers to a try, a renewal, a release, and a position in the queue. */
static const struct {
	const char *word;
	int64_t position;
	struct answer answer;
} replies[] = {
    {"granted", -1, {GRANTED}},
    {"granted,notify", -1, {GRANTED, NOTIFIES, NOTIFIES_HEAD}},
    {"uncounted", -1,
	{.outcome = ANSWER_GRANTED, .uncounted = "NOPERM no key"}},
    {"busy", -1, {.outcome = ANSWER_BUSY, HELD_BY}},
    {"head", 0, {.outcome = ANSWER_BUSY, HELD_BY}},
    {"queued", 1, {.outcome = ANSWER_BUSY, HELD_BY}},
    {"queued,notify", 1, {.outcome = ANSWER_BUSY, HELD_BY, NOTIFIES}},
    {"irreplaceable", 0, {.outcome = ANSWER_BUSY, .holder = {.count = 1}}},
    {"paused", 0,
	{.outcome = ANSWER_BUSY,
	    .holder = {.count = 1, .state = HOLDER_PAUSED}}},
    {"for-others", 1,
	{.outcome = ANSWER_BUSY, .holder = {.state = HOLDER_NONE}}},
    {"foreign", 0, {.outcome = ANSWER_BUSY, FOREIGN}},
    {"not-due", -1,
	{.outcome = ANSWER_NOT_DUE,
	    .ago_ms = 60000,
	    .holder = {.host = "web-3"}}},
    {"overtaken", -1,
	{.outcome = ANSWER_OVERTAKEN, .by = {.host = "ci-3", .pid = "7"}}},
    {"no-order", -1, {.outcome = ANSWER_HINT}},
    {"ordered", -1,
	{.outcome = ANSWER_HINT, .by = {.host = "ci-3", .pid = "7"}}},
    {"other-ordered", -1, {.outcome = ANSWER_HINT, .ordered = SCRIPTED_TOKEN}},
    {"same-id", -1,
	{.outcome = ANSWER_NOT_DUE,
	    .ago_ms = 60000,
	    .holder = {.host = "web-3"},
	    .by_id = true}},
    {"not-held", -1, {.outcome = ANSWER_NOT_HELD}},
    {"other-kind", -1, {.outcome = ANSWER_OTHER_KIND}},
    {"renewed", -1, {.outcome = ANSWER_RENEWED}},
    {"not-ours", -1, {.outcome = ANSWER_NOT_OURS}},
    {"freed", -1, {.outcome = ANSWER_FREED}},
    {"freed,notify", -1, {.outcome = ANSWER_FREED, NOTIFIES_HEAD}},
    {"freed,unrecorded", -1, {.outcome = ANSWER_FREED, .unrecorded = true}},
    {"left", -1, {.outcome = ANSWER_LEFT}},
    {"not-ours,unrecorded", -1,
	{.outcome = ANSWER_NOT_OURS, .unrecorded = true}},
    {"kept", -1, {.outcome = ANSWER_KEPT, .kept_ms = 4000}},
};

/* The oldest question without a reply, or the one that the word begins with; of
 * several servers, the oldest of that one. */
static inline struct sent *
question(const char **word)
{
	char *rest;
	long number = strtol(*word, &rest, 10);

	if (*rest == ':') {
		*word = rest + 1;
		if (scripted.sent[0].way->server == 0)
			return &scripted.sent[number - 1];
	}
	for (size_t i = 0; i < scripted.count; i++)
		if (!scripted.sent[i].answered &&
		    (*rest != ':' || scripted.sent[i].way->server == number))
			return &scripted.sent[i];
	return NULL;
}

/* `refused:` is a server that has refused AUTH or SELECT before. */
static inline bool
answer_by(struct sent *sent, const char *word)
{
	enum reply_kind kind = REPLY_VALUE;
	if (strncmp(word, "refused:", 8) == 0) {
		kind = REPLY_NO_ACCESS;
		word += 8;
	}
	for (size_t i = 0; i < LENGTH(replies); i++)
		if (strcmp(word, replies[i].word) == 0) {
			const struct lock_link *link = sent->arg;
			struct answer answer = replies[i].answer;

			answer.position = replies[i].position;
			if (strcmp(word, "ordered") == 0)
				memcpy(answer.ordered, link->lock->claim.token,
				    sizeof(answer.ordered));
			answer_value(sent, &answer, kind, ":1\r\n");
			return true;
		}
	return false;
}

/* A yes that too few replicas have, by the reply to WAIT. */
static inline void
answer_few(struct sent *sent, const char *acks)
{
	const struct answer answer = {.outcome =
					  sent->tag == ANSWER_TO_RENEWAL
					      ? ANSWER_RENEWED
					  : sent->tag == ANSWER_TO_RELEASE
					      ? ANSWER_FREED
					      : ANSWER_GRANTED,
	    .fence = "17"};

	answer_value(sent, &answer, REPLY_VALUE, acks);
}

/* Others: `silent` it may have been run, or not; `permanent` nor will the next;
 * `again` it has not, and is asked the same once more, `refused-again` by a
 * server that has refused the login; `few` too few replicas,
 * `wait-denied` and `wait-fails` no word of them;
 * `ring` the doorbell; `nonsense` no answer to that question; `-ERR_text` an
 * error, `no:-ERR_text` the refusal of the login. */
static inline void
answer_word(const char *word)
{
	struct sent *sent = question(&word);
	static const struct answer ring = {.outcome = ANSWER_NONE};
	struct reply again = {.kind = REPLY_ERROR,
	    .error = "NOSCRIPT",
	    .again = AGAIN_AS_TEXT};
	struct reply refused_again = {.kind = REPLY_NO_ACCESS,
	    .error = "NOPERM no permission",
	    .again = AGAIN_AS_TEXT};
	char words[100];
	size_t length = 0;

	if (sent == NULL) {
		note("?%s", word);
		return;
	}
	for (const char *c = word; *c != '\0' && length < 99; c++)
		words[length++] = *c == '_' ? ' ' : *c;
	words[length] = '\0';
	if (strcmp(word, "silent") == 0 || strcmp(word, "permanent") == 0)
		answer_none(sent, *word == 'p');
	else if (strcmp(word, "again") == 0)
		deliver(sent, &again);
	else if (strcmp(word, "refused-again") == 0)
		deliver(sent, &refused_again);
	else if (strcmp(word, "few") == 0)
		answer_few(sent, ":0\r\n");
	else if (strcmp(word, "wait-denied") == 0)
		answer_few(sent, "-NOPERM WAIT\r\n");
	else if (strcmp(word, "wait-fails") == 0)
		answer_few(sent, "-UNBLOCKED by a failover\r\n");
	else if (strcmp(word, "ring") == 0 || strcmp(word, "nonsense") == 0)
		answer_value(sent, *word == 'r' ? &ring : NULL, REPLY_VALUE,
		    NULL);
	else if (*word == '-')
		answer_error(sent, REPLY_ERROR, words + 1);
	else if (strncmp(word, "no:-", 4) == 0)
		answer_error(sent, REPLY_NO_ACCESS, words + 4);
	else if (!answer_by(sent, word))
		note("?%s", word);
}

static inline void
note_phase(enum lock_phase phase, enum lock_failure failure,
    enum lock_released outcome)
{
	static const char *const phases[] = {"idle", "acquiring", "held",
	    "lost", "releasing", "released", "failed"};
	static const char *const failures[] = {"", ":busy", ":unavailable",
	    ":not-a-lock", ":other-kind", ":refused", ":error",
	    ":misconfigured", ":no-outer", ":not-due", ":overtaken"};
	static const char *const outcomes[] = {":not-held", ":unconfirmed",
	    ":was-lost", ":freed", ":left", ":kept"};

	note("=%s%s%s", phases[phase],
	    phase == LOCK_FAILED ? failures[failure] : "",
	    phase == LOCK_RELEASED ? outcomes[outcome] : "");
}

/* --- steps ------------------------------------------------------------ */

/* Each C library has words of its own for ETIMEDOUT: "timed out" in all rows.
 */
static inline void
note_words(const char *what, const char *words, char *last)
{
	const char *late = strstr(words, strerror(ETIMEDOUT));

	if (strcmp(words, last) != 0 && late != NULL)
		note("%s'%.*stimed out'", what, (int)(late - words), words);
	else if (strcmp(words, last) != 0)
		note("%s'%.48s'", what, words);
	snprintf(last, SCRIPTED_WORDS_MAX, "%s", words);
}

static inline void
note_why(const struct lock_why *why)
{
	note_words("", why->text, scripted.why);
	note_words("cost", why->cost, scripted.cost);
	if (why->answered != scripted.answered)
		note("%s", why->answered ? "ok" : "not-ok");
	scripted.answered = why->answered;
}

static inline void
note_state(const struct lock *lock)
{
	static enum lock_phase last;
	static int64_t until;
	static bool ordered;
	enum lock_phase phase = lock_phase(lock);
	int64_t valid_until = lock->lease.valid_until;

	if (scripted.told && phase != LOCK_IDLE)
		note_why(&lock->why);
	if (phase == LOCK_IDLE)
		until = 0;
	if (lock->order.ordered && !ordered)
		note("ordered");
	ordered = lock->order.ordered;
	if (phase != last && phase != LOCK_IDLE)
		note_phase(phase, lock->failure, lock->release.outcome);
	last = phase;
	if (valid_until == 0 && until != 0)
		note("unproven");
	else if (valid_until != until)
		note("until@%" PRId64, SINCE_BEGIN(valid_until));
	until = valid_until;
}

/* One that was never set is not due. */
static inline struct loop_timer *
first_timer(struct lock *lock)
{
	struct loop_timer *order = &lock->order.timer;

	return order->on_due != NULL && order->at < lock->timer.at
		   ? order
		   : &lock->timer;
}

static inline void
pass(struct lock *lock, int64_t ms)
{
	int64_t end = scripted.now + ms;

	for (;;) {
		struct loop_timer *timer = first_timer(lock);

		if (timer->at > end)
			break;
		if (timer->at > scripted.now)
			scripted.now = timer->at;
		timer->at = CLOCK_NEVER;
		timer->on_due(lock);
		note_state(lock);
	}
	scripted.now = end;
}

static inline void
step(struct lock *lock, const char *word)
{
	if (strcmp(word, "start") == 0)
		lock_order(lock, ON_ACQUIRE);
	else if (*word == '+')
		pass(lock, atoll(word + 1));
	else if (strncmp(word, "stopped", 7) == 0)
		scripted.now += atoll(word + 7);
	else if (strcmp(word, "release") == 0)
		lock_order(lock, ON_RELEASE);
	else if (strncmp(word, "keep", 4) == 0)
		lock->release.keep_until = scripted.now + atoll(word + 4);
	else if (strncmp(word, "ended", 5) == 0)
		lock->release.run =
		    (struct request_run){.status = atoi(word + 5),
			.reason = "job_ended"};
	else if (strncmp(word, "correct", 7) == 0)
		release_correct(lock,
		    &(struct request_run){.status = atoi(word + 7),
			.reason = "taken"});
	else if (strcmp(word, "proven") == 0)
		lock->release.is_proven = true;
	else if (strcmp(word, "loss") == 0)
		release_lost(lock);
	else if (strcmp(word, "stop") == 0)
		lock_order(lock, ON_WITHDRAW);
	else if (strcmp(word, "renew") == 0)
		lock_order(lock, ON_RENEW);
	else if (strcmp(word, "up") == 0 || strcmp(word, "down") == 0)
		scripted.ways[0].is_up = scripted.ways[1].is_up = *word == 'u';
	else if (strncmp(word, "rest", 4) == 0)
		scripted.rests_until = scripted.now + atoll(word + 4);
	else if (strcmp(word, "plant") == 0)
		lock_order(lock, ON_PLANT);
	else if (strcmp(word, "behind") == 0)
		lock_order(lock, ON_BEHIND);
	else if (strcmp(word, "full") == 0)
		scripted.full = true;
	else if (strcmp(word, "moved") == 0)
		scripted.moved = true;
	else if (strcmp(word, "chanceless") == 0)
		scripted.chanceless = true;
	else
		answer_word(word);
	note_state(lock);
}

/* --- facts ------------------------------------------------------------ */

/* Of a grant that is unusual, all that it says, and since when it lasts. */
static inline void
note_facts(const struct lock *lock)
{
	static const char *const debts[] = {"", "queued", "maybe", "ours"};
	const struct claim *claim = &lock->claim;
	const struct lock_grant *grant = &lock->grant;
	char text[200];
	const struct {
		const char *name;
		int64_t value, usual;
	} facts[] = {{"answered", lock->why.answered, false},
	    {"no-queue", lock->why.no_queue, false},
	    {"plain", claim->tier == CLAIM_PLAIN, false},
	    {"holder", lock->holder.state, HOLDER_UNSEEN},
	    {"order", lock->holder.order, HOLDER_NOT_ASKED},
	    {"position", lock->queue.position, -1},
	    {"length", lock->queue.length, 0},
	    {"watches", lock->queue.watches_head, false},
	    {"queued", claim->was_queued, false},
	    {"ticket", atoll(claim->ticket), 0},
	    {"head", *claim->head != '\0', false},
	    {"former", (int64_t)claim->former_count, 0},
	    {"asked", SINCE_BEGIN(claim->asked_at), 0},
	    {"sent", SINCE_BEGIN(lock->pace.sent_at), 0},
	    {"silent", SINCE_BEGIN(lock->pace.silent_since), -SCRIPTED_BEGIN},
	    {"reply-ms", lock->pace.reply_ms, 1000},
	    {"backoff", lock->pace.backoff_ms, 100},
	    {"patience", lock->pace.patience_ms, 1000},
	    {"round-trip", lock->pace.round_trip_ms, 0},
	    {"again", lock->pace.again, AGAIN_NO},
	    {"repeats", lock->pace.repeats, 0},
	    {"unsafe", lock->is_unsafe, false}, {"healed", lock->healed, false},
	    {"asks", lock->order.is_out, false},
	    {"out", lock->vote.is_out, false},
	    {"permanent", lock->vote.is_permanent, false},
	    {"unheard", lock->vote.is_unheard, false},
	    {"away", lock->vote.was_away, false},
	    {"renewed", SINCE_BEGIN(lock->vote.renewed_at), -SCRIPTED_BEGIN},
	    {"was-lost", lock->release.outcome == LOCK_WAS_LOST, false},
	    {"unrecorded", lock->release.unrecorded, false},
	    {"unreplicated", *lock->release.unreplicated != '\0', false},
	    {"kept", SINCE_BEGIN(lock->release.kept_until), -SCRIPTED_BEGIN}};

	if (lock->debt != DEBT_NOTHING)
		note("owes-%s", debts[lock->debt]);
	snprintf(text, sizeof(text),
	    "%s/%s/%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64 "@%" PRId64
	    "/%" PRId64,
	    grant->fence, claim->fence, claim->start, claim->life_ms,
	    grant->success_ahead_ms, grant->permits,
	    SINCE_BEGIN(lock->lease.acquired_at),
	    SINCE_BEGIN(lock->lease.known_at));
	if (lock->lease.acquired_at != 0 &&
	    strcmp(text, "17/17/1700/8/7/3@0/0") != 0)
		note("grant:%s", text);
	for (size_t i = 0; i < LENGTH(facts); i++)
		if (facts[i].value != facts[i].usual)
			note("%s:%" PRId64, facts[i].name, facts[i].value);
}

/* --- rows ------------------------------------------------------------- */

static inline bool
has_word(const char *words, const char *word)
{
	const char *found = strstr(words, word);

	return found != NULL && (found == words || found[-1] == ' ') &&
	       strchr(" ", found[strlen(word)]) != NULL;
}

static inline struct lock_config
config_with(const char *with)
{
	static const struct endpoint plain, cluster = {.cluster = true};
	const struct endpoint *server =
	    has_word(with, "cluster") ? &cluster : &plain;

	return (struct lock_config){.key = server == &cluster ? "a}b" : "job",
	    .name = "job",
	    .server = server,
	    .vote_ms = has_word(with, "vote") ? 500 : 0,
	    .ttl_ms = has_word(with, "short") ? 1000 : 30000,
	    .server_timeout_ms = 5000,
	    .try_ms = 1000,
	    .wait = has_word(with, "wait"),
	    .max_waiters = CONFIG_ANY_WAITERS,
	    .newest = has_word(with, "newest"),
	    .replace = has_word(with, "replace"),
	    .replaceable = has_word(with, "replaceable"),
	    .replicas = has_word(with, "replicas"),
	    .replicas_ms = has_word(with, "replicas") ? 200 : 0,
	    .kind = &kind_exclusive,
	    .command = "backup",
	    .label = "",
	    .outer =
		has_word(with, "nested") ? "x:" SCRIPTED_TOKEN ":job" : NULL,
	    .history_ms = has_word(with, "history") ? 60000 : 0,
	    .expect_ms = -1,
	    .once_ms = has_word(with, "once") ? 1 : 0,
	    .once_id = has_word(with, "id") ? "1\n\"" : NULL};
}

static inline void
begin(struct lock *lock, struct loop *loop, const struct lock_config *config,
    const char *with)
{
	scripted = (struct scripted){.now = SCRIPTED_BEGIN,
	    .noted_at = SCRIPTED_BEGIN,
	    .ways[0].is_up = !has_word(with, "down"),
	    .low = has_word(with, "low"),
	    .timed = has_word(with, "timed"),
	    .told = has_word(with, "told"),
	    .why = "no answer from S"};
	loop_init(loop);
	lock_init(lock, loop, config);
	note_state(lock);
}

static inline void
take_steps(struct lock *lock, const char *steps)
{
	char words[400];

	snprintf(words, sizeof(words), "%s", steps);
	for (char *word = strtok(words, " "); word != NULL;
	     word = strtok(NULL, " "))
		step(lock, word);
}

static inline void
all_is_freed(void)
{
	for (size_t i = 0; i < SCRIPTED_WAYS_MAX; i++)
		if (scripted.ways[i].is_used)
			ok(false, "  its connections are freed");
}

static inline void
play(const struct scripted_row *row)
{
	const struct lock_config config = config_with(row->with);
	struct loop loop;
	struct lock lock;

	begin(&lock, &loop, &config, row->with);
	take_steps(&lock, row->steps);
	if (has_word(row->with, "facts"))
		note_facts(&lock);
	is_text(scripted.trace, row->trace, row->what);
	if (lock.release.unrecorded)
		snprintf(lock.why.text, sizeof(lock.why.text),
		    "unrecorded: %.1000s", lock.why.cost);
	if (row->error != NULL && strstr(lock.why.text, row->error) == NULL)
		is_text(lock.why.text, row->error, "  its error");
	lock_fini(&lock);
	loop_fini(&loop);
	all_is_freed();
}

#define PLAY(rows)                                                  \
	for (size_t i = 0; i < sizeof(rows) / sizeof(*(rows)); i++) \
	play(&(rows)[i])

#endif
