/* What is printed to stderr, read back. */
#ifndef PIPE_H
#define PIPE_H

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Puts a pipe in stderr's place and returns its read end. */
static inline int
open_pipe(void)
{
	int ends[2];

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		abort();
	dup2(ends[1], STDERR_FILENO);
	/* Blocking for the writer, as a job's stderr is. */
	fcntl(STDERR_FILENO, F_SETFL, 0);
	close(ends[1]);
	return ends[0];
}

/* What has arrived, until the next call. */
static inline const char *
drain(int fd)
{
	static char text[2 * PIPE_BUF];
	ssize_t length = read(fd, text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = '\0';
	return text;
}

#endif
