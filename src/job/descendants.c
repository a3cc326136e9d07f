#include "job/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/process.h"

/* Rounds of KILL without a pause. They let a burst outrun processes that fork
 * and exit, but must not keep a process busy when nothing dies. */
enum { QUICK_ROUNDS = 100 };

/* How long the generations of a job may take to die one after the other, before
 * a scan looks for those below a process that does not die. */
enum { GENERATIONS_MS = 20 };

static const _Atomic int64_t never = CLOCK_NEVER;

/* --- reading /proc ---------------------------------------------------- */

static int
add(struct processes *processes, const struct process *process)
{
	if (processes->count == processes->room) {
		size_t room = processes->room == 0 ? 256 : processes->room * 2;
		struct process *more =
		    reallocarray(processes->list, room, sizeof(*more));
		if (more == NULL)
			return -1;
		processes->list = more;
		processes->room = room;
	}
	processes->list[processes->count++] = *process;
	return 0;
}

/* NULL with errno. */
static DIR *
open_folder(int proc, const char *path)
{
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd == -1 ? NULL : fdopendir(fd);

	if (fd != -1 && folder == NULL)
		close(fd);
	return folder;
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *p = a;
	const struct process *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

static const struct process *
find(const struct processes *processes, pid_t pid)
{
	struct process key = {.pid = pid};

	if (processes->count == 0)
		return NULL;
	return bsearch(&key, processes->list, processes->count, sizeof(key),
	    by_pid);
}

/* Reads an open list of children, ids with a blank behind each. It may lack
 * some while others end: repeat. That of this process is read without opening
 * anything. */
struct children {
	int fd; /* the rest is 0 at first */
	off_t read;
	size_t at;
	size_t length;
	char text[512];
};

/* 0 at the end. Another reader of the same list may be at another place. */
static pid_t
next_child(struct children *children)
{
	pid_t pid = 0;
	char c;

	do {
		if (children->at == children->length) {
			ssize_t got = pread(children->fd, children->text,
			    sizeof(children->text), children->read);
			if (got <= 0)
				return 0;
			children->read += got;
			children->at = 0;
			children->length = (size_t)got;
		}
		c = children->text[children->at++];
		if (c >= '0' && c <= '9')
			pid = pid * 10 + (c - '0');
	} while (c != ' ');
	return pid;
}

/* --- who descends ----------------------------------------------------- */

static bool
is_earlier(const struct descendants *self, const struct process *process)
{
	for (size_t i = 0; i < self->earlier.count; i++) {
		const struct process *earlier = &self->earlier.list[i];
		if (earlier->pid == process->pid &&
		    (earlier->started == process->started ||
			earlier->started == 0 || process->started == 0))
			return true;
	}
	return false;
}

static bool
is_earlier_child(const struct descendants *self, pid_t pid)
{
	struct process child = {.pid = pid};

	/* Few have the id of one, so few have to be read. */
	if (!is_earlier(self, &child))
		return false;
	process_read(self->proc, pid, &child);
	return is_earlier(self, &child);
}

/* A parent that started after its child only reuses the id of the real one,
 * which has ended since the child was read. */
static bool
is_ours(const struct processes *all, const struct process *process)
{
	const struct process *parent;

	if (process->parent == getpid())
		return process_is_child(process->pid);
	parent = find(all, process->parent);
	return parent != NULL && parent->descends &&
	       parent->started <= process->started;
}

/* --- scan ------------------------------------------------------------- */

/* Returns how many. Much quicker than a scan. */
static int
kill_children(const struct descendants *self)
{
	struct children children = {.fd = self->children};
	pid_t pid;
	int count = 0;

	while ((pid = next_child(&children)) != 0)
		if (process_is_child(pid) && !is_earlier_child(self, pid) &&
		    kill(pid, SIGKILL) == 0)
			count++;
	return count;
}

struct scan {
	const struct descendants *self;
	int signo;
	const _Atomic int64_t *until;
	int64_t kill_at_us; /* when children are killed again */
	struct processes all;
};

/* Called before each step of a scan. False once its time is over. A scan that
 * kills also kills new children: the death of a guard makes its children ours,
 * and they must not live until a long scan ends. They may keep forking, so the
 * scan gets half of the time. */
static bool
advance_scan(struct scan *scan)
{
	int64_t now_us = clock_now_us();

	if (scan->signo == SIGKILL && now_us >= scan->kill_at_us) {
		int64_t done_us;
		kill_children(scan->self);
		done_us = clock_now_us();
		scan->kill_at_us = done_us + (done_us - now_us) + 1000;
	}
	return now_us / 1000 < *scan->until;
}

/* All, by ascending id, as /proc lists them, and only those found by then; the
 * descendants are marked. 0, or -1 with errno: these are the processes found
 * before the error. */
static int
read_all(struct scan *scan)
{
	int proc = scan->self->proc;
	DIR *folder = open_folder(proc, ".");
	struct dirent *entry;
	struct process process;
	bool found = true;
	int rc = 0;

	if (folder == NULL)
		return -1;
	while (rc == 0 && advance_scan(scan) &&
	       (entry = readdir(folder)) != NULL) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0 &&
		    process_read(proc, (pid_t)pid, &process))
			rc = add(&scan->all, &process);
	}
	closedir(folder);
	while (found) { /* at least the next generation */
		found = false;
		for (size_t i = 0; i < scan->all.count; i++) {
			struct process *p = &scan->all.list[i];
			if (!p->descends && is_ours(&scan->all, p) &&
			    !is_earlier(scan->self, p))
				p->descends = found = true;
		}
	}
	return rc;
}

/* --- open ------------------------------------------------------------- */

static int
open_proc(struct descendants *self)
{
	char text[64];
	struct statfs fs;
	ssize_t length;

	self->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (self->proc == -1 && errno == ENOENT)
		errno = ENODEV; /* an empty root */
	if (self->proc == -1 || fstatfs(self->proc, &fs) == -1)
		return -1;
	if (fs.f_type != PROC_SUPER_MAGIC) {
		errno = ENODEV;
		return -1;
	}
	length = readlinkat(self->proc, "self", text, sizeof(text) - 1);
	if (length == -1 && errno != ENOENT)
		return -1;
	text[length > 0 ? length : 0] = '\0';
	if (strtol(text, NULL, 10) != getpid()) {
		errno = EXDEV;
		return -1;
	}
	/* By number: below proot, thread-self is proot's own. */
	snprintf(text, sizeof(text), "%d/task/%d/children", (int)getpid(),
	    (int)syscall(SYS_gettid));
	self->children = openat(self->proc, text, O_RDONLY | O_CLOEXEC);
	return self->children == -1 && errno != ENOENT ? -1 : 0;
}

/* The list of children may show some that the scan does not (hidepid).
 * __WALL: also children whose exit signal is not SIGCHLD. */
static int
note_earlier(struct descendants *self)
{
	struct scan scan = {.self = self, .until = &never};
	struct processes *all = &scan.all;
	struct children children = {.fd = self->children};
	struct process child = {0};
	siginfo_t info;
	int rc;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == -1)
		return errno == ECHILD ? 0 : -1;
	rc = read_all(&scan);
	for (size_t i = 0; rc == 0 && i < all->count; i++)
		if (all->list[i].descends)
			rc = add(&self->earlier, &all->list[i]);
	free(all->list);
	while (rc == 0 && (child.pid = next_child(&children)) != 0)
		if (!is_earlier(self, &child))
			rc = add(&self->earlier, &child);
	return rc;
}

int
descendants_open(struct descendants *self)
{
	*self = (struct descendants){.proc = -1, .children = -1};
	if (open_proc(self) == -1)
		return -1;
	if (process_is_child(getpid())) {
		errno = ENOTSUP;
		return -1;
	}
	return note_earlier(self);
}

int
descendants_adopt_orphans(void)
{
	int rc = prctl(PR_SET_CHILD_SUBREAPER, 1);

	if (rc == -1 && errno == EINVAL)
		errno = ECHILD;
	return rc;
}

const char *
descendants_strerror(int error)
{
	switch (error) {
	case ENODEV:
		return "/proc is not mounted";
	case EXDEV:
		return "/proc belongs to another pid namespace";
	case ECHILD:
		return "the kernel lacks PR_SET_CHILD_SUBREAPER (qemu-user, as "
		       "by docker --platform: use an image for this machine)";
	case ENOTSUP:
		return "waitid(2) does not tell children from other processes";
	default:
		return strerror(error);
	}
}

void
descendants_close(struct descendants *self)
{
	if (self->proc != -1)
		close(self->proc);
	if (self->children != -1)
		close(self->children);
	free(self->earlier.list);
}

char
descendants_state(const struct descendants *self, pid_t pid)
{
	struct process process = {.state = '\0'};

	process_read(self->proc, pid, &process);
	return process.state;
}

/* --- signal ----------------------------------------------------------- */

/* Since /proc was read the process may have ended and its id may have been
 * reused, unless it is a child. False also if it cannot be read. */
static bool
read_again(const struct descendants *self, const struct process *process,
    struct process *now)
{
	return process_read(self->proc, process->pid, now) &&
	       (process->parent == getpid() ||
		   process->started == now->started);
}

static void
signal_process(const struct descendants *self, const struct process *process,
    int signo)
{
	bool is_child = process->parent == getpid();
	int held = is_child ? PROCESS_UNHELD : process_hold(process->pid);
	struct process now;

	if (held == PROCESS_GONE ||
	    (is_child && !process_is_child(process->pid)))
		return;
	if (signo != SIGCONT && (is_child || read_again(self, process, &now)))
		process_signal(held, process->pid, signo);
	if ((signo == SIGCONT || signo == SIGTERM) &&
	    read_again(self, process, &now) && now.state == 'T')
		process_signal(held, process->pid, SIGCONT);
	process_release(held);
}

static bool
lists_child(int fd, pid_t pid)
{
	struct children children = {.fd = fd};
	pid_t child;

	while ((child = next_child(&children)) != 0)
		if (child == pid)
			return true;
	return false;
}

/* Those in one list that the scan has not found. An id that is still listed
 * once it is held is that child's. */
static void
signal_unseen(const struct processes *seen, int list, int signo)
{
	struct children children = {.fd = list};
	pid_t pid;

	while ((pid = next_child(&children)) != 0) {
		int held =
		    find(seen, pid) == NULL ? process_hold(pid) : PROCESS_GONE;
		if (held != PROCESS_GONE && lists_child(list, pid))
			process_signal(held, pid, signo);
		process_release(held);
	}
}

/* With hidepid, /proc hides processes that are not dumpable, such as a nested
 * rlockrun, but lists them among the children of their parents' threads. */
static void
signal_unseen_children(const struct descendants *self,
    const struct processes *seen, const struct process *parent, int signo)
{
	struct process now;
	char path[64];
	DIR *threads;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%d/task", (int)parent->pid);
	threads = open_folder(self->proc, path);
	if (threads == NULL)
		return;
	while ((entry = readdir(threads)) != NULL) {
		int fd;
		snprintf(path, sizeof(path), "%.20s/children", entry->d_name);
		fd = openat(dirfd(threads), path, O_RDONLY | O_CLOEXEC);
		if (fd == -1)
			continue;
		if (process_read(self->proc, parent->pid, &now) &&
		    now.started == parent->started)
			signal_unseen(seen, fd, signo);
		close(fd);
	}
	closedir(threads);
}

static void
signal_all(const struct descendants *self, int signo,
    const _Atomic int64_t *until)
{
	struct scan scan = {.self = self, .signo = signo, .until = until};
	struct processes *all = &scan.all;
	struct children children = {.fd = self->children};
	struct process child = {.parent = getpid()};

	read_all(&scan); /* some are better than none */
	for (size_t i = 0; i < all->count && advance_scan(&scan); i++) {
		const struct process *p = &all->list[i];
		/* A zombie with several threads lives: only its main thread has
		 * exited. */
		bool is_alive = p->state != 'Z' || p->threads > 1;

		if (!p->descends || !is_alive)
			continue;
		/* Before the parent ends by the signal. KILL makes its children
		 * ours, and finds them then. */
		if (signo == SIGTERM)
			signal_unseen_children(self, all, p, signo);
		signal_process(self, p, signo);
	}
	while ((child.pid = next_child(&children)) != 0)
		if (find(all, child.pid) == NULL &&
		    !is_earlier_child(self, child.pid))
			signal_process(self, &child, signo);
	free(all->list);
}

void
descendants_terminate(const struct descendants *self,
    const _Atomic int64_t *until)
{
	signal_all(self, SIGTERM, until);
}

void
descendants_continue(const struct descendants *self,
    const _Atomic int64_t *until, bool (*is_outdated)(void *arg), void *arg)
{
	struct scan scan = {.self = self, .signo = SIGCONT, .until = until};
	struct processes *all = &scan.all;

	read_all(&scan); /* some are better than none */
	if (!is_outdated(arg))
		for (size_t i = 0; i < all->count && advance_scan(&scan); i++)
			if (all->list[i].descends && all->list[i].state == 'T')
				signal_process(self, &all->list[i], SIGCONT);
	free(all->list);
}

void
descendants_stop_group(const struct descendants *self,
    const _Atomic int64_t *until, pid_t group, int signo)
{
	struct scan scan = {.self = self, .signo = SIGSTOP, .until = until};
	struct processes *all = &scan.all;

	read_all(&scan); /* some are better than none */
	for (size_t i = 0; i < all->count && advance_scan(&scan); i++)
		if (all->list[i].descends && all->list[i].group == group &&
		    process_takes_default(self->proc, all->list[i].pid, signo))
			signal_process(self, &all->list[i], SIGSTOP);
	free(all->list);
}

/* --- kill ------------------------------------------------------------- */

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

static bool
kill_and_reap(const struct descendants *self,
    void (*on_child)(void *arg, pid_t pid, int status), void *arg)
{
	for (int i = 0; i < QUICK_ROUNDS; i++) {
		int killed = kill_children(self);
		if (!descendants_reap(on_child, arg))
			return true;
		if (killed == 0)
			break;
	}
	return false;
}

bool
descendants_kill(struct descendants *self,
    void (*on_child)(void *arg, pid_t pid, int status), void *arg)
{
	if (self->killing_since == 0)
		self->killing_since = clock_now();
	if (kill_and_reap(self, on_child, arg))
		return true;
	if (self->children != -1 &&
	    clock_now() < self->killing_since + GENERATIONS_MS)
		return false;
	signal_all(self, SIGKILL, &never);
	return kill_and_reap(self, on_child, arg);
}
