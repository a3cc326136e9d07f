/* Command line, environment and a configuration file. Each line of the input is
 * an argument, one that begins with '$' a variable, with '@' a line of the
 * file. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "fuzz.h"
#include "options/opts_parse.h"

#define LINES_MAX 64

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Our messages go nowhere, the fuzzer's own still come. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char silent[] = "-close_fd_mask=2";
	char **longer = calloc((size_t)*argc + 2, sizeof(*longer));

	if (longer == NULL)
		abort();
	memcpy(longer, *argv, (size_t)*argc * sizeof(*longer));
	longer[(*argc)++] = silent;
	*argv = longer;
	return 0;
}

static void
check(int argc, char **argv)
{
	struct opts opts;
	int status = opts_parse(&opts, argc, argv);

	if (status != 0 && status != EXITCODE_USAGE &&
	    status != EXITCODE_CONFIG)
		abort();
	if (status == 0 && opts.action == OPTS_RUN &&
	    (opts.key_count < 1 || strlen(opts.keys[0].key) > OPTS_KEY_MAX ||
		opts.lock.ttl_ms < 1000 || opts.wait_ms < OPTS_WAIT_FOREVER ||
		opts.kill_after_ms < 0 || opts.lock.server_timeout_ms < 1 ||
		opts.conflict_exit < 0 || opts.conflict_exit > 255 ||
		opts.servers[0].label == NULL || opts.command[0] == NULL ||
		*opts.command[0] == '\0'))
		abort();
	opts_fini(&opts);
}

/* The file has one more line. */
static void
add_line(int fd, const char *line)
{
	struct iovec parts[] = {{(char *)(uintptr_t)line, strlen(line)},
	    {(char *)(uintptr_t) "\n", 1}};

	if (writev(fd, parts, 2) < 1)
		abort();
}

/* It is that of RLOCKRUN_CONFIG, unless the input names another one. */
static int
open_file(char *variable, size_t size)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) < 0)
		abort();
	snprintf(variable, size, "RLOCKRUN_CONFIG=/proc/self/fd/%d", fd);
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;
	char *argv[LINES_MAX + 2] = {"rlockrun"}, *env[LINES_MAX + 2] = {NULL};
	char **environ_before = environ;
	char file[64];
	int argc = 1, variables = 0, fd = open_file(file, sizeof(file));

	while (argc + variables < LINES_MAX && (line = strsep(&rest, "\n"))) {
		if (*line == '$')
			env[variables++] = line + 1;
		else if (*line == '@')
			add_line(fd, line + 1);
		else
			argv[argc++] = line;
	}
	env[variables] = file;
	/* --password-file would open what a device driver may not like. */
	if (memmem(data, size, "/dev", 4) == NULL) {
		environ = env;
		check(argc, argv);
		environ = environ_before;
	}
	close(fd);
	free(text);
	return 0;
}
