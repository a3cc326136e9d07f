#include "waiter.h"

#include <stdio.h>
#include <string.h>

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

	if (strlen(name) <= token_at + token_length + 1 || name[1] != ':' ||
	    name[token_at + token_length] != ':')
		return false;
	waiter->kind = name[0];
	memcpy(waiter->token, name + token_at, token_length);
	waiter->token[token_length] = '\0';
	waiter->pid = name + token_at + token_length + 1;
	at = strchr(waiter->pid, '@');
	if (at == NULL)
		return false;
	waiter->host = at + 1;
	return true;
}
