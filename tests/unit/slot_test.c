/* How the owner of a slot is found, by the words of placed.h. */
#include "placed.h"
#include "redis/ways/cluster.h"
#include "tap.h"

#define NO_CLUSTER "judge=-ERR_cluster_support_disabled"
#define IS_NO_CLUSTER "it is not in cluster mode (redis://),permanent"
#define LEARNS "owner:CLUSTER_SLOTS@10000 1048576/16384"
#define ASKED_FAILS "judge=ok +1000 0=nil "
#define FAILS_TO_LEARN "fits " LEARNS " "

/* With as many seeds as it says: a:1, b:2, c:3. A key of the first one's. */
static const struct placed_row slots[] = {
    {"one seed has all the time that is left, up to a second", "1",
	"find999 heed=ok find9999", "owner=a:1@999 stay owner=a:1@1000"},
    {"of several, each has half of it", "2", "find1000 find1998",
	"owner=a:1@500 owner=b:2@999"},
    {"distant ones are waited for, when all were tried", "2",
	"find40000 find40000 find40000 find40000 find40000 find40000",
	"owner=a:1@1000 owner=b:2@1000 owner=a:1@2000 owner=b:2@4000 "
	"owner=a:1@8000 owner=b:2@8000"},
    {"one that answers is asked again", "2", "find10 heed=ok find10 find10",
	"owner=a:1@5 stay owner=a:1@5 owner=b:2@5"},
    {"also after an error of the command", "2", "find10 heed=-ERR_x find10",
	"owner=a:1@5 stay owner=a:1@5"},
    {"not if it is in doubt", "2", "find10 heed=-READONLY find10",
	"owner=a:1@5 stay owner=b:2@5"},
    {"moved: the one that it names is asked", "2",
	"find10 heed=-MOVED_1_h:9 find10 heed=-MOVED_1_:8 find10",
	"owner=a:1@5 at-owner owner=h:9@5 at-owner owner=h:8@5"},
    {"a redirect to nowhere is an error", "2",
	"find10 heed=-MOVED_1_h:0 heed=-MOVED find10",
	"owner=a:1@5 stay stay owner=a:1@5"},

    {"asking: the one that it names, for this command", "2",
	"find10 heed=-ASK_1_h:9 ask go find10",
	"owner=a:1@5 asking drop:other other other=h:9 owner=b:2@5"},
    {"of its own host", "2", "find10 heed=-ASK_1_:9 ask go",
	"owner=a:1@5 asking drop:other other other=a:9"},
    {"the same again keeps its connection", "1",
	"find10 heed=-ASK_1_h:9 ask owes heed=-ASK_1_h:9 ask",
	"owner=a:1@10 asking drop:other other asking other"},
    {"another port does not, nor another host", "1",
	"find10 heed=-ASK_1_h:9 ask heed=-ASK_1_h:8 ask "
	"heed=-ASK_1_g:8 ask go",
	"owner=a:1@10 asking drop:other other asking drop:other other "
	"asking drop:other other other=g:8"},
    {"while that owes a reply, the owner is asked", "1",
	"find10 heed=-ASK_1_h:9 ask owes heed=-ASK_1_g:9 ask paid ask go",
	"owner=a:1@10 asking drop:other other asking owner drop:other other "
	"other=g:9"},
    {"it names another one, on its own host", "1",
	"find10 heed=-ASK_1_h:9 ask go other=-ASK_1_:8 ask go other=ok",
	"owner=a:1@10 asking drop:other other other=h:9 asking drop:other "
	"other other=h:8 stay"},
    {"it is the owner now: then the former one is left", "1",
	"find10 heed=-ASK_1_h:9 ask go other=-MOVED_1_:7 find10",
	"owner=a:1@10 asking drop:other other other=h:9 leave:owner at-owner "
	"owner=h:7@10"},

    {"silence: each is tried, then the first again", "2",
	"miss miss miss miss miss miss", "next next last next next last"},
    {"counted from the last answer on", "2", "miss miss heed=ok miss miss miss",
	"next next stay next next last"},
    {"not from a redirect on", "2", "miss miss heed=-MOVED_1_h:9 miss",
	"next next at-owner last"},
    {"it is permanent when all have failed so", "2",
	"find10 miss! find10 miss!",
	"owner=a:1@5 next owner=b:2@5 next,permanent"},
    {"one after the other", "2", "find10 miss! find10 miss find10 miss!",
	"owner=a:1@5 next owner=b:2@5 next owner=a:1@5 last"},
    {"without an answer between them", "2",
	"find10 miss! find10 heed=-MOVED_1_h:9 find10 miss!",
	"owner=a:1@5 next owner=b:2@5 at-owner owner=h:9@5 next"},
    {"each connection counts once", "2", "find10 miss! miss!",
	"owner=a:1@5 next next"},
    {"a plain server will never do", "1", "find10 " NO_CLUSTER " miss",
	"owner=a:1@10 " IS_NO_CLUSTER " next,permanent"},
    {"  unless there are others", "2",
	"find10 " NO_CLUSTER " miss find10 judge=ok miss",
	"owner=a:1@5 " IS_NO_CLUSTER " next owner=b:2@5 fits next"},

    {"the other nodes are learnt a second later", "1",
	"judge=ok +999 judge=-NOAUTH +999 +1",
	"fits fits owner:CLUSTER_SLOTS@10000 1048576/16384"},
    {"  not by who needs no slot", "any", "judge=ok +9999", "fits"},
    {"  or from a plain server", "1", NO_CLUSTER " +9999", IS_NO_CLUSTER},
    {"  or without a connection, nor later", "1",
	"judge=ok down +1000 up heed=ok", "fits stay"},
    {"  not while a command is blocked: behind it, once", "1",
	"judge=ok busy +1000 heed=-ASK_1_h:9 heed=ok heed=ok",
	"fits asking " LEARNS " stay stay"},
    {"  and asked when no seed answers", "1",
	"find10 judge=ok +1000 0=slots find10 find10",
	"owner=a:1@10 fits " LEARNS " owner=a:1@5 owner=d:4@5"},
    {"  if it is refused thrice in a row, not again", "1",
	ASKED_FAILS ASKED_FAILS ASKED_FAILS "judge=ok +1000",
	FAILS_TO_LEARN FAILS_TO_LEARN FAILS_TO_LEARN "fits"},
    {"  nor if it is refused between them", "1",
	ASKED_FAILS ASKED_FAILS
	"judge=ok +1000 0=slots " ASKED_FAILS ASKED_FAILS ASKED_FAILS
	"judge=ok +1000",
	FAILS_TO_LEARN FAILS_TO_LEARN FAILS_TO_LEARN FAILS_TO_LEARN
	    FAILS_TO_LEARN FAILS_TO_LEARN "fits"},
};

static void
test_slots(void)
{
	struct endpoint url = {.cluster = true, .hosts = seeds};
	void *place;

	for (size_t i = 0; i < LENGTH(slots); i++) {
		bool any = strcmp(slots[i].with, "any") == 0;

		url.host_count = any ? 1 : strtoul(slots[i].with, NULL, 10);
		play(&way_slot, &url, "owner", any ? NULL : "foo{{bar}}zap",
		    &slots[i]);
	}
	url.host_count = 3;
	place = begin(&way_slot, &url, "owner", "foo");
	take_steps(&way_slot, place, "find10 judge=ok");
	is_text(placed.trace, "owner=c:3@5 fits", "a key of the last one's");
	way_slot.end(place);
	is_text(placed.trace, "owner=c:3@5 fits free:other",
	    "  the end frees the other way");
	ok(placed.timer == NULL, "  and stops the timer");
	memset(&placed, 0, sizeof(placed));
	placed.full = true;
	ok(way_slot.begin(NULL, NULL, &url, "foo") == NULL, "memory is out");
}

int
main(void)
{
	test_slots();
	return tap_done();
}
