/* The holder of a lock, for people. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/limit.h"

/* Room for what holder_describe and holder_describe_lock print. */
enum { HOLDER_TEXT_MAX = 1024, HOLDER_LOCK_TEXT_MAX = 1280 };

enum holder_state {
	HOLDER_UNSEEN,	/* the server has not described it yet */
	HOLDER_NONE,	/* the lock is free, but others are queued for it */
	HOLDER_FOREIGN, /* another client, or one without a record */
	HOLDER_KNOWN,	/* a rlockrun, which left a record */
	HOLDER_ENDED,	/* a rlockrun; its job has ended, --min-hold lasts */
	HOLDER_HOLD,	/* --hold: no job, and nobody renews the lease */
	HOLDER_PAUSED,	/* --pause: likewise */
};

/* With --replace: whether the holder is to stop. */
enum holder_order {
	HOLDER_NOT_ASKED,
	HOLDER_ASKED,	      /* to stop */
	HOLDER_IRREPLACEABLE, /* it is waited for */
};

struct holder {
	enum holder_state state;
	bool others_queued; /* though there is room */
	bool replaceable;   /* it obeys --replace */
	enum holder_order order;
	char kind;	     /* letter of struct kind */
	int64_t count;	     /* how many have it */
	int64_t permits;     /* how many may, where that is known, else 0 */
	int permits_here;    /* how many this run allows, else 0 */
	int64_t left_ms;     /* of the lease; -1: it has no end */
	int64_t held_ms;     /* since it was acquired; -1: not known */
	int64_t reported_at; /* when the server sent this */
	char host[256];
	char pid[16];
	char user[64];
	char label[LIMIT_LABEL + 1]; /* of --label, or empty */
};

/* The run that overtakes or replaces ours, by its name in the queue. */
struct holder_by {
	char host[256];
	char pid[16];
	char label[LIMIT_LABEL + 1]; /* or empty */
};

/* It is a rlockrun, and has left a record. */
bool holder_is_known(const struct holder *holder);

/* It has no process, but an end: a hold, or a pause. */
bool holder_has_end(const struct holder *holder);

/* The lock, after its name, in parts that make a sentence: "is held by ",
 * "web-3", " (pid 4121, deploy)" and so on. Those that do not matter are empty.
 */
struct holder_words {
	char how[80];
	char who[256];
	char process[3 * LIMIT_LABEL]; /* with the label */
	char since[80];
	char more[224]; /* about other holders */
	/* Shorter texts in place of how, process and since. */
	char brief_how[48];
	char brief_process[2 * LIMIT_LABEL + 4];
	char brief_since[40];
};

/* Host, pid and user of this process. The login name is taken from the
 * environment: asking the user database would cost more than all the rest of a
 * run. */
void holder_self(struct holder *holder);

/* "web-3 (pid 4121, deploy) since 12:03:11, 3m12s ago", with a label
 * "web-3 (pid 4121, deploy, "nightly sync") since ...", and for a hold
 * "web-3 (deploy, "db migration") since 12:03:11, until 15:00:00". The times
 * are those of this machine's wall clock, reckoned from the server's answer. */
void holder_describe(const struct holder *holder, char *text, size_t size);

/* The lock, after its name: "is held by web-3 (...) and 2 others", or "has not
 * been granted" if the server has not described a holder. */
void holder_describe_lock(const struct holder *holder, char *text, size_t size);

/* "build 4711" on ci-3, with these quotes; without a label "pid 4121 on ci-3".
 */
void holder_describe_by(const struct holder_by *by, char *text, size_t size);

void holder_put_in_words(const struct holder *holder,
    struct holder_words *words);

/* The wall clock's time in so many ms, or before: "12:03:11". */
void holder_describe_time(int64_t ms_from_now, char *text, size_t size);

/* "42s", "3m12s", "1h02m", "2d05h"; what is below zero counts as zero. */
void holder_describe_age(int64_t ms, char *text, size_t size);

#endif
