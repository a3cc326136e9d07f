#include "lock/waiter.h"

#include <string.h>

#include "lock/kind.h"

enum { TOKEN_LENGTH = TOKEN_SIZE - 1 };

bool
waiter_parse(struct waiter *waiter, const char *name)
{
	const size_t token_at = strlen("x:");
	const char *at;

	if (*name == '\0' || kind_of(*name) == NULL || name[1] != ':')
		return false;
	at = name + token_at +
	     strspn(name + token_at, "0123456789abcdefABCDEF-");
	if (at != name + token_at + TOKEN_LENGTH || *at != ':')
		return false;
	waiter->kind = name[0];
	memcpy(waiter->token, name + token_at, TOKEN_LENGTH);
	waiter->token[TOKEN_LENGTH] = '\0';
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
