/* What is asked about locks of others: the words, and the answers, decoded. */
#ifndef QUERY_H
#define QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/claim.h"
#include "lock/holder.h"
#include "lock/limit.h"
#include "lock/request.h"
#include "redis/value.h"

#define LOOK_DIGEST_SIZE 41
#define LOOK_FENCE_SIZE 24
#define LOOK_WORD_SIZE 33

struct look_waiter {
	char *id; /* the member of the queue */
	char *pid;
	char *host;
	int64_t waiting_ms;
};

struct look_holder {
	char token[LIMIT_LONG_TEXT + 1]; /* or its beginning */
	bool token_is_whole;		 /* and is no binary */
	char digest[LOOK_DIGEST_SIZE];	 /* for script_force; or empty */
	struct holder who;		 /* known: a rlockrun, with a record */
	bool is_left; /* to nested runs: the outermost run has ended */
	char command[LIMIT_LONG_TEXT + 1];
	int64_t since_ms;	     /* by the server's clock; 0: not known */
	char fence[LOOK_FENCE_SIZE]; /* decimal, or empty */
};

/* By the record that a run leaves, which is there even if nobody holds the
 * lock any more. */
struct look_run {
	bool holds; /* it still has the lock */
	struct holder who;
	int64_t start_ms;	     /* by the server's clock, like the next */
	int64_t end_ms;		     /* 0: not known, it did not finish */
	int status;		     /* -1: not known */
	int64_t waited_ms;	     /* -1: not known */
	char reason[LOOK_WORD_SIZE]; /* why it has ended, or empty */
	char fence[LOOK_FENCE_SIZE]; /* decimal, or empty */
};

/* What has happened to a lock beside its runs, once each: a run was skipped for
 * that reason, or somebody has acted on the lock. In the order of look.lua. */
enum look_noted {
	NOTED_ORDER, /* --replace: the holder was asked to stop */
	NOTED_PAUSE, /* a pause has ended */
	NOTED_FORCE, /* --force-release */
	NOTED_BUSY,
	NOTED_DUE, /* not due: --once-per, */
	NOTED_ID,  /* --once-id */
	NOTED_OVERTAKEN,
	NOTED_PAUSED, /* busy by a pause */
	NOTED_WAIT,   /* it was over */
	NOTED_COUNT,
};

struct look_note {
	enum look_noted what;
	int64_t at_ms;	   /* by the server's clock */
	struct holder who; /* was skipped, or has acted */
	/* Why, or on whom: the holder, the run that succeeded, the newest
	 * waiter. HOLDER_UNSEEN: nobody is named. */
	struct holder by;
	int64_t by_at_ms; /* when it has begun, or succeeded; 0: not known */
	char by_fence[LOOK_FENCE_SIZE];
};

/* A helper key that cannot be shown, whole or in part. */
struct look_problem {
	char *key;
	char *error;
	bool is_denied; /* by access rules: the key may be in good order */
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
	size_t queued;	/* of the queue; those behind them are only counted */
	int64_t nested; /* runs; set by who asked */
	bool released;	/* the outermost of a nest has ended */
	int64_t now_ms; /* the server's clock */
	struct look_run *runs; /* the newest first */
	size_t run_count;
	int64_t expect_ms;	 /* a success is due so often; 0: not stated */
	int64_t expect_since_ms; /* first stated then; 0: not known */
	struct look_run success; /* the last; its end is 0: none is known */
	struct look_note *notes; /* the newest first */
	size_t note_count;
	bool has_info; /* :i is there */
	struct look_problem *problems;
	size_t problem_count;
	const struct key_names *keys; /* that were looked at; by who asked */
	bool whole; /* set by who asked: all helper keys were looked at */
};

/* Whether the run has the lock now. */
static inline bool
look_run_is_on(const struct look_run *run)
{
	return run->holds && run->end_ms == 0;
}

/* Each of the following fills in a request: see lock/request.h. They die when
 * memory is out. */

enum query_keys {
	QUERY_KEY_ONLY = 1,
	QUERY_WITHOUT_RUNS = 4,
	QUERY_HELPERS = 5,
};

/* How much of it is described at most. */
struct query_limits {
	int holders, waiters, runs;
};

/* A look at a lock, with so many keys. Without helpers only the lock's own key
 * is used. */
void query_look(struct request *request, const struct key_names *keys,
    enum query_keys count, const struct query_limits *limits);

/* The nested runs of a holder. */
void query_nested(struct request *request, const struct key_names *keys,
    const char *token);

/* Lengthens the lease of an exclusive lock that has this token. */
void query_lengthen(struct request *request, const struct key_names *keys,
    const char *token, int64_t ms);

/* Notes until when the pause with that token lasts. */
void query_pause(struct request *request, const struct key_names *keys,
    const char *token, int64_t left_ms);

/* Takes the lock away from only, or from all holders that are listed (NULL).
 * who: the record of whoever does so. */
void query_force(struct request *request, const struct look *look,
    const struct look_holder *only, const char *who, bool helpers);

/* These decode what a server sends. They return false for a reply that is no
 * answer to the question, for an error and for NULL; what they fill in is
 * undefined then. They die when memory is out. */
typedef bool query_read(void *arg, const struct value *reply);

/* A struct look, whose keys are set: those that were looked at. It then needs
 * query_fini. */
query_read query_read_look;
void query_fini(struct look *look);

/* How many runs are nested in a holder: an int64_t. */
query_read query_read_nested;

struct query_forced {
	int64_t freed;		/* so many have lost the lock */
	char head[WAITER_SIZE]; /* of the queue, to be notified, or empty */
};
query_read query_read_force;

/* A page of SCAN, whose members are to be freed. */
struct query_page {
	char *cursor; /* the next one */
	char **keys;  /* to be freed, too; the list ends with NULL */
};
query_read query_read_page;

#endif
