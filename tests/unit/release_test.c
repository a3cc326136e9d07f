/* The end of a lock: what each reply to a release, and each lack of one, leads
 * to. */
#include "lock/release.h"

#include "scripted.h"

static const struct scripted_row answers[] = {
    ROW("freed", "", "start granted release freed",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("freed, and the next waiter is notified", "",
	"start granted release freed,notify",
	"try =acquiring =held until@29698 release =releasing notify "
	"=released:freed"),
    ROW("not ours within the lease: it was lost", "",
	"start granted release not-ours",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost"),
    ROW("not ours when it has ended: nothing was held", "short vote",
	"start granted +105 silent +100 silent +200 silent +400 silent +184 "
	"release not-ours",
	"try =acquiring =held until@988 @105 renew! @205 renew! @405 renew! "
	"@805 renew! @989 release! =releasing =released:not-held"),
    ROW("a server that lacks the script gets it", "",
	"start granted release again again freed",
	"try =acquiring =held until@29698 release =releasing release! release! "
	"=released:freed"),
    ROW("left to nested runs", "", "start granted release left",
	"try =acquiring =held until@29698 release =releasing =released:left"),
    ROW("kept for --min-hold", "", "start granted keep4000 release kept",
	"try =acquiring =held until@29698 release =releasing =released:kept"),
    ROW("a second reply changes nothing", "",
	"start granted release freed 2:not-ours 2:silent",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
    ROW("a late renewal changes nothing", "",
	"start granted +10500 release 2:not-ours 3:freed",
	"try =acquiring =held until@29698 @10500 renew! release =releasing "
	"=released:freed"),
};

static const struct scripted_row silence[] = {
    ROW("overdue: the script follows as a whole, and at the end", "",
	"start granted release +1000 +9000",
	"try =acquiring =held until@29698 release =releasing @1000 free @10000 "
	"free =released:unconfirmed"),
    ROW("beyond the lease if that is shorter than a second", "short",
	"start granted release +1000",
	"try =acquiring =held until@988 release =releasing @1000 free "
	"=released:unconfirmed"),
    ROW("a connection that is lost: released again; then it may be gone", "",
	"start granted release silent +100 not-ours",
	"try =acquiring =held until@29698 release =releasing @100 release! "
	"=released:not-held"),
    ROW("what is no answer may have freed it", "",
	"start granted release nonsense up +100 not-ours",
	"try =acquiring =held until@29698 release =releasing reject drop @100 "
	"release! =released:not-held"),
    ROW("not sent: released again, and then it was lost", "",
	"start granted down release silent up +100 not-ours",
	"try =acquiring =held until@29698 release =releasing @100 release "
	"=released:was-lost"),
    ROW("replicas get their time, too", "replicas",
	"start granted ended0 release +1199 +1",
	"try =acquiring =held until@29698 release =releasing @1200 free"),
    ROW("one that is slow gets more time", "",
	"start granted down release silent up +100 +3000",
	"try =acquiring =held until@29698 release =releasing @100 release "
	"@2100 free"),
    ROW("that of a vote goes as a whole, and is not sent twice", "vote",
	"start granted release +1000",
	"try =acquiring =held until@29698 release! =releasing"),
    ROW("a vote that was planted without a reply: released behind it", "vote",
	"start busy plant release freed freed",
	"try =acquiring =failed:busy try release! =releasing "
	"=failed:busy"),
    ROW("a vote that was planted: released as if it had been granted", "vote",
	"start busy plant granted release freed",
	"try =acquiring =failed:busy try =held release! =releasing "
	"=released:freed"),
    ROW("memory is out", "", "start granted full release +100 freed",
	"try =acquiring =held until@29698 (release) =releasing @100 release "
	"=released:freed"),
    ROW("stopped meanwhile: cut short", "",
	"start granted release +100 stop +300",
	"try =acquiring =held until@29698 release =releasing @400 free "
	"=released:unconfirmed"),
    ROW("stopped when it is over", "", "start granted release freed stop",
	"try =acquiring =held until@29698 release =releasing =released:freed"),
};

static const struct scripted_row renewals[] = {
    ROW("a renewal that is out is not waited for", "",
	"start granted +10500 release 3:freed",
	"try =acquiring =held until@29698 @10500 renew! release =releasing "
	"=released:freed"),
    ROW("one on two connections is", "",
	"start granted +11500 release 2:renewed 4:freed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing drop-again release until@40198 =released:freed"),
    ROW("but no longer than a reply may take", "",
	"start granted +11500 release +2000 4:freed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing @13500 drop-again release =released:freed"),
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
    ROW("nor is, when the first had failed before", "",
	"start granted +11500 2:silent release 4:freed",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"drop drop-again release =releasing =released:freed"),
    ROW("a lock that is kept waits for both: one might lengthen it", "",
	"start granted +11500 keep4000 release 2:renewed 3:renewed 4:kept",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"=releasing until@40198 drop-again release =released:kept"),
    ROW("  also for one that was ignored before", "",
	"start granted +11500 2:renewed keep4000 release 3:silent 4:kept",
	"try =acquiring =held until@29698 @10500 renew! @11500 renew-again! "
	"until@40198 =releasing drop-again release =released:kept"),
};

static const struct scripted_row errors[] = {
    FAILS("an error that passes", "",
	"start granted release -LOADING_x +100 freed",
	"try =acquiring =held until@29698 release =releasing @100 release "
	"=released:freed",
	"LOADING"),
    ROW("one that stays until the time is over", "short",
	"start granted release -LOADING_x +100 -LOADING_x +200 -LOADING_x +400 "
	"-LOADING_x +300",
	"try =acquiring =held until@988 release =releasing @100 release @300 "
	"release @700 release @1000 =released:unconfirmed"),
    ROW("no primary: another connection", "",
	"start granted release -READONLY_x up +100 freed",
	"try =acquiring =held until@29698 release =releasing drop @100 release "
	"=released:freed"),
    ROW("what is not permitted: freed with the lock's key alone", "",
	"start granted release -NOPERM_x freed",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:freed"),
    FAILS("which costs the record", "history",
	"start granted ended0 release -NOPERM_x freed",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:freed",
	"unrecorded: error from S: NOPERM x"),
    FAILS("nor is that permitted: reported", "",
	"start granted release -NOPERM_x -NOPERM_y",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:unconfirmed",
	"NOPERM y"),
    ROW("a lock that is something else now", "",
	"start granted release -WRONGTYPE_x -WRONGTYPE_x",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:unconfirmed"),
    FAILS("a record that is refused is reported once more", "history",
	"start granted ended0 release freed,unrecorded freed,unrecorded",
	"try =acquiring =held until@29698 release =releasing late-release "
	"=released:freed",
	"unrecorded: the server has refused it"),
    FAILS("a slot that stays half-way: never without the helper keys",
	"history short",
	"start granted ended0 release -TRYAGAIN_x +100 -TRYAGAIN_x +200 "
	"-TRYAGAIN_x +400 -TRYAGAIN_x +300",
	"try =acquiring =held until@988 release =releasing @100 release @300 "
	"release @700 release @1000 =released:unconfirmed",
	"TRYAGAIN"),
    ROW("a login that is refused", "",
	"start granted release no:-NOAUTH_x no:-NOAUTH_x",
	"try =acquiring =held until@29698 release =releasing plain-release "
	"=released:unconfirmed"),
    ROW("a login that is refused for now: another connection", "",
	"start granted release no:-LOADING_x up +100 freed",
	"try =acquiring =held until@29698 release =releasing drop @100 release "
	"=released:freed"),
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
    ROW("when it was lost, the end is recorded so", "history",
	"start granted ended0 release not-ours correct70 renewed",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing =released:was-lost"),
    ROW("but that is not waited for", "history",
	"start granted ended0 release not-ours correct70 +300 silent",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing @300 =released:was-lost"),
    ROW("a loss that was noticed is recorded", "history",
	"start granted +10500 not-ours ended79 loss renewed",
	"try =acquiring =held until@29698 @10500 renew! =lost late-release "
	"=releasing =released:was-lost"),
    FAILS("for a second at most", "history",
	"start granted +10500 not-ours ended79 down loss silent +100 silent "
	"+200 silent +400 silent +300 silent",
	"try =acquiring =held until@29698 @10500 renew! =lost late-release "
	"=releasing @10600 late-release @10800 late-release @11200 "
	"late-release @11500 "
	"late-release =released:was-lost",
	"unrecorded: no answer"),
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
    ROW("a correction without a reply is repeated", "history",
	"start granted ended0 release not-ours correct70 silent +100 renewed",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing @100 late-release "
	"=released:was-lost"),
    ROW("for a moment only if the release had no reply", "history short",
	"start granted ended0 release +1000 correct70 2:silent 3:silent +100 "
	"4:silent +200 5:silent",
	"try =acquiring =held until@988 release =releasing @1000 free "
	"=released:unconfirmed late-release =releasing @1100 late-release "
	"@1300 late-release =released:unconfirmed"),
    ROW("an error to a correction that passes", "history",
	"start granted ended0 release not-ours correct70 -LOADING_x +100 "
	"renewed",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing @100 late-release "
	"=released:was-lost"),
    ROW("an error to a correction that does not", "history",
	"start granted ended0 release not-ours correct70 -NOPERM_x",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost late-release =releasing =released:was-lost"),
    ROW("memory is out for a correction", "history",
	"start granted ended0 release not-ours full correct70",
	"try =acquiring =held until@29698 release =releasing "
	"=released:was-lost (late-release)"),
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
    FAILS("the record is refused", "history short",
	"start granted stopped1100 ended3 release not-ours -NOPERM_x",
	"try =acquiring =held until@988 @1100 late-release =releasing "
	"late-release "
	"=released:not-held",
	"unrecorded: error from"),
    FAILS("no reply", "history short",
	"start granted stopped1100 ended3 release +1000",
	"try =acquiring =held until@988 @1100 late-release =releasing @2100 "
	"free "
	"=released:unconfirmed",
	"unrecorded: no answer"),
    ROW("without a history", "short",
	"start granted stopped1100 ended0 release not-ours",
	"try =acquiring =held until@988 @1100 late-release =releasing "
	"=released:not-held"),
    ROW("without a job", "history short",
	"start granted stopped1100 release not-ours",
	"try =acquiring =held until@988 @1100 release =releasing "
	"=released:not-held"),
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
