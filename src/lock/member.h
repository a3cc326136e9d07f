/* One of several servers that decide about a lock together: how it votes on
 * what all of them are asked, and what is known about it. */
#ifndef MEMBER_H
#define MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/answer.h"
#include "lock/ask.h"
#include "lock/config.h"
#include "lock/votes.h"
#include "redis/command.h"
#include "redis/reply.h"
#include "redis/way.h"

/* Replies that one server may owe. */
#define MEMBER_OWED_MAX 8
#define MEMBER_WORDS_MAX 192

/* What an error reply to WAIT means. */
#define MEMBER_NEEDS_WAIT "--wait-replicas needs WAIT"

enum member_vote {
	MEMBER_OUT, /* it may still vote */
	MEMBER_YES,
	MEMBER_NO,
	/* Absent, from here on: no reply, and none the next time either, */
	MEMBER_SILENT,
	MEMBER_UNREACHABLE,
	/* or a reply that does not count, nor will it the next time. */
	MEMBER_FAILED,
	MEMBER_UNUSABLE,
};

/* Whether it has the lock, by the token of the last grant that was asked for.
 */
enum member_presence {
	MEMBER_UNKNOWN,
	MEMBER_HAS,
	MEMBER_NEVER_HAD,
	MEMBER_LOST,
};

/* By its last reply. */
enum member_access {
	MEMBER_ADMITS,
	MEMBER_REFUSES, /* AUTH or SELECT */
	MEMBER_STRAY, /* and has granted the lock: in another db, or to another
		       * user. To be recalled. */
};

struct member_config {
	const struct endpoint *server;
	const struct lock_config *lock;
	void (*on_vote)(void *arg);
	void *vote_arg;
	/* It has become MEMBER_STRAY: member_recall undoes that. */
	void (*on_stray)(void *arg);
	/* It has run nothing of the grant: ASK_GRANT_AGAIN does. */
	void (*on_again)(void *arg);
	void *lock_arg;
};

/* Which server it is, by INFO. */
struct member_identity {
	bool known;
	int64_t started_at; /* or up to a second earlier */
	char run_id[64];
	char label[320];		 /* of the server that replied so */
	char obstacle[MEMBER_WORDS_MAX]; /* why it can never be known, or empty
					  */
};

struct member {
	/* Facts, to be read only: about the present question, */
	enum member_vote vote;
	struct value *said;    /* what it voted with, if anything, */
	int tag;	       /* to what, */
	struct answer answer;  /* and that as a value */
	enum reply_kind kind;  /* of that reply */
	const char *error;     /* of that reply */
	char why[640];	       /* it voted so */
	bool may_have_granted; /* whatever the vote is */
	/* about the lock, */
	enum member_presence presence;
	bool was_away; /* since it had the lock */
	/* and about the server. */
	enum member_access access;
	struct member_identity identity;
	struct way *server;

	struct member_config config;
	unsigned question; /* counts them; never 0 */
	unsigned grant;	   /* the last question of that kind */
	enum ask ask;
	char refusal[256]; /* of AUTH, SELECT or WAIT, or no identity */
	int replicas;
	bool may_be_replica;
	enum again again; /* of the grant, until it is sent once more */
	int64_t deadline, counts_until; /* of the grant */
	struct ballot {
		struct member *member;
		enum ask ask;
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

/* A question asks for a vote. on_vote is called once, unless the member is
 * absent when this returns or before it votes. A reply to an earlier question
 * is not counted any more. A member that owes a reply to anything is not sent a
 * grant: all of them would be run when a frozen server goes on.
 *
 * What needs no reply is sent only if that takes no new connection, or if the
 * member may have granted what was asked last. */
void member_send(struct member *member, const struct command *command,
    enum ask ask);

/* The time for votes is over. The server may still do what was asked. */
void member_time_out(struct member *member);

/* Does not count a grant any more whose connection has ended since: the server
 * may have restarted, and forgotten it. */
void member_doubt_grant(struct member *member);

/* Adds its vote, or absence, to those of other members. */
void member_add_vote(const struct member *member, struct votes *votes);
bool member_is_absent_for_good(const struct member *member);

/* WAIT behind the command will be refused the next time, too. */
bool member_denies_wait(const struct reply *reply);

/* For the reply to a command with so many replicas: fewer have what it did. The
 * reason goes into why. */
bool member_lacks_replicas(const struct reply *reply, int replicas,
    char why[MEMBER_WORDS_MAX]);

#endif
