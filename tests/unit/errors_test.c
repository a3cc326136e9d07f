/* REPLIES OF THE SERVER in rlockrun-protocol(7): what each error of a server
 * means to a lock that is acquired, held and released. The state machines meet
 * it, and not only reply_judge, which reply_test has. */
#include "lock/lock.h"

#include "scripted.h"

#define HELD "try =acquiring =held until@29698 "

/* What such an error leads to. */
enum course {
	AGAIN,	    /* on the same connection */
	ANEW,	    /* on another one */
	REFUSED,    /* with the lock's key alone, and then: 77 */
	NOT_A_LOCK, /* when no helper key is to blame: 76 */
	UNFORESEEN, /* 69 at once */
	LOST,
	TOLD, /* freed with the lock's key alone, and reported */
};

static const struct {
	enum course acquiring, holding, releasing;
	const char *error;
	const char *shown; /* in place of the error, or NULL */
} table[] = {
    {AGAIN, AGAIN, AGAIN, "LOADING Redis is loading the dataset in memory",
	NULL},
    {AGAIN, AGAIN, AGAIN, "BUSY Redis is busy running a script", NULL},
    {AGAIN, AGAIN, AGAIN, "MASTERDOWN Link with MASTER is down", NULL},
    {AGAIN, AGAIN, AGAIN, "NOREPLICAS Not enough good replicas to write.",
	NULL},
    {AGAIN, AGAIN, AGAIN, "OOM command not allowed", NULL},
    {AGAIN, AGAIN, AGAIN, "MISCONF Redis is configured to save RDB snapshots",
	NULL},
    {AGAIN, AGAIN, AGAIN, "TRYAGAIN Multiple keys request during rehashing",
	NULL},
    {AGAIN, AGAIN, AGAIN, "CLUSTERDOWN The cluster is down", NULL},
    {AGAIN, AGAIN, AGAIN, "ERR max number of clients reached", NULL},
    {ANEW, ANEW, ANEW, "READONLY You can't write against a read only replica.",
	NULL},
    {ANEW, ANEW, ANEW, "UNBLOCKED force unblock from blocking operation", NULL},
    {NOT_A_LOCK, LOST, TOLD, "WRONGTYPE Operation against a key", NULL},
    {REFUSED, AGAIN, TOLD, "NOAUTH Authentication required.", NULL},
    {REFUSED, AGAIN, TOLD, "WRONGPASS invalid username-password pair", NULL},
    {REFUSED, AGAIN, TOLD, "NOPERM this user has no permissions to run", NULL},
    {REFUSED, AGAIN, TOLD, "DENIED Redis is running in protected mode", NULL},
    {REFUSED, AGAIN, TOLD, "ERR The user executing the script can't run this",
	NULL},
    {REFUSED, AGAIN, TOLD, "ERR ACL failure in script: User u has no", NULL},
    {REFUSED, AGAIN, TOLD, "ERR unknown command 'EVAL', with args",
	"does not know EVAL"},
    {REFUSED, AGAIN, TOLD, "ERR Command is not available: 'EVAL'. See", NULL},
    {REFUSED, AGAIN, TOLD, "ERR handle request, command is not allowed", NULL},
    {UNFORESEEN, AGAIN, TOLD, "ERR the moon is full", NULL},
    {UNFORESEEN, AGAIN, TOLD, "NOSCRIPT No matching script.", NULL},
    {UNFORESEEN, AGAIN, TOLD, "", NULL},
    {UNFORESEEN, AGAIN, TOLD, "MOVED 3999 127.0.0.1:6381",
	"it is a node of a cluster"},
    {UNFORESEEN, AGAIN, TOLD, "ASK 3999 127.0.0.1:6381",
	"it is a node of a cluster"},
    {UNFORESEEN, AGAIN, TOLD, "REDIRECT 127.0.0.1:6381", NULL},
};

/* In each state the steps, with E for the error, and what comes of them. */
static const struct {
	const char *acquired, *acquiring, *held, *holding, *released,
	    *releasing;
} ways[] = {
    [AGAIN] = {"start E +100", "try =acquiring @100 try",
	"start granted +10500 E +100", HELD "@10500 renew! @10600 renew!",
	"start granted release E +100", HELD "release =releasing @100 release"},
    [ANEW] = {"start E +100", "try =acquiring drop @100 try",
	"start granted +10500 E +100", HELD "@10500 renew! drop @10600 renew!",
	"start granted release E +100",
	HELD "release =releasing drop @100 release"},
    [REFUSED] = {"start E E", "try =acquiring plain-try =failed:refused", NULL,
	NULL, NULL, NULL},
    [NOT_A_LOCK] = {"start E E", "try =acquiring heal try =failed:not-a-lock",
	NULL, NULL, NULL, NULL},
    [UNFORESEEN] = {"start E", "try =acquiring =failed:error", NULL, NULL, NULL,
	NULL},
    [LOST] = {NULL, NULL, "start granted +10500 E", HELD "@10500 renew! =lost",
	NULL, NULL},
    [TOLD] = {NULL, NULL, NULL, NULL, "start granted release E E",
	HELD "release =releasing plain-release =released:unconfirmed"},
};

/* Plays STEPS with `-ERROR` in place of each `E`. */
static void
play_error(const char *steps, const char *error, const char *shown,
    const char *trace)
{
	char all[400] = "", what[200];

	for (; *steps != '\0'; steps++) {
		size_t length = strlen(all);

		if (*steps == 'E')
			snprintf(all + length, sizeof(all) - length, "-%s",
			    error);
		else
			snprintf(all + length, sizeof(all) - length, "%c",
			    *steps);
		for (char *c = all + length; *steps == 'E' && *c != '\0'; c++)
			if (*c == ' ')
				*c = '_';
	}
	snprintf(what, sizeof(what), "%.60s: %.60s", error, all);
	play(&(struct scripted_row){what, "", all, trace, shown});
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH(table); i++) {
		const char *error = table[i].error;
		const char *shown =
		    table[i].shown != NULL ? table[i].shown : error;
		enum course way = table[i].acquiring;

		play_error(ways[way].acquired, error, shown,
		    ways[way].acquiring);
		way = table[i].holding;
		play_error(ways[way].held, error, way == LOST ? NULL : shown,
		    ways[way].holding);
		way = table[i].releasing;
		play_error(ways[way].released, error, shown,
		    ways[way].releasing);
	}
	return tap_done();
}
