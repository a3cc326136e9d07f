#include "job/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of proc_pid_stat(5), counted from the state as 0: the name before it
 * may contain blanks and parentheses. */
enum { FIELD_PARENT = 1, FIELD_THREADS = 17, FIELD_STARTED = 19, FIELDS };

bool
process_read(int proc, pid_t pid, struct process *process)
{
	char path[32];
	char text[1024];
	unsigned long long fields[FIELDS] = {0};
	char *state, *at;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	state = strrchr(text, ')');
	if (state == NULL || strlen(state) < sizeof(") S"))
		return false;
	state += strlen(") ");
	at = state + 1;
	for (int i = FIELD_PARENT; i < FIELDS; i++)
		fields[i] = strtoull(at, &at, 10);
	*process = (struct process){.pid = pid,
	    .state = *state,
	    .parent = (pid_t)fields[FIELD_PARENT],
	    .threads = (long)fields[FIELD_THREADS],
	    .started = fields[FIELD_STARTED]};
	return true;
}
