/* A job of `make chaos`, whose processes stamp when they live on a page that
 * all jobs share:
 *
 *     job PAGE RUN SORT MS STATUS KEYS WAIT-ALL OUTER [COMMAND...]
 *
 * RUN is its number, KEYS the locks it was started under, one bit for each. It
 * lives for MS and exits with STATUS. What it is besides is its SORT, below.
 *
 * Before anything else the command looks whether a job of another run lives
 * under one of its locks. The kernel is asked, not the stamps: a process that
 * is stopped lives. Both stamp first and look then, so of two one sees the
 * other.
 *
 * No process lives longer than LIFE_MS, and no job has more than a few,
 * whatever becomes of it. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	STAMP_MS = 5,
	LIFE_MS = 15000,
	LEAVE_MS = 1500, /* that processes left behind go on */
	JOIN_MS = 200,	 /* from the command's end to a late nested run */
	CHAIN_LENGTH = 5000,
	STOPPED_MS = 400,
	SLOTS = 65536,
	SAW_MAX = 12
};

/* Read by page.py, which must know this layout. 512 bytes. */
struct slot {
	_Atomic uint64_t taken; /* the slot is complete */
	int32_t run;
	int32_t outer; /* the run it is nested in, or 0 */
	int32_t pid;
	int32_t root; /* the slot of its command */
	uint64_t keys;
	uint64_t born; /* field 22 of /proc/PID/stat: pids are used again */
	int64_t start_us;
	_Atomic int64_t alive_us;
	_Atomic int64_t end_us; /* 0: it did not end by itself */
	int32_t status;
	int32_t wait_all;
	int32_t inner_pid; /* the nested rlockrun */
	int32_t inner_status;
	int64_t inner_start_us;
	_Atomic int64_t inner_end_us;
	int32_t saw_count;
	int32_t saw[SAW_MAX];
	_Atomic int32_t dead;	/* somebody saw that it is */
	_Atomic int32_t struck; /* killed, as if it had ended by itself */
	char token[128];
	char fence[128];
	char spare[100];
};
_Static_assert(sizeof(struct slot) == 512, "page.py reads slots of 512 bytes");

struct page {
	_Atomic uint64_t used;
	char spare[504];
	struct slot slots[SLOTS];
};

static struct page *page;
static struct slot *root; /* of this job */
static struct slot *self;

static int64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
pause_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000},
	    NULL);
}

/* The fields of proc_pid_stat(5) behind the name, which may hold anything. */
static bool
read_stat(const char *path, char *state, int *threads, uint64_t *born)
{
	char text[1024], *fields;
	unsigned long long ticks;
	ssize_t length;
	int fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	if ((fields = strrchr(text, ')')) == NULL ||
	    sscanf(fields + 1,
		" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		"%*d %*d %d %*d %llu",
		state, threads, &ticks) != 3)
		return false;
	*born = ticks;
	return true;
}

static bool
is_dead(char state)
{
	return state == 'Z' || state == 'X';
}

/* Threads that a debugger has not waited for are still there when all have been
 * killed. */
static bool
has_live_thread(int pid)
{
	char path[320], state;
	struct dirent *entry;
	uint64_t born;
	int threads;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if ((folder = opendir(path)) == NULL)
		return false;
	while (!found && (entry = readdir(folder)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid,
		    entry->d_name);
		found = entry->d_name[0] != '.' &&
			read_stat(path, &state, &threads, &born) &&
			!is_dead(state);
	}
	closedir(folder);
	return found;
}

/* A zombie with other threads lives: its main thread alone has exited. */
static bool
lives(struct slot *slot)
{
	char path[64], state;
	uint64_t born;
	int threads;

	if (atomic_load(&slot->dead))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", slot->pid);
	if (read_stat(path, &state, &threads, &born) && born == slot->born &&
	    (!is_dead(state) || has_live_thread(slot->pid)))
		return true;
	atomic_store(&slot->dead, 1);
	return false;
}

static bool
has_ended(struct slot *slot)
{
	return atomic_load(&slot->end_us) != 0 || atomic_load(&slot->struck);
}

/* What goes on after its command has ended by itself, or was killed as if it
 * had, goes on unlocked, unless the lock waits for all. */
static bool
is_job(struct slot *slot)
{
	struct slot *command = &page->slots[slot->root];

	if (slot->wait_all || slot == command)
		return atomic_load(&slot->end_us) == 0;
	return !has_ended(command);
}

static void
look_around(void)
{
	uint64_t used = atomic_load(&page->used);

	for (uint64_t i = 0; i < used && i < SLOTS; i++) {
		struct slot *other = &page->slots[i];

		if (!atomic_load(&other->taken) || other->run == self->run ||
		    other->run == self->outer || other->outer == self->run ||
		    !(other->keys & self->keys) || !is_job(other) ||
		    !lives(other) || !is_job(other))
			continue;
		if (self->saw_count < SAW_MAX)
			self->saw[self->saw_count++] = other->run;
	}
}

static void
copy_variable(char *text, size_t size, const char *name)
{
	const char *value = getenv(name);

	snprintf(text, size, "%s", value != NULL ? value : "");
}

/* Takes a slot for this process: `root` is NULL for the command itself. */
static void
take_slot(const struct slot *likeness)
{
	uint64_t index = atomic_fetch_add(&page->used, 1);
	int threads;
	char state;

	if (index >= SLOTS)
		_exit(99);
	self = &page->slots[index];
	self->run = likeness->run;
	self->outer = likeness->outer;
	self->keys = likeness->keys;
	self->wait_all = likeness->wait_all;
	self->pid = getpid();
	self->status = -1;
	self->inner_status = -1;
	if (root == NULL)
		root = self;
	self->root = (int32_t)(root - page->slots);
	if (!read_stat("/proc/self/stat", &state, &threads, &self->born))
		_exit(98);
	copy_variable(self->token, sizeof(self->token), "RLOCKRUN_TOKEN");
	copy_variable(self->fence, sizeof(self->fence), "RLOCKRUN_FENCE");
	self->start_us = now_us();
	atomic_store(&self->alive_us, self->start_us);
	atomic_store(&self->taken, 1);
}

static void
live_until(int64_t end_us)
{
	int64_t now;

	while ((now = now_us()) < end_us) {
		atomic_store(&self->alive_us, now);
		pause_ms(STAMP_MS);
	}
}

_Noreturn static void
end(int status)
{
	self->status = status;
	atomic_store(&self->alive_us, now_us());
	atomic_store(&self->end_us, now_us());
	_exit(status);
}

/* As long as the command, killed or not: who is left behind is to be found. */
_Noreturn static void
live_with_root(void)
{
	int64_t end_us = now_us() + LIFE_MS * 1000LL;

	while (!has_ended(root) && now_us() < end_us)
		live_until(now_us() + STAMP_MS * 1000);
	end(0);
}

/* True in the child, which has a slot. Nobody waits for it. */
static bool
fork_off(void)
{
	pid_t pid = fork();

	if (pid == 0)
		take_slot(root);
	return pid == 0;
}

static void
ignore_requests(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

/* --- sorts: what each does before it lives for its time
 * ----------------------- */

static void
do_nothing(void)
{
}

static void
fork_two_that_fork(void)
{
	for (int i = 0; i < 2; i++)
		if (fork_off()) {
			fork_off();
			live_with_root();
		}
}

static void
leave_one(void)
{
	if (fork_off()) {
		while (
		    atomic_load(&root->end_us) == 0 &&
		    now_us() < atomic_load(&self->start_us) + LIFE_MS * 1000LL)
			live_until(now_us() + STAMP_MS * 1000);
		live_until(now_us() + LEAVE_MS * 1000);
		end(0);
	}
}

static void
leave_session(void)
{
	if (fork_off()) {
		setsid();
		if (!fork_off())
			end(0);
		live_with_root();
	}
}

/* The child takes over the slot of its parent, which ends. */
static void
become_next(void)
{
	char state;
	int threads;

	if (fork() != 0)
		_exit(0);
	self->pid = getpid();
	read_stat("/proc/self/stat", &state, &threads, &self->born);
	atomic_store(&self->dead, 0);
}

/* When the command is killed, its child forks and ends, and so on, each
 * sooner than a look at all processes takes. */
static void
flee(void)
{
	const struct timespec stamp = {0, STAMP_MS * 1000000L};
	sigset_t alarm;

	if (!fork_off())
		return;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGUSR1);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	while (getppid() == root->pid) {
		atomic_store(&self->alive_us, now_us());
		sigtimedwait(&alarm, NULL, &stamp);
	}
	for (int i = 0; i < CHAIN_LENGTH && !has_ended(root); i++) {
		atomic_store(&self->alive_us, now_us());
		become_next();
	}
	end(0);
}

static void
close_all(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

static void
stop_for_a_while(void)
{
	pid_t pid = getpid();

	if (fork_off()) {
		live_until(now_us() + STOPPED_MS * 1000);
		kill(pid, SIGCONT);
		end(0);
	}
	raise(SIGSTOP);
}

static int life_ms, life_status;
static char **inner;

static void
run_inner(void)
{
	int status = 0;
	pid_t pid;

	self->inner_start_us = now_us();
	pid = fork();
	if (pid == 0) {
		execv(inner[0], inner);
		_exit(97);
	}
	self->inner_pid = pid;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		live_until(now_us() + STAMP_MS * 1000);
		if (now_us() > self->start_us + 2 * LIFE_MS * 1000LL)
			kill(pid, SIGKILL);
	}
	self->inner_status =
	    WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	atomic_store(&self->inner_end_us, now_us());
}

/* The command ends, and the nested run that it has started goes on. */
static void
outlast(void)
{
	if (fork_off()) {
		run_inner();
		end(0);
	}
}

/* A nested run is started when the command has ended, and most often its lock
 * with it. */
static void
join_late(void)
{
	if (fork_off()) {
		int64_t end_us = now_us() + LIFE_MS * 1000LL;

		while (!has_ended(root) && now_us() < end_us)
			live_until(now_us() + STAMP_MS * 1000);
		live_until(now_us() + JOIN_MS * 1000);
		run_inner();
		end(0);
	}
}

static void *
live_in_thread(void *nothing)
{
	if (self != root)
		live_with_root();
	live_until(now_us() + life_ms * 1000LL);
	end(life_status);
	return nothing;
}

/* A child first, then the command itself. */
static void
exit_main_thread(void)
{
	pthread_t thread;

	fork_off();
	if (pthread_create(&thread, NULL, live_in_thread, NULL) == 0)
		pthread_exit(NULL);
}

static const struct sort {
	const char *name;
	void (*begin)(void);
} sorts[] = {
    {"short", do_nothing},
    {"deaf", ignore_requests},
    {"forking", fork_two_that_fork},
    {"leaving", leave_one},
    {"session", leave_session},
    {"chain", flee},
    {"threads", exit_main_thread},
    {"closing", close_all},
    {"stopping", stop_for_a_while},
    {"nested", run_inner},
    {"outlasting", outlast},
    {"joining", join_late},
};

static const struct sort *
find_sort(const char *name)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (strcmp(sorts[i].name, name) == 0)
			return &sorts[i];
	return NULL;
}

static void
open_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    0);
	if (fd == -1 || page == MAP_FAILED) {
		perror(path);
		exit(96);
	}
	close(fd);
}

int
main(int argc, char **argv)
{
	struct slot likeness = {.status = -1};
	const struct sort *sort;

	if (argc < 9 || (sort = find_sort(argv[3])) == NULL) {
		fprintf(stderr, "job: wrong usage, see job.c\n");
		return 96;
	}
	open_page(argv[1]);
	likeness.run = atoi(argv[2]);
	life_ms = atoi(argv[4]);
	life_status = atoi(argv[5]);
	likeness.keys = strtoull(argv[6], NULL, 16);
	likeness.wait_all = atoi(argv[7]);
	likeness.outer = atoi(argv[8]);
	inner = argv + 9;
	take_slot(&likeness);
	look_around();
	sort->begin();
	live_until(now_us() + life_ms * 1000LL);
	end(life_status);
}
