/* What a server shows of one lock: for people, and as one line of JSON (OUTPUT
 * in rlockrun(1)). answer_look fills it in. */
#ifndef LOOK_H
#define LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/holder.h"

#define LOOK_DIGEST_SIZE 41
#define LOOK_FENCE_SIZE 24
#define LOOK_PLACE_MAX 2048 /* of look_describe_place */

struct look_waiter {
	char *id; /* the member of the queue */
	char *pid;
	char *host;
	int64_t waiting_ms;
};

struct look_holder {
	char *token;		       /* or its beginning */
	bool token_is_whole;	       /* and is no binary */
	char digest[LOOK_DIGEST_SIZE]; /* for script_force; or empty */
	struct holder who;	       /* known: a rlockrun, with a record */
	char *command;
	int64_t since_ms;	     /* by the server's clock; 0: not known */
	char fence[LOOK_FENCE_SIZE]; /* decimal, or empty */
};

/* By the record of the last run, which a run leaves even if nobody holds the
 * lock any more. */
struct look_run {
	bool exists;
	bool holds; /* it still has the lock */
	struct holder who;
	int64_t start_ms;	     /* by the server's clock, like the next */
	int64_t end_ms;		     /* 0: not known, it did not finish */
	int status;		     /* -1: not known */
	char fence[LOOK_FENCE_SIZE]; /* decimal, or empty */
};

struct look_success {
	char host[256];
	int64_t end_ms; /* 0: none is known */
	char fence[LOOK_FENCE_SIZE];
};

/* A helper key that cannot be shown, whole or in part. */
struct look_problem {
	char *key;
	char *error;
};

struct look {
	char kind; /* letter of struct kind; '\0': free */
	int64_t count;
	int64_t permits; /* where they are known, else 0 */
	int64_t left_ms; /* of the lease that ends last; -1: no end */
	struct look_holder *holders;
	size_t listed; /* of the holders; others are only counted */
	char fence[LOOK_FENCE_SIZE]; /* the last one: decimal, or empty */
	int64_t waiting;	     /* -1: not known */
	struct look_waiter *queue;
	size_t queued; /* of the queue; those behind them are only counted */
	int64_t nested;
	bool released;	/* the outermost of a nest has ended */
	int64_t now_ms; /* the server's clock */
	struct look_run last;
	struct look_success success;
	struct look_problem *problems;
	size_t problem_count;
	bool whole; /* set by who asked: all helper keys were looked at */
};

void look_fini(struct look *look);

/* Whether there is no trace of a lock of that name: no holder, no waiter and no
 * former run. A helper key that could not be read may have one. */
bool look_is_unknown(const struct look *look);

/* The holders, in a few words. */
void look_describe_holders(const struct look *look, char *text, size_t size);

/* "exclusive", "3 shared", "2/3 permits". */
void look_describe_kind(const struct look *look, char *text, size_t size);

/* What is left of a lease: "12.3s", "no limit". */
void look_describe_left(int64_t left_ms, char *text, size_t size);

/* The holder with a record that has held the lock for longest, if that is
 * known; NULL if there is none. */
const struct look_holder *look_oldest(const struct look *look);

/* The holder with that token, or NULL. */
const struct look_holder *look_holder_with(const struct look *look,
    const char *token);

/* A lock, and the place where it was looked for. */
struct look_subject {
	const char *server; /* its label */
	int db;
	const char *prefix;
	const char *name; /* of the lock, without the prefix */
	const char *key;  /* with it */
};

/* "redis://h:6379, db 0, no prefix" */
void look_describe_place(const struct look_subject *subject, char *text,
    size_t size);

/* Print to stdout; whole: also queue and history. ferror(3) shows whether that
 * could be written. */
void look_print(const struct look *look, const struct look_subject *subject);
void look_print_json(const struct look *look,
    const struct look_subject *subject, bool whole);

#endif
