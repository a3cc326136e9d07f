/* A waiter's name in the queue: kind, token and, for people, where it is.
 * "x:<token>:<pid>@<host>". */
#ifndef WAITER_H
#define WAITER_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/holder.h"
#include "lock/token.h"

#define WAITER_SIZE 320

struct waiter {
	char kind;
	char token[TOKEN_SIZE];
	const char *pid; /* inside the name, up to the '@' */
	const char *host;
};

/* The name of a waiter of that kind ('x': exclusive). */
void waiter_name(char name[WAITER_SIZE], char kind, const char *token,
    const struct holder *self);

/* Whether it is such a name; else *waiter is undefined. What is found points
 * into it. */
bool waiter_parse(struct waiter *waiter, const char *name);

#endif
