/* From the first try to the grant, or to a failure: what each reply, and each
 * lack of one, leads to. */
#include "lock/acquire.h"

#include "scripted.h"

static const struct scripted_row grants[] = {
    ROW("a grant counts from the sending", "", "start +40 granted",
	"try =acquiring @40 =held until@29698"),
    ROW("waiters of the reply are notified before it is held", "",
	"start granted,notify", "try =acquiring notify =held until@29698"),
    ROW("a grant when half of the lease is over is asked for again", "short",
	"start +501 granted +100 granted",
	"try =acquiring @601 try =held until@1589"),
    ROW("a grant just before that counts", "short", "start +500 granted",
	"try =acquiring @500 =held until@988"),
    ROW("a second reply to the try changes nothing", "",
	"start granted 1:busy 1:granted 1:silent",
	"try =acquiring =held until@29698"),
    ROW("an unfinished sweep: the same try goes on at once", "",
	"start unfinished +10 unfinished granted",
	"try =acquiring try @10 try =held until@29708"),
    ROW("a nested run joins the outer one", "nested", "start granted",
	"join =acquiring =held until@29698"),
    ROW("an outer run that has ended: the lock is acquired as our own",
	"nested", "start not-held granted",
	"join =acquiring try =held until@29698"),
    FAILS("a nested run that cannot be counted holds it all the same", "nested",
	"start uncounted", "join =acquiring =held until@29698",
	"NOPERM no key"),
};

static const struct scripted_row busy[] = {
    ROW("busy, and not waited for", "", "start busy",
	"try =acquiring =failed:busy"),
    ROW("busy, and no place is left in the queue", "wait", "start busy",
	"try =acquiring =failed:busy"),
    ROW("queued: blocks on the doorbell, which is rung", "wait",
	"start queued +700 ring granted",
	"try =acquiring BLPOP @700 try =held until@30398"),
    ROW("queued: the doorbell's time is over", "wait",
	"start queued +11000 ring +10 queued",
	"try =acquiring BLPOP @11000 try @11010 BLPOP"),
    ROW("queued: a doorbell whose reply is lost leads to a try", "wait",
	"start queued +700 silent granted",
	"try =acquiring BLPOP @700 try =held until@30398"),
    ROW("queued: waiters ahead are notified first", "wait",
	"start queued,notify", "try =acquiring notify BLPOP"),
    ROW("the head behind another client polls less and less often", "wait",
	"start foreign +100 foreign +200 foreign +400 foreign +500 foreign "
	"+500 granted",
	"try =acquiring @100 try @300 try @700 try @1200 try @1700 try =held "
	"until@31398"),
    ROW("memory is out for the doorbell: tries soon", "wait",
	"start full queued", "try =acquiring (BLPOP)"),
    ROW("a doorbell that is refused: polls", "wait",
	"start queued -NOPERM_no_BLPOP +50 queued +250 granted",
	"try =acquiring BLPOP @50 try @300 try =held until@29998"),
    ROW("a doorbell that is in the way of the server: backs off", "wait",
	"start queued -LOADING_x +100 granted",
	"try =acquiring BLPOP @100 try =held until@29798"),
    ROW("a doorbell at a former primary: connects anew", "wait",
	"start queued -READONLY_x up +100 granted",
	"try =acquiring BLPOP drop @100 try =held until@29798"),
    ROW("a server that blocks for whole seconds", "wait",
	"start queued -ERR_timeout_is_not_an_integer_or_out_of_range ring",
	"try =acquiring BLPOP BLPOP try"),
};

static const struct scripted_row silence[] = {
    ROW("no reply: undone behind the try, on a fresh connection again", "",
	"start +1100", "try =acquiring @1000 undo drop @1100 try"),
    ROW("no reply at all: given up after --server-timeout", "",
	"start +1100 up +3900",
	"try =acquiring @1000 undo drop @1100 try @3100 undo drop @3300 try "
	"@5000 drop =failed:unavailable"),
    ROW("each connection gets twice the time of the one before", "wait",
	"start +1100 up +2200 up +4000",
	"try =acquiring @1000 undo drop @1100 try @3100 undo drop @3300 try "
	"@5000 undo+ release! =releasing =failed:unavailable"),
    ROW("a waiter with a position sends no undo, which would give it up",
	"wait", "start queued ring +1000",
	"try =acquiring BLPOP try @1000 drop"),
    ROW("nor does a try that replicas are waited for", "replicas",
	"start +1200", "try =acquiring @1200 drop"),
    ROW("no connection: nothing is dropped before twice the time", "down",
	"start +1999", "try =acquiring"),
    ROW("a connection that is lost during the try", "",
	"start +20 silent +100 granted",
	"try =acquiring @120 try =held until@29818"),
    ROW("a connection that was never there", "down",
	"start +20 silent +100 silent +200",
	"try =acquiring @120 try @320 try"),
    FAILS("what will not pass ends it at once", "down", "start permanent",
	"try =acquiring drop =failed:unavailable", "cannot connect"),
    FAILS("memory is out for the try", "", "full start +100 granted",
	"(try) =acquiring @100 try =held until@29798", ""),
    ROW("a waiter too gives up a server that is silent", "wait",
	"start queued +700 ring +6000",
	"try =acquiring BLPOP @700 try @1700 drop @1800 try @5700 drop "
	"=failed:unavailable"),
};

static const struct scripted_row errors[] = {
    FAILS("an error that passes is tried again", "",
	"start -LOADING_data +100 -BUSY_script +200 granted",
	"try =acquiring @100 try @300 try =held until@29998", "BUSY"),
    ROW("one that stays ends a run that does not wait", "",
	"start -LOADING_x +100 -LOADING_x +200 -LOADING_x +400 -LOADING_x +800 "
	"-LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000",
	"try =acquiring @100 try @300 try @700 try @1500 try @2500 try @3500 "
	"try @4500 try @5000 drop =failed:unavailable"),
    ROW("a waiter goes on, as the server is not silent", "wait",
	"start -LOADING_x +100 -LOADING_x +200 -LOADING_x +400 -LOADING_x +800 "
	"-LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000 "
	"granted",
	"try =acquiring @100 try @300 try @700 try @1500 try @2500 try @3500 "
	"try @4500 try @5500 try =held until@35198"),
    ROW("no primary: another connection", "",
	"start -READONLY_replica up +100 granted",
	"try =acquiring drop @100 try =held until@29798"),
    FAILS("a key that is no lock", "",
	"start -WRONGTYPE_Operation -WRONGTYPE_Operation",
	"try =acquiring try =failed:not-a-lock", "WRONGTYPE"),
    FAILS("what is not permitted", "", "start -NOPERM_x -NOPERM_x -NOPERM_x",
	"try =acquiring try try =failed:refused", "NOPERM"),
    FAILS("an error that nobody foresaw", "", "start -ERR_odd -ERR_odd",
	"try =acquiring try =failed:error", "ERR odd"),
    ROW("a helper key that is denied: once more without", "",
	"start -NOPERM_key -NOPERM_key granted",
	"try =acquiring try try =held until@29698"),
    ROW("a waiter loses access to the queue: leaves it", "wait",
	"start queued ring -NOPERM_key granted",
	"try =acquiring BLPOP try ZREM ZREM try =held until@29698"),
    FAILS("a login that is refused", "", "start no:-NOAUTH_x",
	"try =acquiring drop =failed:refused", "NOAUTH"),
    FAILS("one that is refused, and grants: released", "",
	"start refused:granted freed",
	"try =acquiring release! =releasing =failed:refused", "refused by"),
    ROW("one that is refused, and queues: the queue is left", "wait",
	"start refused:queued freed",
	"try =acquiring release! =releasing =failed:refused"),
    FAILS("one that is refused, and is busy: there is nothing to leave", "wait",
	"start refused:busy", "try =acquiring drop =failed:refused",
	"refused by"),
    ROW("one that is refused for now is tried again", "wait",
	"start no:-LOADING_x up +100 granted",
	"try =acquiring drop @100 try =held until@29798"),
};

static const struct scripted_row others[] = {
    ROW("a run succeeded not long ago", "history once", "start not-due",
	"try =acquiring =failed:not-due"),
    ROW("overtaken by a newer run, which has left the queue", "wait newest",
	"start overtaken", "try =acquiring =failed:overtaken"),
    ROW("one in the queue that is overtaken leaves it", "wait newest",
	"start queued ring overtaken not-ours",
	"try =acquiring BLPOP try release =releasing =failed:overtaken"),
    FAILS("a run succeeded with this id, which is shown escaped", "history id",
	"start same-id", "try =acquiring =failed:not-due",
	"last succeeded with the id \"1\\n\\\"\" on web-3 at "),
    ROW("the name has no place for the id", "id", "start",
	"=failed:misconfigured"),
    ROW("held in another kind by the outer run", "nested", "start other-kind",
	"join =acquiring =failed:other-kind"),
    ROW("the name has no place for the history", "once", "start",
	"=failed:misconfigured"),
    FAILS("too few replicas: freed, and tried again", "replicas",
	"start few +100 granted",
	"try =acquiring free @100 try =held until@29798", ""),
    FAILS("too few of several servers: the rest is freed", "many",
	"start owes few +100 granted",
	"try =acquiring undo+ free @100 try =held until@29798", ""),
    ROW("some of several have granted it, most are busy", "many",
	"start some:busy freed",
	"try =acquiring release =releasing =failed:busy"),
    ROW("the same for a waiter: freed, and waited", "many wait",
	"start some:busy +250 granted",
	"try =acquiring free @250 try =held until@29948"),
    FAILS("two addresses of one server", "many", "start twins",
	"try =acquiring =failed:misconfigured", "the same server"),
    ROW("several that are silent", "many", "start +1000 few +100",
	"try =acquiring @1000 free @1100 try"),
};

static const struct scripted_row stops[] = {
    ROW("stopped before a reply: undone and released in one write", "",
	"start stop 1:silent 2:freed",
	"try =acquiring undo+ release! =releasing =released:freed"),
    ROW("stopped without a connection: nothing is sent", "down", "start stop",
	"try =acquiring drop =released:unconfirmed"),
    ROW("stopped on the doorbell: a fresh connection leaves the queue", "wait",
	"start queued stop not-ours",
	"try =acquiring BLPOP drop release! =releasing =released:not-held"),
    ROW("stopped between two tries", "wait", "start -LOADING_x stop",
	"try =acquiring drop =released:not-held"),
    ROW("stopped between two tries, in the queue", "wait",
	"start queued ring -LOADING_x stop",
	"try =acquiring BLPOP try drop =released:not-held"),
    ROW("stopped after a try without a reply", "wait",
	"start silent stop freed",
	"try =acquiring release! =releasing =released:freed"),
    ROW("stopped while replicas are waited for", "replicas wait",
	"start stop not-ours",
	"try =acquiring drop undo+ release! =releasing =released:not-held"),
    ROW("a release without a reply is not waited for", "wait",
	"start stop +300",
	"try =acquiring undo+ release! =releasing @300 =released:unconfirmed"),
    ROW("stopped twice: cut short", "wait", "start stop +200 stop +100",
	"try =acquiring undo+ release! =releasing @300 =released:unconfirmed"),
    ROW("a grant after that is no lock of ours", "wait",
	"start stop 1:granted 2:freed",
	"try =acquiring undo+ release! =releasing =released:freed"),
};

int
main(void)
{
	PLAY(grants);
	PLAY(busy);
	PLAY(silence);
	PLAY(errors);
	PLAY(others);
	PLAY(stops);
	return tap_done();
}
