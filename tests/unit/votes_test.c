/* When the votes of several servers decide. */
#include "lock/votes.h"

#include "tap.h"

static const char *const names[] = {[VOTES_WAIT] = "wait",
    [VOTES_YES] = "yes",
    [VOTES_NO] = "no",
    [VOTES_FAILED] = "failed"};

static void
test_majority(void)
{
	static const size_t majorities[] = {1, 1, 2, 2, 3, 3, 4, 4, 5};

	for (size_t size = 1; size < LENGTH(majorities); size++)
		is_int((int64_t)votes_majority(size), (int64_t)majorities[size],
		    "majority");
}

static void
test_patience(void)
{
	is_int(votes_patience_ms(1000), 50, "a twentieth, at least 50 ms");
	is_int(votes_patience_ms(4000), 200, "a twentieth");
	is_int(votes_patience_ms(30000), 500, "at most 500 ms");
}

/* --- grants ----------------------------------------------------------- */

/* One letter for each server: y(es), n(o), g (no: the outer run's lock is
 * gone), - (absent), x (absent for good), o(ut). */
static struct votes
parse(const char *letters)
{
	struct votes votes = {.size = strlen(letters)};

	for (; *letters != '\0'; letters++) {
		votes.yes += *letters == 'y';
		votes.no += *letters == 'n' || *letters == 'g';
		votes.gone += *letters == 'g';
		votes.permanent += *letters == 'x';
		votes.out += *letters == 'o';
	}
	return votes;
}

static void
test_grants(void)
{
	static const struct {
		const char *letters, *decision;
	} cases[] = {
	    {"ooooo", "wait"},
	    {"ynyno", "wait"},
	    {"yyyoo", "yes"},
	    {"yyyxx", "yes"},
	    {"yynnn", "no"},
	    {"yynn-", "no"},
	    {"yygg-", "failed"},
	    {"yggo-", "wait"},
	    {"ygg", "failed"},
	    {"ggo", "wait"},
	    {"gg-", "failed"},
	    {"ggx", "failed"},
	    {"ggg", "no"},
	    {"yg-", "failed"},
	    {"ooxxx", "wait"},
	    {"yyxxx", "failed"},
	    {"nnnxx", "no"},
	    {"nnxxx", "failed"},
	    {"yy--", "failed"},
	    {"yynn", "no"},
	    {"y-", "failed"},
	    {"y", "yes"},
	    {"n", "no"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct votes votes = parse(cases[i].letters);

		is_text(names[votes_decide(&votes)], cases[i].decision,
		    cases[i].letters);
	}
}

static bool
is_sound_grant(const char *letters)
{
	const struct votes votes = parse(letters);
	size_t majority = votes_majority(votes.size);
	enum votes_decision decision = votes_decide(&votes);

	if ((decision == VOTES_YES) != (votes.yes >= majority))
		return false;
	if (decision == VOTES_WAIT)
		return votes.out > 0;
	if (decision != VOTES_YES && votes.yes + votes.out >= majority)
		return false;
	if (decision == VOTES_NO)
		return votes.no > 0 && votes.yes + votes.no >= majority;
	return true;
}

/* --- releases --------------------------------------------------------- */

/* One letter for each server: y(es), r (yes, but too few replicas have it),
 * n(o), l (no: it has lost the lock), - (it has not been heard of), o(pen), u
 * (open, and not sent); t: the time for those is over. */
static struct votes_releases
parse_releases(const char *letters)
{
	struct votes_releases releases = {0};

	for (; *letters != '\0'; letters++) {
		releases.size += *letters != 't';
		releases.freed += *letters == 'y' || *letters == 'r';
		releases.replicated += *letters == 'y';
		releases.denied += *letters == 'n' || *letters == 'l';
		releases.lost += *letters == 'l';
		releases.open += *letters == 'o' || *letters == 'u';
		releases.unsent += *letters == 'u';
		releases.over = releases.over || *letters == 't';
	}
	return releases;
}

static void
test_releases(void)
{
	static const struct {
		const char *letters, *decision;
	} cases[] = {
	    {"ooooo", "wait"},
	    {"oooot", "wait"},
	    {"ynyno", "wait"},
	    {"ynynot", "yes"},
	    {"yyyoo", "yes"},
	    {"yyyuo", "wait"},
	    {"yyyuot", "yes"},
	    {"yyroo", "wait"},
	    {"yyroot", "yes"},
	    {"yyyro", "yes"},
	    {"rrr--", "yes"},
	    {"yynnn", "yes"},
	    {"yylll", "no"},
	    {"lllou", "wait"},
	    {"lllout", "no"},
	    {"yy---", "failed"},
	    {"nnn--", "failed"},
	    {"y-", "failed"},
	    {"yu", "wait"},
	    {"yut", "wait"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct votes_releases releases =
		    parse_releases(cases[i].letters);

		is_text(names[votes_decide_release(&releases)],
		    cases[i].decision, cases[i].letters);
	}
}

static bool
is_sound_release(const char *letters)
{
	const struct votes_releases releases = parse_releases(letters);
	size_t majority = votes_majority(releases.size);

	switch (votes_decide_release(&releases)) {
	case VOTES_WAIT:
		return releases.open > 0;
	case VOTES_YES:
		return releases.freed > 0 &&
		       (releases.unsent == 0 || releases.over) &&
		       releases.freed + releases.denied >= majority;
	case VOTES_NO:
		return releases.lost >= majority;
	case VOTES_FAILED:
		return releases.open == 0 && releases.lost < majority &&
		       releases.replicated < majority;
	default:
		return false;
	}
}

/* --- what holds for all votes ----------------------------------------- */

/* Goes through all votes of so many servers. */
static size_t
count_unsound(size_t size, const char *kinds,
    bool (*is_sound)(const char *letters))
{
	char letters[8] = "";
	size_t unsound = 0, total = 1;

	for (size_t i = 0; i < size; i++)
		total *= strlen(kinds);
	for (size_t n = 0; n < total; n++) {
		size_t rest = n;

		for (size_t i = 0; i < size; i++) {
			letters[i] = kinds[rest % strlen(kinds)];
			rest /= strlen(kinds);
		}
		if (!is_sound(letters) && unsound++ == 0)
			printf("# %s\n", letters);
	}
	return unsound;
}

static void
test_all_votes(void)
{
	for (size_t size = 1; size <= 5; size++) {
		ok(count_unsound(size, "yng-xo", is_sound_grant) == 0,
		    "grants of %zu servers", size);
		ok(count_unsound(size, "yrnl-ou", is_sound_release) == 0,
		    "releases of %zu servers", size);
	}
}

/* --- one server ------------------------------------------------------- */

/* No test lasts as long. */
#define AGE_MS ((int64_t)1 << 40)

static const struct endpoint server = {.transport = URL_UNIX,
    .host = "/nonexistent/s",
    .label = "S"};
static const struct lock_config config = {.key = "job",
    .name = "job",
    .server = &server,
    .vote_ms = 500,
    .min_uptime_ms = AGE_MS,
    .ttl_ms = 30000,
    .kind = &kind_exclusive,
    .command = "",
    .label = "",
    .expect_ms = -1};

/* How a lock with such facts is counted, and why. */
static void
test_standing(void)
{
	static const struct {
		enum lock_state state;
		enum lock_failure failure;
		bool over;
		enum vote_kind kind;
		const char *why;
	} rows[] = {
	    {AT_TRY, 0, false, VOTE_OUT, "S has not answered"},
	    {AT_TRY, 0, true, VOTE_SILENT,
		"no answer from S: not within its time"},
	    {AT_DONE, 0, false, VOTE_SILENT,
		"no answer from S: not within its time"},
	    {AT_FAILED, LOCK_BUSY, false, VOTE_NO, "S denies it"},
	    {AT_FAILED, LOCK_NO_OUTER, true, VOTE_NO, "S denies it"},
	    {AT_FAILED, LOCK_OTHER_KIND, false, VOTE_NO, "S denies it"},
	    {AT_FAILED, LOCK_UNAVAILABLE, false, VOTE_FAILED, "words"},
	    {AT_FAILED, LOCK_REFUSED, false, VOTE_UNUSABLE, "words"},
	    {AT_FREE, LOCK_REFUSED, false, VOTE_UNUSABLE, "words"},
	    {AT_FAILED, LOCK_NOT_A_LOCK, false, VOTE_UNUSABLE, "words"},
	    {AT_HELD, 0, false, VOTE_FAILED,
		"not counted S: it is not identified yet"},
	};
	struct vote vote = {.known = false};
	struct loop loop;
	struct lock lock;

	loop_init(&loop);
	lock_init(&lock, &loop, &config);
	snprintf(lock.why.text, sizeof(lock.why.text), "words");
	for (size_t i = 0; i < LENGTH(rows); i++) {
		lock.state = rows[i].state;
		lock.failure = rows[i].failure;
		is_int(vote_judge(&vote, &lock, rows[i].over), rows[i].kind,
		    rows[i].why);
		is_text(vote.why, rows[i].why, "  why");
	}
	lock.failure = LOCK_UNAVAILABLE;
	lock.state = AT_FAILED;
	lock.pace.silent_since = 1;
	is_int(vote_judge(&vote, &lock, false), VOTE_SILENT, "silent");
	lock.vote.is_permanent = true;
	is_int(vote_judge(&vote, &lock, false), VOTE_UNREACHABLE,
	    "and so the next time");
	lock.state = AT_HELD;
	vote.known = true;
	snprintf(vote.label, sizeof(vote.label), "S");
	vote.started_at = clock_now();
	is_int(vote_judge(&vote, &lock, false), VOTE_FAILED, "a young server");
	ok(strncmp(vote.why, "not counted S: up for ", 22) == 0 &&
		strstr(vote.why, " s only, so it abstains (--min-uptime)") !=
		    NULL,
	    "  why");
	vote.started_at -= AGE_MS;
	is_int(vote_judge(&vote, &lock, false), VOTE_FAILED,
	    "an old one that is not connected to any more");
	is_text(vote.why, "not counted S: its connection has ended since",
	    "  why");
	snprintf(vote.label, sizeof(vote.label), "T");
	is_int(vote_judge(&vote, &lock, false), VOTE_FAILED, "another node");
	is_text(vote.why, "not counted S: it is not identified yet", "  why");
	snprintf(vote.obstacle, sizeof(vote.obstacle), "denied");
	is_int(vote_judge(&vote, &lock, false), VOTE_UNUSABLE,
	    "one that never will be identified");
	is_text(vote.why, "not counted S: denied", "  why");
	lock_fini(&lock);
	loop_fini(&loop);
}

/* What is said of a server while the lock is held or released. */
static void
test_explanations(void)
{
	static const struct {
		enum lock_state state;
		enum lock_released outcome;
		bool answered, unheard;
		const char *why;
	} rows[] = {
	    {AT_TRY, LOCK_NOT_HELD, true, false, "S has not answered"},
	    {AT_RENEW, LOCK_NOT_HELD, true, false, "S has not answered"},
	    {AT_FREE, LOCK_NOT_HELD, true, false, "S has not answered"},
	    {AT_DONE, LOCK_UNCONFIRMED, true, true, "S has not answered"},
	    {AT_HELD, LOCK_NOT_HELD, true, false, "S agrees"},
	    {AT_DONE, LOCK_FREED, true, false, "S agrees"},
	    {AT_DONE, LOCK_KEPT, true, false, "S agrees"},
	    {AT_LOST, LOCK_NOT_HELD, true, false, "S denies it"},
	    {AT_DONE, LOCK_NOT_HELD, true, false, "S denies it"},
	    {AT_DONE, LOCK_WAS_LOST, true, false, "S denies it"},
	    {AT_DONE, LOCK_UNCONFIRMED, true, false, "words"},
	    {AT_FAILED, LOCK_NOT_HELD, true, false, "words"},
	    {AT_TRY, LOCK_NOT_HELD, false, true, "words"},
	    {AT_HELD, LOCK_FREED, false, false, "words"},
	    {AT_LOST, LOCK_WAS_LOST, false, false, "words"},
	};
	struct vote vote;
	struct loop loop;
	struct lock lock;

	loop_init(&loop);
	lock_init(&lock, &loop, &config);
	snprintf(lock.why.text, sizeof(lock.why.text), "words");
	for (size_t i = 0; i < LENGTH(rows); i++) {
		lock.state = rows[i].state;
		lock.release.outcome = rows[i].outcome;
		lock.why.answered = rows[i].answered;
		lock.vote.is_unheard = rows[i].unheard;
		vote_explain(&vote, &lock);
		is_text(vote.why, rows[i].why, "what is said of a server");
	}
	lock_fini(&lock);
	loop_fini(&loop);
}

int
main(void)
{
	test_standing();
	test_explanations();
	test_majority();
	test_patience();
	test_grants();
	test_releases();
	test_all_votes();
	return tap_done();
}
