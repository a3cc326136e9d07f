/* Several locks as one, moved by a script: rounds of votes on several servers,
 * and several keys one after the other. See scripted.h; what differs:
 *
 *   release, stop, skip, renew, confirm, correct70
 *                 are orders to the set
 *   2:granted     the oldest question to the second server, or of the second
 *                 key, gets that reply; `*:granted` that of each
 *   2:down, 2:up  whether commands to it can be written at once
 *
 * What comes of it, from the first tries on, with `begins` from the start:
 *
 *   2.a:try       what was sent to the second one, about the token a
 *   =held         the new state of the set, and the rest as of one lock
 *   wake@1500     whoever runs the loop is woken then
 *   facts         in the end: `about2`, the lock that stands for all;
 *                 `since@10`, when it was acquired; `confirmed`;
 *                 `skip2`, a lock that remembers the end of the wait;
 *                 `no-grant2`, one that does not know of the grant;
 *                 `former2`, one that names former tokens;
 *                 and why too few replicas have the release */
#include <stdlib.h>

#include "lock/redlock.h"
#include "lock/set.h"
#include "scripted.h"

enum { MAX = 5 };

static struct set set;
static struct loop loop;
static struct lock_config configs[MAX];
static struct endpoint endpoints[MAX];

/* --- what is noted ---------------------------------------------------- */

static void
note_set(bool tells)
{
	static enum lock_phase last;
	static int64_t until, wakes_at;

	if (set.state == LOCK_IDLE)
		last = LOCK_IDLE, until = 0, wakes_at = set.timer.at;
	if (set.state != last)
		note_phase(set.state, set.failure, set.outcome);
	last = set.state;
	if (set.valid_until != until)
		note("until@%" PRId64, SINCE_BEGIN(set.valid_until));
	until = set.valid_until;
	if (set.lost_early != NULL)
		note("lost-early:%s", set.lost_early->key);
	set.lost_early = NULL;
	if (set.timer.at != wakes_at && set.timer.at != CLOCK_NEVER)
		note("wake@%" PRId64, SINCE_BEGIN(set.timer.at));
	wakes_at = set.timer.at;
	if (!tells)
		return;
	if (strcmp(set.error, scripted.why) != 0)
		note("'%.90s'", set.error);
	snprintf(scripted.why, sizeof(scripted.why), "%s", set.error);
	if (set.answered != scripted.answered)
		note("%s", set.answered ? "ok" : "not-ok");
	scripted.answered = set.answered;
}

/* --- steps ------------------------------------------------------------ */

static struct request_run run;
static int64_t keep_ms;

static void
turn(void)
{
	loop.now = scripted.now;
	set_step(&set);
	note_set(scripted.told);
}

static void
pass_all(int64_t ms)
{
	int64_t end = scripted.now + ms;

	for (;;) {
		struct loop_timer *first = NULL;

		for (struct loop_timer *timer = loop.timers; timer != NULL;
		     timer = timer->next)
			if (first == NULL || timer->at < first->at)
				first = timer;
		if (first == NULL || first->at > end)
			break;
		if (first->at > scripted.now)
			scripted.now = first->at;
		loop.now = scripted.now;
		loop_timer_set(&loop, first, CLOCK_NEVER);
		if (first->on_due != NULL)
			first->on_due(first->arg);
		turn();
	}
	scripted.now = end;
}

static bool
order(const char *word)
{
	if (strcmp(word, "start") == 0)
		set_acquire(&set);
	else if (strcmp(word, "release") == 0)
		set_release(&set, keep_ms > 0 ? scripted.now + keep_ms : 0,
		    &run);
	else if (strcmp(word, "stop") == 0)
		set_cancel(&set);
	else if (strcmp(word, "skip") == 0)
		set_skip(&set);
	else if (strcmp(word, "renew") == 0)
		set_renew(&set);
	else if (strcmp(word, "confirm") == 0)
		set_confirm(&set);
	else if (strncmp(word, "correct", 7) == 0)
		set_correct(&set,
		    &(struct request_run){.status = atoi(word + 7),
			.reason = "taken"});
	else if (strncmp(word, "keep", 4) == 0)
		keep_ms = atoll(word + 4);
	else if (strncmp(word, "ended", 5) == 0)
		run = (struct request_run){.status = atoi(word + 5),
		    .reason = "job_ended"};
	else if (strcmp(word, "chanceless") == 0)
		scripted.chanceless = true;
	else if (strncmp(word, "stopped", 7) == 0)
		scripted.now += atoll(word + 7);
	else
		return false;
	return true;
}

/* One that begins with a server. */
static void
happen(const char *word)
{
	char one[60];
	size_t first = (size_t)atoi(word), last = first;

	if (*word == '*')
		first = 1, last = set.count;
	for (size_t i = first; i <= last; i++) {
		const char *what = word + 2;

		snprintf(one, sizeof(one), "%zu:%s", i, what);
		if (strcmp(what, "up") == 0 || strcmp(what, "down") == 0)
			scripted.ways[i - 1].is_up = *what == 'u';
		else
			answer_word(one);
	}
}

static void
take(const char *word)
{
	loop.now = scripted.now;
	if (*word == '+')
		pass_all(atoll(word + 1));
	else if (word[1] == ':')
		happen(word);
	else if (!order(word))
		note("?%s", word);
	turn();
}

/* --- rows ------------------------------------------------------------- */

static void
note_set_facts(void)
{
	note("about%d", (int)(set.about - set.locks) + 1);
	if (set.acquired_at != 0)
		note("since@%" PRId64, SINCE_BEGIN(set.acquired_at));
	if (set.confirmed)
		note("confirmed");
	if (*set.about->release.unreplicated != '\0')
		note("'%s'", set.about->release.unreplicated);
	for (size_t i = 0; i < set.count; i++) {
		if (set.locks[i].release.is_skip)
			note("skip%zu", i + 1);
		if (*set.locks[i].claim.fence == '\0' && set.acquired_at != 0)
			note("no-grant%zu", i + 1);
		if (set.locks[i].claim.former_count > 0)
			note("former%zu", i + 1);
	}
}

static size_t
count_with(const char *with)
{
	for (size_t i = 1; i <= MAX; i++) {
		const char digit[] = {(char)('0' + i), '\0'};

		if (has_word(with, digit))
			return i;
	}
	return 3;
}

static void
begin_set(const char *with, size_t count)
{
	static const char *const keys[MAX] = {"e", "d", "c", "b", "a"};
	static char labels[MAX][8];
	bool is_one = !has_word(with, "keys");

	scripted = (struct scripted){.now = SCRIPTED_BEGIN,
	    .noted_at = SCRIPTED_BEGIN,
	    .same = has_word(with, "same"),
	    .young = has_word(with, "young"),
	    .info = has_word(with, "info-denied")    ? "-NOPERM x\r\n"
		    : has_word(with, "info-loading") ? "-LOADING x\r\n"
		    : has_word(with, "info-half")    ? "$10\r\nrun_id:7\r\n\r\n"
						     : NULL,
	    .low = has_word(with, "low"),
	    .timed = has_word(with, "timed"),
	    .told = has_word(with, "told")};
	for (size_t i = 0; i < count; i++) {
		snprintf(labels[i], sizeof(labels[i]), "S%c",
		    (char)('0' + (is_one ? i + 1 : count - i)));
		scripted.ways[i].is_up =
		    i != 2 || !has_word(with, "third-down");
		endpoints[i] = (struct endpoint){.label = labels[i]};
		configs[i] = config_with(with);
		configs[i].server = &endpoints[i];
		configs[i].vote_ms = is_one ? 500 : 0;
		configs[i].min_uptime_ms = 60000;
		if (!is_one)
			configs[i].key = keys[MAX - count + i];
	}
	run = (struct request_run){.status = REQUEST_NO_JOB};
	keep_ms = 0;
	loop_init(&loop);
	set = (struct set){.state = LOCK_IDLE};
	if (set_init(&set, &loop, is_one ? &rule_majority : &rule_all, configs,
		count) != 0)
		note("no set");
	/* What is said before anybody has answered. */
	snprintf(scripted.why, sizeof(scripted.why), "no answer from %s",
	    is_one ? set.label : "S1");
	note_set(false);
}

static void
play_set(const struct scripted_row *row)
{
	char words[400];

	begin_set(row->with, count_with(row->with));
	snprintf(words, sizeof(words), "%s", row->steps);
	take("start");
	if (!has_word(row->with, "begins"))
		scripted.trace[0] = '\0';
	for (char *word = strtok(words, " "); word != NULL;
	     word = strtok(NULL, " "))
		take(word);
	if (has_word(row->with, "facts"))
		note_set_facts();
	is_text(scripted.trace, row->trace, row->what);
	set_fini(&set);
	if (loop.timers != NULL)
		ok(false, "  no timer is left");
	loop_fini(&loop);
	all_is_freed();
}

#define PLAY_SETS(rows)                                             \
	for (size_t i = 0; i < sizeof(rows) / sizeof(*(rows)); i++) \
	play_set(&(rows)[i])

static const struct scripted_row rounds[] = {
    ROW("a majority grants it, others are not waited for", "told facts",
	"2:granted 3:granted", "=held until@29698 ok about2 since@0 no-grant1"),
    ROW("each has its time, and is asked who it is",
	"timed told replicas begins", "",
	"1.INFO+<2200^700 1.a:try<1700^700&1/200 2.INFO+<2200^700 "
	"2.a:try<1700^700&1/200 3.INFO+<2200^700 3.a:try<1700^700&1/200 "
	"=acquiring wake@700"),
    ROW("silence for a round: withdrawn, and another token after a rest",
	"told", "+500 *:granted +100",
	"@500 1.a:free 2.a:free 3.a:free wake@600 'no majority of 3 servers: "
	"no answer from S1: not within its time; no answer from S2: not w' "
	"@600 1.b:try 2.b:try 3.b:try wake@1100"),
    ROW("busy, and not waited for", "told facts",
	"2:busy 1:granted 3:busy 1:freed",
	"3.drop 2.drop 1.a:release! ok =failed:busy about2"),
    ROW("busy: waited for, at random intervals", "wait told facts",
	"*:busy +250 *:granted",
	"wake@250 ok @250 1.a:try 2.a:try 3.a:try wake@750 =held until@29948 "
	"about1 since@250"),
    ROW("  while a minority holds it", "wait told",
	"1:granted 2:busy 3:busy +250 2:granted 3:granted",
	"1.a:release! wake@250 ok @250 2.b:try 3.b:try wake@750 =held "
	"until@29948"),
    ROW("  on a connection that has ended since", "wait",
	"1:granted 1:down 2:busy 3:busy +250",
	"1.a:free wake@250 @250 1.b:try 2.b:try 3.b:try wake@750"),
    ROW("  one that owes its reply is left out of the next round", "wait",
	"1:busy 2:busy +250 1:granted 2:granted",
	"3.a:free wake@250 @250 1.b:try 2.b:try wake@750 =held until@29948"),
    ROW("  which may come late", "wait", "1:busy 2:busy 3:granted +250",
	"3.a:free wake@250 @250 1.b:try 2.b:try 3.b:try wake@750"),
    ROW("errors of a majority: a waiter goes on, less and less often", "wait 2",
	"*:-LOADING_x +100 *:-LOADING_x +200 *:-LOADING_x +400 *:-LOADING_x "
	"+800 *:-LOADING_x +1000 *:-LOADING_x +1000 *:-LOADING_x +1000 "
	"*:-LOADING_x +1000",
	"wake@100 @100 1.a:try 2.a:try wake@600 wake@300 @300 1.a:try 2.a:try "
	"wake@800 wake@700 @700 1.a:try 2.a:try wake@1200 wake@1500 @1500 "
	"1.a:try 2.a:try wake@2000 wake@2500 @2500 1.a:try 2.a:try wake@3000 "
	"wake@3500 @3500 1.a:try 2.a:try wake@4000 wake@4500 @4500 1.a:try "
	"2.a:try wake@5000 wake@5500 @5500 1.a:try 2.a:try wake@6000"),
    ROW("three of them may not", "5 wait told facts",
	"1:permanent 2:permanent 3:granted 4:granted 5:permanent",
	"5.a:release! 4.a:release! 3.a:release! 2.a:release! 1.a:release! 'no "
	"majority of 5 servers: no answer from S: Connection reset by peer; no "
	"answer from S: Co' about1"),
    ROW("what two of three refuse is refused", "told facts",
	"1:granted 2:-NOPERM_x 2:-NOPERM_y 3:-NOPERM_x 3:-NOPERM_y 1:freed",
	"2.a:plain-try 3.a:plain-try 3.drop 2.drop 1.a:release! 'error from "
	"S2: NOPERM y (permit it: see ACCESS RULES in rlockrun-servers(7))' "
	"=failed:refused about2"),
    ROW("two addresses of one server", "same told facts", "*:granted *:freed",
	"3.a:release! 2.a:release! 1.a:release! 'S1 and S3 are the same "
	"server' =failed:misconfigured about1"),
    ROW("young servers abstain", "young told 1", "*:granted +100",
	"1.a:release! wake@100 'no majority of 1 servers: not counted S1: up "
	"for 59.0 s only, so it abstains (--min-uptime' @100 wake@600 "
	"wake@300"),
    ROW("another kind is held by the outer run", "nested told facts",
	"*:other-kind", "3.drop 2.drop 1.drop =failed:other-kind ok about1"),
    ROW("an outer run that has ended: the lock is its own", "nested told",
	"*:not-held +0", "wake@0 ok 1.b:try 2.b:try 3.b:try wake@500"),
    ROW("stopped while a round is out", "told",
	"1:granted stop 1:freed 2:freed",
	"3.a:free+ 3.a:release! 2.a:free+ 2.a:release! 1.a:release! =releasing "
	"'no majority of 3 servers: S1 has not answered; no answer from S2; no "
	"answer from S3' 'no majority of 3 servers: S1 agrees; no answer from "
	"S2; no answer from S3'"),
    ROW("stopped between two rounds", "wait told", "*:busy stop",
	"wake@250 ok 3.drop 2.drop 1.drop =released:unconfirmed 'no majority "
	"of 3 servers: no answer from S1; no answer from S2; no answer from "
	"S3'"),
    ROW("the end of the wait is told to all", "wait facts", "*:busy skip",
	"wake@250 3.drop 2.drop 1.drop =released:unconfirmed about1 skip1 "
	"skip2 skip3"),
    ROW("a run that does not wait: until the time is over", "2",
	"stopped4900 *:-LOADING_x +100",
	"@4900 1.a:free 2.a:free wake@5000 @5000 =failed:unavailable"),
    ROW("  which is so at its very end", "2", "stopped5000 *:-LOADING_x",
	"@5000 2.a:free+ 2.a:release! 1.a:free+ 1.a:release!"),
    ROW("  a moment before it is not", "2", "stopped4999 *:-LOADING_x",
	"@4999 1.a:free 2.a:free wake@5000"),
    ROW("an outer run that a majority lacks, as long as silent servers have",
	"nested short told",
	"1:not-held 2:not-held 3:granted 3:freed stopped4900 +0 1:not-held "
	"2:not-held stopped99 3:granted",
	"3.a:release! wake@100 'no majority of 3 servers: S1 denies it; S2 "
	"denies it; S3 agrees' @4900 1.a:join 2.a:join 3.a:join wake@5400 "
	"@4999 3.a:release! wake@5199"),
    ROW("  then the lock is its own", "nested short told",
	"1:not-held 2:not-held 3:granted 3:freed stopped4900 +0 1:not-held "
	"2:not-held stopped100 3:granted",
	"3.a:release! wake@100 'no majority of 3 servers: S1 denies it; S2 "
	"denies it; S3 agrees' @4900 1.a:join 2.a:join 3.a:join wake@5400 "
	"@5000 3.a:release! wake@5000"),
    ROW("  but not before the ttl is over", "nested",
	"1:not-held 2:not-held 3:granted 3:freed stopped4900 +0 1:not-held "
	"2:not-held stopped100 3:granted",
	"3.a:release! wake@100 @4900 1.a:join 2.a:join 3.a:join wake@5400 "
	"@5000 3.a:release! wake@5200"),
    ROW("  the ttl is over", "nested",
	"1:not-held 2:not-held 3:granted 3:freed stopped29900 +0 1:not-held "
	"2:not-held stopped100 3:granted",
	"3.a:release! wake@100 @29900 1.a:join 2.a:join 3.a:join wake@30400 "
	"@30000 3.a:release! wake@30000"),
    ROW("no randomness for another token", "wait told",
	"1:granted chanceless 2:busy 3:silent 1:freed",
	"1.a:release! 3.a:free 2.drop 'cannot try again at S1, S2, S3: there "
	"is no randomness for a token' ok =failed:error"),
    ROW("  none is needed where nothing was granted", "wait told",
	"chanceless *:busy +250",
	"wake@250 ok @250 1.a:try 2.a:try 3.a:try wake@750"),
    ROW("stopped when most have answered", "5 told",
	"1:busy 2:busy 3:granted stop",
	"5.a:free+ 5.a:release! 4.a:free+ 4.a:release! 3.a:release! 2.drop "
	"1.drop =releasing 'no majority of 5 servers: S1 denies it; S2 denies "
	"it; S3 agrees; S4 has not answered; S5 h' ok"),
    ROW("rounds of a waiter whose servers are silent end in time", "wait",
	"+500 +100 +500 +4000",
	"@500 1.a:free 2.a:free 3.a:free wake@600 @600 wake@1100 wake@800 @800 "
	"wake@1300 @1100 wake@1500 @1500 wake@2000 @2000 wake@2800 @2800 "
	"wake@3300 @3300 wake@4300 @4300 wake@4800 @4800 wake@5000 @5000 "
	"=failed:unavailable"),
    ROW("a server that must not say who it is", "info-denied wait told facts 1",
	"1:granted 1:freed",
	"1.a:release! 'refused by S1: cannot be identified by INFO (+info): "
	"NOPERM x' =failed:refused about1"),
    ROW("  or does not know", "info-half wait told 1", "1:granted 1:freed",
	"1.a:release! 'refused by S1: cannot be identified by INFO (+info): no "
	"run_id and no uptime in it' =failed:refused"),
    ROW("  or is busy with itself: once more", "info-loading told 1",
	"1:granted",
	"1.a:release! wake@100 'no majority of 1 servers: not counted S1: it "
	"is not identified yet'"),
    ROW("errors of a majority: a fifth earlier", "low 2",
	"*:-LOADING_x +80 *:-LOADING_x +160",
	"wake@80 @80 1.a:try 2.a:try wake@580 wake@240 @240 1.a:try 2.a:try "
	"wake@740"),
};

static const struct scripted_row held[] = {
    ROW("renewals that are silent", "told facts",
	"*:granted +3150 1:renewed 2:silent 3:silent",
	"=held until@29698 ok @3150 3.a:renew! 2.a:renew! 1.a:renew! 'no "
	"majority of 3 servers: S1 agrees; no answer from S: Connection reset "
	"by peer; no answer' not-ok about2 since@0"),
    ROW("one of three has lost it", "told facts",
	"*:granted +3150 1:renewed 2:not-ours 3:renewed",
	"=held until@29698 ok @3150 3.a:renew! 2.a:renew! 1.a:renew! 2.a:try "
	"until@32848 about1 since@0"),
    ROW("  a majority has", "told facts",
	"*:granted +3150 2:not-ours 3:not-ours 1:renewed",
	"=held until@29698 ok @3150 3.a:renew! 2.a:renew! 1.a:renew! =lost "
	"'its key was taken away or has expired' not-ok about1 since@0"),
    ROW("it is planted where it was denied, after a renewal by a majority", "",
	"1:granted 2:granted 3:busy +3150 1:renewed 2:renewed 3:granted +10500 "
	"*:renewed",
	"=held until@29698 @3150 2.a:renew! 1.a:renew! 3.a:try until@32848 "
	"@13650 3.a:renew! 2.a:renew! 1.a:renew! until@43348"),
    ROW("  at once where the server was away", "",
	"*:granted 3:down +3150 3:not-ours 3:granted 1:renewed",
	"=held until@29698 @3150 3.a:renew! 2.a:renew! 1.a:renew! 3.a:try"),
    ROW("what is denied by one of them is about it", "nested told facts",
	"1:granted 2:granted 3:uncounted",
	"=held until@29698 ok about3 since@0 no-grant1 no-grant2 no-grant3"),
    ROW("a server that owed its reply in that round gets it, too", "wait",
	"1:busy 2:busy +250 1:granted 2:granted +3150 3:granted 1:renewed "
	"2:renewed",
	"3.a:free wake@250 @250 1.b:try 2.b:try wake@750 =held until@29948 "
	"@3400 2.b:renew! 1.b:renew! 3.b:try until@33098"),
};

static const struct scripted_row releases[] = {
    ROW("freed by a majority", "told facts",
	"*:granted release 2:freed 3:freed 1:freed",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing =released:freed about2 since@0"),
    ROW("  the first that has freed it stands for all", "told facts",
	"*:granted release 1:not-ours 2:freed 3:freed",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing =released:freed about2 since@0"),
    ROW("denied by it", "told facts",
	"*:granted release 1:not-ours 2:not-ours 3:freed",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing =released:was-lost about1 since@0"),
    ROW("lost by it", "told",
	"*:granted +3150 1:not-ours 2:not-ours 3:renewed release 3:freed",
	"=held until@29698 ok @3150 3.a:renew! 2.a:renew! 1.a:renew! =lost "
	"'its key was taken away or has expired' not-ok 3.a:release! "
	"=releasing wake@3650 ok =released:was-lost"),
    ROW("silent", "told facts",
	"*:granted release +500 *:silent +100 *:silent +9400",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing @500 'no majority of 3 servers: no answer from S: "
	"Connection reset by peer; no answer from S: Co' not-ok @600 "
	"3.a:release! 2.a:release! 1.a:release! @800 3.a:release! 2.a:release! "
	"1.a:release! @10000 ok =released:unconfirmed about1 since@0"),
    ROW("those that are not sent have their time", "timed begins",
	"*:granted 3:down release 1:freed 2:freed +500",
	"1.INFO+<2000^500 1.a:try<1500^500 2.INFO+<2000^500 2.a:try<1500^500 "
	"3.INFO+<2000^500 3.a:try<1500^500 =acquiring wake@500 =held "
	"until@29698 3.a:release!<1001 2.a:release!<1001 1.a:release!<1001 "
	"=releasing @500 =released:freed"),
    ROW("  and that of replicas", "replicas timed begins",
	"*:granted 3:down ended0 release 1:freed 2:freed +699 +1",
	"1.INFO+<2200^700 1.a:try<1700^700&1/200 2.INFO+<2200^700 "
	"2.a:try<1700^700&1/200 3.INFO+<2200^700 3.a:try<1700^700&1/200 "
	"=acquiring wake@700 =held until@29698 3.a:release!<1201&1/200 "
	"2.a:release!<1201&1/200 1.a:release!<1201&1/200 =releasing @700 "
	"=released:freed"),
    ROW("too few replicas know it", "replicas told facts",
	"*:granted ended0 release 1:few 2:few 3:freed +700",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing =released:freed @700 about1 since@0 'too few replicas have "
	"confirmed the release'"),
    ROW("what is planted no more", "",
	"*:granted 3:down +3150 3:not-ours 3:silent release 1:freed 2:freed "
	"+1000",
	"=held until@29698 @3150 3.a:renew! 2.a:renew! 1.a:renew! 3.a:try "
	"3.a:release! 2.a:release! 1.a:release! =releasing wake@3650"),
    ROW("cut short", "told", "*:granted release stop +300",
	"=held until@29698 ok 3.a:release! 2.a:release! 1.a:release! "
	"=releasing @300 =released:unconfirmed 'no majority of 3 servers: S1 "
	"has not answered; S2 has not answered; S3 has not answered'"),
    ROW("a correction of what most have lost", "history",
	"*:granted +10 ended0 release 1:not-ours 2:not-ours 3:not-ours "
	"correct70",
	"=held until@29698 @10 3.a:release! 2.a:release! 1.a:release! "
	"=releasing wake@510 =released:was-lost"),
    ROW("one that had never been reached is not heard of", "third-down facts",
	"1:granted 2:granted 3:silent release 1:freed 2:silent +10000",
	"=held until@29698 2.a:release! 1.a:release! =releasing @100 "
	"2.a:release! @10000 =released:unconfirmed about1 since@0"),
    ROW("one that was busy has nothing to free", "facts",
	"1:granted 2:granted 3:busy release 1:freed 2:silent +500",
	"=held until@29698 2.a:release! 1.a:release! =releasing @100 "
	"2.a:release! @500 =released:freed about1 since@0"),
    ROW("one has freed it, another denies it, the time is over", "facts",
	"*:granted release 1:not-ours 2:freed +500",
	"=held until@29698 3.a:release! 2.a:release! 1.a:release! =releasing "
	"@500 =released:freed about2 since@0"),
    ROW("enough do", "replicas facts",
	"*:granted ended0 release 1:few 2:freed 3:freed",
	"=held until@29698 3.a:release! 2.a:release! 1.a:release! =releasing "
	"=released:freed about1 since@0"),
    ROW("one that is away is not waited for if its grant is not known", "",
	"1:granted 2:granted 3:silent 3:down release 1:freed 2:freed",
	"=held until@29698 3.a:release! 2.a:release! 1.a:release! =releasing "
	"=released:freed"),
    ROW("  it is if it had granted it", "",
	"*:granted 3:down release 1:freed 2:freed",
	"=held until@29698 3.a:release! 2.a:release! 1.a:release! =releasing"),
};

static const struct scripted_row keys[] = {
    ROW("the second is busy: the first is freed", "keys 2 told facts",
	"1:granted 2:busy 1:freed",
	"2.b:try 'no answer from S2' 1.a:release ok =failed:busy about2"),
    ROW("the second is waited for", "keys wait 2 told facts",
	"1:granted 2:queued +700 2:ring 2:granted",
	"2.b:try 'no answer from S2' 2.BLPOP ok @700 2.b:try =held until@29698 "
	"'no answer from S1' about1 since@700"),
    ROW("  the first is renewed meanwhile, and lost: all over again",
	"keys wait 2 told facts",
	"1:granted 2:queued +10500 1:not-ours 2:not-ours 1:granted 2:granted",
	"2.b:try 'no answer from S2' 2.BLPOP ok @10500 1.a:renew! 2.drop "
	"2.b:release! lost-early:a 1.c:try 'no answer from S1' not-ok 2.d:try "
	"'no answer from S2' =held until@40198 'no answer from S1' ok about1 "
	"since@10500 former1"),
    ROW("  the first is too old: not before it is renewed",
	"short keys wait 2 told",
	"1:granted 2:queued stopped700 2:ring 2:granted +0 1:renewed",
	"2.b:try 'no answer from S2' 2.BLPOP ok @700 2.b:try 1.a:renew! =held "
	"until@1688 'no answer from S1'"),
    ROW("  a third of it is enough", "short keys wait 2",
	"1:granted 2:queued stopped655 2:ring 2:granted",
	"2.b:try 2.BLPOP @655 2.b:try =held until@988"),
    ROW("  a bit less is not", "short keys wait 2",
	"1:granted 2:queued stopped656 2:ring 2:granted",
	"2.b:try 2.BLPOP @656 2.b:try"),
    ROW("  it has ended: all over again", "short keys wait 2 told",
	"1:granted 2:queued stopped988 2:ring 2:granted 1:not-ours 2:freed",
	"2.b:try 'no answer from S2' 2.BLPOP ok @988 2.b:try 2.b:release "
	"1.a:release! 1.c:try 'no answer from S1' not-ok"),
    ROW("stopped on the second, which remembers the end of the wait",
	"keys wait 2 facts", "1:granted 2:queued skip 1:freed 2:freed",
	"2.b:try 2.BLPOP 2.drop 2.b:release! 1.a:release! =releasing "
	"=released:not-held about2 skip2"),
    ROW("the worst is told", "keys 2 told facts",
	"1:granted 2:granted +10500 1:renewed 2:silent",
	"2.b:try 'no answer from S2' =held until@29698 'no answer from S1' ok "
	"@10500 2.b:renew! 1.a:renew! 'no answer from S2' 'no answer from S: "
	"Connection reset by peer' not-ok about2 since@0"),
    ROW("one is lost, the other is released", "keys history 2 told facts",
	"1:granted 2:granted ended3 +10500 2:not-ours 1:renewed release "
	"1:freed 2:freed",
	"2.b:try 'no answer from S2' =held until@29698 'no answer from S1' ok "
	"@10500 2.b:renew! 1.a:renew! =lost 'its key was taken away or has "
	"expired' not-ok 2.b:late-release 1.a:release =releasing ok "
	"=released:was-lost about2 since@0"),
    ROW("released in reverse", "keys 3 told facts",
	"1:granted 2:granted 3:granted ended0 keep4000 release *:kept",
	"2.b:try 'no answer from S2' 3.c:try 'no answer from S3' =held "
	"until@29698 'no answer from S1' ok 3.c:release 2.b:release "
	"1.a:release =releasing 'no answer from S3' =released:not-held about3 "
	"since@0"),
    ROW("one was lost: the others are corrected", "keys history 2 told facts",
	"1:granted 2:granted ended0 release 2:not-ours 1:freed correct70 "
	"2:freed",
	"2.b:try 'no answer from S2' =held until@29698 'no answer from S1' ok "
	"2.b:release 1.a:release =releasing 'no answer from S2' "
	"=released:was-lost 2.b:late-release =releasing =released:was-lost "
	"about2 since@0"),
    ROW("one is silent", "keys 2 told facts",
	"1:granted 2:granted release 1:freed 2:silent +100 2:silent +10000",
	"2.b:try 'no answer from S2' =held until@29698 'no answer from S1' ok "
	"2.b:release 1.a:release =releasing 'no answer from S2' 'no answer "
	"from S: Connection reset by peer' not-ok @100 2.b:release! @300 "
	"2.b:release! @10000 =released:unconfirmed @10100 about2 since@0"),
    ROW("  one lost, one silent", "keys 2 told facts",
	"1:granted 2:granted release 2:not-ours 1:silent +10000",
	"2.b:try 'no answer from S2' =held until@29698 'no answer from S1' ok "
	"2.b:release 1.a:release =releasing 'no answer from S2' not-ok @100 "
	"1.a:release! @10000 =released:was-lost about2 since@0"),
    ROW("a lease that has ended without a job is withdrawn", "short keys 2",
	"1:granted 2:granted stopped988 release *:freed",
	"2.b:try =held until@988 @988 2.b:release! 1.a:release! =releasing "
	"=released:not-held"),
    ROW("  with one it is released", "short history keys 2",
	"1:granted 2:granted stopped988 ended0 release *:freed",
	"2.b:try =held until@988 @988 2.b:late-release 1.a:late-release "
	"=releasing =released:not-held"),
    ROW("confirmed: both must be renewed", "keys history 2 facts",
	"1:granted 2:granted +10 confirm 1:renewed 2:renewed ended0 release "
	"1:not-ours 2:freed 1:freed",
	"2.b:try =held until@29698 @10 1.a:renew! 2.b:renew! until@29708 "
	"2.b:release 1.a:release =releasing 1.a:late-release "
	"=released:not-held about1 since@0 confirmed"),
    ROW("  one that is out shows nothing", "keys history 2 facts",
	"1:granted 2:granted +10501 confirm *:renewed *:renewed",
	"2.b:try =held until@29698 @10500 2.b:renew! 1.a:renew! @10501 "
	"1.a:renew! 2.b:renew! until@40198 until@40199 about1 since@0 "
	"confirmed"),
    ROW("  silence shows nothing", "keys history 2",
	"1:granted 2:granted +10 confirm 1:renewed 2:silent ended0 release "
	"1:not-ours 2:freed",
	"2.b:try =held until@29698 @10 1.a:renew! 2.b:renew! 2.b:release "
	"1.a:release =releasing =released:was-lost"),
    ROW("no randomness for another token of the second", "keys wait 2 told",
	"1:granted chanceless 2:silent",
	"2.b:try 'no answer from S2' 1.a:release 'no answer from S: Connection "
	"reset by peer'"),
    ROW("the one that failed is about it", "keys 3 told facts",
	"1:granted 2:granted 3:-NOPERM_x 3:-NOPERM_y 2:freed 1:freed",
	"2.b:try 'no answer from S2' 3.c:try 'no answer from S3' 3.c:plain-try "
	"'error from S3: NOPERM x (permit it: see ACCESS RULES in "
	"rlockrun-servers(7))' 2.b:release 1.a:release 'error from S3: NOPERM "
	"y (permit it: see ACCESS RULES in rlockrun-servers(7))' "
	"=failed:refused about3"),
};

static void
test_chanceless(void)
{
	static const struct set_rule *const rules[] = {&rule_all,
	    &rule_majority};

	for (size_t i = 0; i < 2; i++) {
		begin_set("3", 3);
		set_fini(&set);
		scripted.chanceless = true;
		is_int(set_init(&set, &loop, rules[i], configs, 3), -1,
		    "without randomness there is no set");
		set_fini(&set);
		loop_fini(&loop);
	}
}

int
main(void)
{
	test_chanceless();
	PLAY_SETS(rounds);
	PLAY_SETS(held);
	PLAY_SETS(releases);
	PLAY_SETS(keys);
	return tap_done();
}
