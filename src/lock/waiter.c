#include "lock/waiter.h"

#include <stdio.h>
#include <string.h>

#include "lock/kind.h"

void
waiter_name(char name[WAITER_SIZE], char kind, const char *token,
    const struct holder *self)
{
	snprintf(name, WAITER_SIZE, "%c:%s:%s@%s", kind, token, self->pid,
	    self->host);
}

bool
waiter_parse(struct waiter *waiter, const char *name)
{
	const size_t token_at = strlen("x:");
	const size_t token_length = TOKEN_SIZE - 1;
	const char *at;

	if (*name == '\0' || kind_of(*name) == NULL || name[1] != ':')
		return false;
	at = name + token_at +
	     strspn(name + token_at, "0123456789abcdefABCDEF-");
	if (at != name + token_at + token_length || *at != ':')
		return false;
	waiter->kind = name[0];
	memcpy(waiter->token, name + token_at, token_length);
	waiter->token[token_length] = '\0';
	waiter->pid = at + 1;
	at = waiter->pid + strspn(waiter->pid, "0123456789");
	waiter->host = at + 1;
	return *at == '@';
}

struct waiter
waiter_read(const char *name)
{
	struct waiter waiter;

	if (!waiter_parse(&waiter, name))
		return (struct waiter){.pid = "?", .host = "?"};
	if (*waiter.pid == '@')
		waiter.pid = "?";
	if (*waiter.host == '\0')
		waiter.host = "?";
	return waiter;
}
