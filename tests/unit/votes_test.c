/* When the votes of several servers decide. */
#include "lock/votes.h"

#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

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

/* One letter for each server: y(es), r (yes, but too few replicas have it),
 * n(o), l (no: it has lost the lock), g (no: the outer run's lock is gone), -
 * (absent), x (absent for good), o(ut), u (out, and not sent). */
static struct votes
parse(const char *letters)
{
	struct votes votes = {.size = strlen(letters)};

	for (; *letters != '\0'; letters++) {
		votes.yes += *letters == 'y' || *letters == 'r';
		votes.unreplicated += *letters == 'r';
		votes.no += strchr("nlg", *letters) != NULL;
		votes.gone += *letters == 'g';
		votes.lost += *letters == 'l';
		votes.permanent += *letters == 'x';
		votes.out += *letters == 'o' || *letters == 'u';
		votes.unsent += *letters == 'u';
	}
	return votes;
}

static void
test_decisions(void)
{
	static const struct {
		const char *letters, *grant, *renewal, *release;
	} cases[] = {
	    {"ooooo", "wait", "wait", "wait"},
	    {"ynyno", "wait", "wait", "wait"},
	    {"yyyoo", "yes", "yes", "yes"},
	    {"yyyuo", "yes", "yes", "wait"},
	    {"yyroo", "yes", "yes", "wait"},
	    {"yyyro", "yes", "yes", "yes"},
	    {"rrr--", "yes", "yes", "yes"},
	    {"yyyxx", "yes", "yes", "yes"},
	    {"yynnn", "no", "no", "yes"},
	    {"yylll", "no", "no", "no"},
	    {"yynn-", "no", "failed", "yes"},
	    {"yygg-", "failed", "failed", "yes"},
	    {"yggo-", "wait", "wait", "wait"},
	    {"ygg", "no", "no", "yes"},
	    {"yg-", "failed", "failed", "yes"},
	    {"ooxxx", "wait", "failed", "wait"},
	    {"yyxxx", "failed", "failed", "failed"},
	    {"nnnxx", "no", "no", "failed"},
	    {"nnxxx", "failed", "failed", "failed"},
	    {"yy--", "failed", "failed", "failed"},
	    {"yynn", "no", "failed", "yes"},
	    {"y-", "failed", "failed", "failed"},
	    {"y", "yes", "yes", "yes"},
	    {"n", "no", "no", "failed"},
	};
	static const char *const names[] = {[VOTES_WAIT] = "wait",
	    [VOTES_YES] = "yes",
	    [VOTES_NO] = "no",
	    [VOTES_FAILED] = "failed"};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct votes votes = parse(cases[i].letters);

		ok(true, "votes %s", cases[i].letters);
		is_text(names[votes_decide(ASK_GRANT, &votes)], cases[i].grant,
		    "  grant");
		is_text(names[votes_decide(ASK_RENEW, &votes)],
		    cases[i].renewal, "  renewal");
		is_text(names[votes_decide(ASK_RELEASE, &votes)],
		    cases[i].release, "  release");
	}
}

/* --- what holds for all votes ----------------------------------------- */

static bool
is_sound_grant(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);
	enum votes_decision decision = votes_decide(ASK_GRANT, votes);

	if ((decision == VOTES_YES) != (votes->yes >= majority))
		return false;
	if (decision == VOTES_WAIT)
		return votes->out > 0;
	if (decision != VOTES_YES && votes->yes + votes->out >= majority)
		return false;
	if (decision == VOTES_NO)
		return votes->no > 0 && votes->yes + votes->no >= majority;
	return true;
}

static bool
is_sound_renewal(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	switch (votes_decide(ASK_RENEW, votes)) {
	case VOTES_WAIT:
		return votes->out > 0 && votes->yes < majority &&
		       votes->no < majority;
	case VOTES_YES:
		return votes->yes >= majority;
	case VOTES_NO:
		return votes->no >= majority;
	case VOTES_FAILED:
		return votes->yes + votes->out < majority &&
		       votes->no + votes->out < majority;
	default:
		return false;
	}
}

static bool
is_sound_release(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	switch (votes_decide(ASK_RELEASE, votes)) {
	case VOTES_WAIT:
		return votes->out > 0 &&
		       (votes->yes < majority || votes->unsent > 0);
	case VOTES_YES:
		return votes->unsent == 0 && votes->yes > 0 &&
		       (votes->out == 0 || votes->yes >= majority);
	case VOTES_NO:
		return votes->out == 0 && votes->lost >= majority;
	case VOTES_FAILED:
		return votes->out == 0 && votes->lost < majority &&
		       votes->yes < majority;
	default:
		return false;
	}
}

/* Goes through all votes of so many servers. */
static size_t
count_unsound(size_t size, bool (*is_sound)(const struct votes *votes))
{
	static const char kinds[] = "ynl-xou";
	char letters[8] = "";
	size_t unsound = 0, total = 1;

	for (size_t i = 0; i < size; i++)
		total *= strlen(kinds);
	for (size_t n = 0; n < total; n++) {
		size_t rest = n;
		struct votes votes;

		for (size_t i = 0; i < size; i++) {
			letters[i] = kinds[rest % strlen(kinds)];
			rest /= strlen(kinds);
		}
		votes = parse(letters);
		if (!is_sound(&votes) && unsound++ == 0)
			printf("# %s\n", letters);
	}
	return unsound;
}

static void
test_all_votes(void)
{
	for (size_t size = 1; size <= 5; size++) {
		ok(count_unsound(size, is_sound_grant) == 0,
		    "grants of %zu servers", size);
		ok(count_unsound(size, is_sound_renewal) == 0,
		    "renewals of %zu servers", size);
		ok(count_unsound(size, is_sound_release) == 0,
		    "releases of %zu servers", size);
	}
}

int
main(void)
{
	test_majority();
	test_patience();
	test_decisions();
	test_all_votes();
	return tap_done();
}
