/* The machine of a lock as a whole, by its table: each state that listens knows
 * each reply that can reach it, each order and the timer lead on from each
 * state, and what a release has to free is not forgotten without a reply. */
#include "lock/lock.h"

#include "scripted.h"

/* --- each reply in each state that listens -------------------------------- */

/* Which question is out in it, by the first words of its name; NULL: none. */
static const char *const listens[LOCK_STATES] = {[AT_TRY] = "try",
    [AT_BELL] = "bell",
    [AT_RENEW] = "renewal",
    [AT_TWICE] = "renewal",
    [AT_PLANT] = "try",
    [AT_AWAIT] = "renewal",
    [AT_FREE] = "release",
    [AT_RECORD] = "record"};

static const char *const questions[] = {[ANSWER_TO_TRY] = "try",
    [ANSWER_TO_JOIN] = "try",
    [ANSWER_TO_PLAIN_JOIN] = "try",
    [ANSWER_TO_OTHER_KIND] = "try",
    [ANSWER_TO_RENEWAL] = "renewal",
    [ANSWER_TO_RELEASE] = "release",
    [ANSWER_TO_PLAIN_RELEASE] = "release",
    [ANSWER_TO_RECORD] = "record",
    [ANSWER_TO_BELL] = "bell",
    [ANSWER_TO_HEAD] = "hint",
    [ANSWER_TO_ORDER] = "hint"};

/* Nothing would move such a lock any more: a reply had no cell, or a question
 * was not sent. One that is over is not to be moved. */
static const char *
stuck(const struct lock *lock)
{
	const char *wanted = listens[lock->state];
	static char what[80];

	if (wanted == NULL && lock->state != AT_REST &&
	    lock->state != AT_HELD && lock->state != AT_PAUSE &&
	    lock->state != AT_LATER)
		return NULL;
	if (wanted == NULL && lock->timer.at != CLOCK_NEVER)
		return NULL;
	for (size_t i = 0; wanted != NULL && i < scripted.count; i++)
		if (!scripted.sent[i].answered &&
		    strcmp(questions[scripted.sent[i].tag], wanted) == 0)
			return NULL;
	snprintf(what, sizeof(what), "stuck in state %d", lock->state);
	return what;
}

static const struct {
	const char *with, *steps;
	enum lock_state state;
	const char *answers[12];
} listeners[] = {
    {"", "start", AT_TRY,
	{"granted", "granted,notify", "busy", "refused:granted",
	    "refused:busy"}},
    {"short", "start +501", AT_TRY, {"granted"}},
    {"wait newest", "start", AT_TRY,
	{"granted", "busy", "head", "queued", "queued,notify", "foreign",
	    "overtaken", "refused:queued"}},
    {"wait", "start queued ring", AT_TRY, {"granted", "busy", "queued"}},
    {"wait", "start silent +100", AT_TRY, {"granted", "busy", "queued"}},
    {"cluster wait", "start", AT_TRY, {"granted", "busy", "foreign"}},
    {"history once", "start", AT_TRY, {"granted", "not-due"}},
    {"history id", "start", AT_TRY, {"granted", "same-id"}},
    {"nested", "start", AT_TRY,
	{"granted", "uncounted", "not-held", "other-kind"}},
    {"vote", "start", AT_TRY, {"granted", "busy", "few"}},
    {"vote nested", "start", AT_TRY, {"granted", "not-held", "other-kind"}},
    {"replicas wait", "start", AT_TRY, {"granted", "few", "queued"}},
    {"wait", "start queued", AT_BELL, {"ring"}},
    {"", "start granted +10500", AT_RENEW, {"renewed", "not-ours"}},
    {"replicas", "start granted +10500", AT_RENEW,
	{"renewed", "not-ours", "few"}},
    {"vote", "start granted +3150", AT_RENEW, {"renewed", "not-ours"}},
    {"", "start granted +11500", AT_TWICE,
	{"2:renewed", "3:renewed", "2:not-ours", "3:not-ours", "2:silent",
	    "3:silent", "3:-LOADING_x", "3:-NOPERM_x", "3:again"}},
    {"", "start granted +11500 3:silent", AT_TWICE, {"renewed", "not-ours"}},
    {"", "start granted +11500 2:silent", AT_TWICE, {"renewed", "not-ours"}},
    {"vote", "start busy plant", AT_PLANT,
	{"granted", "busy", "refused:granted", "refused:busy"}},
    {"vote", "start granted +3150 not-ours plant", AT_PLANT,
	{"granted", "busy"}},
    {"vote nested", "start not-held plant", AT_PLANT,
	{"granted", "uncounted", "not-held", "other-kind"}},
    {"", "start granted +11500 release", AT_AWAIT,
	{"2:renewed", "3:renewed", "2:not-ours", "3:not-ours", "3:silent"}},
    {"", "start granted +11500 keep4000 release", AT_AWAIT,
	{"2:renewed", "3:renewed", "2:silent", "3:silent"}},
    {"", "start granted +11500 2:renewed keep4000 release", AT_AWAIT,
	{"3:renewed", "3:not-ours", "3:silent"}},
    {"", "start granted release", AT_FREE,
	{"freed", "freed,notify", "not-ours", "left", "kept"}},
    {"history", "start granted ended0 release", AT_FREE,
	{"freed", "freed,unrecorded", "not-ours,unrecorded", "left"}},
    {"cluster", "start granted release", AT_FREE, {"freed", "not-ours"}},
    {"nested", "start granted release", AT_FREE, {"left", "not-ours"}},
    {"", "start stop", AT_FREE, {"freed", "not-ours"}},
    {"wait", "start queued stop", AT_FREE, {"freed", "not-ours"}},
    {"wait", "start queued ring -ERR_odd", AT_FREE, {"freed", "not-ours"}},
    {"history", "start granted ended0 release not-ours correct70", AT_RECORD,
	{"freed", "freed,unrecorded", "not-ours"}},
    {"history", "start granted ended0 release freed,unrecorded", AT_RECORD,
	{"freed", "freed,unrecorded", "not-ours"}},
};

/* These can be the reply to each question. */
static const char *const no_answers[] = {"silent", "permanent", "again",
    "nonsense", "-LOADING_x", "-TRYAGAIN_x", "-READONLY_x", "-UNBLOCKED_x",
    "-NOPERM_x", "-NOAUTH_x", "-WRONGTYPE_x", "-OOM_x", "-ERR_odd",
    "-ERR_unknown_command", "-ERR_timeout_is_not_an_integer", "-MOVED_1_x:1",
    "no:-NOAUTH_x", "no:-LOADING_x"};

/* Whether that reply is heard there, and leaves something to go on with. */
static bool
leads_on(size_t i, const char *answer, const char **why)
{
	const struct lock_config config = config_with(listeners[i].with);
	struct loop loop;
	struct lock lock;

	begin(&lock, &loop, &config, listeners[i].with);
	take_steps(&lock, listeners[i].steps);
	*why = lock.state == listeners[i].state ? NULL : "not in that state";
	take_steps(&lock, answer);
	if (*why == NULL)
		*why = stuck(&lock);
	lock_fini(&lock);
	loop_fini(&loop);
	return *why == NULL;
}

static void
test_replies(void)
{
	bool reached[LOCK_STATES] = {false};
	const char *why;

	for (size_t i = 0; i < LENGTH(listeners); i++) {
		reached[listeners[i].state] = true;
		for (size_t j = 0; j < LENGTH(listeners[i].answers) &&
				   listeners[i].answers[j] != NULL;
		     j++)
			if (!leads_on(i, listeners[i].answers[j], &why))
				is_text(why, "", listeners[i].answers[j]);
		for (size_t j = 0; j < LENGTH(no_answers); j++)
			if (!leads_on(i, no_answers[j], &why))
				is_text(why, "", no_answers[j]);
		ok(true, "%s: %s", listeners[i].with, listeners[i].steps);
	}
	for (size_t i = 0; i < LOCK_STATES; i++)
		if (listens[i] != NULL)
			ok(reached[i], "a state that listens is walked");
}

/* The same as often as the judge allows, and more often. */
static void
test_redirects(void)
{
	const char *why;

	for (size_t i = 0; i < LENGTH(listeners); i++)
		if (!leads_on(i, "again again again again again again again",
			&why))
			is_text(why, "", listeners[i].steps);
	ok(true, "whoever is redirected too often goes on later");
}

/* --- random walks --------------------------------------------------------- */

static const char *const moves[] = {"+1", "+100", "+700", "+1000", "+5000",
    "+11500", "stopped1100", "up", "down", "rest400", "full", "silent",
    "permanent", "again", "nonsense", "-LOADING_x", "-READONLY_x", "-NOPERM_x",
    "-WRONGTYPE_x", "-ERR_odd", "no:-NOAUTH_x", "no:-LOADING_x", "few", "stop",
    "release", "keep4000", "ended0", "loss", "correct70", "renew"};

/* Replies that fit the question that is out. */
static const char *
fitting(unsigned chance)
{
	static const char *const tries[] = {"granted", "busy", "queued",
	    "foreign", "refused:granted", "refused:queued", "overtaken"};
	static const char *const renewals[] = {"renewed", "not-ours"};
	static const char *const releases[] = {"freed", "not-ours", "left",
	    "freed,unrecorded"};
	const char *word = "silent", *asked;
	struct sent *sent = question(&word);

	if (sent == NULL)
		return "+100";
	asked = questions[sent->tag];
	if (strcmp(asked, "try") == 0)
		return tries[chance % LENGTH(tries)];
	if (strcmp(asked, "renewal") == 0)
		return renewals[chance % LENGTH(renewals)];
	if (strcmp(asked, "bell") == 0)
		return "ring";
	return strcmp(asked, "hint") == 0 ? "silent"
					  : releases[chance % LENGTH(releases)];
}

/* What the server may have of us is never less without an answer of it. */
static bool
is_forgotten(enum lock_debt before, enum lock_debt after, const char *word)
{
	bool is_answer =
	    strchr("+sudk", *word) == NULL && strcmp(word, "release") != 0 &&
	    strcmp(word, "renew") != 0 && strcmp(word, "rest400") != 0 &&
	    strcmp(word, "nonsense") != 0 && strcmp(word, "permanent") != 0;
	bool less = after < DEBT_MAYBE && after < before;

	return less && !is_answer;
}

/* One of the usual settings, and twenty steps by chance. */
static const char *
walk(unsigned seed, char *steps, size_t size)
{
	static const char *const withs[] = {"", "wait", "wait history",
	    "history", "short history", "replicas wait", "nested", "vote",
	    "vote replicas", "cluster wait", "wait newest", "replaceable"};
	const char *with = withs[seed % LENGTH(withs)], *why = NULL;
	const struct lock_config config = config_with(with);
	struct loop loop;
	struct lock lock;

	snprintf(steps, size, "%s: start", with);
	begin(&lock, &loop, &config, with);
	take_steps(&lock, "start");
	for (int i = 0; i < 20 && why == NULL; i++) {
		enum lock_debt before = lock.debt;
		size_t length = strlen(steps);
		const char *word;

		seed = seed * 1103515245 + 12345;
		word = seed >> 16 & 1 ? fitting(seed >> 17)
				      : moves[(seed >> 17) % LENGTH(moves)];
		if (scripted.count > SCRIPTED_SENT_MAX - 20)
			break;
		/* Those orders have a time. */
		if ((*word == 'l' && lock.state != AT_LOST) ||
		    (*word == 'c' && lock.state != AT_DONE) ||
		    (strcmp(word, "release") == 0 &&
			lock_phase(&lock) != LOCK_HELD))
			continue;
		snprintf(steps + length, size - length, " %s", word);
		scripted.trace[0] = '\0';
		take_steps(&lock, word);
		why = is_forgotten(before, lock.debt, word)
			  ? "a debt is forgotten"
			  : stuck(&lock);
	}
	lock_fini(&lock);
	loop_fini(&loop);
	return why;
}

static void
test_walks(void)
{
	char steps[1000];

	for (unsigned seed = 1; seed <= 30000; seed++) {
		const char *why = walk(seed, steps, sizeof(steps));

		if (why != NULL) {
			is_text(why, "", steps);
			return;
		}
	}
	ok(true, "walks by chance: none is stuck, and no debt is forgotten");
}

static void
test_chanceless(void)
{
	const struct lock_config config = config_with("");
	struct loop loop;
	struct lock lock;

	loop_init(&loop);
	scripted = (struct scripted){.chanceless = true};
	is_int(lock_init(&lock, &loop, &config), -1,
	    "without randomness there is no lock");
	lock_fini(&lock);
	loop_fini(&loop);
}

int
main(void)
{
	test_replies();
	test_redirects();
	test_walks();
	test_chanceless();
	return tap_done();
}
