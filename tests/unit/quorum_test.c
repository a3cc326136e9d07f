/* Majorities, and how long what they say can be relied on. */
#include "lock/quorum.h"

#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static void
test_majority(void)
{
	static const size_t majorities[] = {1, 1, 2, 2, 3, 3, 4, 4, 5};

	for (size_t size = 1; size < LENGTH(majorities); size++)
		is_int((int64_t)quorum_majority(size),
		    (int64_t)majorities[size], "majority");
}

static void
test_votes(void)
{
	static const struct {
		struct quorum votes;
		bool agrees, denies, can_agree, can_deny, has_spoken;
		const char *what;
	} cases[] = {
	    {{5, 0, 0, 0}, 0, 0, 1, 1, 0, "nobody yet"},
	    {{5, 2, 2, 0}, 0, 0, 1, 1, 1, "two against two"},
	    {{5, 3, 0, 0}, 1, 0, 1, 0, 1, "three agree"},
	    {{5, 2, 3, 0}, 0, 1, 0, 1, 1, "three deny"},
	    {{5, 2, 0, 3}, 0, 0, 0, 0, 1, "three are away"},
	    {{5, 0, 0, 3}, 0, 0, 0, 0, 0, "two are still asked"},
	    {{5, 2, 1, 1}, 0, 0, 1, 0, 1, "the last one decides"},
	    {{4, 2, 0, 2}, 0, 0, 0, 0, 1, "half of an even number"},
	    {{4, 2, 2, 0}, 0, 0, 0, 0, 1, "halves"},
	    {{2, 1, 0, 1}, 0, 0, 0, 0, 1, "one of two"},
	    {{1, 1, 0, 0}, 1, 0, 1, 0, 1, "one"},
	    {{1, 0, 1, 0}, 0, 1, 0, 1, 1, "none"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct quorum *votes = &cases[i].votes;
		is_int(quorum_agrees(votes), cases[i].agrees, cases[i].what);
		is_int(quorum_denies(votes), cases[i].denies, "  denies");
		is_int(quorum_can_agree(votes), cases[i].can_agree,
		    "  can agree");
		is_int(quorum_can_deny(votes), cases[i].can_deny, "  can deny");
		is_int(quorum_has_spoken(votes), cases[i].has_spoken,
		    "  has spoken");
	}
}

static void
test_times(void)
{
	is_int(quorum_patience_ms(1000), 50, "a twentieth, at least 50 ms");
	is_int(quorum_patience_ms(4000), 200, "a twentieth");
	is_int(quorum_patience_ms(30000), 500, "at most 500 ms");
	is_int(quorum_valid_until(100, 1000), 100 + 1000 - 12,
	    "the ttl less 1% less 2 ms");
}

int
main(void)
{
	test_majority();
	test_votes();
	test_times();
	return tap_done();
}
