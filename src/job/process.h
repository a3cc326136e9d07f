/* One process, as /proc shows it. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	char state;
	long threads;
	unsigned long long started; /* with pid, unique until the next boot;
				     * 0 if it could not be read */
	bool descends;		    /* for the caller */
};

/* Reads it from procfs, whose root proc is. False if it cannot be read,
 * whatever the reason. */
bool process_read(int proc, pid_t pid, struct process *process);

#endif
