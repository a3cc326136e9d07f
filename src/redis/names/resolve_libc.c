#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "redis/names/resolve.h"

void
resolve_look_up(const char *host, int port, struct resolve_answer *answer)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char service[16];

	snprintf(service, sizeof(service), "%d", port);
	answer->error = getaddrinfo(host, service, &hints, &list);
	if (answer->error != 0)
		return;
	for (struct addrinfo *ai = list;
	     ai != NULL && answer->count < RESOLVE_MAX; ai = ai->ai_next) {
		struct resolve_address *to = &answer->address[answer->count++];
		to->length = ai->ai_addrlen;
		memcpy(&to->addr, ai->ai_addr, ai->ai_addrlen);
	}
	freeaddrinfo(list);
}

/* A name server may learn the name, or be reached, in a moment. */
const char *
resolve_failure(int error, const char **advice, bool *permanent)
{
	*advice =
	    error == EAI_AGAIN ? RESOLVE_CHECK_DNS : "check the host name";
	*permanent = false;
	return gai_strerror(error);
}
