/* Exclusive and counted locks as tables of scripts: no other module asks which
 * kind a lock has. */
#ifndef KIND_H
#define KIND_H

#include "redis/script.h"

struct kind {
	char letter[2];	    /* in waiters' names and on the wire */
	const char *adverb; /* how it is held, in a sentence: "shared" */
	const struct script *acquire;
	const struct script *renew;
	const struct script *release;
	const struct script *join;
	const struct script *plain_acquire; /* of the lower tier */
	const struct script *plain_release;
};

extern const struct kind kind_exclusive; /* a string, the token */
extern const struct kind kind_shared;	 /* a sorted set of readers */
extern const struct kind kind_permits;	 /* a sorted set of tokens */

/* The kind with that letter, or NULL. */
const struct kind *kind_of(char letter);

#endif
