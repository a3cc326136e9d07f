#include "base/tty.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
tty_find_obstacle(int fd)
{
	const char *type = getenv("TERM");

	if (!isatty(fd))
		return fd == STDOUT_FILENO ? "stdout is no terminal"
					   : "stderr is no terminal";
	if (type == NULL || *type == '\0')
		return "TERM is not set";
	return strcmp(type, "dumb") == 0 ? "TERM is dumb" : NULL;
}
