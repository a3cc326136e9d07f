/* The server of a lock. Commands and replies go straight through, with two
 * exceptions: what too few replicas have counts as not done, and a renewal that
 * is overdue can be sent once more on a second connection. */
#ifndef SINGLE_H
#define SINGLE_H

#include <stdbool.h>

#include "base/loop.h"
#include "lock/config.h"
#include "redis/command.h"

struct single;
struct way;

/* What it is asked. */
enum ask {
	/* The questions, one at a time. A grant or a renewal that too few
	 * replicas have is no yes. */
	ASK_GRANT,
	ASK_RENEW,
	ASK_RELEASE,

	/* Anything else: the reply is not looked at on its way. */
	ASK_SEND,

	/* The renewal that is out once more, on a fresh connection. A yes or a
	 * no on either connection answers both; a failure is delivered when the
	 * other has failed, too. The other connection is left open until its
	 * reply. Replaces an earlier one. -1 also when no renewal is out. */
	ASK_RENEW_AGAIN,
};

/* The config must outlive it. NULL when memory is out. */
struct single *single_new(struct loop *loop, const struct lock_config *config);
void single_free(struct single *single);

/* A grant or a renewal that fewer than command->replicas have is delivered as
 * REPLY_TOO_FEW. A grant or a release gives the second connection up. */
int single_send(struct single *single, const struct command *command,
    enum ask ask);

/* Whether a release must wait for a renewal that is out on two connections:
 * until the first reply, which shows which connection works; and if the lock is
 * to be kept, until the second, as a renewal that is executed after the release
 * would lengthen the lease. Then on_quiet is called, with the argument of
 * on_reply, when neither is out, unless a release is sent before. */
bool single_await_renewals(struct single *single, bool keep,
    void (*on_quiet)(void *arg));

/* As those of way.h, of the connection that is in use. */
struct way *single_server(const struct single *single);
bool single_is_up(const struct single *single);
const char *single_label(const struct single *single);
const char *single_error(const struct single *single);
/* why: how its last connection ended. */
int64_t single_rests_until(const struct single *single, const char **why);
/* Of both. */
void single_drop(struct single *single);
/* As way_reject. */
void single_reject(struct single *single);

/* Room for why something does not count. */
#define SINGLE_WORDS_MAX 192

/* What an error reply to WAIT means. */
#define SINGLE_NEEDS_WAIT "--wait-replicas needs WAIT"

/* For the reply to a command with so many replicas: fewer have what it did. The
 * reason goes into why. */
bool single_lacks_replicas(const struct reply *reply, int replicas,
    char why[SINGLE_WORDS_MAX]);

#endif
