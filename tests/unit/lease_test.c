/* A held lock: what each reply to a renewal, and each lack of one, leads to. A
 * lease of 30 s is renewed after 10.5 s (chance falls on the later end), and
 * a reply that takes longer than a second is overdue. */
#include "lock/lease.h"

#include "scripted.h"

static const struct scripted_row renewals[] = {
    ROW("one that nobody has run is sent again at once", "",
	"start granted +10500 again renewed",
	"try =acquiring =held until@29698 @10500 renew! renew! until@40198"),
    ROW("renewed after a third, again and again", "",
	"start granted +10500 renewed +10500 renewed",
	"try =acquiring =held until@29698 @10500 renew! until@40198 @21000 "
	"renew! until@50698"),
    ROW("a renewal counts from the sending", "",
	"start granted +10500 +900 renewed +10000",
	"try =acquiring =held until@29698 @10500 renew! @11400 until@40198 "
	"@21000 renew!"),
    ROW("a slow server is not asked twice the next time", "",
	"start granted +10500 +990 renewed +10500 +1900",
	"try =acquiring =held until@29698 @10500 renew! @11490 until@40198 "
	"@21000 renew! @22980 renew-again!"),
    ROW("renewed together with others, before it is due", "",
	"start granted +5000 renew renewed +10500",
	"try =acquiring =held until@29698 @5000 renew! until@34698 @15500 "
	"renew!"),
    ROW("not renewed twice at once", "", "start granted +10500 renew",
	"try =acquiring =held until@29698 @10500 renew!"),
    ROW("a nested run joins again behind each renewal", "nested",
	"start granted +10500 renewed +10500 renewed",
	"join =acquiring =held until@29698 @10500 renew! join until@40198 "
	"@21000 renew! join until@50698"),
    ROW("but not when it has no proof of the lock", "nested",
	"start granted +10500 silent +100 not-ours",
	"join =acquiring =held until@29698 @10500 renew! @10600 renew! =lost"),
    ROW("memory is out for a renewal: it is tried again", "",
	"start granted full +10700 renewed",
	"try =acquiring =held until@29698 @10500 (renew) @10600 renew! @10700 "
	"until@40298"),
    ROW("a short lease is asked for again after a quarter", "short",
	"start granted +600",
	"try =acquiring =held until@988 @349 renew! @599 renew-again!"),
};

static const struct scripted_row silence[] = {
    ROW("a reply that is overdue: a second connection asks", "",
	"start granted +11500",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again!"),
    ROW("either reply counts", "", "start granted +11500 renewed +10500",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"until@40198 @21000 renew!"),
    ROW("the second connection is given up for another, ever later", "",
	"start granted +11500 +2000 +4000 +8000",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"@13500 drop-again renew-again! @17500 drop-again renew-again! @25000 "
	"drop-again renew-again!"),
    ROW("a late reply proves no more than its sending", "",
	"start granted +11500 +17000 renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"@13500 drop-again renew-again! @17500 drop-again renew-again! @25000 "
	"drop-again renew-again! @28500 until@40198"),
    ROW("the reply on the second connection counts, which is used from then on",
	"", "start granted +11500 3:renewed 2:not-ours +10500",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"until@41198 drop @22000 renew-again!"),
    ROW("while both are out, only a yes or a no counts", "",
	"start granted +11500 3:-LOADING_x 2:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop-again until@40198"),
    ROW("  nor does what too few replicas have", "replicas",
	"start granted +11700 2:few 3:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11700 renew-again! "
	"drop until@41398"),
    ROW("  the last of them is taken as it is", "",
	"start granted +11500 2:silent 3:-LOADING_x +100",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop @11600 renew-again!"),
    ROW("  when the first has failed, the second is given no other", "",
	"start granted +11500 2:silent +2000 3:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop @13500 until@41198"),
    ROW("a connection that is lost: tried again with patience", "",
	"start granted +10500 silent +100 silent +200 renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! @10800 "
	"renew! until@40498"),
    FAILS("what is no answer to a renewal is as good as none", "",
	"start granted +10500 nonsense up +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! reject drop @10600 "
	"renew! until@40298",
	"cannot connect to S"),
    FAILS("why it was not renewed is told", "", "start granted +10500 silent",
	"try =acquiring =held until@29698 @10500 renew!", "no answer from S"),
    ROW("no server for the rest of the lease: held all the same", "",
	"start granted down +10500 silent +100 silent +200 silent +400 "
	"silent +800 silent up +1000 renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! @10800 "
	"renew! @11200 renew! @12000 renew! @13000 renew! until@42698"),
    ROW("replicas get their time, too", "replicas",
	"start granted +10500 +1199 +1",
	"try =acquiring =held until@29698 @10500 renew! @11700 renew-again!"),
    ROW("too few replicas: tried again", "replicas",
	"start granted +10500 few +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! doubt @10600 renew! "
	"until@40298"),
    ROW("a vote is asked for again when its time is over", "vote",
	"start granted +3150 +1000 silent +100 renewed",
	"try =acquiring =held until@29698 @3150 renew! @4250 renew! "
	"until@33948"),
    ROW("  the next one comes as with one server", "vote",
	"start granted +3150 renewed +10500",
	"try =acquiring =held until@29698 @3150 renew! until@32848 "
	"@13650 renew!"),
    ROW("  after its lease, as seldom as if it were renewed", "short vote",
	"start granted +105 silent +100 silent +200 silent +400 +200 silent "
	"+999",
	"try =acquiring =held until@988 @105 renew! @205 renew! @405 renew! "
	"@805 renew! @1354 renew!"),
    ROW("a vote that is lost is planted, and proves nothing", "vote",
	"start granted +3150 not-ours plant granted +10500 renewed",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven "
	"=held @13650 renew! until@43348"),
    ROW("  or has become another's", "vote",
	"start granted +3150 not-ours plant busy",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven"),
    ROW("  or has a nested run that is not counted there", "vote nested",
	"start granted +3150 not-ours plant uncounted",
	"join =acquiring =held until@29698 @3150 renew! =lost join unproven"),
    ROW("  with another user it is undone", "vote",
	"start granted +3150 not-ours plant refused:granted",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven "
	"free drop"),
    ROW("  who is refused may be let in the next time", "vote",
	"start granted +3150 not-ours plant no:-NOAUTH plant again granted",
	"try =acquiring =held until@29698 @3150 renew! =lost try unproven "
	"drop try try! =held"),
    ROW("  also one that was never held", "vote",
	"start busy plant granted +10500 renewed",
	"try =acquiring =failed:busy try =held @10500 renew! until@40198"),
    ROW("a nested run joins again", "vote nested",
	"start granted +3150 renewed",
	"join =acquiring =held until@29698 @3150 renew! join until@32848"),
};

static const struct scripted_row orders[] = {
    ROW("a replaceable holder looks for an order each second", "replaceable",
	"start granted +1000 no-order +1000 ordered +3000",
	"try =acquiring =held until@29698 @1000 order @2000 order ordered"),
    ROW("an order to another holder is none", "replaceable",
	"start granted +1000 other-ordered +1000",
	"try =acquiring =held until@29698 @1000 order @2000 order"),
    ROW("a look without a reply is not repeated, and harms no renewal",
	"replaceable", "start granted +10500 2:silent 3:renewed",
	"try =acquiring =held until@29698 @1000 order @10500 renew! "
	"until@40198"),
    ROW("a look that is redirected too often harms no renewal, either",
	"replaceable",
	"start granted +10500 2:refused-again 4:refused-again 5:refused-again "
	"6:refused-again 7:refused-again 8:refused-again 3:renewed",
	"try =acquiring =held until@29698 @1000 order @10500 renew! order! "
	"order! order! order! order! until@40198"),
    ROW("a look that fails is repeated", "replaceable",
	"start granted +1000 silent +1000 -ERR_x +1000",
	"try =acquiring =held until@29698 @1000 order @2000 order @3000 order"),
    ROW("memory is out for a look", "replaceable",
	"start granted full +1000 +1000",
	"try =acquiring =held until@29698 @1000 (order) @2000 order"),
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
    FAILS("not ours: lost, without another word", "",
	"start granted +10500 not-ours +20000",
	"try =acquiring =held until@29698 @10500 renew! =lost",
	"was taken away"),
    FAILS("not ours: nothing is sent that would free it", "",
	"start granted +10500 not-ours loss",
	"try =acquiring =held until@29698 @10500 renew! =lost",
	"was taken away"),
    FAILS("the key holds something else", "",
	"start granted +10500 -WRONGTYPE_x",
	"try =acquiring =held until@29698 @10500 renew! =lost",
	"holds something else"),
    ROW("a reply after that changes nothing", "",
	"start granted +10500 not-ours 2:renewed 1:granted",
	"try =acquiring =held until@29698 @10500 renew! =lost"),
    ROW("not ours, on the second connection", "",
	"start granted +11500 not-ours",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=lost"),
};

static const struct scripted_row errors[] = {
    FAILS("an error that passes", "",
	"start granted +10500 -LOADING_x +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! "
	"until@40298",
	"LOADING"),
    ROW("one that stays is no reason to stop", "",
	"start granted +10500 -OOM_x +100 -OOM_x +200 -OOM_x +400 -OOM_x +800 "
	"renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! @10800 "
	"renew! @11200 renew! @12000 renew! until@41698"),
    ROW("no primary: another connection", "",
	"start granted +10500 -READONLY_x up +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! drop @10600 renew! "
	"until@40298"),
    ROW("what is not permitted any more", "",
	"start granted +10500 -NOPERM_x +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! @10600 renew! "
	"until@40298"),
    FAILS("a login that is refused: no proof, another connection", "",
	"start granted +10500 refused:renewed up +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! drop @10600 renew! "
	"until@40298",
	""),
    ROW("a login that is refused, and the key is not there", "",
	"start granted +10500 refused:not-ours up +100 renewed",
	"try =acquiring =held until@29698 @10500 renew! drop @10600 renew! "
	"until@40298"),
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
