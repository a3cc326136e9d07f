#include "job/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rounds of KILL without a pause. They let a burst outrun processes that fork
 * and exit, but must not keep a process busy when nobody dies. */
enum { QUICK_ROUNDS = 100 };

struct process {
	pid_t pid;
	pid_t parent;
	char state;
	long threads;
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

enum { FIELD_PARENT = 1, FIELD_THREADS = 17, FIELD_STARTED = 19 };

/* False if it cannot be read, whatever the reason. */
static bool
read_process(const struct descendants *descendants, pid_t pid,
    struct process *process)
{
	char path[32];
	char text[1024];
	const char *state;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	fd = openat(descendants->proc, path, O_RDONLY | O_CLOEXEC);
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
	    .threads = strtol(stat_field(state, FIELD_THREADS), NULL, 10),
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

/* NULL with errno. */
static DIR *
open_folder(const struct descendants *descendants, const char *path)
{
	int fd =
	    openat(descendants->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd == -1 ? NULL : fdopendir(fd);

	if (fd != -1 && list == NULL)
		close(fd);
	return list;
}

/* 0, or -1 with errno: table then holds the processes found so far. */
static int
read_all(const struct descendants *descendants, struct table *table)
{
	DIR *list = open_folder(descendants, ".");
	struct dirent *entry;
	struct process process;
	int rc = 0;

	if (list == NULL)
		return -1;
	while (rc == 0 && (entry = readdir(list)) != NULL) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0 &&
		    read_process(descendants, (pid_t)pid, &process))
			rc = add(table, &process);
	}
	closedir(list);
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
static const struct process *
find(const struct table *table, pid_t pid)
{
	struct process key = {.pid = pid};

	if (table->count == 0)
		return NULL;
	return bsearch(&key, table->process, table->count, sizeof(key), by_pid);
}

/* A parent that started after its child only reuses the id of the real one,
 * which has ended since the child was read. */
static bool
parent_descends(const struct table *table, const struct process *process)
{
	const struct process *parent = find(table, process->parent);

	return parent != NULL && parent->descends &&
	       parent->started <= process->started;
}

/* A start of 0 is one that could not be read. */
static bool
is_earlier(const struct descendants *descendants, const struct process *process)
{
	for (size_t i = 0; i < descendants->earlier_count; i++) {
		const struct process *earlier = &descendants->earlier[i];
		if (earlier->pid == process->pid &&
		    (earlier->started == process->started ||
			earlier->started == 0 || process->started == 0))
			return true;
	}
	return false;
}

/* One pass finds at least the next generation. */
static void
mark_descendants(const struct descendants *descendants, struct table *table)
{
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < table->count; i++) {
			struct process *p = &table->process[i];
			if (!p->descends &&
			    (p->parent == getpid() ||
				parent_descends(table, p)) &&
			    !is_earlier(descendants, p))
				p->descends = found = true;
		}
	}
}

/* A list of children. It may miss some while others end: repeat. That of this
 * process is read without opening anything. */
struct children {
	int fd;
	size_t at;
	size_t length;
	char text[512];
};

static void
list_children(int fd, struct children *list)
{
	list->fd = fd;
	list->at = list->length = 0;
	if (fd != -1)
		lseek(fd, 0, SEEK_SET);
}

/* -1 at the end. */
static int
next_char(struct children *list)
{
	if (list->at == list->length) {
		ssize_t got = read(list->fd, list->text, sizeof(list->text));
		if (got <= 0)
			return -1;
		list->at = 0;
		list->length = (size_t)got;
	}
	return list->text[list->at++];
}

/* 0 at the end. */
static pid_t
next_child(struct children *list)
{
	pid_t pid = 0;
	int c;

	while ((c = next_char(list)) >= '0' && c <= '9')
		pid = pid * 10 + (c - '0');
	return pid;
}

static int
pidfd_open_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int
pidfd_signal(int fd, int signo)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
}

/* Between reading /proc and here the process may have gone and its id may have
 * been given to a stranger: a descriptor holds on to one process, and what it
 * holds is looked at again before it is signalled. */
static void
signal_descendant(const struct descendants *descendants,
    const struct process *process, int signo)
{
	struct process now;
	int fd = pidfd_open_of(process->pid);

	if (fd == -1)
		return;
	if (read_process(descendants, process->pid, &now) &&
	    now.started == process->started) {
		if (signo != SIGCONT)
			pidfd_signal(fd, signo);
		if (now.state == 'T' && (signo == SIGCONT || signo == SIGTERM))
			pidfd_signal(fd, SIGCONT);
	}
	close(fd);
}

static bool
is_listed(int fd, pid_t pid)
{
	struct children list;
	pid_t child;

	list_children(fd, &list);
	do
		child = next_child(&list);
	while (child != 0 && child != pid);
	return child != 0;
}

/* Those of one thread, in that list. */
static void
signal_unseen(const struct table *table, int children, int signo)
{
	struct children list;
	pid_t pid;

	list_children(children, &list);
	while ((pid = next_child(&list)) != 0) {
		int fd = find(table, pid) == NULL ? pidfd_open_of(pid) : -1;
		/* Is it still that child's descriptor? Then its id is, too. */
		if (fd != -1 && is_listed(children, pid))
			pidfd_signal(fd, signo);
		if (fd != -1)
			close(fd);
	}
}

/* With hidepid, /proc hides processes that are not dumpable, such as a nested
 * rlockrun, but lists them among their parents' children. */
static void
signal_unseen_children(const struct descendants *descendants,
    const struct table *table, const struct process *parent, int signo)
{
	struct process now;
	char path[64];
	DIR *threads;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%d/task", (int)parent->pid);
	threads = open_folder(descendants, path);
	if (threads == NULL)
		return;
	while ((entry = readdir(threads)) != NULL) {
		int fd;
		snprintf(path, sizeof(path), "%.20s/children", entry->d_name);
		fd = openat(dirfd(threads), path, O_RDONLY | O_CLOEXEC);
		if (fd == -1)
			continue;
		if (read_process(descendants, parent->pid, &now) &&
		    now.started == parent->started)
			signal_unseen(table, fd, signo);
		close(fd);
	}
	closedir(threads);
}

/* A child keeps its id until we reap it, so this needs no descriptor. */
static void
signal_child(const struct descendants *descendants, pid_t pid, int signo)
{
	if (signo != SIGCONT)
		kill(pid, signo);
	if ((signo == SIGCONT || signo == SIGTERM) &&
	    descendants_is_stopped(descendants, pid))
		kill(pid, SIGCONT);
}

/* A zombie with several threads lives: only its main thread has exited. */
static bool
is_alive(const struct process *process)
{
	return process->state != 'Z' || process->threads > 1;
}

void
descendants_signal(const struct descendants *descendants, int signo)
{
	struct table table = {NULL, 0, 0};
	struct children list;
	struct process child = {0};

	read_all(descendants, &table); /* a partial table is better than none */
	mark_descendants(descendants, &table);
	for (size_t i = 0; i < table.count; i++) {
		const struct process *p = &table.process[i];
		if (!p->descends || !is_alive(p))
			continue;
		/* Before it ends by the signal. KILL makes its children ours,
		 * and finds them then. */
		if (signo == SIGTERM)
			signal_unseen_children(descendants, &table, p, signo);
		if (p->parent == getpid())
			signal_child(descendants, p->pid, signo);
		else
			signal_descendant(descendants, p, signo);
	}
	list_children(descendants->children, &list);
	while ((child.pid = next_child(&list)) != 0)
		if (find(&table, child.pid) == NULL &&
		    !is_earlier(descendants, &child))
			signal_child(descendants, child.pid, signo);
	free(table.process);
}

/* Returns how many. Much quicker than a scan. */
static int
kill_children(const struct descendants *descendants)
{
	struct children list;
	struct process child = {0};
	int count = 0;

	list_children(descendants->children, &list);
	while ((child.pid = next_child(&list)) != 0) {
		child.started = 0;
		if (descendants->earlier_count > 0)
			read_process(descendants, child.pid, &child);
		if (!is_earlier(descendants, &child) &&
		    kill(child.pid, SIGKILL) == 0)
			count++;
	}
	return count;
}

/* __WALL: also children whose exit signal is not SIGCHLD. */
bool
descendants_reap(void (*on_child)(void *arg, pid_t pid, int status), void *arg)
{
	const int how = WNOHANG | WUNTRACED | WCONTINUED | __WALL;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, how)) > 0)
		if (on_child != NULL)
			on_child(arg, pid, status);
	return pid == 0 || errno != ECHILD;
}

/* A scan takes its time where many processes run, so the children come first.
 * Orphans become our children, and the quick rounds find these alone. */
bool
descendants_kill(const struct descendants *descendants,
    void (*on_child)(void *arg, pid_t pid, int status), void *arg)
{
	kill_children(descendants);
	descendants_signal(descendants, SIGKILL);
	for (int i = 0; i < QUICK_ROUNDS; i++) {
		int killed = kill_children(descendants);
		if (!descendants_reap(on_child, arg))
			return true;
		if (killed == 0)
			break;
	}
	return false;
}

bool
descendants_is_stopped(const struct descendants *descendants, pid_t pid)
{
	struct process process;

	return read_process(descendants, pid, &process) && process.state == 'T';
}

bool
descendants_is_halted(const struct descendants *descendants, pid_t pid)
{
	struct process process;

	return read_process(descendants, pid, &process) &&
	       (process.state == 'T' || process.state == 't');
}

static int
open_proc(struct descendants *descendants)
{
	char text[16];
	struct statfs fs;
	ssize_t length;

	descendants->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (descendants->proc == -1 || fstatfs(descendants->proc, &fs) == -1)
		return -1;
	if (fs.f_type != PROC_SUPER_MAGIC) {
		errno = ENODEV;
		return -1;
	}
	length = readlinkat(descendants->proc, "self", text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	if (strtol(text, NULL, 10) != getpid()) {
		errno = EXDEV;
		return -1;
	}
	descendants->children = openat(descendants->proc,
	    "thread-self/children", O_RDONLY | O_CLOEXEC);
	return descendants->children == -1 && errno != ENOENT ? -1 : 0;
}

static int
probe_pidfd(void)
{
	int fd = pidfd_open_of(getpid());
	int rc = fd == -1 ? -1 : pidfd_signal(fd, 0);
	int error = errno;

	if (fd != -1)
		close(fd);
	errno = error;
	return rc;
}

/* What a scan does not show of them, the list of children may. */
static int
add_hidden_children(const struct descendants *descendants, struct table *table)
{
	const size_t seen = table->count;
	struct children list;
	struct process child = {0};

	list_children(descendants->children, &list);
	while ((child.pid = next_child(&list)) != 0) {
		struct table part = {table->process, seen, 0};
		if (find(&part, child.pid) == NULL && add(table, &child) == -1)
			return -1;
	}
	return 0;
}

static int
note_earlier(struct descendants *descendants)
{
	struct table table = {NULL, 0, 0};
	size_t kept = 0;
	siginfo_t info;
	const int how = WEXITED | WNOHANG | WNOWAIT | __WALL;

	if (waitid(P_ALL, 0, &info, how) == -1)
		return errno == ECHILD ? 0 : -1;
	if (read_all(descendants, &table) == -1) {
		free(table.process);
		return -1;
	}
	mark_descendants(descendants, &table);
	for (size_t i = 0; i < table.count; i++)
		if (table.process[i].descends)
			table.process[kept++] = table.process[i];
	table.count = kept;
	if (add_hidden_children(descendants, &table) == -1) {
		free(table.process);
		return -1;
	}
	descendants->earlier = table.process;
	descendants->earlier_count = table.count;
	return 0;
}

int
descendants_open(struct descendants *descendants)
{
	*descendants = (struct descendants){.proc = -1, .children = -1};
	if (open_proc(descendants) == -1 || probe_pidfd() == -1)
		return -1;
	return note_earlier(descendants);
}

void
descendants_close(struct descendants *descendants)
{
	if (descendants->proc != -1)
		close(descendants->proc);
	if (descendants->children != -1)
		close(descendants->children);
	free(descendants->earlier);
}
