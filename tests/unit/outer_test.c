#include "lock/outer.h"

#include <stdlib.h>

#include "tap.h"

#define T1 "01234567-89ab-4def-8123-456789abcdef"
#define T2 "fedcba98-7654-4210-8fed-cba987654321"

static void
finds(const char *held, const char *key, const struct kind *kind,
    const char *token, const char *what)
{
	char found[TOKEN_SIZE] = "";

	ok(outer_find(held, key, found) == kind, "%s", what);
	is_text(found, token, "  its token");
}

static void
becomes(const char *held, const char *key, const char *token,
    const char *expected)
{
	char *list = outer_with(held, key, &kind_exclusive, token);

	is_text(list, expected, expected);
	free(list);
}

int
main(void)
{
	finds(NULL, "a", NULL, "", "nothing is held");
	finds("", "a", NULL, "", "an empty list");
	finds("x:" T1 ":a", "a", &kind_exclusive, T1, "exclusive");
	finds("s:" T1 ":a", "a", &kind_shared, T1, "shared");
	finds("p:" T1 ":a", "a", &kind_permits, T1, "a permit");
	finds("z:" T1 ":a", "a", NULL, T1, "a kind that is none");
	finds("x:" T1 ":a", "b", NULL, "", "another key");
	finds("x:" T1 ":ab", "a", NULL, "", "a longer key");
	finds("x:" T1 ":a x:" T2 ":b", "b", &kind_exclusive, T2, "the second");
	finds("  x:" T1 ":a  ", "a", &kind_exclusive, T1, "blanks around it");
	finds("x:" T1 ":a%20b", "a b", &kind_exclusive, T1, "a blank");
	finds("x:" T1 ":%25", "%", &kind_exclusive, T1, "a percent sign");
	finds("x:" T1 ":a x:" T2 ":a", "a", &kind_exclusive, T2, "the last");
	finds("x;" T1 ":a", "a", NULL, "", "another sign behind the kind");
	finds("x:" T1 ";a", "a", NULL, "", "another sign behind the token");
	finds("x:" T1 ":%7F%01~!", "\x7f\x01~!", &kind_exclusive, T1,
	    "the first and the last of those that stand for themselves");
	finds("- x:" T1 ":a", "a", &kind_exclusive, T1, "behind a sign");
	finds("garbage : :: x: x:y:a", "a", NULL, "", "garbage");
	becomes(NULL, "a", T1, "x:" T1 ":a");
	becomes("x:" T1 ":a", "b", T2, "x:" T1 ":a x:" T2 ":b");
	becomes("x:" T1 ":a", "a", T2, "x:" T2 ":a");
	becomes("", "a b\n%\xff", T1, "x:" T1 ":a%20b%0A%25%FF");
	becomes("  x:" T1 ":b  s:" T2 ":c ", "a", T1,
	    "x:" T1 ":b s:" T2 ":c x:" T1 ":a");
	becomes(NULL, "\n\n\n\n\n\n\n\n", T1,
	    "x:" T1 ":%0A%0A%0A%0A%0A%0A%0A%0A");
	becomes("- x:" T1 ":b", "a", T1, "- x:" T1 ":b x:" T1 ":a");
	becomes("garbage", "a", T1, "garbage x:" T1 ":a");
	return tap_done();
}
