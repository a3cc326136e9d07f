/* A held lock: what each reply to a renewal, and each lack of one, leads to. A
 * lease of 30 s is renewed after 10.5 s (chance falls on the later end), and
 * a reply that takes longer than a second is overdue. */

#include "scripted.h"

static const struct scripted_row renewals[] = {
    ROW("a renewal counts from the sending", "told facts",
	"start granted +10500 +900 renewed +10000",
	"try =acquiring ok =held until@29698 @10500 renew! @11400 until@40198 "
	"@21000 renew! @21400 owes-ours answered:1 patience:1800 "
	"round-trip:900 renewed:10500"),
    ROW("a slow server is not asked twice the next time", "timed told facts",
	"start granted +10500 +990 renewed +10500 +1900",
	"try<1001 =acquiring ok =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11490 until@40198 @21000 ZRANGE+<51000 renew!<51000 "
	"@22980 renew-again!<26940 'no answer from S: timed out' "
	"not-ok @23890 owes-ours patience:3960 round-trip:990 renewed:10500"),
    ROW("not renewed twice at once", "", "start granted +10500 renew",
	"try =acquiring =held until@29698 @10500 renew!"),
    ROW("a nested run joins again behind each renewal", "nested timed",
	"start granted +10500 renewed +10500 renewed",
	"join<1001 =acquiring =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 join<40500 until@40198 @21000 ZRANGE+<51000 renew!<51000 "
	"join<51000 until@50698"),
    ROW("but not when it has no proof of the lock", "nested",
	"start granted +10500 silent +100 not-ours",
	"join =acquiring =held until@29698 @10500 renew! @10600 renew! =lost"),
    ROW("memory is out for a renewal: it is tried again", "told facts",
	"start granted full +10700 renewed",
	"try =acquiring ok =held until@29698 @10500 (renew) '' not-ok @10600 "
	"renew! @10700 ok until@40298 owes-ours answered:1 round-trip:100 "
	"renewed:10600"),
    ROW("the life of what is known begins anew when half of it is over",
	"timed facts", "start granted stopped1800000 +0",
	"try<1001 =acquiring =held until@29698 @1800000 PEXPIRE+<1830000 "
	"ZRANGE+<1830000 renew!<1830000 owes-ours "
	"grant:17/17/1700/8/7/3@0/1800000 answered:1"),
    ROW("  and not before", "timed", "start granted stopped1799999 +0",
	"try<1001 =acquiring =held until@29698 @1799999 ZRANGE+<1829999 "
	"renew!<1829999"),
    ROW("a second connection is no trouble where round trips take so long",
	"short told", "start +126 granted +500",
	"try =acquiring @126 ok =held until@988 @349 renew! @599 renew-again!"),
    ROW("  where they are a bit quicker it is", "short told",
	"start +125 granted +500",
	"try =acquiring @125 ok =held until@988 @349 renew! @599 renew-again! "
	"'no answer from S: timed out' not-ok"),
};

static const struct scripted_row silence[] = {
    ROW("a reply that is overdue: a second connection asks", "timed told facts",
	"start granted +11500",
	"try<1001 =acquiring ok =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11500 renew-again!<13500 'no answer from S: timed out' "
	"not-ok owes-ours patience:2000"),
    ROW("either reply counts", "facts", "start granted +11500 renewed +10500",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"until@40198 @21000 renew! @22000 owes-ours answered:1 patience:2000 "
	"round-trip:1000 renewed:10500"),
    ROW("the second connection is given up for another, ever later",
	"timed facts", "start granted +11500 +2000 +4000 +8000",
	"try<1001 =acquiring =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11500 renew-again!<13500 @13500 drop-again "
	"renew-again!<17500 @17500 drop-again renew-again!<25000 @25000 "
	"drop-again renew-again!<32500 @25500 owes-ours patience:10000"),
    ROW("a late reply proves no more than its sending", "",
	"start granted +11500 +17000 renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"@13500 drop-again renew-again! @17500 drop-again renew-again! @25000 "
	"drop-again renew-again! @28500 until@40198"),
    ROW("while both are out, only a yes or a no counts", "told facts",
	"start granted +11500 3:-LOADING_x 2:renewed",
	"try =acquiring ok =held until@29698 @10500 renew! @11500 renew-again! "
	"'no answer from S: timed out' not-ok drop-again ok "
	"until@40198 owes-ours answered:1 patience:2000 round-trip:1000 "
	"renewed:10500"),
    ROW("  nor does what too few replicas have", "replicas timed facts",
	"start granted +11700 2:few 3:renewed",
	"try<1201&1/200 =acquiring =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500&1/200 @11700 renew-again!<13900&1/200 drop until@41398 "
	"owes-ours answered:1 unsafe:1 renewed:11700"),
    ROW("  the last of them is taken as it is", "told facts",
	"start granted +11500 2:silent 3:-LOADING_x +100",
	"try =acquiring ok =held until@29698 @10500 renew! @11500 renew-again! "
	"'no answer from S: timed out' not-ok drop 'error from S: "
	"LOADING x' @11600 renew-again! owes-ours "
	"backoff:200 patience:2000"),
    ROW("  when the first has failed, the second is given no other",
	"told facts", "start granted +11500 2:silent +2000 3:renewed",
	"try =acquiring ok =held until@29698 @10500 renew! @11500 renew-again! "
	"'no answer from S: timed out' not-ok drop @13500 'cannot "
	"connect to S' ok until@41198 owes-ours answered:1 patience:4000 "
	"round-trip:2000 renewed:11500"),
    ROW("a connection that is lost: tried again with patience", "told facts",
	"start granted +10500 silent +100 silent +200 renewed",
	"try =acquiring ok =held until@29698 @10500 renew! 'no answer from S: "
	"Connection reset by peer' not-ok @10600 renew! @10800 renew! ok "
	"until@40498 owes-ours answered:1 renewed:10800"),
    ROW("what is no answer to a renewal is as good as none", "told",
	"start granted +10500 nonsense up +100 renewed",
	"try =acquiring ok =held until@29698 @10500 renew! reject drop 'cannot "
	"connect to S' not-ok @10600 renew! ok until@40298"),
    ROW("why it was not renewed is told", "told facts",
	"start granted +10500 silent",
	"try =acquiring ok =held until@29698 @10500 renew! 'no answer from S: "
	"Connection reset by peer' not-ok owes-ours backoff:200 patience:2000"),
    ROW("no server for the rest of the lease: held all the same", "facts",
	"start granted down +10500 silent +100 silent +200 silent +400 silent "
	"+800 silent up +1000 renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! @10800 "
	"renew! @11200 renew! @12000 renew! @13000 renew! until@42698 "
	"owes-ours answered:1 renewed:13000"),
    ROW("replicas get their time, too", "replicas",
	"start granted +10500 +1199 +1",
	"try =acquiring =held until@29698 @10500 renew! @11700 renew-again!"),
    ROW("too few replicas: tried again", "replicas timed told facts",
	"start granted +10500 few +100 renewed",
	"try<1201&1/200 =acquiring ok =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500&1/200 doubt 'not safe on S: 0 of 1 replicas have the "
	"lock' not-ok @10600 ZRANGE+<40600 renew!<40600&1/200 ok until@40298 "
	"owes-ours answered:1 renewed:10600"),
    ROW("a vote is asked for again when its time is over", "vote timed facts",
	"start granted +3150 +1000 silent +100 renewed",
	"try<1500^500 =acquiring =held until@29698 @3150 ZRANGE+<4150 "
	"renew!<4150 @4250 ZRANGE+<6250 renew!<6250 until@33948 owes-ours "
	"grant:/17/1700/8/7/3@0/0 answered:1 renewed:4250"),
    ROW("a vote that is lost is planted, and proves nothing",
	"vote timed told facts",
	"start granted +3150 not-ours plant granted +10500 renewed",
	"try<1500^500 =acquiring ok =held until@29698 @3150 ZRANGE+<4150 "
	"renew!<4150 'its key was taken away or has expired' =lost "
	"try<4150^3650 unproven =held @13650 ZRANGE+<14650 renew!<14650 "
	"until@43348 owes-ours grant:/17/1700/8/7/3@3150/0 answered:1 "
	"renewed:13650 was-lost:1"),
    ROW("  or has become another's", "vote facts",
	"start granted +3150 not-ours plant busy",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven "
	"grant:/17/1700/8/7/3@0/0 answered:1 sent:3150 was-lost:1"),
    ROW("  or has a nested run that is not counted there", "vote nested facts",
	"start granted +3150 not-ours plant uncounted",
	"join =acquiring =held until@29698 @3150 renew! =lost join unproven "
	"grant://0/0/7/3@0/0 answered:1 sent:3150 was-lost:1"),
    ROW("  with another user it is undone", "vote facts",
	"start granted +3150 not-ours plant refused:granted",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven free "
	"drop grant:/17/1700/8/7/3@0/0 answered:1 sent:3150 was-lost:1"),
    ROW("  who is refused may be let in the next time", "vote facts",
	"start granted +3150 not-ours plant no:-NOAUTH plant again granted",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven drop "
	"try try! =held owes-ours grant:/17/1700/8/7/3@3150/0 answered:1 "
	"sent:3150 repeats:1 was-lost:1"),
    ROW("  also one that was never held", "vote timed facts",
	"start busy plant granted +10500 renewed",
	"try<1500^500 =acquiring =failed:busy try<1000^500 =held @10500 "
	"ZRANGE+<11500 renew!<11500 until@40198 owes-ours "
	"grant:/17/1700/8/0/0@0/-1000000 answered:1 holder:3 length:2 "
	"renewed:10500"),
    ROW("a nested run joins again", "vote nested",
	"start granted +3150 renewed",
	"join =acquiring =held until@29698 @3150 renew! join until@32848"),
    ROW("a vote whose server was away", "vote facts",
	"start granted down +3150 not-ours",
	"try =acquiring =held until@29698 @3150 renew! =lost "
	"grant:/17/1700/8/7/3@0/0 answered:1 away:1 was-lost:1"),
    ROW("  is planted again and again", "vote timed facts",
	"start granted down +3150 not-ours plant up +100 silent +1000",
	"try<1500^500 =acquiring =held until@29698 @3150 ZRANGE+<4150 "
	"renew!<4150 =lost try<4150^3650 unproven @3450 try<4450^3950 @4250 "
	"owes-maybe grant:/17/1700/8/7/3@0/0 answered:1 sent:3450 backoff:1000 "
	"out:1 away:1 was-lost:1"),
    ROW("  a plant that is late is not waited for", "vote timed facts",
	"start granted +3150 not-ours plant +1000 silent plant -LOADING_x",
	"try<1500^500 =acquiring =held until@29698 @3150 ZRANGE+<4150 "
	"renew!<4150 =lost try<4150^3650 unproven @4150 try<5150^4650 "
	"owes-maybe grant:/17/1700/8/7/3@0/0 answered:1 sent:4150 was-lost:1"),
    ROW("  memory is out for it", "vote facts",
	"start granted +3150 not-ours full plant",
	"try =acquiring =held until@29698 @3150 renew! =lost (try) unproven "
	"owes-maybe grant:/17/1700/8/7/3@0/0 sent:3150 was-lost:1"),
    ROW("  it is denied there", "vote facts", "start busy plant no:-NOAUTH_x",
	"try =acquiring =failed:busy try drop owes-maybe answered:1 holder:3 "
	"length:2"),
    ROW("  what was denied to a nested run may be permitted by now",
	"vote nested timed", "start -NOPERM_key granted +3150 not-ours plant",
	"join<1500^500 =acquiring renew<1500^500 =held until@29698 @3150 "
	"renew!<4150 =lost join<4150^3650 unproven"),
    ROW("  nor what is no answer", "facts",
	"start granted +11500 2:nonsense 3:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop until@41198 owes-ours answered:1 renewed:11500"),
    ROW("  nor what follows a refused login", "facts",
	"start granted +11500 2:refused:renewed 3:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop until@41198 owes-ours answered:1 renewed:11500"),
    ROW("  nor what a former primary says", "facts",
	"start granted +11500 moved 2:renewed 3:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop until@41198 owes-ours answered:1 renewed:11500"),
};

static const struct scripted_row orders[] = {
    ROW("a replaceable holder looks for an order each second",
	"replaceable timed facts",
	"start granted +1000 no-order +1000 ordered +3000",
	"try<1001 =acquiring =held until@29698 @1000 order<11000 @2000 "
	"order<12000 ordered @5000 owes-ours answered:1"),
    ROW("an order to another holder is none", "replaceable",
	"start granted +1000 other-ordered +1000",
	"try =acquiring =held until@29698 @1000 order @2000 order"),
    ROW("a look without a reply is not repeated, and harms no renewal",
	"replaceable facts", "start granted +10500 2:silent 3:renewed",
	"try =acquiring =held until@29698 @1000 order @10500 renew! "
	"until@40198 owes-ours answered:1 renewed:10500"),
    ROW("a look that is redirected too often harms no renewal, either",
	"replaceable told facts",
	"start granted +10500 2:refused-again 4:refused-again 5:refused-again "
	"6:refused-again 7:refused-again 8:refused-again 3:renewed",
	"try =acquiring ok =held until@29698 @1000 order @10500 renew! order! "
	"order! order! order! order! 'redirected too often, last by S' not-ok "
	"ok until@40198 owes-ours answered:1 repeats:5 renewed:10500"),
    ROW("a look that fails is repeated", "replaceable",
	"start granted +1000 silent +1000 -ERR_x +1000",
	"try =acquiring =held until@29698 @1000 order @2000 order @3000 order"),
    ROW("an order that comes when the lock is released is none", "replaceable",
	"start granted +1000 release 2:ordered freed",
	"try =acquiring =held until@29698 @1000 order release =releasing "
	"=released:freed"),
    ROW("a nested run leaves it to the outer one", "replaceable nested",
	"start granted +5000", "join =acquiring =held until@29698"),
    ROW("others never look", "", "start granted +5000",
	"try =acquiring =held until@29698"),
};

static const struct scripted_row losses[] = {
    ROW("not ours: lost, without another word", "told facts",
	"start granted +10500 not-ours +20000",
	"try =acquiring ok =held until@29698 @10500 renew! 'its key was taken "
	"away or has expired' =lost @30500 answered:1 was-lost:1"),
    FAILS("not ours: nothing is sent that would free it", "",
	"start granted +10500 not-ours loss",
	"try =acquiring =held until@29698 @10500 renew! =lost",
	"was taken away"),
    ROW("a reply after that changes nothing", "",
	"start granted +10500 not-ours 2:renewed 1:granted",
	"try =acquiring =held until@29698 @10500 renew! =lost"),
    ROW("not ours, on the second connection", "",
	"start granted +11500 not-ours",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=lost"),
    ROW("not ours when its lease is over: it was no loss", "short facts",
	"start granted down +349 stopped2000 not-ours",
	"try =acquiring =held until@988 @349 renew! @2349 =lost answered:1 "
	"away:1"),
    ROW("  a moment before that it is", "short facts",
	"start granted +349 stopped638 not-ours",
	"try =acquiring =held until@988 @349 renew! @987 =lost answered:1 "
	"was-lost:1"),
    ROW("  at that very time it is not", "short facts",
	"start granted +349 stopped639 not-ours",
	"try =acquiring =held until@988 @349 renew! @988 =lost answered:1"),
};

static const struct scripted_row errors[] = {
    ROW("a login that is refused: no proof, another connection", "told",
	"start granted +10500 refused:renewed up +100 renewed",
	"try =acquiring ok =held until@29698 @10500 renew! drop 'error from S: "
	"NOPERM no permission (permit it: s' not-ok @10600 renew! ok "
	"until@40298"),
    ROW("no primary on the second connection: neither is used any more", "",
	"start granted +11500 2:silent 3:-READONLY_x",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop drop-again drop"),
};

static void
test_valid_until(void)
{
	is_int(lease_valid_until(100, 1000), 100 + 1000 - 12,
	    "the ttl less 1% less 2 ms");
	is_int(lease_valid_until(0, 30000), 30000 - 302, "of half a minute");
}

int
main(void)
{
	test_valid_until();
	PLAY(renewals);
	PLAY(silence);
	PLAY(losses);
	PLAY(orders);
	PLAY(errors);
	return tap_done();
}
