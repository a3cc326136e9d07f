/* The end of a lock: what each reply to a release, and each lack of one, leads
 * to. */

#include "scripted.h"

static const struct scripted_row answers[] = {
    ROW("freed", "timed facts", "start granted release freed",
	"try<1001 =acquiring =held until@29698 release<1001 =releasing "
	"=released:freed owes-ours answered:1 kept:0"),
    ROW("freed, and the next waiter is notified", "facts",
	"start granted release freed,notify",
	"try =acquiring =held until@29698 release =releasing notify "
	"=released:freed owes-ours answered:1 kept:0"),
    ROW("not ours within the lease: it was lost", "facts",
	"start granted release not-ours",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost owes-ours answered:1 was-lost:1 kept:0"),
    ROW("not ours when it has ended: nothing was held", "short vote facts",
	"start granted +105 silent +100 silent +200 silent +400 silent +184 "
	"release not-ours",
	"try =acquiring =held until@988 @105 renew! @205 renew! @405 renew! "
	"@805 renew! @989 release! =releasing =released:not-held owes-ours "
	"grant:/17/1700/8/7/3@0/0 patience:10000 kept:989"),
    ROW("left to nested runs", "facts", "start granted release left",
	"try =acquiring =held until@29698 release =releasing =released:left "
	"owes-ours answered:1 kept:0"),
    ROW("kept for --min-hold", "timed facts",
	"start granted keep4000 release kept",
	"try<1001 =acquiring =held until@29698 release<1001 =releasing "
	"=released:kept owes-ours answered:1 kept:4000"),
    ROW("a second reply changes nothing", "",
	"start granted release freed 2:not-ours 2:silent",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("a late renewal changes nothing", "",
	"start granted +10500 release 2:not-ours 3:freed",
	"try =acquiring =held until@29698 @10500 renew! release =releasing "
	"=released:freed"),
    ROW("of several locks: a success was proven, so it was not lost", "facts",
	"start granted proven release not-ours",
	"try =acquiring =held until@29698 release =releasing "
	"=released:not-held owes-ours answered:1 kept:0"),
    ROW("they are not waited for without a job", "replicas timed facts",
	"start granted release freed",
	"try<1201&1/200 =acquiring =held until@29698 release<1201 =releasing "
	"=released:freed owes-ours answered:1 kept:0"),
    ROW("no word of them is as good as none", "replicas facts",
	"start granted ended0 release wait-denied",
	"try =acquiring =held until@29698 release =releasing =released:freed "
	"owes-ours answered:1 unreplicated:1 kept:0"),
};

static const struct scripted_row silence[] = {
    ROW("a connection that is lost: released again; then it may be gone",
	"told facts", "start granted release silent +100 not-ours",
	"try =acquiring ok =held until@29698 release =releasing 'no answer "
	"from S: Connection reset by peer' not-ok @100 release! "
	"=released:not-held owes-maybe backoff:200 patience:2000 kept:100"),
    ROW("not sent: released again, and then it was lost", "told facts",
	"start granted down release silent up +100 not-ours",
	"try =acquiring ok =held until@29698 release =releasing 'no answer "
	"from S: Connection reset by peer' not-ok @100 release "
	"=released:was-lost owes-ours backoff:200 patience:2000 was-lost:1 "
	"kept:100"),
    ROW("that of a vote goes as a whole, and is not sent twice", "vote timed",
	"start granted release +1000",
	"try<1500^500 =acquiring =held until@29698 release!<1001 =releasing"),
    ROW("a vote that was planted: released as if it had been granted", "vote",
	"start busy plant granted release freed",
	"try =acquiring =failed:busy try =held release! =releasing "
	"=released:freed"),
    ROW("memory is out", "told facts", "start granted full release +100 freed",
	"try =acquiring ok =held until@29698 (release) '' not-ok =releasing "
	"@100 release =released:freed owes-ours backoff:200 kept:100"),
    ROW("stopped meanwhile: cut short", "timed facts",
	"start granted release +100 stop +300",
	"try<1001 =acquiring =held until@29698 release<1001 =releasing @400 "
	"free<1400 =released:unconfirmed owes-ours answered:1 unheard:1"),
    ROW("stopped when it is over", "", "start granted release freed stop",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("a nested run has nothing to leave without helper keys",
	"nested timed facts", "start -NOPERM_key granted release +0",
	"join<1001 =acquiring renew<1001 =held until@29698 =releasing "
	"=released:left owes-ours grant:17//0/0/7/3@0/0 answered:1 no-queue:1 "
	"plain:1 queued:1"),
    ROW("a vote is withdrawn in the middle of one", "vote timed facts",
	"start granted +3150 stop",
	"try<1500^500 =acquiring =held until@29698 @3150 ZRANGE+<4150 "
	"renew!<4150 free+<4150 release!<3450 =releasing owes-maybe "
	"grant:/17/1700/8/7/3@0/0 answered:1"),
    ROW("why there is no connection is told", "down told facts",
	"start +20 silent stop",
	"try =acquiring @20 'no answer from S: Connection reset by peer' drop "
	"'cannot connect to S' =released:not-held owes-maybe silent:0 "
	"reply-ms:2000 backoff:200"),
    ROW("a release that is withdrawn again is cut short once", "timed",
	"start granted release +100 stop +299 stop +1",
	"try<1001 =acquiring =held until@29698 release<1001 =releasing @400 "
	"free<1400 =released:unconfirmed"),
    ROW("  when no more is left", "short replicas timed",
	"start granted ended0 release +899 silent +100",
	"try<1201&1/200 =acquiring =held until@988 release<1000&1/200 "
	"=releasing @999 late-release!<1000&1/1"),
    ROW("  two, if there are", "short replicas timed",
	"start granted ended0 release +898 silent +100",
	"try<1201&1/200 =acquiring =held until@988 release<1000&1/200 "
	"=releasing @998 late-release!<1000&1/2"),
    ROW("withdrawn while replicas are waited for: on a fresh connection",
	"replicas", "start granted +10500 stop",
	"try =acquiring =held until@29698 @10500 renew! drop free+ release! "
	"=releasing"),
};

static const struct scripted_row renewals[] = {
    ROW("one on two connections is", "timed told",
	"start granted +11500 release 2:renewed 4:freed",
	"try<1001 =acquiring ok =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11500 renew-again!<13500 'no answer from S: timed out' "
	"not-ok =releasing drop-again release<13501 until@40198 "
	"=released:freed"),
    ROW("but no longer than a reply may take", "timed",
	"start granted +11500 release +2000 4:freed",
	"try<1001 =acquiring =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11500 renew-again!<13500 =releasing @13500 drop-again "
	"release<15501 =released:freed"),
    ROW("not ours, on one of the two", "",
	"start granted +11500 release 2:not-ours 4:not-ours",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing drop-again release =released:was-lost"),
    ROW("when the first fails, the second is waited for", "",
	"start granted +11500 release 2:silent 3:renewed 4:freed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing drop drop release-again until@41198 =released:freed"),
    ROW("when the second fails, nothing is", "",
	"start granted +11500 release 3:silent 4:freed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing drop-again release =released:freed"),
    ROW("a lock that is kept waits for both: one might lengthen it", "",
	"start granted +11500 keep4000 release 2:renewed 3:renewed 4:kept",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing until@40198 drop-again release =released:kept"),
    ROW("  also for one that was ignored before", "",
	"start granted +11500 2:renewed keep4000 release 3:silent 4:kept",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"until@40198 =releasing drop-again release =released:kept"),
    ROW("  from then on", "timed", "start granted +12000 release +2000",
	"try<1001 =acquiring =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 @11500 renew-again!<13500 @12000 =releasing @14000 "
	"drop-again release<16001"),
    ROW("one that is not kept any more waits for the first", "",
	"start granted +11500 keep0 release 2:renewed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing drop-again release until@40198"),
};

static const struct scripted_row errors[] = {
    ROW("what is not permitted: freed with the lock's key alone", "told facts",
	"start granted release -NOPERM_x freed",
	"try =acquiring ok =held until@29698 release =releasing plain-release "
	"'error from S: NOPERM x (permit it: see ACCESS RU' =released:freed "
	"owes-ours answered:1 plain:1 kept:0"),
    FAILS("which costs the record", "history",
	"start granted ended0 release -NOPERM_x freed",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:freed",
	"unrecorded: error from S: NOPERM x"),
    ROW("nor is that permitted: reported", "told",
	"start granted release -NOPERM_x -NOPERM_y",
	"try =acquiring ok =held until@29698 release =releasing plain-release "
	"'error from S: NOPERM x (permit it: see ACCESS RU' 'error from S: "
	"NOPERM y (permit it: see ACCESS RU' =released:unconfirmed"),
    ROW("a record that is refused is reported once more",
	"history timed told facts",
	"start granted ended0 release freed,unrecorded freed,unrecorded",
	"try<1001 =acquiring ok =held until@29698 release<1001 =releasing "
	"late-release<1000 cost'the server has refused it' =released:freed "
	"owes-ours answered:1 unrecorded:1 kept:0"),
    ROW("a slot that stays half-way: never without the helper keys",
	"history short told facts",
	"start granted ended0 release -TRYAGAIN_x +100 -TRYAGAIN_x +200 "
	"-TRYAGAIN_x +400 -TRYAGAIN_x +300",
	"try =acquiring ok =held until@988 release =releasing 'error from S: "
	"TRYAGAIN x' @100 release @300 release @700 release @1000 cost'error "
	"from S: TRYAGAIN x' =released:unconfirmed owes-ours answered:1 "
	"backoff:1000 unrecorded:1"),
};

static const struct scripted_row corrections[] = {
    ROW("what was recorded stays when another lock was lost", "history",
	"start granted ended0 release freed correct70",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("not where no job ran", "history",
	"start granted release freed correct70",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("not without a history", "",
	"start granted ended0 release freed correct70",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("when it was lost, the end is recorded so", "history timed facts",
	"start granted ended0 release not-ours correct70 renewed",
	"try<1001 =acquiring =held until@29698 release<1001 =releasing "
	"=released:was-lost late-release<300 =releasing =released:was-lost "
	"owes-ours answered:1 was-lost:1 kept:0"),
    ROW("for a second at most", "history timed told facts",
	"start granted +10500 not-ours ended79 down loss silent +100 silent "
	"+200 silent +400 silent +300 silent",
	"try<1001 =acquiring ok =held until@29698 @10500 ZRANGE+<40500 "
	"renew!<40500 'its key was taken away or has expired' =lost "
	"late-release<11500 =releasing 'no answer from S: Connection reset by "
	"peer' not-ok @10600 late-release<11500 @10800 late-release<11500 "
	"@11200 late-release<11500 @11500 late-release<11500 cost'no answer "
	"from S: Connection reset by peer' =released:was-lost backoff:1000 "
	"was-lost:1 unrecorded:1"),
    ROW("not before the job has run", "history",
	"start granted +10500 not-ours loss",
	"try =acquiring =held until@29698 @10500 renew! =lost"),
    ROW("not without a history, either", "",
	"start granted +10500 not-ours ended79 loss",
	"try =acquiring =held until@29698 @10500 renew! =lost"),
    ROW("nor a success: it was none", "history",
	"start granted +10500 not-ours ended0 loss",
	"try =acquiring =held until@29698 @10500 renew! =lost"),
    ROW("but it was one if the lease had ended before", "history",
	"start granted +10500 stopped20000 not-ours ended0 loss renewed",
	"try =acquiring =held until@29698 @10500 renew! @30500 "
	"=lost late-release =releasing =released:not-held"),
    ROW("a correction without a reply is repeated", "history told facts",
	"start granted ended0 release not-ours correct70 silent +100 renewed",
	"try =acquiring ok =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing 'no answer from S: "
	"Connection reset by peer' not-ok @100 late-release ok "
	"=released:was-lost owes-ours answered:1 backoff:200 was-lost:1 "
	"kept:0"),
    ROW("for a moment only if the release had no reply", "history short",
	"start granted ended0 release +1000 correct70 2:silent 3:silent +100 "
	"4:silent +200 5:silent",
	"try =acquiring =held until@988 release =releasing @1000 free "
	"=released:unconfirmed late-release =releasing @1100 late-release "
	"@1300 late-release =released:unconfirmed"),
    ROW("an error to a correction that passes", "history told facts",
	"start granted ended0 release not-ours correct70 -LOADING_x +100 "
	"renewed",
	"try =acquiring ok =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing 'error from S: LOADING x' "
	"@100 late-release =released:was-lost "
	"owes-ours answered:1 backoff:200 was-lost:1 kept:0"),
    ROW("an error to a correction that does not", "history told facts",
	"start granted ended0 release not-ours correct70 -NOPERM_x",
	"try =acquiring ok =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing 'error from S: NOPERM x "
	"(permit it: see ACCESS RU' cost'error from S: NOPERM x (permit it: "
	"see ACCESS RU' =released:was-lost owes-ours answered:1 was-lost:1 "
	"unrecorded:1 kept:0"),
    ROW("memory is out for a correction", "history told facts",
	"start granted ended0 release not-ours full correct70",
	"try =acquiring ok =held until@29698 release =releasing "
	"=released:was-lost (late-release) '' not-ok owes-ours was-lost:1 "
	"unrecorded:1 kept:0"),
    ROW("a correction with nothing to correct: another lock's", "history facts",
	"start granted ended0 release left correct70",
	"try =acquiring =held until@29698 release =releasing =released:left "
	"owes-ours answered:1 kept:0"),
};

/* rlockrun was stopped until the lease had ended, the job was not. */
static const struct scripted_row stopped[] = {
    ROW("still ours: the release records it", "history short",
	"start granted stopped1100 ended0 release freed",
	"try =acquiring =held until@988 @1100 late-release =releasing "
	"=released:freed"),
    ROW("gone: it is recorded all the same, also a success", "history short",
	"start granted stopped1100 ended0 release not-ours renewed",
	"try =acquiring =held until@988 @1100 late-release =releasing "
	"late-release "
	"=released:not-held"),
    ROW("no reply", "history short told facts",
	"start granted stopped1100 ended3 release +1000",
	"try =acquiring ok =held until@988 @1100 late-release =releasing @2100 "
	"free cost'no answer from S' =released:unconfirmed owes-ours "
	"answered:1 unheard:1 unrecorded:1"),
    ROW("without a history", "short",
	"start granted stopped1100 ended0 release not-ours",
	"try =acquiring =held until@988 @1100 late-release =releasing "
	"=released:not-held"),
    ROW("at the very end of the lease it is late, and no loss",
	"history short facts",
	"start granted stopped988 ended0 release not-ours",
	"try =acquiring =held until@988 @988 late-release =releasing "
	"late-release owes-ours answered:1 kept:988"),
    ROW("  a moment before it is in time, and lost", "history short facts",
	"start granted stopped987 ended0 release not-ours",
	"try =acquiring =held until@988 @987 release =releasing "
	"=released:was-lost owes-ours answered:1 was-lost:1 kept:987"),
};

int
main(void)
{
	PLAY(answers);
	PLAY(silence);
	PLAY(renewals);
	PLAY(errors);
	PLAY(corrections);
	PLAY(stopped);
	return tap_done();
}
