#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct process {
	pid_t pid;
	pid_t parent;
	char state;
	unsigned long long started; /* with pid, unique until the next boot */
	bool descends;
};

struct table {
	struct process *process;
	size_t count;
	size_t room;
};

/* Field n of proc_pid_stat(5), counted from the state as 0: the name before it
 * may hold blanks and parentheses. Empty when there is none. */
static const char *
stat_field(const char *state, int n)
{
	const char *field = state;

	while (n-- > 0) {
		field += strcspn(field, " ");
		field += strspn(field, " ");
	}
	return field;
}

enum { FIELD_PARENT = 1, FIELD_STARTED = 19 };

/* False when the process has gone. */
static bool
read_process(pid_t pid, struct process *process)
{
	char path[32];
	char text[1024];
	const char *state;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
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
	*process = (struct process){.pid = pid,
	    .state = *state,
	    .parent = (pid_t)strtol(stat_field(state, FIELD_PARENT), NULL, 10),
	    .started = strtoull(stat_field(state, FIELD_STARTED), NULL, 10)};
	return true;
}

static int
add(struct table *table, const struct process *process)
{
	if (table->count == table->room) {
		size_t room = table->room == 0 ? 256 : table->room * 2;
		struct process *more =
		    realloc(table->process, room * sizeof(*more));
		if (more == NULL)
			return -1;
		table->process = more;
		table->room = room;
	}
	table->process[table->count++] = *process;
	return 0;
}

static int
read_all(struct table *table)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct process process;
	int rc = 0;

	if (proc == NULL)
		return -1;
	while (rc == 0 && (entry = readdir(proc)) != NULL) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0 &&
		    read_process((pid_t)pid, &process))
			rc = add(table, &process);
	}
	closedir(proc);
	return rc;
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *p = a;
	const struct process *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

/* The table is in order: /proc lists processes by ascending id. */
static bool
parent_descends(const struct table *table, pid_t parent)
{
	struct process key = {.pid = parent};
	const struct process *found =
	    bsearch(&key, table->process, table->count, sizeof(key), by_pid);

	return found != NULL && found->descends;
}

/* One pass finds at least the next generation. */
static void
mark_descendants(struct table *table, pid_t root, unsigned long long since)
{
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < table->count; i++) {
			struct process *p = &table->process[i];
			if (!p->descends && p->started >= since &&
			    (p->parent == root ||
				parent_descends(table, p->parent)))
				p->descends = found = true;
		}
	}
}

static int
pidfd_open_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Between reading /proc and here the process may have gone and its id may have
 * been given to a stranger: a descriptor holds on to one process, and what it
 * holds is looked at again before it is signalled. */
static void
signal_one(const struct process *process, int signo)
{
	struct process now;
	int fd = pidfd_open_of(process->pid);

	if (fd == -1)
		return;
	if (read_process(process->pid, &now) &&
	    now.started == process->started) {
		if (signo != SIGCONT)
			syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
		if (now.state == 'T' && (signo == SIGCONT || signo == SIGTERM))
			syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	}
	close(fd);
}

int
tree_signal(pid_t root, int64_t since, int signo)
{
	/* proc_pid_stat(5) counts in ticks since boot. */
	unsigned long long since_ticks =
	    (unsigned long long)since *
	    (unsigned long long)sysconf(_SC_CLK_TCK) / 1000;
	struct table table = {NULL, 0, 0};
	int rc = read_all(&table);
	int alive = 0;

	if (table.count > 0)
		mark_descendants(&table, root, since_ticks);
	for (size_t i = 0; i < table.count; i++) {
		const struct process *p = &table.process[i];
		if (p->descends && p->state != 'Z') {
			signal_one(p, signo);
			alive++;
		}
	}
	free(table.process);
	return rc == -1 ? -1 : alive;
}

bool
tree_is_stopped(pid_t pid)
{
	struct process process;

	return read_process(pid, &process) && process.state == 'T';
}

int
tree_kill_children(void)
{
	FILE *children = fopen("/proc/thread-self/children", "re");
	char *line = NULL;
	size_t size = 0;
	int count = 0;

	if (children == NULL)
		return 0;
	while (getdelim(&line, &size, ' ', children) > 0) {
		long pid = strtol(line, NULL, 10);
		if (pid > 0 && kill((pid_t)pid, SIGKILL) == 0)
			count++;
	}
	free(line);
	fclose(children);
	return count;
}

int
tree_check(void)
{
	char text[16];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);
	int fd;

	if (length == -1)
		return -1;
	text[length] = '\0';
	if (strtol(text, NULL, 10) != getpid()) {
		errno = EXDEV;
		return -1;
	}
	fd = pidfd_open_of(getpid());
	if (fd == -1)
		return -1;
	close(fd);
	return 0;
}
