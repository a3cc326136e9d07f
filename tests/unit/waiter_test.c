#include "lock/waiter.h"

#include "tap.h"

#define T "01234567-89ab-4def-8123-456789abcdef"

int
main(void)
{
	const struct holder self = {.host = "web-3", .pid = "4121"};
	struct waiter waiter;
	char name[WAITER_SIZE];

	waiter_name(name, 's', T, &self);
	is_text(name, "s:" T ":4121@web-3", "a name");
	ok(waiter_parse(&waiter, name), "is one");
	ok(waiter.kind == 's', "its kind");
	is_text(waiter.token, T, "its token");
	is_text(waiter.host, "web-3", "its host");
	ok(waiter_parse(&waiter, "x:" T ":@"), "neither pid nor host");
	ok(!waiter_parse(&waiter, ""), "nothing");
	ok(!waiter_parse(&waiter, "x:" T), "a token alone");
	ok(!waiter_parse(&waiter, "x:" T ":4121"), "no host");
	ok(!waiter_parse(&waiter, "x;" T ":4121@h"), "no kind");
	ok(!waiter_parse(&waiter, "x:short:1@h"), "a short token");
	ok(!waiter_parse(&waiter, "x:" T "0:1@h"), "a long token");
	ok(!waiter_parse(&waiter, "y:" T ":1@h"), "another kind");
	ok(!waiter_parse(&waiter, "x:" T ":1x@h"), "a pid that is no number");
	ok(!waiter_parse(&waiter, "x:}1234567-89ab-4def-8123-456789abcdef:1@h"),
	    "a token that is no UUID");
	return tap_done();
}
