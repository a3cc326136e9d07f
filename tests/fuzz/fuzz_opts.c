/* Command line and environment. Each line of the input is an argument, one
 * that begins with '$' a variable. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/opts_parse.h"
#include "base/exitcode.h"

#define LINES_MAX 64

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
		opts.ttl_ms < 1000 || opts.wait_ms < OPTS_WAIT_FOREVER ||
		opts.kill_after_ms < 0 || opts.server_timeout_ms < 1 ||
		opts.conflict_exit < 0 || opts.conflict_exit > 255 ||
		opts.servers[0].label == NULL || opts.command[0] == NULL ||
		*opts.command[0] == '\0'))
		abort();
	opts_fini(&opts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;
	char *argv[LINES_MAX + 2] = {"rlockrun"}, *env[LINES_MAX + 2] = {NULL};
	char **environ_before = environ;
	/* Behind those of the input, which can name another file. */
	static char no_files[] = "RLOCKRUN_CONFIG=none";
	int argc = 1, variables = 0;

	while (argc + variables < LINES_MAX && (line = strsep(&rest, "\n"))) {
		if (*line == '$')
			env[variables++] = line + 1;
		else
			argv[argc++] = line;
	}
	env[variables] = no_files;
	/* --password-file would open what a device driver may not like. */
	if (memmem(data, size, "/dev", 4) == NULL) {
		environ = env;
		check(argc, argv);
		environ = environ_before;
	}
	free(text);
	return 0;
}
