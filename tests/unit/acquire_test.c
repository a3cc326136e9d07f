/* From the first try to the grant, or to a failure: what each reply, and each
 * lack of one, leads to. */
#include "lock/lock.h"

#include "scripted.h"

static const struct scripted_row grants[] = {
    ROW("a grant counts from the sending", "told facts", "start +40 granted",
	"try =acquiring @40 ok =held until@29698 owes-ours answered:1 "
	"round-trip:40"),
    ROW("waiters of the reply are notified before it is held", "facts",
	"start granted,notify",
	"try =acquiring notify =held until@29698 owes-ours answered:1 head:1"),
    ROW("a grant when half of the lease is over is asked for again",
	"short told facts", "start +501 granted +100 granted",
	"try =acquiring @501 'too slow for this ttl S: the answer came when "
	"ha' @601 try ok =held until@1589 owes-ours "
	"grant:17/17/1700/8/7/3@601/601 answered:1 queued:1 sent:601"),
    ROW("a grant just before that counts", "short", "start +500 granted",
	"try =acquiring @500 =held until@988"),
    ROW("a server that lacks the script gets it, in the same try", "",
	"start +5 again +6 granted",
	"try =acquiring @5 try! @11 =held until@29703"),
    ROW("a grant that is asked for again when half of the lease is over",
	"short", "start +501 again +1 granted",
	"try =acquiring @501 try! @502 =held until@1489"),
    ROW("a try that is withdrawn is not asked again", "",
	"start stop again freed",
	"try =acquiring free+ release! =releasing =released:freed"),
    ROW("a second reply to the try changes nothing", "",
	"start granted 1:busy 1:granted 1:silent",
	"try =acquiring =held until@29698"),
    ROW("a nested run joins the outer one", "nested facts", "start granted",
	"join =acquiring =held until@29698 owes-ours grant:17//0/0/7/3@0/0 "
	"answered:1"),
    ROW("an outer run that has ended: the lock is acquired as our own",
	"nested told facts", "start not-held granted",
	"join =acquiring try ok =held until@29698 owes-ours answered:1 "
	"queued:1"),
    ROW("a nested run that cannot be counted holds it all the same",
	"nested told facts", "start uncounted",
	"join =acquiring 'error from S: NOPERM no key (permit it: see ACCE' "
	"cost'error from S: NOPERM no key (permit it: see ACCE' ok =held "
	"until@29698 owes-ours grant://0/0/0/0@0/0 answered:1 no-queue:1"),
};

static const struct scripted_row busy[] = {
    ROW("busy, and not waited for", "told facts", "start busy",
	"try =acquiring ok =failed:busy answered:1 holder:3 length:2"),
    ROW("busy, and no place is left in the queue", "wait", "start busy",
	"try =acquiring =failed:busy"),
    ROW("queued: blocks on the doorbell, which is rung", "wait",
	"start queued +700 ring granted",
	"try =acquiring BLPOP @700 try =held until@30398"),
    ROW("queued: the doorbell's time is over", "wait",
	"start queued +11000 ring +10 queued",
	"try =acquiring BLPOP @11000 try @11010 BLPOP"),
    ROW("queued: a doorbell whose reply is lost leads to a try",
	"wait told facts", "start queued +700 silent granted",
	"try =acquiring BLPOP ok @700 try =held until@30398 owes-ours "
	"grant:17/17/1700/8/7/3@700/700 answered:1 holder:3 position:1 "
	"length:2 queued:1 ticket:5 sent:700"),
    ROW("queued: a server that hangs up soon is left alone for a while",
	"wait told facts", "start queued +700 down rest400 silent +400",
	"try =acquiring BLPOP ok @700 'lost the connection to S: closed by the "
	"server' @1100 try owes-queued answered:1 holder:3 position:1 length:2 "
	"queued:1 ticket:5 sent:1100 silent:1100 out:1"),
    ROW("queued: a try that is due waits until then, too", "wait",
	"start foreign down rest400 +400", "try =acquiring @400 try"),
    ROW("queued: a connection that is up is used meanwhile", "wait",
	"start foreign up rest400 +100", "try =acquiring @100 try"),
    ROW("queued: the place is given up if it is stopped meanwhile", "wait",
	"start queued down rest400 silent stop not-ours",
	"try =acquiring BLPOP release! =releasing =released:not-held"),
    ROW("queued: waiters ahead are notified first", "wait facts",
	"start queued,notify",
	"try =acquiring notify BLPOP owes-queued answered:1 holder:3 "
	"position:1 length:2 watches:1 queued:1 ticket:5"),
    ROW("the head behind another client polls less and less often", "wait",
	"start foreign +100 foreign +200 foreign +400 foreign +500 foreign "
	"+500 granted",
	"try =acquiring @100 try @300 try @700 try @1200 try @1700 try =held "
	"until@31398"),
    ROW("memory is out for the doorbell: tries soon", "wait facts",
	"start full queued +100",
	"try =acquiring (BLPOP) @100 try owes-queued holder:3 position:1 "
	"length:2 queued:1 ticket:5 sent:100 silent:100 out:1"),
    ROW("a doorbell that is refused: polls", "wait told facts",
	"start queued -NOPERM_no_BLPOP +50 queued +250 granted",
	"try =acquiring BLPOP ok 'error from S: NOPERM no BLPOP (permit it: "
	"see AC' cost'error from S: NOPERM no BLPOP (permit it: see AC' @50 "
	"try @300 try =held until@29998 owes-ours "
	"grant:17/17/1700/8/7/3@300/300 answered:1 no-queue:1 holder:3 "
	"position:1 length:2 queued:1 ticket:5 sent:300"),
    ROW("a doorbell at a former primary: connects anew", "wait",
	"start queued -READONLY_x up +100 granted",
	"try =acquiring BLPOP drop @100 try =held until@29798"),
    ROW("a server that blocks for whole seconds", "wait",
	"start queued -ERR_timeout_is_not_an_integer_or_out_of_range ring",
	"try =acquiring BLPOP BLPOP try"),
    ROW("queued: the doorbell has the time of a heartbeat, and of a reply",
	"wait timed told facts", "start +900 queued",
	"try<1001 =acquiring @900 BLPOP<2780 ok owes-queued answered:1 "
	"holder:3 position:1 length:2 queued:1 ticket:5"),
    ROW("the head asks it to stop", "wait replace facts", "start head",
	"try =acquiring BLPOP owes-queued answered:1 holder:3 order:1 "
	"position:0 length:2 queued:1 ticket:5"),
    ROW("unless it does not listen", "wait replace facts",
	"start irreplaceable",
	"try =acquiring BLPOP owes-queued answered:1 order:2 position:0 "
	"queued:1"),
    ROW("or is a pause", "wait replace facts", "start paused",
	"try =acquiring BLPOP owes-queued answered:1 holder:6 position:0 "
	"queued:1"),
    ROW("nor is there a holder if the lock is free for others",
	"wait replace facts", "start for-others",
	"try =acquiring BLPOP owes-queued answered:1 holder:1 position:1 "
	"queued:1"),
};

static const struct scripted_row silence[] = {
    ROW("no reply at all: given up after --server-timeout", "told facts",
	"start +1100 up +3900",
	"try =acquiring @1000 free drop 'no answer from S: timed out' @1100 "
	"try @3100 free drop @3300 try @5000 drop 'cannot connect "
	"to S' =failed:unavailable owes-maybe queued:1 former:1 sent:3300 "
	"silent:0 reply-ms:4000 backoff:400"),
    ROW("each connection gets twice the time of the one before", "wait timed",
	"start +1100 up +2200 up +4000",
	"try<1001 =acquiring @1000 free<2000 drop @1100 try<5001 @3100 "
	"free<4100 drop @3300 try<5001 @5000 free+<6000 release!<5000 "
	"=releasing =failed:unavailable"),
    ROW("a waiter with a position sends no undo, which would give it up",
	"wait", "start queued ring +1000",
	"try =acquiring BLPOP try @1000 drop"),
    ROW("nor does a try that replicas are waited for", "replicas timed",
	"start +1200", "try<1201&1/200 =acquiring @1200 drop"),
    ROW("no connection: nothing is dropped before twice the time", "down facts",
	"start +1999", "try =acquiring @1999 silent:0 out:1"),
    ROW("a connection that is lost during the try", "told facts",
	"start +20 silent +100 granted",
	"try =acquiring @20 'no answer from S: Connection reset by peer' @120 "
	"try ok =held until@29818 owes-ours grant:17/17/1700/8/7/3@120/120 "
	"answered:1 queued:1 former:1 sent:120 reply-ms:2000"),
    ROW("a connection that was never there", "down timed told",
	"start +20 silent +100 silent +200",
	"try<2001 =acquiring @20 'no answer from S: Connection reset by peer' "
	"@120 try<4121 @320 try<5001"),
    ROW("what will not pass ends it at once", "down told facts",
	"start permanent",
	"try =acquiring drop 'cannot connect to S' =failed:unavailable "
	"owes-maybe silent:0 reply-ms:2000 permanent:1"),
    ROW("memory is out for the try", "told", "full start +100 granted",
	"(try) '' =acquiring @100 try ok =held until@29798"),
    ROW("a waiter too gives up a server that is silent", "wait",
	"start queued +700 ring +6000",
	"try =acquiring BLPOP @700 try @1700 drop @1800 try @5700 drop "
	"=failed:unavailable"),
    ROW("too few replicas do not end a wait", "replicas wait facts",
	"start few +100 few",
	"try =acquiring free doubt @100 try free doubt owes-maybe queued:1 "
	"former:2 sent:100 reply-ms:2000 backoff:400 unsafe:1"),
};

static const struct scripted_row errors[] = {
    ROW("a waiter goes on, as the server is not silent", "wait told facts",
	"start -LOADING_x +100 -LOADING_x +200 -LOADING_x +400 -LOADING_x +800 "
	"-LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000 -LOADING_x +1000 "
	"granted",
	"try =acquiring 'error from S: LOADING x' "
	"@100 try @300 try @700 try @1500 try @2500 try @3500 try @4500 try "
	"@5500 try ok =held until@35198 owes-ours "
	"grant:17/17/1700/8/7/3@5500/5500 answered:1 queued:1 sent:5500"),
    ROW("a key that is no lock", "told",
	"start -WRONGTYPE_Operation -WRONGTYPE_Operation",
	"try =acquiring heal try 'error from S: WRONGTYPE Operation' "
	"=failed:not-a-lock"),
    ROW("a helper key of another type: deleted, and tried again",
	"timed told facts", "start -WRONGTYPE_Operation granted",
	"try<1001 =acquiring heal<1000 try<1001 'error from S: WRONGTYPE "
	"Operation' ok =held until@29698 owes-ours answered:1 queued:1 "
	"healed:1"),
    ROW("an error that nobody foresaw", "told", "start -ERR_odd",
	"try =acquiring 'error from S: ERR odd' =failed:error"),
    ROW("a helper key that is denied: once more without", "",
	"start -NOPERM_key granted",
	"try =acquiring plain-try =held until@29698"),
    ROW("a try without a reply is freed ahead of the next, without helpers",
	"timed facts", "start -NOPERM_key silent +100 granted",
	"try<1001 =acquiring plain-try<1001 @100 plain-release+<1100 "
	"plain-try<2101 =held until@29798 owes-ours "
	"grant:17/17/1700/8/7/3@100/100 answered:1 no-queue:1 plain:1 queued:1 "
	"former:1 sent:100 reply-ms:2000"),
    ROW("a waiter loses access to the queue: leaves it", "wait told facts",
	"start queued ring -NOPERM_key granted",
	"try =acquiring BLPOP ok try ZREM ZREM plain-try 'error from S: NOPERM "
	"key (permit it: see ACCESS ' cost'error from S: NOPERM key (permit "
	"it: see ACCESS ' not-ok ok =held until@29698 owes-ours answered:1 "
	"no-queue:1 plain:1 holder:3 length:2 watches:1 queued:1 ticket:5"),
    FAILS("a login that is refused", "", "start no:-NOAUTH_x",
	"try =acquiring drop =failed:refused", "NOAUTH"),
    ROW("one that is refused, and grants: released", "told facts",
	"start refused:granted freed",
	"try =acquiring release! 'refused by S: NOPERM no permission (permit "
	"it: s' =releasing =failed:refused owes-maybe queued:1 silent:0 "
	"kept:0"),
    ROW("one that is refused, and queues: the queue is left", "wait told facts",
	"start refused:queued freed",
	"try =acquiring release! 'refused by S: NOPERM no permission (permit "
	"it: s' =releasing =failed:refused owes-maybe queued:1 silent:0 "
	"kept:0"),
    ROW("one that is refused, and is busy: there is nothing to leave",
	"wait told facts", "start refused:busy",
	"try =acquiring drop 'refused by S: NOPERM no permission (permit it: "
	"s' =failed:refused owes-maybe silent:0"),
    ROW("one that is refused for now is tried again", "wait",
	"start no:-LOADING_x up +100 granted",
	"try =acquiring drop @100 try =held until@29798"),
    ROW("redirected in the queue: what cannot be followed is tried again",
	"wait told facts",
	"start queued again again again again again again +100",
	"try =acquiring BLPOP ok BLPOP! BLPOP! BLPOP! BLPOP! BLPOP! "
	"'redirected too often, last by S' not-ok @100 try owes-queued "
	"holder:3 position:1 length:2 queued:1 ticket:5 sent:100 silent:100 "
	"backoff:200 out:1"),
    ROW("one that is refused: its release is tried again", "told",
	"start refused:granted -LOADING_x +100 no:-NOAUTH_x",
	"try =acquiring release! 'refused by S: NOPERM no permission (permit "
	"it: s' =releasing @100 release! ZREM ZREM plain-release!"),
    ROW("  the release is denied", "told",
	"start refused:granted -NOPERM_x -NOPERM_x",
	"try =acquiring release! 'refused by S: NOPERM no permission (permit "
	"it: s' =releasing ZREM ZREM plain-release! =failed:refused"),
    ROW("a try after an error may come a fifth earlier", "low",
	"start -LOADING_data +80 -BUSY_script +160",
	"try =acquiring @80 try @240 try"),
};

static const struct scripted_row others[] = {
    ROW("a run succeeded not long ago", "history once", "start not-due",
	"try =acquiring =failed:not-due"),
    ROW("overtaken by a newer run, which has left the queue", "wait newest",
	"start overtaken", "try =acquiring =failed:overtaken"),
    ROW("one in the queue that is overtaken leaves it",
	"wait newest told facts", "start queued ring overtaken not-ours",
	"try =acquiring BLPOP ok try release =releasing =failed:overtaken "
	"answered:1 holder:3 position:1 length:2 watches:1 queued:1 ticket:5 "
	"kept:0"),
    FAILS("a run succeeded with this id, which is shown escaped", "history id",
	"start same-id", "try =acquiring =failed:not-due",
	"last succeeded with the id \"1\\n\\\"\" on web-3 at "),
    FAILS("a success with an id that nobody has asked for", "history once",
	"start same-id", "try =acquiring =failed:not-due",
	"last succeeded on web-3 at "),
    ROW("the name has no place for the id", "cluster id told", "start",
	"'in a cluster, no key can lie beside a name with ' cost'in a cluster, "
	"no key can lie beside a name with ' =failed:misconfigured"),
    ROW("a run without policies does without a place", "cluster",
	"start granted", "plain-try =acquiring =held until@29698"),
    ROW("held in another kind by the outer run", "nested facts",
	"start other-kind", "join =acquiring =failed:other-kind silent:0"),
    ROW("the name has no place for a success", "cluster once", "start",
	"=failed:misconfigured"),
    ROW("too few replicas: freed, and tried again", "replicas told facts",
	"start few +100 granted",
	"try =acquiring free doubt 'not safe on S: 0 of 1 replicas have the "
	"lock' @100 try ok =held until@29798 owes-ours "
	"grant:17/17/1700/8/7/3@100/100 answered:1 queued:1 former:1 sent:100 "
	"reply-ms:2000"),
    ROW("a vote is tried once", "vote wait told facts", "start silent +9000",
	"try =acquiring 'no answer from S: Connection reset by peer' "
	"=failed:unavailable @9000 owes-maybe silent:0 reply-ms:2000"),
    ROW("  it does not wait", "vote wait", "start busy",
	"try =acquiring =failed:busy"),
    ROW("  a server that is busy with itself", "vote wait told facts",
	"start -LOADING_it +9000",
	"try =acquiring 'error from S: LOADING it' "
	"=failed:unavailable"),
    ROW("  one that is not to be talked to", "vote told facts",
	"start -READONLY_it +9000",
	"try =acquiring drop 'error from S: READONLY it (it is a replica: use "
	"' =failed:unavailable @9000 silent:0"),
    ROW("  too few replicas: freed", "vote replicas told facts",
	"start few +9000",
	"try =acquiring free doubt 'not counted S: 0 of 1 replicas have the "
	"lock' =failed:unavailable @9000 owes-maybe queued:1 silent:0 "
	"reply-ms:2000 unsafe:1"),
    ROW("  the outer run has ended: others have a say in that", "vote nested",
	"start not-held", "join =acquiring =failed:no-outer"),
    ROW("  its set knows when it is late", "vote", "start +20000 granted +1",
	"try =acquiring @20000 =held until@29698 renew!"),
    ROW("  given up: the release follows", "vote timed facts",
	"start behind granted",
	"try<1500^500 =acquiring free<1000 =released:not-held owes-maybe "
	"queued:1 silent:0"),
    ROW("  also on a connection that is being made", "vote down facts",
	"start behind",
	"try =acquiring free =released:not-held owes-maybe queued:1 silent:0 "
	"out:1"),
    ROW("  and tried again", "vote facts", "start silent start granted",
	"try =acquiring =failed:unavailable try =acquiring =held until@29698 "
	"owes-ours grant:/17/1700/8/7/3@0/0 answered:1 queued:1"),
    ROW("  its answer counts when replicas have had their time",
	"vote replicas timed", "start", "try<1700^700&1/200 =acquiring"),
    ROW("WAIT is denied: there is no use in another try", "replicas told",
	"start wait-denied freed",
	"try =acquiring release! 'refused by S: --wait-replicas needs WAIT: "
	"NOPERM' =releasing =failed:refused"),
    ROW("WAIT fails: once more", "replicas told facts", "start wait-fails +100",
	"try =acquiring free doubt 'not safe on S: --wait-replicas needs WAIT: "
	"UNBLO' @100 try owes-maybe queued:1 former:1 sent:100 silent:0 "
	"reply-ms:2000 backoff:200 out:1"),
    ROW("a success behind a try without a reply: what that has got is freed",
	"history once", "start silent +100 not-due",
	"try =acquiring @100 try release =releasing"),
};

static const struct scripted_row stops[] = {
    ROW("stopped before a reply: undone and released in one write",
	"timed facts", "start stop 1:silent 2:freed",
	"try<1001 =acquiring free+<1000 release!<300 =releasing "
	"=released:freed owes-maybe queued:1 silent:0 kept:0"),
    ROW("stopped without a connection: nothing is sent", "down told",
	"start stop",
	"try =acquiring drop 'cannot connect to S' =released:unconfirmed"),
    ROW("stopped on the doorbell: a fresh connection leaves the queue",
	"wait timed told", "start queued stop not-ours",
	"try<1001 =acquiring BLPOP<1880 ok drop release!<300 =releasing "
	"=released:not-held"),
    ROW("stopped between two tries", "wait", "start -LOADING_x stop",
	"try =acquiring drop =released:not-held"),
    ROW("stopped between two tries, in the queue", "wait",
	"start queued ring -LOADING_x stop",
	"try =acquiring BLPOP try drop =released:not-held"),
    ROW("stopped after a try without a reply", "wait told",
	"start silent stop freed",
	"try =acquiring 'no answer from S: Connection reset by peer' release! "
	"=releasing =released:freed"),
    ROW("stopped while replicas are waited for", "replicas wait",
	"start stop not-ours",
	"try =acquiring drop free+ release! =releasing =released:not-held"),
    ROW("a release without a reply is not waited for", "wait",
	"start stop +300",
	"try =acquiring free+ release! =releasing @300 =released:unconfirmed"),
    ROW("stopped twice: cut short", "wait", "start stop +200 stop +100",
	"try =acquiring free+ release! =releasing @300 =released:unconfirmed"),
    ROW("a grant after that is no lock of ours", "wait",
	"start stop 1:granted 2:freed",
	"try =acquiring free+ release! =releasing =released:freed"),
    ROW("what will not pass ends the wait, and leaves the queue",
	"wait told facts", "start queued ring permanent",
	"try =acquiring BLPOP ok try release! 'no answer from S: Connection "
	"reset by peer' not-ok =releasing owes-maybe holder:3 position:1 "
	"length:2 watches:1 queued:1 ticket:5 former:1 silent:0 reply-ms:2000 "
	"permanent:1"),
    ROW("stopped after one, in the queue: the place is left all the same",
	"wait", "start queued ring silent down stop",
	"try =acquiring BLPOP try release! =releasing"),
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
