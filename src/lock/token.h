/* What proves that a lock is ours, and the name of a waiter that has it. */
#ifndef TOKEN_H
#define TOKEN_H

#include <stdbool.h>

#define TOKEN_SIZE 37

/* A fresh version 4 UUID of RFC 9562. 0, or -1 with errno: the kernel has no
 * randomness yet. */
int token_make(char token[TOKEN_SIZE]);

/* A waiter's name in the queue: kind, token and, for people, pid and host.
 * "x:<token>:<pid>@<host>". */
enum { WAITER_SIZE = 320 };

struct waiter {
	char kind;
	char token[TOKEN_SIZE];
	const char *pid; /* inside the name, up to the '@' */
	const char *host;
};

/* Whether it is a waiter's name; *waiter is undefined otherwise. Its texts
 * point into the name. */
bool waiter_parse(struct waiter *waiter, const char *name);

/* For people: any text may be in a queue. What it lacks of such a name is "?".
 * A pid ends with the '@', if the name has one. */
struct waiter waiter_read(const char *name);

#endif
