/* A job of `make chaos`, and the witness of what it does:
 *
 *     job FOLDER RUN SORT MS STATUS MODE KEYS WAIT-ALL [COMMAND...]
 *
 * RUN is its number and KEYS its locks, separated by commas. It lives for MS
 * and exits with STATUS. What it is besides is its SORT, below; COMMAND is the
 * run nested in it.
 *
 *     job FOLDER witness PROCESSOR
 *
 * notes how late the kernel lets a process of that processor run.
 *
 * FOLDER/log gets a line for each event: the time in microseconds
 * (CLOCK_MONOTONIC), RUN, what happened. Beside it each lock has a file, and
 * every process of a job holds the flock(2) of it: the kernel frees that when
 * the last of them is dead, and not before. A job that cannot take it at once
 * runs beside another one. What goes on after its command has ended by itself
 * is no job any more: the command gives the flock back. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOK_MS = 20,
	LIFE_MS = 600000, /* longer than a round: who is left is found */
	LEAVE_MS = 1500,  /* that processes left behind go on */
	STOPPED_MS = 400,
	CHAIN_LENGTH = 5000,
	KEYS = 4,
	PERMITS = 2,
	LATE_US = 2000
};

static struct {
	int log, run, ms, status;
	const char *folder;
	bool wait_all;
	int locks[KEYS];
	int lock_count;
	char **inner;
	pid_t command;
	volatile bool *ended; /* shared: the command has, by itself */
} job;

static int64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
pause_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000},
	    NULL);
}

/* One write(2), so that lines of many processes stand one below the other. */
__attribute__((format(printf, 2, 3))) static void
note(int run, const char *format, ...)
{
	char line[512];
	va_list arguments;
	int length;

	length =
	    snprintf(line, sizeof(line), "%lld %d ", (long long)now_us(), run);
	va_start(arguments, format);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length,
	    format, arguments);
	va_end(arguments);
	if (write(job.log, line, (size_t)length) != length)
		_exit(99);
}

static int
open_file(const char *name, int more)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", job.folder, name);
	if ((fd = open(path, O_RDWR | O_CREAT | more, 0600)) == -1)
		_exit(98);
	return fd;
}

/* One of so many places. */
static void
take(const char *key, int operation, int places)
{
	char name[256];
	int fd = -1;

	for (int i = 0; i < places; i++) {
		if (fd != -1)
			close(fd);
		snprintf(name, sizeof(name), "%s.%d", key, i);
		fd = job.locks[job.lock_count] = open_file(name, 0);
		if (flock(fd, operation | LOCK_NB) == 0) {
			job.lock_count++;
			return;
		}
	}
	job.lock_count++;
	note(job.run, "overlap %s\n", key);
	while (flock(fd, operation) == -1 && errno == EINTR)
		;
	note(job.run, "alone %s\n", key);
}

/* A nested run (mode "-") is part of the job around it. */
static void
take_all(const char *mode, char *keys)
{
	char *rest = keys, *key;

	if (*mode == '-')
		return;
	while ((key = strsep(&rest, ",")) != NULL && job.lock_count < KEYS)
		take(key, *mode == 's' ? LOCK_SH : LOCK_EX,
		    *mode == 'p' ? PERMITS : 1);
}

_Noreturn static void
end(int status)
{
	note(job.run, "end %d\n", status);
	for (int i = 0; i < job.lock_count && !job.wait_all; i++)
		flock(job.locks[i], LOCK_UN);
	*job.ended = true;
	_exit(status);
}

/* As long as the command, or if that is killed for ever: it is found. */
_Noreturn static void
live_with_command(int more_ms)
{
	int64_t until = now_us() + LIFE_MS * 1000LL;

	while (!*job.ended && now_us() < until)
		pause_ms(LOOK_MS);
	pause_ms(more_ms);
	_exit(0);
}

/* --- sorts: what each does before it lives for its time ------------------- */

static void
do_nothing(void)
{
}

static void
wait_for_signal(void)
{
	job.ms = LIFE_MS;
}

static void
ignore_requests(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

static void
fork_two_that_fork(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0) {
			fork();
			live_with_command(0);
		}
}

static void
leave_one(void)
{
	if (fork() == 0)
		live_with_command(LEAVE_MS);
}

static void
leave_session(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			live_with_command(0);
		_exit(0);
	}
}

/* When the command is killed, its child forks and ends, and so on, each sooner
 * than a look at all processes takes. */
static void
flee(void)
{
	sigset_t death;

	if (fork() != 0)
		return;
	sigemptyset(&death);
	sigaddset(&death, SIGUSR1);
	sigprocmask(SIG_BLOCK, &death, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	while (getppid() == job.command)
		sigtimedwait(&death, NULL,
		    &(struct timespec){0, LOOK_MS * 1000000L});
	for (int i = 0; i < CHAIN_LENGTH && !*job.ended; i++)
		if (fork() != 0)
			_exit(0);
	_exit(0);
}

static void
stop_for_a_while(void)
{
	if (fork() == 0) {
		pause_ms(STOPPED_MS);
		kill(job.command, SIGCONT);
		_exit(0);
	}
	raise(SIGSTOP);
}

static void
close_all(void)
{
	for (int fd = 0; fd < 256; fd++) {
		bool ours = fd == job.log;
		for (int i = 0; i < job.lock_count; i++)
			ours |= fd == job.locks[i];
		if (!ours)
			close(fd);
	}
}

static void *
live_in_thread(void *nothing)
{
	if (getpid() != job.command)
		live_with_command(0);
	pause_ms(job.ms);
	end(job.status);
	return nothing;
}

/* A child first, then the command itself. */
static void
exit_main_thread(void)
{
	pthread_t thread;

	fork();
	if (pthread_create(&thread, NULL, live_in_thread, NULL) == 0)
		pthread_exit(NULL);
}

static void
run_nested(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execv(job.inner[0], job.inner);
		_exit(97);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	note(job.run + 100000, "exit %d\n",
	    WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static const struct sort {
	const char *name;
	void (*begin)(void);
} sorts[] = {
    {"short", do_nothing},
    {"patient", wait_for_signal},
    {"deaf", ignore_requests},
    {"forking", fork_two_that_fork},
    {"leaving", leave_one},
    {"session", leave_session},
    {"chain", flee},
    {"threads", exit_main_thread},
    {"closing", close_all},
    {"stopping", stop_for_a_while},
    {"nested", run_nested},
};

static void
live_as(const char *name)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (strcmp(sorts[i].name, name) == 0) {
			sorts[i].begin();
			pause_ms(job.ms);
			end(job.status);
		}
	exit(96);
}

/* It has no more priority than all others. */
_Noreturn static void
be_witness(int processor)
{
	cpu_set_t set;
	int64_t due;

	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	sched_setaffinity(0, sizeof(set), &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		due = now_us() + LOOK_MS * 1000;
		pause_ms(LOOK_MS);
		if (now_us() > due + LATE_US)
			note(0, "late %lld\n", (long long)(now_us() - due));
	}
}

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : "-";
}

int
main(int argc, char **argv)
{
	char fences[128];

	if (argc < 4)
		return 96;
	job.folder = argv[1];
	job.log = open_file("log", O_APPEND);
	if (strcmp(argv[2], "witness") == 0)
		be_witness(atoi(argv[3]));
	if (argc < 9)
		return 96;
	job.run = atoi(argv[2]);
	job.ms = atoi(argv[4]);
	job.status = atoi(argv[5]);
	job.wait_all = atoi(argv[8]);
	job.inner = argv + 9;
	job.command = getpid();
	job.ended = mmap(NULL, sizeof(*job.ended), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(fences, sizeof(fences), "%s", variable("RLOCKRUN_FENCE"));
	for (char *at = fences; (at = strchr(at, '\n')) != NULL;)
		*at = ',';
	note(job.run, "start %d %s\n", (int)job.command, fences);
	take_all(argv[6], argv[7]);
	live_as(argv[3]);
}
