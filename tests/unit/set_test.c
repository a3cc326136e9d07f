/* What a set makes of the leases and losses of its locks: of several keys, and
 * of one key on several servers. Nothing is sent: the servers do not exist; see
 * rounds_test.c for what is. */
#include "lock/redlock.h"

#include <stdlib.h>

#include "base/clock.h"
#include "lock/set.h"
#include "tap.h"

enum { LOCKS = 5, TTL_MS = 30000 };

static struct loop loop;
static struct lock_config configs[LOCKS];
static struct set set;
static int64_t now;

static void
begin(const struct set_rule *rule, size_t count)
{
	static const struct endpoint server = {.transport = URL_UNIX,
	    .host = "/nonexistent/s",
	    .label = "unix:///nonexistent/s"};
	static const char *const keys[LOCKS] = {"e", "d", "c", "b", "a"};

	for (size_t i = 0; i < count; i++)
		configs[i] =
		    (struct lock_config){.key = rule == &rule_all ? keys[i]
								  : "job",
			.name = "job",
			.server = &server,
			.vote_ms = rule == &rule_all ? 0 : 500,
			.ttl_ms = TTL_MS,
			.server_timeout_ms = 5000,
			.try_ms = 1000,
			.kind = &kind_exclusive,
			.command = "",
			.label = "",
			.expect_ms = -1};
	if (set_init(&set, &loop, rule, configs, count) == -1)
		abort();
	now = clock_now();
	set.state = LOCK_HELD;
	for (size_t i = 0; i < count; i++) {
		set.locks[i].state = AT_HELD;
		set.locks[i].why.answered = true;
		set.locks[i].timer.at = CLOCK_NEVER;
	}
}

/* The leases last for so many seconds from now. */
static void
lease(const int64_t *seconds)
{
	for (size_t i = 0; i < set.count; i++)
		set.locks[i].lease.valid_until =
		    seconds[i] == 0 ? 0 : now + seconds[i] * 1000;
	set_step(&set);
}

#define LEASES(...) lease((const int64_t[]){__VA_ARGS__})

static void
is_valid_for(int64_t seconds, const char *what)
{
	is_int(set.valid_until - now, seconds * 1000, what);
}

static void
test_leases(void)
{
	begin(&rule_majority, 5);
	is_int((int64_t)set.keys, 1, "five servers, one key");
	LEASES(10, 9, 8, 7, 6);
	is_valid_for(8, "the third latest lease of five is that of the set");
	LEASES(0, 9, 8, 7, 6);
	is_valid_for(8, "a lock that is planted again takes nothing of it");
	LEASES(0, 20, 19, 7, 6);
	is_valid_for(8, "  two renewals are too few");
	LEASES(0, 20, 19, 18, 6);
	is_valid_for(18, "  three are enough");
	is_int(set.state, LOCK_HELD, "  it is held");
	set_fini(&set);

	begin(&rule_majority, 4);
	LEASES(10, 9, 8, 7);
	is_valid_for(8, "three of four are needed");
	set_fini(&set);

	begin(&rule_all, 3);
	is_int((int64_t)set.keys, 3, "three keys");
	LEASES(10, 9, 8);
	is_valid_for(8, "the earliest of several keys' leases is that of all");
	is_int(set.about == &set.locks[2], true, "  it is about that one");
	set_fini(&set);
}

static void
lose(size_t i)
{
	set.locks[i].state = AT_LOST;
	snprintf(set.locks[i].why.text, sizeof(set.locks[i].why.text), "gone");
	set_step(&set);
}

static void
test_losses(void)
{
	begin(&rule_majority, 5);
	LEASES(10, 9, 8, 7, 6);
	lose(1);
	lose(3);
	is_int(set.state, LOCK_HELD, "two of five servers have lost it");
	loop_timer_set(&loop, &set.locks[3].timer, now + TTL_MS);
	set_step(&set);
	is_int(set.locks[3].timer.at - now, TTL_MS, "  it is planted again");
	lose(4);
	is_int(set.state, LOCK_LOST, "three of them have");
	is_int(set.locks[3].timer.at, CLOCK_NEVER, "  it is planted no more");
	is_text(set.error, "gone", "  in the words of the first");
	set_fini(&set);

	begin(&rule_majority, 4);
	LEASES(10, 9, 8, 7);
	lose(0);
	lose(1);
	is_int(set.state, LOCK_HELD, "two of four have lost it");
	lose(2);
	is_int(set.state, LOCK_LOST, "three of four have");
	set_fini(&set);

	begin(&rule_all, 2);
	LEASES(10, 9);
	lose(1);
	is_int(set.state, LOCK_LOST, "losing one of two keys is losing both");
	set_fini(&set);
}

int
main(void)
{
	if (loop_init(&loop) == -1)
		abort();
	test_leases();
	test_losses();
	loop_fini(&loop);
	return tap_done();
}
