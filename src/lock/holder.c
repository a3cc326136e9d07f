#include "lock/holder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool
holder_is_known(const struct holder *holder)
{
	return holder->state >= HOLDER_KNOWN;
}

bool
holder_has_end(const struct holder *holder)
{
	return holder->state >= HOLDER_HOLD;
}

void
holder_self(struct holder *holder)
{
	const char *user = getenv("LOGNAME");

	*holder = (struct holder){.state = HOLDER_KNOWN};
	if (user == NULL || *user == '\0')
		user = getenv("USER");
	if (user != NULL && *user != '\0')
		snprintf(holder->user, sizeof(holder->user), "%s", user);
	else
		snprintf(holder->user, sizeof(holder->user), "uid %u",
		    (unsigned)getuid());
	snprintf(holder->pid, sizeof(holder->pid), "%d", (int)getpid());
	gethostname(holder->host, sizeof(holder->host) - 1);
}
