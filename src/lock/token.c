#include "lock/token.h"

#include <stdio.h>
#include <string.h>

#include "base/dice.h"
#include "lock/kind.h"

enum { TOKEN_LENGTH = TOKEN_SIZE - 1 };

int
token_make(char token[TOKEN_SIZE])
{
	unsigned char b[16];

	if (dice_fill(b, sizeof(b)) == -1)
		return -1;
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(token, TOKEN_SIZE,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

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
