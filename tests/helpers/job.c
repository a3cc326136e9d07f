/* A job that reports itself, and blocks until it is told to go on:
 *
 *     job STEP...
 *
 * Steps are done in order:
 *
 *     FILE=TEXT           FILE holds the line TEXT, at no time a part of it
 *     FILE+=TEXT          the line TEXT is appended to FILE
 *     until:FILE[,FILE]   blocks until one of these files exists
 *     alone:FILE          locks the file `witness` until the job's end, as
 *                         flock(1) does; if another has it, FILE gets a line
 *     ignore:SIGNAL       TERM, INT, HUP or QUIT
 *     exit:N              ends with status N; without it the status is 0
 *
 * In TEXT, %p is the process's id, %t the milliseconds since the machine's
 * start, and %{NAME} a variable of the environment. It waits by inotify: a job
 * that blocks starts no processes and costs nothing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_LENGTH = 4096, LOOK_MS = 1000, POLL_MS = 10, STATUS_USAGE = 2 };

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "job: %s: %s\n", what, strerror(errno));
	exit(STATUS_USAGE);
}

static long long
uptime_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Prints what the % at TEXT stands for; returns what is behind it. */
static const char *
expand(FILE *to, const char *text)
{
	if (text[1] == 'p') {
		fprintf(to, "%d", (int)getpid());
	} else if (text[1] == 't') {
		fprintf(to, "%lld", uptime_ms());
	} else if (text[1] == '{' && strchr(text, '}') != NULL) {
		char name[LINE_MAX_LENGTH];
		size_t length = strcspn(text + 2, "}");
		const char *value;

		snprintf(name, sizeof(name), "%.*s", (int)length, text + 2);
		value = getenv(name);
		fputs(value != NULL ? value : "", to);
		return text + length + 3;
	} else {
		fputc('%', to);
		return text + 1;
	}
	return text + 2;
}

/* One write(2), so that lines of several jobs do not mix. */
static void
write_line(const char *path, int flags, const char *text)
{
	char line[LINE_MAX_LENGTH];
	FILE *to = fmemopen(line, sizeof(line), "w");
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
	size_t length;

	if (file == -1 || to == NULL)
		fail(path);
	while (*text != '\0') {
		if (*text == '%')
			text = expand(to, text);
		else
			fputc(*text++, to);
	}
	fputc('\n', to);
	length = (size_t)ftell(to);
	fclose(to);
	if (write(file, line, length) != (ssize_t)length)
		fail(path);
	close(file);
}

static void
replace_file(const char *path, const char *text)
{
	char fresh[LINE_MAX_LENGTH];

	snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
	write_line(fresh, O_TRUNC, text);
	if (rename(fresh, path) == -1)
		fail(path);
}

static void
watch_folder_of(int watcher, const char *path)
{
	char folder[LINE_MAX_LENGTH];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash != NULL)
		slash[1] = '\0';
	inotify_add_watch(watcher, slash != NULL ? folder : ".",
	    IN_CREATE | IN_MOVED_TO);
}

/* FILES is changed. A user has only so many watchers: without one it polls. */
static void
wait_for_one(char *files)
{
	int watcher = inotify_init1(IN_CLOEXEC);
	struct pollfd changes = {.fd = watcher, .events = POLLIN};
	char events[LINE_MAX_LENGTH];
	char *names[16];
	size_t count = 0;

	for (char *name = strtok(files, ","); name != NULL && count < 16;
	     name = strtok(NULL, ",")) {
		names[count++] = name;
		watch_folder_of(watcher, name);
	}
	for (;;) {
		for (size_t i = 0; i < count; i++) {
			if (access(names[i], F_OK) == 0) {
				close(watcher);
				return;
			}
		}
		if (poll(&changes, 1, watcher == -1 ? POLL_MS : LOOK_MS) > 0 &&
		    read(watcher, events, sizeof(events)) == -1)
			fail("inotify");
	}
}

/* The descriptor stays open, and so the lock is kept. */
static void
witness(const char *report)
{
	int file = open("witness", O_RDWR | O_CREAT, 0666);

	if (file == -1)
		fail("witness");
	if (flock(file, LOCK_EX | LOCK_NB) == -1)
		write_line(report, O_APPEND, "%p");
}

static void
ignore(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP},
	    {"QUIT", SIGQUIT}};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (strcmp(name, signals[i].name) == 0) {
			signal(signals[i].number, SIG_IGN);
			return;
		}
	}
	errno = EINVAL;
	fail(name);
}

static bool
starts_with(const char **text, const char *start)
{
	size_t length = strlen(start);

	if (strncmp(*text, start, length) != 0)
		return false;
	*text += length;
	return true;
}

static void
do_step(char *step)
{
	const char *rest = step;
	char *equals = strchr(step, '=');

	if (starts_with(&rest, "until:")) {
		wait_for_one(step + (rest - step));
	} else if (starts_with(&rest, "alone:")) {
		witness(rest);
	} else if (starts_with(&rest, "ignore:")) {
		ignore(rest);
	} else if (starts_with(&rest, "exit:")) {
		exit((int)strtol(rest, NULL, 10));
	} else if (equals == NULL || equals == step) {
		errno = EINVAL;
		fail(step);
	} else if (equals[-1] == '+') {
		equals[-1] = '\0';
		write_line(step, O_APPEND, equals + 1);
	} else {
		equals[0] = '\0';
		replace_file(step, equals + 1);
	}
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		do_step(argv[i]);
	return 0;
}
