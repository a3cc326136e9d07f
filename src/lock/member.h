/* One of several servers that decide about a lock together: how it votes on
 * what all of them are asked, and what is known about it. */
#ifndef MEMBER_H
#define MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/conn.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/url.h"

/* Answers that one server may owe. */
#define MEMBER_OWED_MAX 8
#define MEMBER_WORDS_MAX 192

enum member_vote {
	MEMBER_OUT, /* it may still come */
	MEMBER_YES,
	MEMBER_NO,
	MEMBER_NOT_YET, /* it cannot say before it is asked to grant it again */
	MEMBER_ABSENT,	/* silent, failed, not to be counted */
};

struct member_config {
	const struct endpoint *server;
	const char *key;       /* that all commands are about */
	int64_t min_uptime_ms; /* 0: of any age */
	void (*on_vote)(void *arg);
	/* The server refuses us, and has granted the lock all the same: in
	 * another db, or to another user. member_recall undoes it. */
	void (*on_stray)(void *arg);
	void *arg;
};

struct member {
	/* Facts, to be read only: about the present question, */
	enum member_vote vote;
	struct value *reply; /* that it voted with, or NULL */
	char refusal[256];   /* it was refused so, or empty */
	bool granted;	     /* or perhaps: whatever the vote is */
	bool heard;	     /* absent, but it answered */
	bool hopeless;	     /* absent, and it will be so again */
	char why[320];	     /* it voted so */
	/* about the lock, with the token of the last grant that was asked for,
	 */
	bool had;      /* it has been there once */
	bool lacks;    /* it was not there, as far as is known */
	bool returned; /* had and lacks it, and was away in between */
	bool stray;    /* granted while it refuses us; to be recalled */
	/* and about the server behind this connection. */
	bool known;	    /* by INFO: the next three */
	int64_t started_at; /* or up to a second earlier */
	char run_id[64];
	char about[320];	       /* whose label this was */
	char secret[MEMBER_WORDS_MAX]; /* why it is not known, for good */
	bool refuses;		       /* us, by its last reply */
	struct server *node;

	struct member_config config;
	unsigned question; /* counts them; never 0 */
	unsigned grant;	   /* the last one of that kind */
	enum reply_phase phase;
	int replicas;
	bool doubtful; /* it may not be the primary */
	struct ballot {
		struct member *member;
		enum reply_phase phase;
		unsigned question; /* 0: the ballot is unused */
		unsigned grant;
		bool counts;
	} ballots[MEMBER_OWED_MAX];
};

/* What the config points at must outlive the member, which must not move. 0, or
 * -1 when memory is out. */
int member_init(struct member *member, struct loop *loop,
    const struct member_config *config);
void member_fini(struct member *member);

/* Asks for a vote: to grant the lock, to renew it or to release it, as the
 * scripts answer, {1, ...} for yes, {0, ...} for no, {-1, ...} for not yet.
 * on_vote is called once, unless the member is absent when this returns or
 * before it votes. An answer to an earlier question is not counted any more.
 *
 * Who still owes an answer to anything isn't sent a grant: all of them would be
 * run when a frozen server goes on. */
void member_ask(struct member *member, const struct conn_command *command,
    enum reply_phase phase);

/* Its time is up. It may still do what was asked. */
void member_be_late(struct member *member);

/* Without a vote: to grant the lock again, where it is lacking. */
void member_plant(struct member *member, const struct conn_command *command);

/* Without an answer, and only where it needs no new connection, or may have
 * granted what was asked last. */
void member_tell(struct member *member, const struct conn_command *command);

/* Undoes the last grant on the same connection, if it is stray. */
void member_recall(struct member *member, const struct conn_command *command);

/* It has not answered an earlier grant. */
bool member_owes_grant(const struct member *member);

/* For the reply to a command with so many replicas: fewer have what it did. The
 * reason goes into why. */
bool member_lacks_replicas(const struct reply *reply, int replicas,
    char why[MEMBER_WORDS_MAX]);

#endif
